//! Rooms, as sessions of this instance meet them: what they ask, what they are told, whom they
//! speak for.

use std::collections::BTreeMap;

use lingua_core::instance::Input;
use lingua_core::{InstanceId, Micros, SessionId};
use lingua_protocol::{
    CloseCode, List, Map, Note, ParticipantId, RoomCreateAck, RoomError, RoomErrorCode,
    RoomExpired, RoomMember, RoomMembers, ShortText,
};

use crate::clock::rfc3339;
use crate::event::{Newcomer, Outgoing, RoomRequest, Signal};
use crate::hub::Hub;
use crate::hub::abroad::LOOK;
use crate::instances::{Parcel, ToInstance};
use crate::rooms::{Member, RoomMessage, Rooms, Told, Wanted, home};
use crate::wire::{self, text};

impl Hub {
    pub(super) fn take_room_request(&mut self, session: SessionId, request: RoomRequest) {
        let done = match request {
            RoomRequest::Create(shard, newcomer) => {
                self.enter_room(session, Wanted::New(shard), newcomer)
            }
            RoomRequest::Join(Some(code), newcomer) => {
                self.enter_room(session, Wanted::Code(code), newcomer)
            }
            RoomRequest::Join(None, _) => self.is_in_no_room(session).and_then(|()| {
                self.guessed_wrong(session);
                let why = "no room has this code: ask a member for it".to_owned();
                Err((RoomErrorCode::RoomNotFound, why))
            }),
            RoomRequest::Leave(code) => self.leave_room(session, code),
            RoomRequest::Voice { room, of, hears } => self.prefer_voice(session, room, of, hears),
        };
        if let Err(refused) = done {
            self.refuse_room(session, refused);
        }
        self.settle_rooms();
    }

    /// Whoever tries codes by the thousand is guessing.
    fn guessed_wrong(&self, session: SessionId) {
        if self.sessions.guessed_wrong(session) > self.rooms.wrong_codes {
            self.sessions.send(session, Outgoing::Close(CloseCode::PolicyViolation));
        }
    }

    fn refuse_room(&self, session: SessionId, (code, why): Refused) {
        let error = RoomError { code, message: Some(Note::cut(&why)) };
        self.sessions.send(session, Outgoing::Text(text!(ToSession, error)));
    }

    fn enter_room(
        &mut self,
        session: SessionId,
        wanted: Wanted,
        newcomer: Newcomer,
    ) -> Result<(), Refused> {
        self.is_in_no_room(session)?;
        let member = Member {
            session,
            participant: ParticipantId::new(&self.words.uuid()).expect("a UUID is allowed"),
            name: newcomer.name,
            preferred: newcomer.preferred,
            voices: BTreeMap::new(),
            joined_at: ShortText::cut(&rfc3339()),
        };
        let now = self.clock.now();
        let Rooms { desk, out, .. } = &mut self.rooms;
        desk.enter(now, wanted, member, out);
        Ok(())
    }

    fn is_in_no_room(&self, session: SessionId) -> Result<(), Refused> {
        let message = match self.sessions.room(session) {
            Some(code) => format!("the session is in room {code}: leave it first"),
            None if self.rooms.desk.is_asking(session) => {
                "the session is about to enter a room".to_owned()
            }
            None => return Ok(()),
        };
        Err((RoomErrorCode::AlreadyInRoom, message))
    }

    fn leave_room(&mut self, session: SessionId, code: Option<u32>) -> Result<(), Refused> {
        self.is_in(session, code)?;
        self.drop_member(session);
        self.sessions.set_room(session, None);
        self.speaks_for(session);
        Ok(())
    }

    /// Takes a member out; what it said before still goes to the others.
    pub(super) fn drop_member(&mut self, session: SessionId) {
        let now = self.clock.now();
        let code = self.sessions.room(session);
        let Rooms { desk, out, .. } = &mut self.rooms;
        desk.leave(now, session, code, out);
        self.settle_rooms();
    }

