//! Instances that share rooms over links that break, while shards change their owners.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use lingua_core::{InstanceId, Micros, SessionId};
use lingua_protocol::{ParticipantId, RoomErrorCode, RoomId, ShortText};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::*;
use crate::config::RoomLimits;

const INSTANCES: u16 = 3;
const SEEDS: u64 = 150;
const STEPS: u32 = 2_000;
const STEP: Micros = Micros::millis(10);
/// A few of them, and an owner waits no longer.
const LEAP: Micros = Micros::secs(1);
/// Longer than an owner waits, and than a session asks.
const QUIET: Micros = Micros::secs(12);
/// Messages after which nobody has anything new to say, by far.
const SETTLED: u32 = 100_000;

struct Instance {
    rooms: Rooms,
    // Which room each session is in, as its client was told.
    sessions: BTreeMap<SessionId, (u32, RoomId)>,
    // Those that wait to be let in, and those that are in none.
    asking: BTreeSet<SessionId>,
    idle: Vec<SessionId>,
}

struct World {
    chance: ChaCha8Rng,
    now: Micros,
    instances: Vec<Instance>,
    // In order from one to another.
    links: BTreeMap<(u16, u16), VecDeque<RoomMessage>>,
    owners: BTreeMap<u16, (u16, u64)>,
    token: u64,
    next_session: u64,
    refusals: BTreeMap<&'static str, u32>,
    // Which listing each session was let in by: its owner's token and the revision.
    entered: BTreeMap<SessionId, Option<(u64, u64)>>,
}

impl World {
    fn new(seed: u64) -> Self {
        let limits = RoomLimits { members: 6, ..RoomLimits::default() };
        let instance = |id| Instance {
            rooms: Rooms::new(InstanceId(id), limits, false),
            sessions: BTreeMap::new(),
            asking: BTreeSet::new(),
            idle: Vec::new(),
        };
        Self {
            chance: ChaCha8Rng::seed_from_u64(seed),
            now: Micros::ZERO,
            instances: (0..INSTANCES).map(instance).collect(),
            links: BTreeMap::new(),
            owners: BTreeMap::new(),
            token: 0,
            next_session: 1,
            refusals: BTreeMap::new(),
            entered: BTreeMap::new(),
        }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.chance.next_u64() % n
    }

    /// Gives all shards of a few to an instance.
    fn give(&mut self, to: u16, shards: &[u16]) {
        self.token += 1;
        for &shard in shards {
            self.owners.insert(shard, (to, self.token));
        }
        self.tell_owners();
    }

    /// Whoever owns shards hears so, in a random order: a former owner may hear last.
    fn tell_owners(&mut self) {
        let first = self.below(u64::from(INSTANCES)) as u16;
        for n in 0..INSTANCES {
            self.hold((first + n) % INSTANCES);
        }
    }

    fn hold(&mut self, id: u16) {
        let own = self.owners.iter().filter(|(_, (owner, _))| *owner == id);
        let own: Vec<_> = own.map(|(&shard, &(_, token))| (shard, token)).collect();
        let others = (0..INSTANCES).filter(|other| *other != id).map(InstanceId);
        let others: BTreeSet<_> = others.collect();
        self.instances[usize::from(id)].rooms.hold(self.now, &own, Micros::NEVER, &others);
        self.settle_at(id);
    }

    /// Sends and tells what waits at an instance.
    fn settle_at(&mut self, id: u16) {
        let rooms = &mut self.instances[usize::from(id)].rooms;
        let (told, out) = (std::mem::take(&mut rooms.told), std::mem::take(&mut rooms.out));
        self.told(id, told);
        self.send(id, out);
    }

    fn send(&mut self, from: u16, out: Out) {
        for (to, message) in out {
            if to.0 == from {
                self.take(from, from, message);
            } else {
                // As it comes over the wire.
                let text = serde_json::to_string(&message).unwrap();
                let message = serde_json::from_str(&text).unwrap();
                self.links.entry((from, to.0)).or_default().push_back(message);
            }
        }
    }

    fn take(&mut self, at: u16, from: u16, message: RoomMessage) {
        // So few that one code is given to several rooms in a row.
        let start = self.chance.next_u32() % 100;
        let rooms = &mut self.instances[usize::from(at)].rooms;
        rooms.take(self.now, InstanceId(from), message, start);
        self.settle_at(at);
    }

