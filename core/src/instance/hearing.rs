//! What sessions hear: audio, and the silence after it.
//!
//! Of all that an instance knows of a session every chunk touches only this. It lies apart, one
//! cache line per session.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::num::NonZeroU32;

use crate::finalize::{Chunk, FinalizeConfig, Segmenter};
use crate::instance::slab::Key;
use crate::instance::{Cx, Instance};
use crate::{Micros, SessionId};

/// Where an instance keeps a session, for callers that name it often. Never zero, so that one that may
/// be unknown is one word as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat(NonZeroU32);

impl Seat {
    fn of(key: Key) -> Self {
        Self(NonZeroU32::MIN.saturating_add(key.slot))
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The hearing of the session that has this place; of none, it has heard nothing.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Ear {
    session: SessionId,
    segmenter: Segmenter,
    silence_armed: Micros,
}

impl Ear {
    fn new(session: SessionId) -> Self {
        Self { session, segmenter: Segmenter::default(), silence_armed: Micros::NEVER }
    }

    /// Its entry in the heap is that of the open utterance; gives the time, if there is one.
    fn rearm(&mut self, config: &FinalizeConfig) -> Micros {
        self.silence_armed = self.segmenter.deadline(config);
        self.silence_armed
    }
}

/// The ears of all sessions, by the sessions' places.
#[derive(Debug, Default)]
pub(super) struct Ears(Vec<Ear>);

impl Ears {
    /// A session takes its place, or has left it.
    pub(super) fn reset(&mut self, key: Key, session: SessionId) {
        let at = key.slot as usize;
        if at == self.0.len() {
            self.0.push(Ear::new(session));
        } else {
            self.0[at] = Ear::new(session);
        }
    }

    /// Utterances that are open.
    pub(super) fn open(&self) -> usize {
        self.0.iter().filter(|ear| ear.segmenter.is_open()).count()
    }

    /// Utterances that a session has begun so far.
    pub(super) fn begun(&self, key: Key) -> u32 {
        self.0[key.slot as usize].segmenter.begun()
    }

    /// The audio of a session that is there.
    pub(super) fn of(&mut self, key: Key) -> &mut Segmenter {
        &mut self.0[key.slot as usize].segmenter
    }
}

impl Instance {
    /// Where a session is kept, if it is open.
    pub fn seat(&self, session: SessionId) -> Option<Seat> {
        self.session_keys.get(&session).map(|&key| Seat::of(key))
    }

    /// Reads what a chunk of a session will look at; without a seat, that of the first one.
    #[inline]
    pub fn foresee_chunk(&self, seat: Option<Seat>) -> u32 {
        // Without a branch, which nobody could guess.
        let at = seat.map_or(0, |seat| seat.0.get()).saturating_sub(1);
        self.ears.0.get(at as usize).map_or(0, |ear| ear.segmenter.begun())
    }

    /// Takes a chunk that only adds to its session's open utterance; tells whether it was one. Any
    /// other is left to [`Self::handle`], which takes all.
    ///
    /// Most chunks are of this kind. Nothing comes of them and no deadline comes nearer.
    #[inline]
    pub fn extend(&mut self, now: Micros, seat: Seat, session: SessionId, chunk: &Chunk) -> bool {
        match self.ears.0.get_mut(seat.index()) {
            Some(ear) if ear.session == session => ear.segmenter.extend(now, chunk, &self.finalize),
            _ => false,
        }
    }

    pub(super) fn take_chunk(&mut self, cx: &mut Cx<'_>, id: SessionId, chunk: Chunk) {
        let Some(&key) = self.session_keys.get(&id) else { return };
        if self.extend(cx.now, Seat::of(key), id, &chunk) {
            return;
        }
        let cuts = self.ears.of(key).chunk(cx.now, chunk, &self.finalize);
        for cut in cuts.into_iter().flatten() {
            self.hang_over(cx, key, cut);
        }
        self.arm_silence(key);
    }

    /// Silence counts anew from the end of what a client plays.
    pub(super) fn play(&mut self, cx: &Cx<'_>, id: SessionId, begins: bool) {
        let Some(&key) = self.session_keys.get(&id) else { return };
        if begins {
            self.ears.of(key).play_started(cx.now);
        } else {
            self.ears.of(key).play_ended(cx.now);
        }
        self.arm_silence(key);
    }

    /// One entry per session is in the heap; it is put back when it turns out to be early.
    fn arm_silence(&mut self, key: Key) {
        let ear = &mut self.ears.0[key.slot as usize];
        let deadline = ear.segmenter.deadline(&self.finalize);
        if deadline < ear.silence_armed {
            ear.silence_armed = deadline;
            self.timers.silences.push(Reverse((deadline, key)));
        }
    }

    /// When the next utterance ends by silence. Sessions heard since their entry was made are put
    /// back first: nobody is woken for them.
    pub(super) fn next_silence(&mut self) -> Micros {
        while let Some(mut first) = self.timers.silences.peek_mut() {
            let Reverse((armed, key)) = *first;
            let ends = match self.sessions.get(key) {
                Some(_) => self.ears.0[key.slot as usize].rearm(&self.finalize),
                None => Micros::NEVER,
            };
            if ends == armed {
                return armed;
            }
            if ends == Micros::NEVER {
                PeekMut::pop(first);
            } else {
                *first = Reverse((ends, key));
            }
        }
        Micros::NEVER
    }

    pub(super) fn end_silence(&mut self, cx: &mut Cx<'_>, key: Key) {
        if self.sessions.get(key).is_none() {
            return;
        }
        let ear = &mut self.ears.0[key.slot as usize];
        ear.silence_armed = Micros::NEVER;
        if let Some(cut) = ear.segmenter.tick(cx.now, &self.finalize) {
            self.hang_over(cx, key, cut);
        }
        self.arm_silence(key);
    }
}