    fn prefer_voice(
        &mut self,
        session: SessionId,
        code: Option<u32>,
        of: Option<SessionId>,
        hears: bool,
    ) -> Result<(), Refused> {
        let code = self.is_in(session, code)?;
        let now = self.clock.now();
        let Rooms { desk, out, .. } = &mut self.rooms;
        if of.is_some_and(|of| desk.prefer(now, code, session, (of, hears), out)) {
            return Ok(());
        }
        let message = "target_session_id is not in the room".to_owned();
        Err((RoomErrorCode::InternalError, message))
    }

    fn is_in(&self, session: SessionId, code: Option<u32>) -> Result<u32, Refused> {
        code.filter(|_| code == self.sessions.room(session)).ok_or_else(|| {
            let message = "the session is not in a room of this code".to_owned();
            (RoomErrorCode::RoomNotFound, message)
        })
    }

    /// Another instance says something of a room.
    pub(super) fn take_room_message(&mut self, from: InstanceId, message: RoomMessage) {
        let start = self.words.below(wire::ROOM_CODES.1);
        self.rooms.take(self.clock.now(), from, message, start);
        self.settle_rooms();
    }

    /// These shards are this instance's until then.
    pub(super) fn hold_shards(&mut self, held: &[(u16, u64)], until: Micros) {
        let others = self.abroad.as_ref().map(|abroad| abroad.linked()).unwrap_or_default();
        self.rooms.hold(self.clock.now(), held, until, &others);
        self.settle_rooms();
    }

    /// A link to an instance is there: what was on its way over another one may be lost.
    pub(super) fn tell_rooms_again(&mut self, to: InstanceId) {
        self.rooms.tell_all(self.clock.now(), to);
        self.settle_rooms();
    }

    /// Others may have taken this instance for gone, and its members with it.
    pub(super) fn tell_rooms_to_all(&mut self) {
        let linked = self.abroad.as_ref().map(|abroad| abroad.linked()).unwrap_or_default();
        for to in linked {
            self.rooms.tell_all(self.clock.now(), to);
        }
        self.settle_rooms();
    }

    /// An instance is gone, and its members.
    pub(super) fn lose_members_of(&mut self, gone: InstanceId) {
        let now = self.clock.now();
        let Rooms { book, out, behind, .. } = &mut self.rooms;
        book.lose(now, gone, out);
        behind.remove(&gone);
        self.settle_rooms();
    }

    /// Sends what is to be sent and tells what is to be told, until nothing is left.
    pub(super) fn settle_rooms(&mut self) {
        loop {
            for told in std::mem::take(&mut self.rooms.told) {
                self.tell_room(told);
            }
            if self.rooms.out.is_empty() {
                return;
            }
            for (to, message) in std::mem::take(&mut self.rooms.out) {
                if to == self.rooms.id {
                    let start = self.words.below(wire::ROOM_CODES.1);
                    self.rooms.take(self.clock.now(), to, message, start);
                    continue;
                }
                let parcel = ToInstance::Parcel(Parcel::Room(Box::new(message)));
                if !self.abroad.as_ref().is_some_and(|abroad| abroad.send(to, parcel)) {
                    self.rooms.behind.insert(to);
                    self.rooms.next_try = self.rooms.next_try.min(self.clock.now() + LOOK);
                }
            }
        }
    }

