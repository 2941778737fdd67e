//! An instance's part: which of its sessions are in rooms, and who else is there.

use std::collections::{BTreeMap, BTreeSet};

use lingua_core::{InstanceId, Micros, SessionId};
use lingua_protocol::{ParticipantId, RoomErrorCode, RoomId};

use crate::rooms::{Here, Listing, Member, Out, RoomMessage, Wanted, home, shard};

/// How often an owner that does not answer is asked again, and for how long.
const AGAIN: Micros = Micros::millis(250);
const PATIENCE: Micros = Micros::secs(10);

/// The rooms in which this instance has members.
#[derive(Debug)]
pub(crate) struct Desk {
    id: InstanceId,
    // How often an owner is told that a room is not quiet.
    report: Micros,
    owners: BTreeMap<u16, (u64, InstanceId)>,
    rooms: BTreeMap<u32, Seats>,
    asking: BTreeMap<SessionId, Asking>,
}

#[derive(Debug)]
struct Seats {
    listing: Listing,
    // Those of this instance, as it knows better than the owner.
    own: Vec<Member>,
    last_speech: Micros,
    reported: Micros,
}

/// A session that waits to be let in.
#[derive(Debug)]
struct Asking {
    wanted: Wanted,
    member: Member,
    again: Micros,
    until: Micros,
}

/// What sessions are to be told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// The session is in the room.
    Entered { session: SessionId, code: u32, id: RoomId, opened: bool },
    /// It is not.
    Refused { session: SessionId, code: RoomErrorCode, why: String },
    /// These members are in a room in which something has changed.
    Changed(u32),
    /// A room is closed; these sessions were in it.
    Closed { code: u32, sessions: Vec<SessionId> },
}

impl Desk {
    /// `report`: how often an owner is told that a room is not quiet.
    pub(crate) fn new(id: InstanceId, report: Micros) -> Self {
        let (rooms, asking) = (BTreeMap::new(), BTreeMap::new());
        Self { id, report, owners: BTreeMap::new(), rooms, asking }
    }

    /// Who is in a room.
    pub(crate) fn members(&self, code: u32) -> &[Member] {
        self.rooms.get(&code).map_or(&[], |seats| &seats.listing.members)
    }

    /// Which listing of a room is known: its owner's token and the revision.
    #[cfg(test)]
    pub(super) fn listed(&self, code: u32) -> Option<(u64, u64)> {
        let listing = &self.rooms.get(&code)?.listing;
        Some((listing.token, listing.revision))
    }

