//! The owner's part: who is in each room of the shards that this instance owns.

use std::collections::{BTreeMap, BTreeSet};

use lingua_core::{InstanceId, Micros, SessionId};
use lingua_protocol::{ParticipantId, RoomErrorCode, RoomId};

use crate::config::RoomLimits;
use crate::rooms::room::{Room, has_place};
use crate::rooms::{Here, Listing, Member, Out, RoomMessage, SHARDS, Wanted, home, shard};
use crate::wire;

/// Longest wait for what all instances say of a shard that has just come; whoever says nothing has
/// no members there until it does.
const SETTLE: Micros = Micros::secs(3);

/// The rooms of the shards that are owned here.
#[derive(Debug)]
pub(crate) struct Book {
    limits: RoomLimits,
    shards: BTreeMap<u16, Shard>,
    // From then on another instance may own them.
    until: Micros,
    rooms: BTreeMap<u32, Room>,
    members: BTreeMap<SessionId, u32>,
    // Not later than the first shard opens that still waits.
    next_open: Micros,
    next_scan: Micros,
}

#[derive(Debug)]
struct Shard {
    token: u64,
    // Who has not yet said whom it has there. Until all have, nobody is told anything.
    awaited: BTreeSet<InstanceId>,
    opens: Micros,
}

impl Book {
    pub(crate) fn new(limits: RoomLimits) -> Self {
        Self {
            limits,
            shards: BTreeMap::new(),
            until: Micros::ZERO,
            rooms: BTreeMap::new(),
            members: BTreeMap::new(),
            next_open: Micros::NEVER,
            next_scan: Micros::NEVER,
        }
    }

    /// Owns these shards, by these tokens, until then; `others` are asked about those that are new.
    pub(crate) fn hold(
        &mut self,
        now: Micros,
        held: &[(u16, u64)],
        until: Micros,
        others: &BTreeSet<InstanceId>,
    ) {
        self.until = until;
        let lost = |shard: u16, token: u64| !held.contains(&(shard, token));
        let gone = self.shards.extract_if(.., |&shard, held| lost(shard, held.token));
        let gone: BTreeSet<u16> = gone.map(|(shard, _)| shard).collect();
        let rooms = self.rooms.extract_if(.., |&code, _| gone.contains(&shard(code)));
        for (_, room) in rooms {
            for member in room.members {
                self.members.remove(&member.session);
            }
        }
        for &(shard, token) in held {
            if !others.is_empty() && !self.shards.contains_key(&shard) {
                self.next_open = self.next_open.min(now + SETTLE);
            }
            self.shards.entry(shard).or_insert_with(|| Shard {
                token,
                awaited: others.clone(),
                opens: now + SETTLE,
            });
        }
    }

    /// The shards with their tokens.
    pub(crate) fn shards(&self) -> Vec<(u16, u64)> {
        self.shards.iter().map(|(&shard, held)| (shard, held.token)).collect()
    }

    /// How many rooms are owned here.
    pub(crate) fn len(&self) -> usize {
        self.rooms.len()
    }

    /// Whether a new room may be opened here: in this shard, or in any.
    fn is_open(&self, now: Micros, within: Option<u16>) -> bool {
        let mut shards = self.shards.keys().filter(|shard| within.is_none_or(|w| w == **shard));
        shards.any(|&shard| self.token(now, shard).is_some())
    }

    pub(crate) fn next_deadline(&self) -> Micros {
        self.next_open.min(self.next_scan)
    }

    fn owns(&self, shard: u16, token: u64) -> bool {
        self.shards.get(&shard).is_some_and(|held| held.token == token)
    }

    /// The token of a shard that is owned here, and about which all have spoken.
    fn token(&self, now: Micros, shard: u16) -> Option<u64> {
        let shard = self.shards.get(&shard).filter(|shard| shard.awaited.is_empty())?;
        (now < self.until).then_some(shard.token)
    }

