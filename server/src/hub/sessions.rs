//! Sessions: their audio until it belongs to an utterance, and where their answers go.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use bytes::BytesMut;
use lingua_core::finalize::Chunk;
use lingua_core::instance::{self, Input, Opened, Setup};
use lingua_core::{Lang, Micros, Needs, Pair, RequestId, SessionId};
use lingua_protocol::{AudioFormat, ErrorCode, ErrorMessage, GroupId, Note};

use crate::event::{
    AudioPiece, Choices, OpenSession, Outbox, Outgoing, Utterance, UtteranceAudio, WholeUtterance,
};
use crate::hub::Hub;
use crate::hub::answers::Receivers;
use crate::hub::groups::{Group, Part, Turn};
use crate::ledger::Held;
use crate::wire::{self, text};

/// Answers owed to one session: more than it can speak before the oldest are over.
const OWED_MAX: u32 = 512;

/// Jobs of whole utterances remembered per session: an older one would be made again. All that are
/// owed are among them.
const WHOLE_REMEMBERED: usize = 2 * OWED_MAX as usize;

#[derive(Debug, Default)]
pub(super) struct Sessions(HashMap<SessionId, Session>);

#[derive(Debug)]
struct Session {
    outbox: Outbox,
    choices: Arc<Choices>,
    // What was spoken and is not yet a job's, in order: utterances take theirs from the front.
    audio: BytesMut,
    held: Held,
    format: AudioFormat,
    // What a plain job of it needs.
    needs: Needs,
    // The room in which it speaks. A closed session keeps it for what it said last.
    room: Option<u32>,
    // Wrong room codes from its socket.
    wrong_codes: Arc<AtomicU32>,
    // The utterance opened last: its jobs share it.
    latest: Weak<Utterance>,
    // Jobs of whole utterances made lately; absent until there is one.
    whole: Option<VecDeque<(u32, Lang)>>,
    turn: Turn,
    group: Option<Group>,
    // Jobs whose final message is owed.
    owed: u32,
    closed: bool,
}

impl Session {
    /// Whether so much is owed that nothing more is taken; the client is told.
    fn owes_too_much(&self) -> bool {
        let too_much = self.owed >= OWED_MAX;
        if too_much {
            let message = format!("{OWED_MAX} answers are owed: speak on after those");
            let code = ErrorCode::NodeOverloaded;
            let error = ErrorMessage { code, message: Note::cut(&message), details: None };
            self.outbox.post(Outgoing::Text(text!(ToSession, error)));
        }
        too_much
    }
}

