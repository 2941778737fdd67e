//! One number per state, the same for states that differ only in names.
//!
//! A state is a table: what each seat is, what each duty is to each seat, what each seat is to each
//! seat. Seats and duties are sorted by what they look like from everywhere, so that renamed states
//! give the same table. Where the looks of two differ too little, states count twice, never none.
//!
//! Tokens only rise and are only compared: a holder's with those of the same duty, an event's with
//! what its receiver has counted, a membership's with others of the same seat. So their order within
//! each of these is kept and their values are not. What nothing to come depends on is left out:
//! spans, what an event says that has been counted already, the limit of a view that offers nothing.

use super::super::duties::Held;
use super::super::*;
use super::world::{Life, World};

fn mix(hash: u64, word: u64) -> u64 {
    let mut x = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ x >> 29
}

/// A set as a number: the order in which it is fed does not matter.
fn gather(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0, |sum, word| sum.wrapping_add(mix(1, word)))
}

/// The table of a state, rows and columns as they are named.
struct Table {
    seats: Vec<u64>,
    duty_of_seat: Vec<Vec<u64>>,
    seat_of_seat: Vec<Vec<u64>>,
}

pub(super) fn fingerprint(world: &World) -> u64 {
    let table = Table::new(world);
    let (seats, duties) = (table.seats.len(), table.duty_of_seat[0].len());
    let mut looks = table.seats.clone();
    let mut duty_looks = vec![0; duties];
    for _ in 0..2 {
        for (d, look) in duty_looks.iter_mut().enumerate() {
            *look = gather((0..seats).map(|s| mix(looks[s], table.duty_of_seat[s][d])));
        }
        let next = (0..seats).map(|s| {
            let by_duty = gather((0..duties).map(|d| mix(duty_looks[d], table.duty_of_seat[s][d])));
            let by_seat = gather((0..seats).map(|t| {
                let both = mix(table.seat_of_seat[s][t], table.seat_of_seat[t][s]);
                mix(looks[t], both)
            }));
            mix(mix(looks[s], by_duty), by_seat)
        });
        looks = next.collect();
    }
    let mut rows: Vec<usize> = (0..seats).collect();
    rows.sort_by_key(|&s| looks[s]);
    let mut columns: Vec<usize> = (0..duties).collect();
    columns.sort_by_key(|&d| duty_looks[d]);
    let mut hash = u64::from(world.last_round);
    let b = &world.budget;
    let budget =
        [b.crashes, b.freezes, b.losses, b.overtakes, b.drains, b.runs, b.creates, b.removes];
    hash = mix(hash, u64::from_le_bytes(budget));
    for &s in &rows {
        hash = mix(hash, table.seats[s]);
        hash = columns.iter().fold(hash, |hash, &d| mix(hash, table.duty_of_seat[s][d]));
        hash = rows.iter().fold(hash, |hash, &t| mix(hash, table.seat_of_seat[s][t]));
    }
    hash
}

/// Ranks of the tokens that occur for one duty or one seat.
#[derive(Default)]
struct Ranks(Vec<u64>);

impl Ranks {
    fn add(&mut self, token: Token) {
        if let Err(at) = self.0.binary_search(&token.0) {
            self.0.insert(at, token.0);
        }
    }

    fn of(&self, token: Token) -> u64 {
        self.0.binary_search(&token.0).map_or(0, |at| at as u64 + 1)
    }
}