    /// A session wants to enter. `start` is a random number: where to look for a free code.
    pub(crate) fn enter(
        &mut self,
        now: Micros,
        wanted: Wanted,
        member: Member,
        start: u32,
        out: &mut Out,
    ) {
        let (session, to) = (member.session, home(member.session));
        let refuse = |code, why| RoomMessage::Refused { session, code, why };
        // The reply may have been lost.
        let is_in = self.is_in(now, &member, out);
        let at = match (is_in, wanted) {
            (Some(at), _) | (None, Wanted::Code(at)) => at,
            // It may be about to be this instance's.
            (None, Wanted::New(shard)) if !self.is_open(now, shard) => return,
            (None, Wanted::New(shard)) => match self.free_code(now, shard, start) {
                Some(at) => {
                    // The first member's name will do: no other room has it.
                    let id = RoomId::new(member.participant.as_str()).expect("as strict a name");
                    self.rooms.insert(at, Room::new(id, now));
                    let scan = Micros(self.limits.scan.as_micros() as u64);
                    self.next_scan = self.next_scan.min(now + scan);
                    at
                }
                None => {
                    let why = "as many rooms are open as are allowed: try again later";
                    out.push((to, refuse(RoomErrorCode::InternalError, why.to_owned())));
                    return;
                }
            },
        };
        // Nothing is said of a shard that others have to speak of first: the session asks again.
        let Some(token) = self.token(now, shard(at)) else { return };
        let Some(room) = self.rooms.get_mut(&at) else {
            let why = "no room has this code: ask a member for it".to_owned();
            out.push((to, refuse(RoomErrorCode::RoomNotFound, why)));
            return;
        };
        if is_in.is_none() {
            if let Err(why) = has_place(&room.members, &member, &self.limits) {
                out.push((to, refuse(RoomErrorCode::InternalError, why)));
                return;
            }
            room.members.push(member);
            room.revision += 1;
            self.members.insert(session, at);
        }
        let listing = self.rooms[&at].listing(at, token);
        out.push((to, RoomMessage::Granted { session, listing }));
        if is_in.is_none() {
            self.tell(now, at, Some(to), out);
        }
    }

    /// The room in which a newcomer is already. Where its session was before, it is not any more.
    fn is_in(&mut self, now: Micros, newcomer: &Member, out: &mut Out) -> Option<u32> {
        let at = *self.members.get(&newcomer.session)?;
        let room = self.rooms.get(&at)?;
        let is_it = |member: &Member| member.participant == newcomer.participant;
        if room.members.iter().any(is_it) {
            return Some(at);
        }
        let from = home(newcomer.session);
        let stay = room.members.iter().filter(|member| home(member.session) == from);
        let stay = stay.filter(|member| member.session != newcomer.session).cloned().collect();
        if self.put(at, from, stay) {
            self.tell(now, at, None, out);
        }
        None
    }

    /// An instance says which of its sessions are in a room.
    pub(crate) fn hear(&mut self, now: Micros, from: InstanceId, here: Here, out: &mut Out) {
        let Here { code, id, token, members, pending, revision, quiet_ms } = here;
        let own = |member: &Member| home(member.session) == from;
        if !self.owns(shard(code), token) || !members.iter().all(own) {
            return;
        }
        let spoke = Micros(now.0.saturating_sub(quiet_ms.saturating_mul(1_000)));
        match self.rooms.get_mut(&code) {
            Some(room) if room.id != id => {
                out.push((from, RoomMessage::Closed { code, id }));
                return;
            }
            Some(room) => room.last_speech = room.last_speech.max(spoke),
            None if members.is_empty() => return,
            None => {
                self.rooms.insert(code, Room::new(id, spoke));
                let scan = Micros(self.limits.scan.as_micros() as u64);
                self.next_scan = self.next_scan.min(now + scan);
            }
        }
        let stay = self.grant_again(now, code, from, &pending, out);
        let said: Vec<Member> = members.into_iter().chain(stay).collect();
        let nobody = said.is_empty();
        if self.put(code, from, said) {
            self.tell(now, code, None, out);
            // Where what it said is old, it says so.
            if nobody
                && let Some(token) = self.token(now, shard(code))
                && let Some(room) = self.rooms.get(&code)
            {
                out.push((from, RoomMessage::Members(vec![room.listing(code, token)])));
            }
        } else if let Some(token) = self.token(now, shard(code))
            && let Some(room) = self.rooms.get(&code)
            && room.revision != revision
            && !nobody
        {
            out.push((from, RoomMessage::Members(vec![room.listing(code, token)])));
        }
    }

