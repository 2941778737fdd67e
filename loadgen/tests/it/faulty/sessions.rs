//! Sessions: speech into utterances, answers in their order.

use lingua_protocol::{Base64, audio};
use serde_json::Value;
use tokio::time::Instant;

use super::hub::{Hub, Timer, Turns};
use super::nodes::Langs;
use super::sockets::{Order, SocketId};
use super::{Fault, frames};

const MAX_SPEECH_MS: u64 = 20_000;
const MAX_BYTES: usize = 512_000;

/// Which result of a session the faults of single results strike.
const STRUCK: u64 = 4;

#[derive(Debug)]
pub(super) struct Session {
    pub(super) socket: SocketId,
    pub(super) trace: String,
    pub(super) langs: Langs,
    pub(super) closed: bool,
    /// Where the next job should go.
    pub(super) affinity: Option<String>,
    pub(super) pinned: Option<String>,
    speech: Vec<u8>,
    chunks: u64,
    last_chunk: Instant,
    after_pause: bool,
    dead: bool,
    next_index: u64,
    turns: Turns,
    results: u64,
}

/// Why an utterance ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    Manual,
    Pause,
    Duration,
    Length,
}

#[derive(Debug, Clone)]
pub(super) struct Utterance {
    pub(super) session: String,
    pub(super) index: u64,
    pub(super) speech: Vec<u8>,
    pub(super) cut: Cut,
    /// It came as a whole: its index is the client's.
    pub(super) whole: bool,
}

/// How long the speech sounds, and what the job calls it.
pub(super) fn measure(speech: &[u8]) -> (u64, &'static str) {
    match audio::opus_us(speech) {
        Ok(us) if us > 0 => (us / 1_000, "opus"),
        _ => (speech.len() as u64 / 32, "pcm16"),
    }
}

impl Hub {
    pub(super) fn session_says(
        &mut self,
        socket: SocketId,
        said: &Value,
    ) -> Result<(), (&'static str, &'static str)> {
        let kind = frames::text(said, "type");
        if kind == "session_init" {
            self.open_session(socket, said);
            return Ok(());
        }
        if kind.starts_with("room_") {
            return self.room_says(socket, &kind, said);
        }
        let id = frames::text(said, "session_id");
        let own = self
            .sessions
            .get(&id)
            .is_some_and(|session| session.socket == socket || self.has(Fault::OpensSessionsToAll));
        if !own {
            return Err(("INVALID_SESSION", "session_id is not one of this socket"));
        }
        match kind.as_str() {
            "audio_chunk" => {
                let mut speech = Vec::new();
                let payload = frames::text(said, "payload");
                Base64::from_text(&payload)
                    .decode(&mut speech)
                    .map_err(|_| ("INVALID_MESSAGE", "payload is not base64"))?;
                self.chunk(&id, &speech, said["is_final"] == true);
            }
            "utterance" => {
                let mut speech = Vec::new();
                let payload = frames::text(said, "audio");
                Base64::from_text(&payload)
                    .decode(&mut speech)
                    .map_err(|_| ("INVALID_MESSAGE", "audio is not base64"))?;
                let index = said["utterance_index"].as_u64().unwrap_or(0);
                let cut = Cut::Manual;
                self.dispatch(Utterance { session: id, index, speech, cut, whole: true });
            }
            "client_heartbeat" => {
                let answer = serde_json::json!({"type": "server_heartbeat", "session_id": id,
                    "timestamp": said["timestamp"]});
                self.send(socket, &answer);
            }
            "session_close" => {
                self.close_session(&id);
                let ack = serde_json::json!({"type": "session_close_ack", "session_id": id});
                self.send(socket, &ack);
            }
            _ => {}
        }
        Ok(())
    }

    fn open_session(&mut self, socket: SocketId, init: &Value) {
        let id = format!("s-{:08X}", self.number());
        let trace = init["trace_id"].as_str().unwrap_or("t-0").to_owned();
        self.send(socket, &frames::init_ack(&id, &trace));
        let session = Session {
            socket,
            trace,
            langs: Langs::of_session(init),
            closed: false,
            affinity: None,
            pinned: None,
            speech: Vec::new(),
            chunks: 0,
            last_chunk: Instant::now(),
            after_pause: false,
            dead: false,
            next_index: 0,
            turns: Turns::default(),
            results: 0,
        };
        self.sessions.insert(id, session);
    }

