//! Rooms: who is in them, in which languages, and when they end.

use std::collections::BTreeMap;

use lingua_core::instance::{Input, Setup, TARGETS_MAX};
use lingua_core::{Lang, Micros, Needs, Pair, SessionId};
use lingua_protocol::limits::ENTRIES;
use lingua_protocol::{
    CloseCode, List, Map, Note, ParticipantId, RoomCreateAck, RoomError, RoomErrorCode,
    RoomExpired, RoomId, RoomMember, RoomMembers, ShortText,
};

use crate::clock::rfc3339;
use crate::config::RoomLimits;
use crate::event::{Newcomer, Outgoing, RoomRequest, Signal};
use crate::hub::Hub;
use crate::wire::{self, text};

#[derive(Debug)]
pub(super) struct Rooms {
    limits: RoomLimits,
    rooms: BTreeMap<u32, Room>,
    next_scan: Micros,
}

#[derive(Debug)]
struct Room {
    // In order of entry.
    members: Vec<Member>,
    last_speech: Micros,
}

#[derive(Debug)]
struct Member {
    session: SessionId,
    participant: ParticipantId,
    name: Option<ShortText>,
    preferred: Option<Lang>,
    // Whose own voice it wants or does not want to hear; others it hears.
    voices: BTreeMap<SessionId, bool>,
    joined_at: ShortText,
}

impl Rooms {
    pub(super) fn new(limits: RoomLimits) -> Self {
        Self { limits, rooms: BTreeMap::new(), next_scan: Micros::NEVER }
    }

    pub(super) fn next_scan(&self) -> Micros {
        self.next_scan
    }

    /// The other members who want to hear this language, in order of entry.
    pub(super) fn listeners(&self, room: u32, speaker: SessionId, tgt: Lang) -> Vec<SessionId> {
        let members = self.rooms.get(&room).map_or(&[][..], |room| &room.members);
        let listens = |member: &&Member| member.session != speaker && member.preferred == Some(tgt);
        members.iter().filter(listens).map(|member| member.session).collect()
    }

    /// What an utterance of this speaker needs: a job per distinct language of the other members,
    /// else the speaker's own.
    pub(super) fn setup(&self, room: Option<u32>, speaker: SessionId, own: Needs) -> Setup {
        let members = room.and_then(|room| self.rooms.get(&room)).map_or(&[][..], |r| &r.members);
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

    pub(super) fn spoke(&mut self, room: Option<u32>, now: Micros) {
        if let Some(room) = room.and_then(|room| self.rooms.get_mut(&room)) {
            room.last_speech = now;
        }
    }

    /// The first free code from `start` on.
    fn free_code(&self, start: u32) -> Option<u32> {
        let (lowest, count) = wire::ROOM_CODES;
        let full = self.rooms.len() >= self.limits.rooms.min(count as usize / 2);
        let mut codes = (0..count).map(|n| lowest + (start + n) % count);
        if full { None } else { codes.find(|code| !self.rooms.contains_key(code)) }
    }
}

impl Room {
    fn has_place_for(&self, newcomer: &Newcomer, limits: &RoomLimits) -> Result<(), String> {
        let most = limits.members.min(ENTRIES);
        if self.members.len() >= most {
            return Err(format!("the room has {most} members, which is the limit"));
        }
        let mut languages: Vec<_> = self.members.iter().filter_map(|m| m.preferred).collect();
        languages.sort_unstable();
        languages.dedup();
        match newcomer.preferred {
            Some(wanted) if languages.len() >= TARGETS_MAX && !languages.contains(&wanted) => {
                Err(format!("the room hears {TARGETS_MAX} languages, which is the limit"))
            }
            _ => Ok(()),
        }
    }

    fn listed(&self, code: u32) -> RoomMembers {
        let members = self.members.iter().map(|member| {
            let voices = member.voices.iter();
            let voices = voices.map(|(&of, &hears)| (wire::session_id(of), hears)).collect();
            RoomMember {
                participant_id: member.participant.clone(),
                session_id: wire::session_id(member.session),
                display_name: member.name.clone(),
                preferred_lang: member.preferred.map(wire::language),
                raw_voice_preferences: Map::new(voices).ok().filter(|voices| !voices.is_empty()),
                joined_at: member.joined_at.clone(),
            }
        });
        let members = List::new(members.collect()).expect("a room has fewer members");
        RoomMembers { room_code: wire::room_code(code), members }
    }
}

impl Hub {
    pub(super) fn take_room_request(&mut self, session: SessionId, request: RoomRequest) {
        let done = match request {
            RoomRequest::Create(newcomer) => self.create_room(session, newcomer),
            RoomRequest::Join(code, newcomer) => self.join_room(session, code, newcomer),
            RoomRequest::Leave(code) => self.leave_room(session, code),
            RoomRequest::Voice { room, of, hears } => self.prefer_voice(session, room, of, hears),
        };
        if let Err((code, message)) = done {
            let error = RoomError { code, message: Some(Note::cut(&message)) };
            self.sessions.send(session, Outgoing::Text(text!(ToSession, error)));
        }
    }

    fn create_room(&mut self, session: SessionId, newcomer: Newcomer) -> Result<(), Refused> {
        self.is_in_no_room(session)?;
        let start = self.words.below(wire::ROOM_CODES.1);
        let code = self.rooms.free_code(start).ok_or_else(|| {
            let message = "as many rooms are open as are allowed: try again later";
            (RoomErrorCode::InternalError, message.to_owned())
        })?;
        let room_id = RoomId::new(&self.words.uuid()).ok();
        let now = self.clock.now();
        self.rooms.rooms.insert(code, Room { members: Vec::new(), last_speech: now });
        let scan = Micros(self.rooms.limits.scan.as_micros() as u64);
        self.rooms.next_scan = self.rooms.next_scan.min(now + scan);
        let ack = RoomCreateAck { room_code: wire::room_code(code), room_id };
        self.sessions.send(session, Outgoing::Text(text!(ToSession, ack)));
        self.enter(session, code, newcomer);
        Ok(())
    }