    /// An instance has said all that it has to say of a shard.
    pub(crate) fn stated(
        &mut self,
        now: Micros,
        from: InstanceId,
        (at, token): (u16, u64),
        (rooms, pending): (Vec<Here>, &[ParticipantId]),
        out: &mut Out,
    ) {
        if !self.owns(at, token) {
            return;
        }
        let named: BTreeSet<u32> = rooms.iter().map(|here| here.code).collect();
        for here in rooms {
            self.hear(now, from, here, out);
        }
        let others = self.rooms.keys().filter(|code| shard(**code) == at && !named.contains(code));
        for code in others.copied().collect::<Vec<_>>() {
            let stay = self.grant_again(now, code, from, pending, out);
            if self.put(code, from, stay) {
                self.tell(now, code, None, out);
            }
        }
        let Some(held) = self.shards.get_mut(&at) else { return };
        if held.awaited.remove(&from) && held.awaited.is_empty() {
            self.open(now, at, out);
        }
    }

    /// An instance is gone, and all its sessions.
    pub(crate) fn lose(&mut self, now: Micros, gone: InstanceId, out: &mut Out) {
        for code in self.rooms.keys().copied().collect::<Vec<_>>() {
            if self.put(code, gone, Vec::new()) {
                self.tell(now, code, None, out);
            }
        }
        for at in self.shards.keys().copied().collect::<Vec<_>>() {
            let Some(held) = self.shards.get_mut(&at) else { continue };
            if held.awaited.remove(&gone) && held.awaited.is_empty() {
                self.open(now, at, out);
            }
        }
    }

    /// Tells an instance again of all rooms in which it has members.
    pub(crate) fn tell_again(&self, now: Micros, to: InstanceId, out: &mut Out) {
        for &at in self.shards.keys() {
            let listings = self.listings(now, at, |instance| instance == to);
            out.extend(listings.into_iter().map(|(to, all)| (to, RoomMessage::Members(all))));
        }
    }

    /// Opens shards that have waited long enough, and closes rooms in which nobody spoke for long.
    pub(crate) fn tick(&mut self, now: Micros, out: &mut Out) {
        if self.next_open <= now {
            let waiting = self.shards.iter_mut().filter(|(_, held)| !held.awaited.is_empty());
            let (mut late, mut next) = (Vec::new(), Micros::NEVER);
            for (&shard, held) in waiting {
                if held.opens <= now {
                    held.awaited.clear();
                    late.push(shard);
                } else {
                    next = next.min(held.opens);
                }
            }
            self.next_open = next;
            for shard in late {
                self.open(now, shard, out);
            }
        }
        if now < self.next_scan {
            return;
        }
        let micros = |span: std::time::Duration| Micros(span.as_micros() as u64);
        let (idle, scan) = (micros(self.limits.idle), micros(self.limits.scan));
        let quiet = |room: &Room| now - room.last_speech >= idle;
        let quiet = self.rooms.iter().filter(|(_, room)| quiet(room)).map(|(&code, _)| code);
        for code in quiet.collect::<Vec<_>>() {
            if self.token(now, shard(code)).is_none() {
                continue;
            }
            let Some(room) = self.rooms.remove(&code) else { continue };
            for instance in room.instances() {
                let id = room.id.clone();
                out.push((instance, RoomMessage::Closed { code, id }));
            }
            for member in room.members {
                self.members.remove(&member.session);
            }
        }
        self.next_scan = if self.rooms.is_empty() { Micros::NEVER } else { now + scan };
    }