    fn tell_room(&mut self, told: Told) {
        match told {
            Told::Entered { session, code, id, opened } => {
                self.sessions.set_room(session, Some(code));
                if opened {
                    let room_code = wire::room_code(code);
                    let ack = RoomCreateAck { room_code, room_id: Some(id) };
                    self.sessions.send(session, Outgoing::Text(text!(ToSession, ack)));
                }
            }
            Told::Refused { session, code, why } => {
                if code == RoomErrorCode::RoomNotFound {
                    self.guessed_wrong(session);
                }
                self.refuse_room(session, (code, why));
            }
            Told::Changed(code) => self.membership_changed(code),
            Told::Closed { code, sessions } => {
                let message = Note::cut("nobody spoke for long: the room is closed");
                let expired = RoomExpired { room_code: wire::room_code(code), message };
                let expired = text!(ToSession, expired);
                for session in sessions {
                    self.sessions.send(session, Outgoing::Text(expired.clone()));
                    self.sessions.set_room(session, None);
                    self.speaks_for(session);
                }
            }
        }
    }

    /// All of this instance are told who is there, and speak for whoever is there.
    fn membership_changed(&mut self, code: u32) {
        let listed = text!(ToSession, listed(code, self.rooms.desk.members(code)));
        for member in self.rooms.desk.own(code).collect::<Vec<_>>() {
            self.sessions.send(member, Outgoing::Text(listed.clone()));
            self.speaks_for(member);
        }
    }

    fn speaks_for(&mut self, session: SessionId) {
        let Some(needs) = self.sessions.needs(session) else { return };
        let setup = self.rooms.setup(self.sessions.room(session), session, needs);
        self.handle(Input::SessionSetup(session, setup));
    }

    /// Hands a signal on unread, unless its receiver is elsewhere, reads too slowly, or does not
    /// want to hear the sender; the sender is not told which.
    pub(super) fn relay_signal(&self, signal: Signal) {
        let Signal { from, room, to, .. } = signal;
        let members = self.rooms.desk.members(room);
        let is_in = |session| members.iter().find(|member| member.session == session);
        let (Some(_), Some(receiver)) = (is_in(from), is_in(to)) else { return };
        if receiver.voices.get(&from.0) == Some(&false) {
            return;
        }
        if self.rooms.is_here(to) {
            self.hand_signal(signal);
        } else if let Some(abroad) = &self.abroad {
            abroad.send(home(to), ToInstance::Parcel(Parcel::Signal(Box::new(signal))));
        }
    }

    /// A signal for a member of this instance.
    pub(super) fn hand_signal(&self, Signal { room, to, message, .. }: Signal) {
        if self.sessions.room(to) == Some(room) {
            self.sessions.offer(to, Outgoing::Text(message));
        }
    }

    /// Opens and closes rooms whose time has come, and tells anew what was not told.
    pub(super) fn look_at_rooms(&mut self) {
        let now = self.clock.now();
        if now < self.rooms.next_deadline() && self.rooms.out.is_empty() {
            return;
        }
        self.rooms.tick(now);
        if self.rooms.next_try <= now {
            self.rooms.next_try = Micros::NEVER;
            for to in std::mem::take(&mut self.rooms.behind) {
                // One that is not linked is told when it is.
                if self.abroad.as_ref().is_some_and(|abroad| abroad.linked().contains(&to)) {
                    self.rooms.tell_all(now, to);
                }
            }
        }
        self.settle_rooms();
    }
}

fn listed(code: u32, members: &[Member]) -> RoomMembers {
    let members = members.iter().map(|member| {
        let voices = member.voices.iter();
        let voices = voices.map(|(&of, &hears)| (wire::session_id(SessionId(of)), hears)).collect();
        RoomMember {
            participant_id: member.participant.clone(),
            session_id: wire::session_id(member.session),
            display_name: member.name.clone(),
            preferred_lang: member.preferred.map(wire::language),
            raw_voice_preferences: Map::new(voices).ok().filter(|voices| !voices.is_empty()),
            joined_at: member.joined_at.clone(),
        }
    });
    // An owner of another version may allow more; then only the first are shown.
    let members = members.take(lingua_protocol::limits::ENTRIES).collect();
    let members = List::new(members).expect("no more than may be");
    RoomMembers { room_code: wire::room_code(code), members }
}

type Refused = (RoomErrorCode, String);
