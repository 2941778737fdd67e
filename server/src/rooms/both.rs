//! An instance's book and desk together, and what waits to be sent and told.

use std::collections::BTreeSet;

use lingua_core::instance::Setup;
use lingua_core::{InstanceId, Lang, Micros, Needs, Pair, SessionId};

use crate::config::RoomLimits;
use crate::rooms::{Book, Desk, Member, Out, RoomMessage, SHARDS, Told, home};

/// The rooms of one instance: those that it owns, and those in which it has members.
#[derive(Debug)]
pub(crate) struct Rooms {
    pub(crate) id: InstanceId,
    pub(crate) wrong_codes: u32,
    pub(crate) desk: Desk,
    pub(crate) book: Book,
    pub(crate) out: Out,
    pub(crate) told: Vec<Told>,
    /// To whom something could not be sent: all is told anew.
    pub(crate) behind: BTreeSet<InstanceId>,
    pub(crate) next_try: Micros,
}

impl Rooms {
    /// `alone`: no other instance can own a room.
    pub(crate) fn new(id: InstanceId, limits: RoomLimits, alone: bool) -> Self {
        let report = Micros(limits.scan.as_micros() as u64 / 2);
        let mut rooms = Self {
            id,
            wrong_codes: limits.wrong_codes,
            desk: Desk::new(id, report),
            book: Book::new(limits),
            out: Out::new(),
            told: Vec::new(),
            behind: BTreeSet::new(),
            next_try: Micros::NEVER,
        };
        if alone {
            let all: Vec<_> = (0..SHARDS).map(|shard| (shard, 0)).collect();
            rooms.hold(Micros::ZERO, &all, Micros::NEVER, &BTreeSet::new());
        }
        rooms
    }

    /// These shards are owned here until then.
    pub(crate) fn hold(
        &mut self,
        now: Micros,
        held: &[(u16, u64)],
        until: Micros,
        others: &BTreeSet<InstanceId>,
    ) {
        self.book.hold(now, held, until, others);
        self.desk.hear_owner(now, self.id, held, &mut self.out);
        for &to in others {
            self.announce(to);
        }
    }

    fn announce(&mut self, to: InstanceId) {
        let shards = self.book.shards();
        if !shards.is_empty() {
            self.out.push((to, RoomMessage::Owns { shards }));
        }
    }

    /// Tells an instance all that it may have missed.
    pub(crate) fn tell_all(&mut self, now: Micros, to: InstanceId) {
        self.announce(to);
        self.desk.state(now, to, &mut self.out);
        self.book.tell_again(now, to, &mut self.out);
    }

    /// Takes what an instance says, this one included. `start`: where to look for a free code.
    pub(crate) fn take(&mut self, now: Micros, from: InstanceId, message: RoomMessage, start: u32) {
        let Self { desk, book, out, told, .. } = self;
        match message {
            RoomMessage::Enter { wanted, member } => {
                if home(member.session) == from {
                    book.enter(now, wanted, member, start, out);
                }
            }
            RoomMessage::Here(here) => book.hear(now, from, here, out),
            RoomMessage::Stated { shard, token, rooms, pending } => {
                book.stated(now, from, (shard, token), (rooms, &pending), out);
            }
            RoomMessage::Owns { shards } => desk.hear_owner(now, from, &shards, out),
            message => desk.take(now, from, message, out, told),
        }
    }

    /// Opens and closes rooms whose time has come, and asks owners again.
    pub(crate) fn tick(&mut self, now: Micros) {
        self.book.tick(now, &mut self.out);
        self.desk.tick(now, &mut self.out, &mut self.told);
    }

    pub(crate) fn next_deadline(&self) -> Micros {
        self.next_try.min(self.desk.next_deadline()).min(self.book.next_deadline())
    }

    /// Whether a session's socket is at this instance.
    pub(crate) fn is_here(&self, session: SessionId) -> bool {
        home(session) == self.id
    }

    /// The other members who want to hear this language, in order of entry.
    pub(crate) fn listeners(&self, room: u32, speaker: SessionId, tgt: Lang) -> Vec<SessionId> {
        let listens = |member: &&Member| member.session != speaker && member.preferred == Some(tgt);
        self.desk.members(room).iter().filter(listens).map(|member| member.session).collect()
    }

    /// What an utterance of this speaker needs: a job per distinct language of the other members,
    /// else the speaker's own.
    pub(crate) fn setup(&self, room: Option<u32>, speaker: SessionId, own: Needs) -> Setup {
        let members = room.map_or(&[][..], |room| self.desk.members(room));
        let mut targets = Vec::new();
        for member in members.iter().filter(|member| member.session != speaker) {
            let Some(tgt) = member.preferred else { continue };
            let needs = Needs { pair: Pair { src: own.pair.src, tgt }, ..own };
            if !targets.contains(&needs) {
                targets.push(needs);
            }
        }
        Setup::new(if targets.is_empty() { std::slice::from_ref(&own) } else { &targets })
    }

    pub(crate) fn spoke(&mut self, room: Option<u32>, now: Micros) {
        if let Some(room) = room {
            self.desk.spoke(now, room, &mut self.out);
        }
    }
}