    /// All have spoken of a shard: its rooms are as they are now.
    fn open(&mut self, now: Micros, at: u16, out: &mut Out) {
        let rooms = self.rooms.iter_mut().filter(|(code, _)| shard(**code) == at);
        for (_, room) in rooms {
            room.members.sort_by(|one, other| one.joined_at.cmp(&other.joined_at));
            room.revision += 1;
        }
        let listings = self.listings(now, at, |_| true);
        out.extend(listings.into_iter().map(|(to, all)| (to, RoomMessage::Members(all))));
    }

    /// The rooms of a shard, for each of these instances those in which it has members.
    fn listings(
        &self,
        now: Micros,
        at: u16,
        wanted: impl Fn(InstanceId) -> bool,
    ) -> BTreeMap<InstanceId, Vec<Listing>> {
        let mut all: BTreeMap<InstanceId, Vec<Listing>> = BTreeMap::new();
        let Some(token) = self.token(now, at) else { return all };
        for (&code, room) in self.rooms.iter().filter(|(code, _)| shard(**code) == at) {
            for to in room.instances().into_iter().filter(|to| wanted(*to)) {
                all.entry(to).or_default().push(room.listing(code, token));
            }
        }
        all
    }

    /// Members of an instance that have been let in and have not heard of it: they are told again.
    fn grant_again(
        &self,
        now: Micros,
        code: u32,
        from: InstanceId,
        pending: &[ParticipantId],
        out: &mut Out,
    ) -> Vec<Member> {
        let Some(room) = self.rooms.get(&code) else { return Vec::new() };
        let stay = room.members.iter().filter(|member| home(member.session) == from);
        let stay = stay.filter(|member| pending.contains(&member.participant));
        let stay: Vec<Member> = stay.cloned().collect();
        if let Some(token) = self.token(now, shard(code)) {
            out.extend(stay.iter().map(|member| {
                let (session, listing) = (member.session, room.listing(code, token));
                (from, RoomMessage::Granted { session, listing })
            }));
        }
        stay
    }

    /// Puts the members of one instance in place of those that it had; tells whether that changed
    /// anything. An empty room is no more.
    fn put(&mut self, code: u32, from: InstanceId, said: Vec<Member>) -> bool {
        let Some(room) = self.rooms.get_mut(&code) else { return false };
        let Some(before) = room.put(from, said) else { return false };
        for member in &before {
            if self.members.get(&member.session) == Some(&code) {
                self.members.remove(&member.session);
            }
        }
        for member in &room.members {
            self.members.insert(member.session, code);
        }
        if room.members.is_empty() {
            self.rooms.remove(&code);
        }
        true
    }

    /// Tells all instances with members in a room who is there.
    fn tell(&self, now: Micros, code: u32, except: Option<InstanceId>, out: &mut Out) {
        let Some(token) = self.token(now, shard(code)) else { return };
        let Some(room) = self.rooms.get(&code) else { return };
        let to = room.instances().into_iter().filter(|instance| Some(*instance) != except);
        out.extend(to.map(|to| (to, RoomMessage::Members(vec![room.listing(code, token)]))));
    }

    /// The first free code from `start` on, of a shard that is owned here. Half of the codes stay
    /// free, so that one is hard to guess.
    fn free_code(&self, now: Micros, within: Option<u16>, start: u32) -> Option<u32> {
        let (lowest, count) = wire::ROOM_CODES;
        let owned = (0..SHARDS).filter(|&shard| within.is_none_or(|within| within == shard));
        let owned: BTreeSet<u16> =
            owned.filter(|&shard| self.token(now, shard).is_some()).collect();
        let half = count as usize / 2 * owned.len() / usize::from(SHARDS);
        let there = self.rooms.keys().filter(|code| owned.contains(&shard(**code))).count();
        if self.rooms.len() >= self.limits.rooms || there >= half {
            return None;
        }
        let mut codes = (0..count).map(|n| lowest + (start + n) % count);
        codes.find(|code| owned.contains(&shard(*code)) && !self.rooms.contains_key(code))
    }
}
