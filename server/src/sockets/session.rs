//! A client's socket.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

use axum::extract::ws::{Message, Utf8Bytes};
use bytes::Bytes;
use lingua_core::{Lang, Pair, SessionId};
use lingua_protocol::{
    AudioChunk, AudioFormat, Channels, ErrorCode, ErrorMessage, FromSession, Language, Mode, Note,
    ServerHeartbeat, SessionCloseAck, SessionInit, SessionInitAck, ShortText, TenantId, TraceId,
    Utterance,
};

use tokio::sync::mpsc;

use crate::Shared;
use crate::clock::unix_ms;
use crate::config::Limits;
use crate::event::{
    AudioPiece, Choices, Event, OpenSession, Outbox, Outgoing, UtteranceAudio, WholeUtterance,
};
use crate::ledger::{Account, Held};
use crate::sockets::Peer;
use crate::sockets::rooms::Allowance;
use crate::wire::{self, text};

/// How often first texts are wanted, where the client does not say.
const PARTIAL_UPDATE_INTERVAL_MS: u64 = 1_000;

pub(super) struct SessionPeer {
    shared: Arc<Shared>,
    outbox: Outbox,
    sessions: Vec<OwnSession>,
    wrong_codes: Arc<AtomicU32>,
    pub(super) requests: Allowance,
    replies: Vec<Utf8Bytes>,
}

/// A session that this socket opened: nobody else speaks for it.
struct OwnSession {
    id: SessionId,
    pair: Pair,
    tenant: Option<TenantId>,
    choices: Arc<Choices>,
    account: Account,
    // Told by the first audio.
    format: Option<AudioFormat>,
}

impl OwnSession {
    /// Counts speech until it is answered.
    fn hold(&self, bytes: usize, limits: &Limits) -> Result<Held, Utf8Bytes> {
        self.account.hold(bytes, limits).map_err(|most| {
            let message = format!("{most} bytes of speech wait for answers: speak on after those");
            error(ErrorCode::NodeOverloaded, &message)
        })
    }
}

impl SessionPeer {
    pub(super) fn new(shared: Arc<Shared>, outbox: Outbox) -> Self {
        Self {
            shared,
            outbox,
            sessions: Vec::new(),
            wrong_codes: Arc::default(),
            requests: Allowance::default(),
            replies: Vec::new(),
        }
    }

    pub(super) fn newest_session(&self) -> Option<SessionId> {
        self.sessions.last().map(|own| own.id)
    }

    /// Whose the session is that speaks where a message names none.
    pub(super) fn newest_tenant(&self) -> Option<&TenantId> {
        self.sessions.last()?.tenant.as_ref()
    }

    fn own(&mut self, id: &lingua_protocol::SessionId) -> Result<&mut OwnSession, Utf8Bytes> {
        let found = wire::parse_session_id(id);
        let own = self.sessions.iter_mut().find(|own| Some(own.id) == found);
        own.ok_or_else(|| {
            let message = format!("session {id} is not one of this socket: send session_init");
            error(ErrorCode::InvalidSession, &message)
        })
    }

    fn open(&mut self, init: SessionInit, events: &mut Vec<Event>) -> Result<(), Utf8Bytes> {
        let most = self.shared.config.limits.sessions_per_socket;
        if self.sessions.len() >= most {
            let message = format!("{most} sessions are open: close one first");
            return Err(error(ErrorCode::InvalidSession, &message));
        }
        let pair = pair_of(&init)?;
        let session = self.shared.new_session();
        let session_id = wire::session_id(session);
        let trace = init.trace_id.clone().unwrap_or_else(|| {
            TraceId::new(session_id.as_str()).expect("a session id is visible text")
        });
        let tenant = init.tenant_id.clone();
        let choices = Arc::new(choices_of(init, trace.clone()));
        let ack = SessionInitAck {
            session_id,
            assigned_node_id: None,
            message: Note::cut("session created"),
            trace_id: trace,
            protocol_version: ShortText::cut("1.0"),
            use_binary_frame: false,
            negotiated_codec: AudioFormat::Opus,
            negotiated_audio_format: AudioFormat::Opus,
            negotiated_sample_rate: wire::sample_rate(),
            negotiated_channel_count: Channels::new(1).expect("one channel is allowed"),
        };
        self.replies.push(text!(ToSession, ack));
        let account = self.shared.speech.open();
        let own = OwnSession {
            id: session,
            pair,
            tenant,
            choices: choices.clone(),
            account: account.clone(),
            format: None,
        };
        self.sessions.push(own);
        let needs = self.shared.config.needs(pair);
        let (wrong_codes, outbox) = (self.wrong_codes.clone(), self.outbox.clone());
        let open = OpenSession { session, needs, choices, account, wrong_codes, outbox };
        events.push(Event::SessionOpened(Box::new(open)));
        Ok(())
    }