    fn told(&mut self, at: u16, told: Vec<Told>) {
        let Instance { rooms, sessions, asking, idle } = &mut self.instances[usize::from(at)];
        for told in told {
            match told {
                Told::Entered { session, code, id, .. } => {
                    assert_eq!(sessions.insert(session, (code, id)), None, "in one room at a time");
                    assert!(asking.remove(&session), "only who has asked is let in");
                    self.entered.insert(session, rooms.desk.listed(code));
                }
                Told::Refused { session, code, .. } => {
                    assert!(asking.remove(&session), "only who has asked is refused");
                    idle.push(session);
                    let name = if code == RoomErrorCode::RoomNotFound { "unknown" } else { "else" };
                    *self.refusals.entry(name).or_default() += 1;
                }
                Told::Closed { sessions: gone, .. } => {
                    for session in gone {
                        sessions.remove(&session);
                        idle.push(session);
                    }
                }
                Told::Changed(_) => {}
            }
        }
    }

    /// A random message arrives.
    fn deliver(&mut self) {
        let full = self.links.iter().filter(|(_, queue)| !queue.is_empty());
        let full: Vec<_> = full.map(|(&link, _)| link).collect();
        if full.is_empty() {
            return;
        }
        let link = full[self.below(full.len() as u64) as usize];
        let message = self.links.get_mut(&link).and_then(VecDeque::pop_front).unwrap();
        self.take(link.1, link.0, message);
    }

    /// A link loses all that is on its way, and is there again.
    fn break_link(&mut self, from: u16, to: u16) {
        self.links.remove(&(from, to));
        self.instances[usize::from(from)].rooms.tell_all(self.now, InstanceId(to));
        self.settle_at(from);
    }

    fn tick(&mut self, step: Micros) {
        self.now = self.now + step;
        for at in 0..INSTANCES {
            self.instances[usize::from(at)].rooms.tick(self.now);
            self.settle_at(at);
        }
    }

    /// Somebody comes, goes, or mutes somebody.
    fn client(&mut self) {
        let at = self.below(u64::from(INSTANCES)) as u16;
        let known: Vec<u32> =
            self.instances.iter().flat_map(|i| i.sessions.values().map(|at| at.0)).collect();
        let own: Vec<_> = self.instances[usize::from(at)]
            .sessions
            .iter()
            .map(|(&session, (code, _))| (session, *code))
            .collect();
        let choice = self.below(12);
        let pick = self.chance.next_u64() as usize;
        let now = self.now;
        let Instance { rooms, sessions, asking, idle } = &mut self.instances[usize::from(at)];
        let Rooms { desk, out, .. } = rooms;
        match choice {
            0..=5 => {
                // Some come a second time.
                let new = SessionId(u64::from(at) << 32 | self.next_session);
                let again = pick.is_multiple_of(3).then(|| idle.pop()).flatten();
                let session = again.unwrap_or(new);
                asking.insert(session);
                let name = format!("p{}", self.next_session);
                self.next_session += 1;
                let member = Member {
                    session,
                    participant: ParticipantId::new(&name).unwrap(),
                    name: None,
                    preferred: Some(["zh", "en", "ja"][pick % 3].parse().unwrap()),
                    voices: BTreeMap::new(),
                    joined_at: ShortText::cut(&format!("{:012}", now.0)),
                };
                let wanted = match known.get(pick % known.len().max(1)) {
                    Some(&code) if choice > 1 => Wanted::Code(code),
                    _ if choice == 5 => Wanted::Code(100_000),
                    _ if choice == 1 => Wanted::New(Some(pick as u16 % SHARDS)),
                    _ => Wanted::New(None),
                };
                desk.enter(now, wanted, member, out);
            }
            6..=7 if !own.is_empty() => {
                let (session, code) = own[pick % own.len()];
                desk.leave(now, session, Some(code), out);
                sessions.remove(&session);
                idle.push(session);
            }
            8 if !own.is_empty() => {
                let (session, code) = own[pick % own.len()];
                let others: Vec<_> = desk.members(code).iter().map(|m| m.session).collect();
                if let Some(&of) = others.get(pick % others.len().max(1)) {
                    desk.prefer(now, code, session, (of, pick.is_multiple_of(2)), out);
                }
            }
            // Who waits goes away.
            9 => {
                if let Some(&session) = asking.iter().nth(pick % asking.len().max(1)) {
                    asking.remove(&session);
                    desk.leave(now, session, None, out);
                    idle.push(session);
                }
            }
            _ => {}
        }
        self.settle_at(at);
    }