    /// Who of this instance is in a room.
    pub(crate) fn own(&self, code: u32) -> impl Iterator<Item = SessionId> + '_ {
        let own = self.rooms.get(&code).map_or(&[][..], |seats| &seats.own);
        own.iter().map(|member| member.session)
    }

    /// Whether a session waits to be let in.
    pub(crate) fn is_asking(&self, session: SessionId) -> bool {
        self.asking.contains_key(&session)
    }

    pub(crate) fn next_deadline(&self) -> Micros {
        self.asking.values().map(|asking| asking.again).min().unwrap_or(Micros::NEVER)
    }

    /// A session wants to enter a room.
    pub(crate) fn enter(&mut self, now: Micros, wanted: Wanted, member: Member, out: &mut Out) {
        let session = member.session;
        let (again, until) = (now + AGAIN, now + PATIENCE);
        self.asking.insert(session, Asking { wanted, member, again, until });
        self.ask(session, out);
    }

    fn ask(&self, session: SessionId, out: &mut Out) {
        let Some(Asking { wanted, member, .. }) = self.asking.get(&session) else { return };
        let to = match wanted.shard() {
            Some(shard) => self.owners.get(&shard).map(|(_, owner)| *owner),
            // Here where it may be; else anywhere, but not everywhere.
            None if self.owners.values().any(|(_, owner)| *owner == self.id) => Some(self.id),
            None => {
                let owners: BTreeSet<_> = self.owners.values().map(|(_, owner)| *owner).collect();
                let nth = session.0.checked_rem(owners.len() as u64).unwrap_or(0);
                owners.into_iter().nth(nth as usize)
            }
        };
        if let Some(to) = to {
            out.push((to, RoomMessage::Enter { wanted: *wanted, member: member.clone() }));
        }
    }

    fn owner(&self, code: u32) -> Option<InstanceId> {
        self.owners.get(&shard(code)).map(|(_, owner)| *owner)
    }

    /// A session leaves the room of this code, or does not want to enter one any more.
    pub(crate) fn leave(
        &mut self,
        now: Micros,
        session: SessionId,
        code: Option<u32>,
        out: &mut Out,
    ) {
        self.asking.remove(&session);
        let Some((code, seats)) = code.and_then(|code| Some((code, self.rooms.get_mut(&code)?)))
        else {
            return;
        };
        seats.own.retain(|member| member.session != session);
        let empty = seats.own.is_empty();
        self.say(now, code, out);
        if empty {
            self.rooms.remove(&code);
        }
    }

    /// Whether a member's own voice is heard by another one; tells whether both are there.
    pub(crate) fn prefer(
        &mut self,
        now: Micros,
        code: u32,
        session: SessionId,
        (of, hears): (SessionId, bool),
        out: &mut Out,
    ) -> bool {
        let Some(seats) = self.rooms.get_mut(&code) else { return false };
        if seats.listing.members.iter().all(|member| member.session != of) {
            return false;
        }
        let own = seats.own.iter_mut().find(|member| member.session == session);
        let Some(own) = own else { return false };
        if own.voices.insert(of.0, hears) != Some(hears) {
            self.say(now, code, out);
        }
        true
    }

    /// Somebody speaks in a room.
    pub(crate) fn spoke(&mut self, now: Micros, code: u32, out: &mut Out) {
        let Some(seats) = self.rooms.get_mut(&code) else { return };
        seats.last_speech = now;
        if now - seats.reported >= self.report {
            self.say(now, code, out);
        }
    }

    /// Tells a room's owner who of this instance is there.
    fn say(&mut self, now: Micros, code: u32, out: &mut Out) {
        let Some(&(token, to)) = self.owners.get(&shard(code)) else { return };
        out.extend(self.here(now, code, token).map(|here| (to, RoomMessage::Here(here))));
    }

    fn here(&mut self, now: Micros, code: u32, token: u64) -> Option<Here> {
        let pending = self.pending(code);
        let seats = self.rooms.get_mut(&code)?;
        seats.reported = now;
        Some(Here {
            code,
            id: seats.listing.id.clone(),
            token,
            members: seats.own.clone(),
            pending,
            revision: seats.listing.revision,
            quiet_ms: (now - seats.last_speech).0 / 1_000,
        })
    }

    /// Who may have been let into this room, and has no answer yet.
    fn pending(&self, code: u32) -> Vec<ParticipantId> {
        let may = |wanted: Wanted| matches!(wanted, Wanted::New(_)) || wanted == Wanted::Code(code);
        let asking = self.asking.values().filter(|asking| may(asking.wanted));
        asking.map(|asking| asking.member.participant.clone()).collect()
    }

    /// Tells an owner all that there is to say of its shards.
    pub(crate) fn state(&mut self, now: Micros, to: InstanceId, out: &mut Out) {
        let owned = self.owners.iter().filter(|(_, (_, owner))| *owner == to);
        for shard in owned.map(|(&shard, &(token, _))| (shard, token)).collect::<Vec<_>>() {
            self.state_shard(now, shard, to, out);
        }
    }

    fn state_shard(&mut self, now: Micros, (at, token): (u16, u64), to: InstanceId, out: &mut Out) {
        let codes = self.rooms.keys().copied().filter(|code| shard(*code) == at);
        let codes: Vec<u32> = codes.collect();
        let rooms = codes.into_iter().filter_map(|code| self.here(now, code, token)).collect();
        let asking = self.asking.values();
        let pending = asking.map(|asking| asking.member.participant.clone()).collect();
        out.push((to, RoomMessage::Stated { shard: at, token, rooms, pending }));
    }

    /// An instance says which shards it owns.
    pub(crate) fn hear_owner(
        &mut self,
        now: Micros,
        from: InstanceId,
        shards: &[(u16, u64)],
        out: &mut Out,
    ) {
        for &(shard, token) in shards {
            let known = self.owners.get(&shard);
            if known.is_some_and(|(newest, owner)| (*newest, *owner) >= (token, from)) {
                continue;
            }
            self.owners.insert(shard, (token, from));
            self.state_shard(now, (shard, token), from, out);
        }
    }

    /// An owner tells of a room.
    pub(crate) fn take(
        &mut self,
        now: Micros,
        from: InstanceId,
        message: RoomMessage,
        out: &mut Out,
        told: &mut Vec<Told>,
    ) {
        match message {
            RoomMessage::Granted { session, listing } => {
                if !self.is_of_owner(from, &listing) {
                    return;
                }
                self.close_other(&listing, told);
                // Whoever is not waiting for that may be gone: then the owner is told so.
                let is_for = |asking: &Asking| {
                    let asked = &asking.member.participant;
                    listing.members.iter().any(|member| member.participant == *asked)
                };
                if self.asking.get(&session).is_some_and(is_for)
                    && let Some(Asking { wanted, member, .. }) = self.asking.remove(&session)
                {
                    let opened = matches!(wanted, Wanted::New(_));
                    let (code, id) = (listing.code, listing.id.clone());
                    let seats = self.seats(now, &listing);
                    seats.own.push(member);
                    // The newcomer is told, whatever the others know.
                    seats.listing.members.clear();
                    told.push(Told::Entered { session, code, id, opened });
                }
                self.list(now, listing, out, told);
            }
            RoomMessage::Refused { session, code, why }
                if self.asking.remove(&session).is_some() =>
            {
                told.push(Told::Refused { session, code, why });
            }
            RoomMessage::Members(listings) => {
                for listing in listings {
                    if self.is_of_owner(from, &listing) {
                        self.list(now, listing, out, told);
                    }
                }
            }
            RoomMessage::Closed { code, id } => {
                let known = self.rooms.get(&code).is_some_and(|seats| seats.listing.id == id);
                if known && self.owner(code) == Some(from) {
                    self.close(code, told);
                }
            }
            _ => {}
        }
    }

    fn is_of_owner(&self, from: InstanceId, listing: &Listing) -> bool {
        self.owners.get(&shard(listing.code)) == Some(&(listing.token, from))
    }

    fn close(&mut self, code: u32, told: &mut Vec<Told>) {
        let sessions = self.own(code).collect();
        self.rooms.remove(&code);
        told.push(Told::Closed { code, sessions });
    }

    /// A room of which its owner knows nothing any more: it has given the code to another one.
    fn close_other(&mut self, listing: &Listing, told: &mut Vec<Told>) {
        let known = self.rooms.get(&listing.code);
        if known.is_some_and(|seats| seats.listing.id != listing.id) {
            self.close(listing.code, told);
        }
    }

    fn seats(&mut self, now: Micros, listing: &Listing) -> &mut Seats {
        self.rooms.entry(listing.code).or_insert_with(|| Seats {
            listing: listing.clone(),
            own: Vec::new(),
            last_speech: now,
            reported: now,
        })
    }

    /// Takes a listing. What it says of this instance's own sessions is known better here.
    fn list(&mut self, now: Micros, listing: Listing, out: &mut Out, told: &mut Vec<Told>) {
        self.close_other(&listing, told);
        let code = listing.code;
        let Some(seats) = self.rooms.get_mut(&code) else {
            self.deny(&listing, out);
            return;
        };
        let is_in = |session: u64| listing.members.iter().any(|m| m.session.0 == session);
        for own in &mut seats.own {
            own.voices.retain(|&of, _| is_in(of));
        }
        let listed = |member: &&Member| home(member.session) == self.id;
        let agrees = listing.members.iter().filter(listed).count() == seats.own.len()
            && seats.own.iter().all(|own| listing.members.contains(own));
        let changed = seats.listing.members != listing.members;
        seats.listing = listing;
        if changed {
            told.push(Told::Changed(code));
        }
        if !agrees {
            self.say(now, code, out);
        }
    }

    /// Says that nobody of this instance is in a room.
    fn deny(&self, listing: &Listing, out: &mut Out) {
        let Some(to) = self.owner(listing.code) else { return };
        let nobody = Here {
            code: listing.code,
            id: listing.id.clone(),
            token: listing.token,
            members: Vec::new(),
            pending: self.pending(listing.code),
            revision: listing.revision,
            quiet_ms: u64::MAX,
        };
        out.push((to, RoomMessage::Here(nobody)));
    }

    /// Asks again, or gives up.
    pub(crate) fn tick(&mut self, now: Micros, out: &mut Out, told: &mut Vec<Told>) {
        for (session, _) in self.asking.extract_if(.., |_, asking| asking.until <= now) {
            let why = "the instance that keeps this room does not answer: try again".to_owned();
            told.push(Told::Refused { session, code: RoomErrorCode::InternalError, why });
        }
        let due = self.asking.iter_mut().filter(|(_, asking)| asking.again <= now);
        let due: Vec<SessionId> = due
            .map(|(&session, asking)| {
                asking.again = now + AGAIN;
                session
            })
            .collect();
        for session in due {
            self.ask(session, out);
        }
    }
}