    fn chunk(&mut self, chunk: &AudioChunk<'_>, events: &mut Vec<Event>) -> Result<(), Utf8Bytes> {
        let limits = self.shared.config.limits;
        let own = self.own(&chunk.session_id)?;
        let mut audio = Vec::new();
        if let Some(payload) = &chunk.payload {
            payload
                .decode(&mut audio)
                .map_err(|bad| error(ErrorCode::InvalidMessage, &format!("payload: {bad}")))?;
        }
        let held = own.hold(audio.len(), &limits)?;
        if own.format.is_none() && !audio.is_empty() {
            own.format = Some(wire::audio_format(&audio));
        }
        let format = own.format.clone().unwrap_or(AudioFormat::Pcm16);
        let duration = wire::duration(&audio, &format, wire::sample_rate());
        let is_final = chunk.is_final;
        let session = own.id;
        let audio = Bytes::from(audio);
        let heard = Instant::now();
        let piece = AudioPiece { session, audio, held, duration, format, is_final, heard };
        events.push(Event::Chunk(piece));
        Ok(())
    }

    fn utterance(&mut self, said: Utterance<'_>, events: &mut Vec<Event>) -> Result<(), Utf8Bytes> {
        let shared = self.shared.clone();
        let own = self.own(&said.session_id)?;
        let mut bytes = Vec::new();
        said.audio
            .decode(&mut bytes)
            .map_err(|bad| error(ErrorCode::InvalidMessage, &format!("audio: {bad}")))?;
        let held = own.hold(bytes.len(), &shared.config.limits)?;
        let index = u32::try_from(said.utterance_index).map_err(|_| {
            let message = format!("utterance_index {} is above 2^32", said.utterance_index);
            error(ErrorCode::InvalidMessage, &message)
        })?;
        let pair = match said.src_lang.as_str() {
            // Who spoke is for the node to find out.
            "auto" => own.pair,
            _ => Pair { src: lang(&said.src_lang)?, tgt: lang(&said.tgt_lang)? },
        };
        let speech = wire::duration(&bytes, &said.audio_format, said.sample_rate);
        let choices = Arc::new(Choices {
            trace: said.trace_id.unwrap_or_else(|| own.choices.trace.clone()),
            src_lang: said.src_lang,
            tgt_lang: said.tgt_lang,
            dialect: said.dialect.or_else(|| own.choices.dialect.clone()),
            features: said.features.or_else(|| own.choices.features.clone()),
            pipeline: said.pipeline,
            manual_cut: said.manual_cut,
            ..Choices::clone(&own.choices)
        });
        let audio = UtteranceAudio {
            bytes: bytes.into(),
            _held: held,
            format: said.audio_format,
            rate: said.sample_rate,
        };
        let (session, needs) = (own.id, shared.config.needs(pair));
        let heard = Instant::now();
        let whole = WholeUtterance { session, index, needs, choices, speech, audio, heard };
        events.push(Event::Utterance(Box::new(whole)));
        Ok(())
    }
}

impl Peer for SessionPeer {
    fn hub(shared: &Shared) -> &mpsc::Sender<Event> {
        &shared.from_sessions
    }