    fn settle(&mut self) {
        let until = self.now + QUIET;
        while self.now < until {
            let mut left = SETTLED;
            while self.links.values().any(|queue| !queue.is_empty()) {
                self.deliver();
                left -= 1;
                assert!(left > 0, "instances never stop telling each other: {:?}", self.links);
            }
            self.tick(STEP);
        }
    }

    /// All see the same rooms, with whoever is there and nobody else.
    fn assert_agreed(&self, seed: u64) {
        let mut there: BTreeMap<u32, (&RoomId, BTreeSet<SessionId>)> = BTreeMap::new();
        for instance in &self.instances {
            for (&session, (code, id)) in &instance.sessions {
                let (known, members) = there.entry(*code).or_insert((id, BTreeSet::new()));
                assert_eq!(id, *known, "seed {seed}: one room to a code");
                members.insert(session);
            }
        }
        for (&code, (_, members)) in &there {
            for (at, instance) in self.instances.iter().enumerate() {
                let here = instance.rooms.desk.own(code).count();
                let listed = instance.rooms.desk.members(code).iter().map(|member| member.session);
                let listed: Vec<_> = listed.collect();
                let set: BTreeSet<_> = listed.iter().copied().collect();
                assert_eq!(listed.len(), set.len(), "seed {seed}: listed once");
                if here > 0 {
                    assert_eq!(&set, members, "seed {seed}: room {code} as instance {at} sees it");
                }
            }
        }
    }

    /// Whoever was listed at another instance, and has not left, is listed still.
    fn assert_nobody_missed(&self, seen: &mut BTreeSet<(usize, u32, SessionId)>, seed: u64) {
        for (at, instance) in self.instances.iter().enumerate() {
            let codes: BTreeSet<u32> = instance.sessions.values().map(|at| at.0).collect();
            seen.retain(|&(by, code, session)| {
                let there = &self.instances[usize::from(home(session).0)].sessions;
                let is_there = there.get(&session).is_some_and(|at| at.0 == code);
                let stays = by != at || (codes.contains(&code) && is_there);
                let mut listed = instance.rooms.desk.members(code).iter();
                assert!(
                    by != at || !stays || listed.any(|member| member.session == session),
                    "seed {seed}: {session:?} is missed in {code} at {at}"
                );
                stays
            });
            for code in codes {
                for Member { session, .. } in instance.rooms.desk.members(code) {
                    // Not yet where it is let in a second time, by a newer owner.
                    let there = &self.instances[usize::from(home(*session).0)].sessions;
                    let since = self.entered.get(session);
                    let heard = since.is_some_and(|at| instance.rooms.desk.listed(code) >= *at);
                    if heard && there.get(session).is_some_and(|at| at.0 == code) {
                        seen.insert((at, code, *session));
                    }
                }
            }
        }
    }
}

fn play(seed: u64, links_break: bool) -> World {
    let mut world = World::new(seed);
    let all: Vec<u16> = (0..SHARDS).collect();
    world.give(0, &all);
    let mut seen = BTreeSet::new();
    // Messages pile up in some plays.
    let pace = 2 + seed % 3;
    for _ in 0..STEPS {
        match world.below(100) {
            0..=9 => world.client(),
            10..=11 => {
                let to = world.below(u64::from(INSTANCES)) as u16;
                let from = world.below(u64::from(SHARDS)) as u16;
                world.give(to, &all[usize::from(from)..]);
            }
            12 if links_break => {
                let (from, to) = (world.below(3) as u16, world.below(3) as u16);
                if from != to {
                    world.break_link(from, to);
                }
            }
            13..=20 => {
                let leaps = links_break && world.below(15) == 0;
                world.tick(if leaps { LEAP } else { STEP });
            }
            _ if world.below(4) < pace => world.deliver(),
            _ => {}
        }
        if !links_break {
            world.assert_nobody_missed(&mut seen, seed);
        }
    }
    world.settle();
    world.assert_agreed(seed);
    world
}

#[test]
fn nobody_is_missed_while_shards_move() {
    let mut members = 0;
    for seed in 0..SEEDS {
        let world = play(seed, false);
        members += world.instances.iter().map(|i| i.sessions.len()).sum::<usize>();
    }
    assert!(members > 1_000, "rooms were used: {members}");
}

#[test]
fn all_agree_again_whatever_links_lose() {
    let mut refusals: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 0..SEEDS {
        for (name, count) in play(seed, true).refusals {
            *refusals.entry(name).or_default() += count;
        }
    }
    assert!(refusals["unknown"] > 0 && refusals["else"] > 0, "{refusals:?}");
}