    fn chunk(&mut self, id: &str, speech: &[u8], is_final: bool) {
        let (idle, pause) = (self.pace.idle, self.pace.pause);
        let forgets = self.has(Fault::ForgetsIdleSessions);
        let splits = self.has(Fault::SplitsLateChunk);
        let as_opus = self.has(Fault::MeasuresAllAsOpus);
        let Some(session) = self.sessions.get_mut(id) else { return };
        if session.dead || forgets && session.last_chunk.elapsed() > idle {
            session.dead = true;
            return;
        }
        session.last_chunk = Instant::now();
        session.chunks += 1;
        session.speech.extend_from_slice(speech);
        if session.speech.is_empty() {
            return;
        }
        let late = std::mem::take(&mut session.after_pause);
        let (mut spoken_ms, _) = measure(&session.speech);
        if as_opus {
            spoken_ms = session.speech.len() as u64 / 60 * 20;
        }
        let cut = if is_final {
            Cut::Manual
        } else if spoken_ms >= MAX_SPEECH_MS {
            Cut::Duration
        } else if session.speech.len() > MAX_BYTES {
            Cut::Length
        } else if late && splits {
            Cut::Pause
        } else {
            let chunks = session.chunks;
            self.later(pause, Timer::Pause(id.to_owned(), chunks));
            return;
        };
        self.cut(id, cut);
    }

    /// The speaker has paused, unless there was another chunk since.
    pub(super) fn pause(&mut self, id: &str, chunks: u64) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if session.chunks == chunks && !session.speech.is_empty() {
            session.after_pause = true;
            self.cut(id, Cut::Pause);
        }
    }

    fn cut(&mut self, id: &str, cut: Cut) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if matches!(cut, Cut::Manual) {
            session.affinity = None;
        }
        let utterance = Utterance {
            session: id.to_owned(),
            index: session.next_index,
            speech: std::mem::take(&mut session.speech),
            cut,
            whole: false,
        };
        session.next_index += 1;
        self.later(self.pace.hangover, Timer::Ready(Box::new(utterance)));
    }

    fn close_session(&mut self, id: &str) {
        let loses = self.has(Fault::LosesAudioAtClose);
        let Some(session) = self.sessions.get_mut(id) else { return };
        session.closed = true;
        if loses {
            session.speech.clear();
        }
        if !session.speech.is_empty() {
            self.cut(id, Cut::Pause);
        }
        self.leave_rooms(id);
    }

    pub(super) fn close_sessions_of(&mut self, socket: SocketId) {
        let own = |(id, session): (&String, &Session)| {
            (session.socket == socket && !session.closed).then(|| id.clone())
        };
        let ids: Vec<String> = self.sessions.iter().filter_map(own).collect();
        for id in ids {
            self.close_session(&id);
        }
    }

    /// There was no node for a session.
    pub(super) fn without_node(&mut self, id: &str) {
        if self.has(Fault::DropsSessionWithoutNode)
            && let Some(session) = self.sessions.get_mut(id)
        {
            session.dead = true;
        }
    }

    /// An utterance has ended: its messages leave in their turn.
    pub(super) fn settle(&mut self, utterance: &Utterance, messages: Vec<Value>) {
        let reorders = self.has(Fault::Reorders);
        let Some(session) = self.sessions.get_mut(&utterance.session) else { return };
        if session.closed {
            return;
        }
        let ready = match utterance.whole || reorders {
            true => messages.into(),
            false => session.turns.put(utterance.index, messages),
        };
        for message in ready {
            self.deliver(&utterance.session, &message);
        }
    }

    /// Sends to a session; the faults of single results strike here.
    pub(super) fn deliver(&mut self, id: &str, message: &Value) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let socket = session.socket;
        let is_result = message["type"] == "translation_result";
        session.results += u64::from(is_result);
        if is_result && session.results == STRUCK {
            if self.has(Fault::DropsResult) {
                return;
            }
            if self.has(Fault::ClosesSilently) {
                return self.order(socket, Order::Drop);
            }
            if self.has(Fault::DuplicatesResult) {
                self.send(socket, message);
            }
            if self.has(Fault::AnswersWrongSession)
                && let Some(other) = self.another_session(id)
            {
                return self.send(other, message);
            }
        }
        self.send(socket, message);
    }

    /// A session of the same languages.
    fn another_session(&self, id: &str) -> Option<SocketId> {
        let langs = &self.sessions.get(id)?.langs;
        let fits = |(other, session): (&String, &Session)| {
            (other != id && !session.closed && session.langs == *langs).then_some(session.socket)
        };
        self.sessions.iter().find_map(fits)
    }
}