    fn take(&mut self, frame: &str, events: &mut Vec<Event>) -> Result<(), Utf8Bytes> {
        let message = FromSession::parse_text(frame).map_err(|bad| {
            error(ErrorCode::InvalidMessage, &format!("Invalid message format: {bad}"))
        })?;
        match message {
            FromSession::Init(init) => self.open(init, events)?,
            FromSession::AudioChunk(chunk) => self.chunk(&chunk, events)?,
            FromSession::Utterance(utterance) => self.utterance(utterance, events)?,
            FromSession::Heartbeat(beat) => {
                self.own(&beat.session_id)?;
                let answer = ServerHeartbeat { session_id: beat.session_id, timestamp: unix_ms() };
                self.replies.push(text!(ToSession, answer));
            }
            FromSession::Close(close) => {
                if let Ok(own) = self.own(&close.session_id) {
                    let id = own.id;
                    self.sessions.retain(|own| own.id != id);
                    events.push(Event::SessionClosed(id));
                }
                let ack = SessionCloseAck { session_id: close.session_id };
                self.replies.push(text!(ToSession, ack));
            }
            FromSession::TtsStarted(started) => {
                events.push(Event::PlayStarted(self.own(&started.session_id)?.id));
            }
            FromSession::TtsPlayEnded(ended) => {
                events.push(Event::PlayEnded(self.own(&ended.session_id)?.id, ended.group_id));
            }
            FromSession::RoomCreate(create) => events.push(self.create_room(create)?),
            FromSession::RoomJoin(join) => events.push(self.join_room(join)?),
            FromSession::RoomLeave(leave) => events.push(self.leave_room(&leave)?),
            FromSession::RoomRawVoicePreference(prefers) => {
                events.push(self.prefer_voice(&prefers)?);
            }
            FromSession::WebrtcOffer(mut offer) => {
                let route = self.route(&offer.room_code, &mut offer.to)?;
                events.extend(route.carry(offer.into()));
            }
            FromSession::WebrtcAnswer(mut answer) => {
                let route = self.route(&answer.room_code, &mut answer.to)?;
                events.extend(route.carry(answer.into()));
            }
            FromSession::WebrtcIce(mut ice) => {
                let route = self.route(&ice.room_code, &mut ice.to)?;
                events.extend(route.carry(ice.into()));
            }
            FromSession::Ignored(_) => {}
        }
        Ok(())
    }

    fn leave(&mut self, events: &mut Vec<Event>) {
        events.extend(self.sessions.drain(..).map(|own| Event::SessionClosed(own.id)));
    }

    fn encode(&mut self, message: Outgoing) -> Message {
        match message {
            Outgoing::Text(text) => Message::Text(text),
            Outgoing::Job(_) | Outgoing::Close(_) => unreachable!("clients get no jobs"),
        }
    }

    fn replies(&mut self) -> &mut Vec<Utf8Bytes> {
        &mut self.replies
    }
}

fn choices_of(init: SessionInit, trace: TraceId) -> Choices {
    let src_lang = if init.mode == Some(Mode::TwoWayAuto) { auto() } else { init.src_lang };
    Choices {
        trace,
        src_lang,
        tgt_lang: init.tgt_lang,
        dialect: init.dialect,
        features: init.features,
        mode: init.mode,
        lang_a: init.lang_a,
        lang_b: init.lang_b,
        auto_langs: init.auto_langs,
        enable_streaming_asr: init.enable_streaming_asr.unwrap_or(true),
        partial_update_interval_ms: init
            .partial_update_interval_ms
            .unwrap_or(PARTIAL_UPDATE_INTERVAL_MS),
        pipeline: None,
        manual_cut: false,
    }
}

/// Whoever spoke: the node finds out.
fn auto() -> Language {
    Language::new("auto").expect("letters are allowed")
}

/// The pair of a session; a two-way session is that of its two languages.
fn pair_of(init: &SessionInit) -> Result<Pair, Utf8Bytes> {
    let two_way = init.mode == Some(Mode::TwoWayAuto) || init.src_lang.as_str() == "auto";
    match (two_way, &init.lang_a, &init.lang_b) {
        (true, Some(a), Some(b)) => Ok(Pair { src: lang(a)?, tgt: lang(b)? }),
        _ => Ok(Pair { src: lang(&init.src_lang)?, tgt: lang(&init.tgt_lang)? }),
    }
}

pub(super) fn lang(language: &Language) -> Result<Lang, Utf8Bytes> {
    wire::lang(language).ok_or_else(|| {
        let message = format!("language {language}: send a tag of at most {} letters", Lang::MAX);
        error(ErrorCode::InvalidMessage, &message)
    })
}

pub(super) fn error(code: ErrorCode, message: &str) -> Utf8Bytes {
    text!(ToSession, ErrorMessage { code, message: Note::cut(message), details: None })
}