impl Sessions {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The pair of every session.
    pub(super) fn pairs(&self) -> impl Iterator<Item = Pair> + '_ {
        self.0.values().map(|session| session.needs.pair)
    }

    /// The place of a session's next result in its group.
    pub(super) fn next_part(&mut self, session: SessionId, now: Micros) -> Option<Part> {
        let entry = self.0.get_mut(&wire::plain(session))?;
        Some(Group::next_part(&mut entry.group, session, now))
    }

    pub(super) fn needs(&self, session: SessionId) -> Option<Needs> {
        self.0.get(&session).map(|session| session.needs)
    }

    pub(super) fn room(&self, session: SessionId) -> Option<u32> {
        self.0.get(&wire::plain(session))?.room
    }

    pub(super) fn set_room(&mut self, session: SessionId, room: Option<u32>) {
        if let Some(session) = self.0.get_mut(&session) {
            session.room = room;
        }
    }

    /// Counts a wrong room code; how many there were.
    pub(super) fn guessed_wrong(&self, session: SessionId) -> u32 {
        let session = self.0.get(&session);
        session.map_or(0, |session| session.wrong_codes.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The client may send that whole utterance again.
    pub(super) fn forget(&mut self, request: &RequestId) {
        let entry = self.0.get_mut(&wire::plain(request.session));
        if let Some(seen) = entry.and_then(|entry| entry.whole.as_mut()) {
            seen.retain(|&job| job != (request.index, request.tgt));
        }
    }

    /// Sends to a session's client, if it is still there.
    pub(super) fn send(&self, session: SessionId, message: Outgoing) {
        if let Some(session) = self.0.get(&wire::plain(session)) {
            session.outbox.post(message);
        }
    }

    /// Sends what may be lost, if the client reads.
    pub(super) fn offer(&self, session: SessionId, message: Outgoing) {
        if let Some(session) = self.0.get(&wire::plain(session)) {
            session.outbox.offer(message);
        }
    }

    /// A final message has gone out.
    pub(super) fn settle(&mut self, session: SessionId) {
        let session = wire::plain(session);
        if let Some(entry) = self.0.get_mut(&session) {
            entry.owed -= 1;
        }
        self.drop_if_over(session);
    }

    fn drop_if_over(&mut self, session: SessionId) {
        let over = |entry: &Session| entry.closed && entry.owed == 0 && entry.audio.is_empty();
        if self.0.get(&session).is_some_and(over) {
            self.0.remove(&session);
        }
    }
}

impl Hub {
    pub(super) fn open_session(&mut self, open: OpenSession) {
        let OpenSession { session, needs, choices, account, wrong_codes, outbox } = open;
        let entry = Session {
            outbox,
            choices,
            audio: BytesMut::new(),
            held: account.empty(),
            format: AudioFormat::Pcm16,
            needs,
            room: None,
            wrong_codes,
            latest: Weak::new(),
            whole: None,
            turn: Turn::default(),
            group: None,
            owed: 0,
            closed: false,
        };
        self.sessions.0.insert(session, entry);
        self.counts.sessions_opened += 1;
        self.handle(Input::SessionOpened(session, Setup::new(&[needs])));
    }

    pub(super) fn take_audio(&mut self, piece: AudioPiece) {
        let Some(session) = self.sessions.0.get_mut(&piece.session) else { return };
        if session.owes_too_much() {
            return;
        }
        session.audio.extend_from_slice(&piece.audio);
        session.held.absorb(piece.held);
        session.format = piece.format;
        let chunk = Chunk {
            bytes: piece.audio.len() as u32,
            audio: piece.duration,
            is_final: piece.is_final,
            sent: self.clock.at(piece.heard),
        };
        self.counts.audio_bytes += u64::from(chunk.bytes);
        self.handle(Input::Chunk(piece.session, chunk));
    }

    /// The same utterance again makes no second job of a language.
    pub(super) fn take_utterance(&mut self, utterance: WholeUtterance) {
        let WholeUtterance { session, index, needs, choices, speech, audio, heard } = utterance;
        let Some(entry) = self.sessions.0.get_mut(&session) else { return };
        if entry.owes_too_much() {
            return;
        }
        let id = wire::whole(session);
        if entry.whole.is_none() {
            self.instance_opens(id, needs);
        }
        let Some(entry) = self.sessions.0.get_mut(&session) else { return };
        let seen = entry.whole.get_or_insert_default();
        let mut targets = self.rooms.setup(entry.room, session, needs).targets().to_vec();
        targets.retain(|needs| !seen.contains(&(index, needs.pair.tgt)));
        if targets.is_empty() {
            self.counts.repeated_utterances += 1;
            return;
        }
        seen.extend(targets.iter().map(|needs| (index, needs.pair.tgt)));
        let too_many = seen.len().saturating_sub(WHOLE_REMEMBERED);
        seen.drain(..too_many);
        let bytes = audio.bytes.len() as u64;
        let turn = entry.turn.next(None, || self.words.turn());
        let utterance = Arc::new(Utterance { choices, turn, audio });
        entry.latest = Arc::downgrade(&utterance);
        let setup = Setup::new(&targets);
        self.counts.audio_bytes += bytes;
        let sent = self.clock.at(heard);
        let whole = instance::WholeUtterance { index, setup, speech, bytes, sent };
        self.handle(Input::Utterance(id, whole));
    }

    fn instance_opens(&mut self, session: SessionId, needs: Needs) {
        self.handle(Input::SessionOpened(session, Setup::new(&[needs])));
    }

    /// A job is made. The first of an utterance takes its audio, the others share it.
    pub(super) fn utterance_opened(&mut self, opened: &Opened) {
        let request = opened.request;
        let speaker = wire::plain(request.session);
        let now = self.clock.now();
        let Some(session) = self.sessions.0.get_mut(&speaker) else { return };
        session.owed += 1;
        let is_whole = speaker != request.session;
        let utterance = match session.latest.upgrade() {
            Some(utterance) if is_whole || !opened.first => utterance,
            _ => {
                let bytes = session.audio.split_to(opened.bytes as usize).freeze();
                let _held = session.held.split(bytes.len());
                if session.audio.is_empty() {
                    // Nothing is left in that buffer, and an idle session needs none.
                    session.audio = BytesMut::new();
                }
                let format = session.format.clone();
                let audio = UtteranceAudio { bytes, _held, format, rate: wire::sample_rate() };
                let turn = session.turn.next(opened.reason, || self.words.turn());
                let choices = session.choices.clone();
                let utterance = Arc::new(Utterance { choices, turn, audio });
                session.latest = Arc::downgrade(&utterance);
                utterance
            }
        };
        let (room, own) = (session.room, session.needs.pair.tgt);
        self.rooms.spoke(room, now);
        let listeners = room.map(|room| (room, self.rooms.listeners(room, speaker, request.tgt)));
        let receivers = match listeners {
            Some((room, listeners)) if !listeners.is_empty() || request.tgt != own => {
                Receivers::Room(room, listeners)
            }
            _ => Receivers::Speaker,
        };
        self.counts.offered += 1;
        if opened.first {
            self.counts.finalized(opened.reason);
        }
        self.answers.open(opened, utterance, receivers, now);
    }

    /// Silence counts anew, and the group goes on for a while.
    pub(super) fn play_ended(&mut self, session: SessionId, group: &GroupId) {
        let now = self.clock.now();
        if let Some(open) = self.sessions.0.get_mut(&session).and_then(|s| s.group.as_mut()) {
            open.play_ended(group, now);
        }
        self.handle(Input::Playing(session, false));
    }

    pub(super) fn close_session(&mut self, session: SessionId) {
        let Some(entry) = self.sessions.0.get_mut(&session) else { return };
        entry.closed = true;
        if entry.whole.is_some() {
            self.handle(Input::SessionClosed(wire::whole(session)));
        }
        self.handle(Input::SessionClosed(session));
        self.drop_member(session);
        self.sessions.drop_if_over(session);
    }
}