    fn join_room(
        &mut self,
        session: SessionId,
        code: Option<u32>,
        newcomer: Newcomer,
    ) -> Result<(), Refused> {
        self.is_in_no_room(session)?;
        let room = code.and_then(|code| Some((code, self.rooms.rooms.get(&code)?)));
        let Some((code, room)) = room else {
            // Whoever tries codes by the thousand is guessing.
            if self.sessions.guessed_wrong(session) > self.rooms.limits.wrong_codes {
                self.sessions.send(session, Outgoing::Close(CloseCode::PolicyViolation));
            }
            let message = "no room has this code: ask a member for it".to_owned();
            return Err((RoomErrorCode::RoomNotFound, message));
        };
        room.has_place_for(&newcomer, &self.rooms.limits)
            .map_err(|message| (RoomErrorCode::InternalError, message))?;
        self.enter(session, code, newcomer);
        Ok(())
    }

    fn is_in_no_room(&self, session: SessionId) -> Result<(), Refused> {
        match self.sessions.room(session) {
            Some(code) => {
                let message = format!("the session is in room {code}: leave it first");
                Err((RoomErrorCode::AlreadyInRoom, message))
            }
            None => Ok(()),
        }
    }

    fn enter(&mut self, session: SessionId, code: u32, newcomer: Newcomer) {
        let participant = ParticipantId::new(&self.words.uuid()).expect("a UUID is allowed");
        let Some(room) = self.rooms.rooms.get_mut(&code) else { return };
        room.members.push(Member {
            session,
            participant,
            name: newcomer.name,
            preferred: newcomer.preferred,
            voices: BTreeMap::new(),
            joined_at: ShortText::cut(&rfc3339()),
        });
        self.sessions.set_room(session, Some(code));
        self.membership_changed(code);
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
        let Some(code) = self.sessions.room(session) else { return };
        let Some(room) = self.rooms.rooms.get_mut(&code) else { return };
        room.members.retain(|member| member.session != session);
        for member in &mut room.members {
            member.voices.remove(&session);
        }
        if room.members.is_empty() {
            self.rooms.rooms.remove(&code);
        } else {
            self.membership_changed(code);
        }
    }

    fn prefer_voice(
        &mut self,
        session: SessionId,
        code: Option<u32>,
        of: Option<SessionId>,
        hears: bool,
    ) -> Result<(), Refused> {
        let code = self.is_in(session, code)?;
        let room = self.rooms.rooms.get_mut(&code);
        let member = room.and_then(|room| {
            let of = of.filter(|of| room.members.iter().any(|member| member.session == *of))?;
            let own = room.members.iter_mut().find(|member| member.session == session)?;
            Some((own, of))
        });
        let Some((member, of)) = member else {
            let message = "target_session_id is not in the room".to_owned();
            return Err((RoomErrorCode::InternalError, message));
        };
        if member.voices.insert(of, hears) != Some(hears) {
            self.list_members(code);
        }
        Ok(())
    }

    fn is_in(&self, session: SessionId, code: Option<u32>) -> Result<u32, Refused> {
        code.filter(|_| code == self.sessions.room(session)).ok_or_else(|| {
            let message = "the session is not in a room of this code".to_owned();
            (RoomErrorCode::RoomNotFound, message)
        })
    }

    /// All are told who is there, and speak for whoever is there.
    fn membership_changed(&mut self, code: u32) {
        self.list_members(code);
        let Some(room) = self.rooms.rooms.get(&code) else { return };
        let members: Vec<_> = room.members.iter().map(|member| member.session).collect();
        for member in members {
            self.speaks_for(member);
        }
    }

    fn list_members(&self, code: u32) {
        let Some(room) = self.rooms.rooms.get(&code) else { return };
        let listed = text!(ToSession, room.listed(code));
        for member in &room.members {
            self.sessions.send(member.session, Outgoing::Text(listed.clone()));
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
        let Signal { from, room, to, message } = signal;
        let members = self.rooms.rooms.get(&room).map_or(&[][..], |room| &room.members);
        let is_in = |session| members.iter().find(|member| member.session == session);
        if let (Some(_), Some(receiver)) = (is_in(from), is_in(to))
            && receiver.voices.get(&from) != Some(&false)
        {
            self.sessions.offer(to, Outgoing::Text(message));
        }
    }

    /// Closes the rooms in which nobody spoke for long.
    pub(super) fn expire_rooms(&mut self) {
        let now = self.clock.now();
        let micros = |span: std::time::Duration| Micros(span.as_micros() as u64);
        let (idle, scan) = (micros(self.rooms.limits.idle), micros(self.rooms.limits.scan));
        let quiet = self.rooms.rooms.iter().filter(|(_, room)| now - room.last_speech >= idle);
        let quiet: Vec<u32> = quiet.map(|(&code, _)| code).collect();
        for code in quiet {
            let Some(room) = self.rooms.rooms.remove(&code) else { continue };
            let message = Note::cut("nobody spoke for long: the room is closed");
            let expired = RoomExpired { room_code: wire::room_code(code), message };
            let expired = text!(ToSession, expired);
            for member in room.members {
                self.sessions.send(member.session, Outgoing::Text(expired.clone()));
                self.sessions.set_room(member.session, None);
                self.speaks_for(member.session);
            }
        }
        self.rooms.next_scan = if self.rooms.rooms.is_empty() { Micros::NEVER } else { now + scan };
    }
}

type Refused = (RoomErrorCode, String);
