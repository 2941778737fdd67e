//! Model check: everything that can happen to a few instances, in every order.
//!
//! A step and its answer are one action: what an instance hears between them commutes with the
//! step. Random worlds beyond this size let answers wait as well (`core/tests/it/claim_swarm.rs`).

mod choices;
mod fingerprint;
mod world;

use std::rc::Rc;

use crate::LookupMap;

use choices::{Action, Budget, Plant};
use fingerprint::fingerprint;
use world::{Life, World};

/// How a state came about, for the message.
struct Trail(Action, Option<Rc<Self>>);

#[derive(Debug, Default)]
struct Found {
    states: usize,
    quiet: usize,
    ends: usize,
    broken: Option<String>,
}

/// Searches all states that can be reached, depth first.
fn search(start: World) -> Found {
    let mut found = Found::default();
    let mut seen = LookupMap::<u64, ()>::default();
    let mut stack: Vec<(World, Option<Rc<Trail>>)> = vec![(start, None)];
    let mut actions = Vec::new();
    while let Some((world, trail)) = stack.pop() {
        if seen.insert(fingerprint(&world), ()).is_some() {
            continue;
        }
        found.states += 1;
        if let Err(what) = check(&world) {
            found.broken = Some(tell(&what, trail.as_ref()));
            return found;
        }
        if world.is_quiet() {
            if world.last_round {
                found.ends += 1;
                if let Err(what) = check_end(&world) {
                    found.broken = Some(tell(&what, trail.as_ref()));
                    return found;
                }
            } else {
                found.quiet += 1;
                let mut last = world.clone();
                last.begin_last_round();
                stack.push((last, trail.clone()));
            }
        }
        actions.clear();
        world.actions(&mut actions);
        for &action in &actions {
            let mut choice = 0;
            loop {
                let mut next = world.clone();
                let trail = Rc::new(Trail(action, trail.clone()));
                match next.act(action, choice) {
                    Ok(choices) => {
                        stack.push((next, Some(trail)));
                        choice += 1;
                        if choice >= choices {
                            break;
                        }
                    }
                    Err(what) => {
                        found.broken = Some(tell(&what, Some(&trail)));
                        return found;
                    }
                }
            }
        }
    }
    found
}

fn tell(what: &str, mut trail: Option<&Rc<Trail>>) -> String {
    let mut steps = Vec::new();
    while let Some(step) = trail {
        steps.push(format!("{:?}", step.0));
        trail = step.1.as_ref();
    }
    steps.reverse();
    format!("{what}, after {}", steps.join(" "))
}

/// What must hold in every state: who may run a duty is its one holder.
fn check(world: &World) -> Result<(), String> {
    for &(duty, _) in &world.view.duties {
        let well = world.seats.iter().filter(|seat| seat.life == Life::Well);
        let mut tokens = well.filter_map(|seat| seat.claimer.may_run(seat.clock, duty));
        if let Some(token) = tokens.next() {
            if tokens.next().is_some() {
                return Err(format!("{duty:?} is held by two"));
            }
            if !world.board.holds(duty, token) {
                return Err(format!("{duty:?} is run without being held"));
            }
        }
    }
    Ok(())
}

/// What must hold once everybody's tick has passed without a failure.
fn check_end(world: &World) -> Result<(), String> {
    let view = &world.view;
    let acquiring = view.members.iter().filter(|member| !member.draining).count();
    for &(duty, holder) in &view.duties {
        let Some(holder) = holder else {
            if acquiring == 0 {
                continue;
            }
            return Err(format!("{duty:?} is orphaned"));
        };
        let seat = &world.seats[usize::from(holder.instance.0)];
        if seat.claimer.may_run(seat.clock, duty) != Some(holder.token) {
            return Err(format!("{duty:?} is held by one that does not know it"));
        }
    }
    for seat in world.seats.iter().filter(|seat| seat.life == Life::Well) {
        if let Some(duty) = seat.claimer.held().find(|duty| view.holder(*duty).is_none()) {
            return Err(format!("{duty:?} is believed in after its removal"));
        }
    }
    Ok(())
}

/// Everybody is a member and nobody has read anything yet.
fn joined(seats: usize, duties: u32, budget: Budget) -> World {
    World::joined(&vec![1; seats], duties, budget, Plant::Nothing)
}

#[track_caller]
fn check_all(start: World, at_least: usize) {
    let found = search(start);
    assert_eq!(found.broken, None);
    assert!(found.states >= at_least && found.ends > 0, "little was searched: {found:?}");
}

#[test]
fn starting_together() {
    let nothing = Budget::default();
    check_all(World::new(&[1, 1, 1], 3, nothing, Plant::Nothing), 100_000);
    check_all(joined(4, 6, nothing), 2_500);
}

#[test]
fn two_of_three_die_and_events_are_lost_and_late() {
    let budget = Budget { crashes: 2, losses: 1, overtakes: 1, ..Budget::default() };
    check_all(joined(3, 6, budget), 200_000);
}

#[test]
#[ignore = "tens of millions of states: an hour"]
fn two_of_four_die_and_events_are_lost_and_late() {
    let budget = Budget { crashes: 2, losses: 1, overtakes: 1, ..Budget::default() };
    check_all(joined(4, 6, budget), 10_000_000);
}

#[test]
fn unequal_tolerances() {
    let budget = Budget { crashes: 1, losses: 1, ..Budget::default() };
    check_all(World::joined(&[1, 2, 3], 4, budget, Plant::Nothing), 50_000);
}

#[test]
fn one_freezes_and_wakes() {
    let budget = Budget { crashes: 1, freezes: 1, losses: 1, ..Budget::default() };
    check_all(joined(2, 3, budget), 10_000);
}

#[test]
fn one_drains_and_changes_its_mind() {
    let budget = Budget { drains: 2, runs: 2, ..Budget::default() };
    check_all(joined(2, 3, budget), 1_000);
}

#[test]
fn duties_come_and_go() {
    let budget = Budget { creates: 1, removes: 1, crashes: 1, losses: 1, ..Budget::default() };
    check_all(joined(2, 2, budget), 1_000);
}

#[test]
fn every_planted_mistake_is_found() {
    let none = Budget::default();
    let unheard = Budget { losses: 2, ..none };
    for (plant, seats, duties, budget, told) in [
        (Plant::ClaimsDouble, 2, 2, none, "held by two"),
        (Plant::OneUnseen, 3, 4, none, "above the limit"),
        (Plant::BlindTick, 2, 2, Budget { crashes: 1, ..unheard }, "orphaned"),
        (Plant::BlindTick, 2, 1, Budget { removes: 1, ..unheard }, "after its removal"),
        (Plant::Sleepwalker, 2, 2, Budget { crashes: 1, freezes: 1, ..none }, "held"),
        (Plant::DeafToRuns, 2, 2, Budget { drains: 1, runs: 1, ..none }, "while it runs"),
    ] {
        let start = |plant| World::joined(&vec![1; seats], duties, budget, plant);
        assert_eq!(search(start(Plant::Nothing)).broken, None, "without {plant:?}");
        let broken = search(start(plant)).broken.unwrap_or_else(|| panic!("{plant:?} passes"));
        assert!(broken.contains(told), "{plant:?}: {broken}");
    }
}