impl Table {
    fn new(world: &World) -> Self {
        let view = &world.view;
        let seats = world.seats.len();
        let duties = world.next_duty as usize;
        let (duty_ranks, seat_ranks) = ranks(world);
        let mut table = Self {
            seats: Vec::with_capacity(seats),
            duty_of_seat: vec![vec![0; duties]; seats],
            seat_of_seat: vec![vec![0; seats]; seats],
        };
        for (s, seat) in world.seats.iter().enumerate() {
            let c = &seat.claimer;
            let member = view.members.iter().find(|m| m.membership.instance.0 as usize == s);
            let own = |membership: Option<Membership>| {
                membership.map_or(0, |membership| seat_ranks[s].of(membership.token))
            };
            let mut look = [
                seat.life as u64,
                u64::from(seat.wakes) << 8 | u64::from(seat.ticks),
                own(c.standing.membership()) << 8 | own(member.map(|m| m.membership)),
                u64::from(member.is_some_and(|m| m.draining)),
                u64::from(c.standing.is_over(seat.clock)) << 1
                    | u64::from(c.standing == Standing::Gone),
                if c.candidates.is_empty() && c.claims.is_empty() {
                    0
                } else {
                    (c.seen_limit as u64) << 32 | c.claims_left as u64
                },
                u64::from(c.looking) << 3
                    | u64::from(c.look_again) << 2
                    | u64::from(c.draining) << 1
                    | u64::from(c.told_drained),
                (seat.fewest as u64) << 32 | seat.most as u64,
                u64::from(c.config.tolerance.get()),
            ]
            .into_iter()
            .fold(2, mix);
            let row = &mut table.duty_of_seat[s];
            for (d, cell) in row.iter_mut().enumerate() {
                *cell = duty_cell(world, s, DutyId(d as u32), &duty_ranks[d]);
            }
            for (at, event) in seat.events.iter().enumerate() {
                let counted = u64::from(c.known.counts(*event));
                let place = (at as u64) << 8 | counted << 7;
                if counted == 1 && !matches!(event.change, Change::Removed(_)) {
                    look = mix(look, place);
                    continue;
                }
                let on_duty = |kind: u64, duty: DutyId| (kind, Some(duty), None);
                let on_seat = |kind: u64, seat: InstanceId| (kind, None, Some(seat));
                let (kind, duty, other) = match event.change {
                    Change::Created(duty) => on_duty(1, duty),
                    Change::Removed(duty) => on_duty(2, duty),
                    // Which duty is free is read, never taken from the event.
                    Change::Released(_) => (3, None, None),
                    Change::Joined(seat) => on_seat(4, seat),
                    Change::Left(seat) => on_seat(5, seat),
                    Change::Drain(seat) => on_seat(6, seat),
                    Change::EndDrain(seat) => on_seat(7, seat),
                };
                look = mix(look, place | kind);
                if let Some(duty) = duty {
                    let rank = duty_ranks[duty.0 as usize].of(event.version);
                    let cell = &mut row[duty.0 as usize];
                    *cell = mix(*cell, rank << 32 | place | kind);
                }
                if let Some(other) = other {
                    let cell = &mut table.seat_of_seat[s][usize::from(other.0)];
                    *cell = mix(*cell, place | kind);
                }
            }
            for (at, op) in seat.ops.iter().enumerate() {
                let place = (at as u64) << 8 | 0x4000_0000;
                let (kind, duty, token) = match *op {
                    Op::Join(_) => (1, None, 0),
                    Op::Renew(m, _) => (2, None, own(Some(m))),
                    Op::Leave(m) => (3, None, own(Some(m))),
                    Op::Claim(duty, m) => (4, Some(duty), own(Some(m))),
                    Op::Release(duty, token) => {
                        (5, Some(duty), duty_ranks[duty.0 as usize].of(token))
                    }
                    Op::Look(Cause::Event) => (6, None, 0),
                    Op::Look(Cause::Tick) => (7, None, 0),
                    Op::Create(_) | Op::Remove(_) | Op::Drain { .. } | Op::EndDrain(_) => {
                        unreachable!("instances do not send {op:?}")
                    }
                };
                look = mix(look, token << 32 | place | kind);
                if let Some(duty) = duty {
                    let cell = &mut row[duty.0 as usize];
                    *cell = mix(*cell, token << 32 | place | kind);
                }
            }
            for (t, cell) in table.seat_of_seat[s].iter_mut().enumerate() {
                *cell = mix(*cell, u64::from(c.known.believes_in(InstanceId(t as u16))));
            }
            table.seats.push(look);
        }
        table
    }
}

fn duty_cell(world: &World, s: usize, duty: DutyId, ranks: &Ranks) -> u64 {
    let (view, seat) = (&world.view, &world.seats[s]);
    if seat.life == Life::Dead && view.members.iter().all(|m| m.membership.instance.0 as usize != s)
    {
        return 0;
    }
    let c = &seat.claimer;
    let exists = view.duties.binary_search_by_key(&duty, |&(duty, _)| duty).is_ok();
    let holder = view.holder(duty).filter(|holder| holder.instance.0 as usize == s);
    let held = c.held.get(&duty).map_or(0, |held: &Held| ranks.of(held.token) << 8 | held.bits());
    let claim = c.claims.get(&duty).map_or(0, |claim| claim.bits());
    // Of an outdated view counts only whether it has any, unless one of them may be removed.
    let candidate = match c.claims_left {
        0 if world.budget.removes == 0 => !c.candidates.is_empty(),
        _ => c.candidates.contains(duty.0),
    };
    [
        u64::from(exists) << 8 | holder.map_or(0, |holder| ranks.of(holder.token)),
        held,
        claim << 8 | u64::from(candidate),
        c.releasing.get(&duty).map_or(0, |&token| ranks.of(token)),
        u64::from(c.yielded.contains(&duty)) << 1 | u64::from(c.known.has(duty)),
        u64::from(seat.runs.contains(&duty)),
    ]
    .into_iter()
    .fold(3, mix)
}

fn ranks(world: &World) -> (Vec<Ranks>, Vec<Ranks>) {
    let view = &world.view;
    let mut duties: Vec<Ranks> = (0..world.next_duty).map(|_| Ranks::default()).collect();
    let mut seats: Vec<Ranks> = world.seats.iter().map(|_| Ranks::default()).collect();
    for &(duty, holder) in &view.duties {
        if let Some(holder) = holder {
            duties[duty.0 as usize].add(holder.token);
        }
    }
    for member in &view.members {
        seats[usize::from(member.membership.instance.0)].add(member.membership.token);
    }
    for (s, seat) in world.seats.iter().enumerate() {
        if let Some(membership) = seat.claimer.standing.membership() {
            seats[s].add(membership.token);
        }
        for (duty, held) in &seat.claimer.held {
            duties[duty.0 as usize].add(held.token);
        }
        for (duty, &token) in &seat.claimer.releasing {
            duties[duty.0 as usize].add(token);
        }
        for event in &seat.events {
            if let Change::Removed(duty) = event.change {
                duties[duty.0 as usize].add(event.version);
            }
        }
        for op in &seat.ops {
            match *op {
                Op::Renew(m, _) | Op::Leave(m) | Op::Claim(_, m) => seats[s].add(m.token),
                Op::Release(duty, token) => duties[duty.0 as usize].add(token),
                _ => {}
            }
        }
    }
    (duties, seats)
}
