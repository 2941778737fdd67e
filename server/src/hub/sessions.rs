//! Sessions: their audio until it belongs to an utterance, and where their answers go.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::BytesMut;
use lingua_core::finalize::Chunk;
use lingua_core::instance::{Input, Opened, Request, Setup};
use lingua_core::{Pair, RequestId, SessionId};
use lingua_protocol::{AudioFormat, TraceId};

use crate::event::{AudioPiece, OpenSession, Outbox, Outgoing, UtteranceAudio, WholeUtterance};
use crate::hub::Hub;
use crate::wire;

#[derive(Debug, Default)]
pub(super) struct Sessions(HashMap<SessionId, Session>);

#[derive(Debug)]
struct Session {
    outbox: Outbox,
    pair: Pair,
    trace: TraceId,
    // What was spoken and is not yet a job's, in order: utterances take theirs from the front.
    audio: BytesMut,
    format: AudioFormat,
    // Jobs whose final message is owed.
    owed: u32,
    closed: bool,
}

impl Sessions {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The pair of every session.
    pub(super) fn pairs(&self) -> impl Iterator<Item = Pair> + '_ {
        self.0.values().map(|session| session.pair)
    }

    pub(super) fn trace(&self, session: SessionId) -> Option<&TraceId> {
        self.0.get(&wire::plain(session)).map(|session| &session.trace)
    }

    /// Sends to a session's client, if it is still there.
    pub(super) fn send(&self, session: SessionId, message: Outgoing) {
        if let Some(session) = self.0.get(&wire::plain(session)) {
            session.outbox.post(message);
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
        let OpenSession { session, needs, trace, outbox } = open;
        let entry = Session {
            outbox,
            pair: needs.pair,
            trace,
            audio: BytesMut::new(),
            format: AudioFormat::Pcm16,
            owed: 0,
            closed: false,
        };
        self.sessions.0.insert(session, entry);
        self.counts.sessions_opened += 1;
        self.handle(Input::SessionOpened(session, Setup::new(&[needs])));
    }

    pub(super) fn take_audio(&mut self, piece: AudioPiece) {
        let Some(session) = self.sessions.0.get_mut(&piece.session) else { return };
        session.audio.extend_from_slice(&piece.audio);
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

    /// The same utterance again makes no second job while the first is open.
    pub(super) fn take_utterance(&mut self, utterance: WholeUtterance) {
        let WholeUtterance { session, index, needs, speech, audio, heard } = utterance;
        let id = RequestId { session: wire::whole(session), index, tgt: needs.pair.tgt };
        if self.answers.is_open(&id) {
            return;
        }
        let Some(entry) = self.sessions.0.get_mut(&session) else { return };
        entry.owed += 1;
        let bytes = audio.bytes.len() as u64;
        self.counts.audio_bytes += bytes;
        self.counts.offered += 1;
        self.answers.open(id, needs.pair, Arc::new(audio), self.clock.now());
        let sent = self.clock.at(heard);
        self.handle(Input::Request(Request { id, needs, speech, bytes, sent }));
    }

    /// The hangover is over: the utterance takes its audio.
    pub(super) fn utterance_opened(&mut self, opened: &Opened) {
        let Some(session) = self.sessions.0.get_mut(&opened.request.session) else { return };
        let bytes = session.audio.split_to(opened.bytes as usize).freeze();
        let format = session.format.clone();
        session.owed += 1;
        let audio = UtteranceAudio { bytes, format, rate: wire::sample_rate() };
        self.counts.offered += 1;
        if opened.first {
            self.counts.finalized(opened.reason);
        }
        let pair = opened.needs.pair;
        self.answers.open(opened.request, pair, Arc::new(audio), self.clock.now());
    }

    pub(super) fn close_session(&mut self, session: SessionId) {
        let Some(entry) = self.sessions.0.get_mut(&session) else { return };
        entry.closed = true;
        self.handle(Input::SessionClosed(session));
        self.sessions.drop_if_over(session);
    }
}
