//! At every point in the life of a job, which is after each event that an instance hears and after
//! each part of what it sends then, the instance dies; after each event it stands still, or the node
//! dies. The job is asked for again elsewhere; nothing is ever oversold, and after a lease and five
//! seconds every slot can be had.

use lingua_core::instance::Ending;
use lingua_core::{Micros, RequestId, SessionId};

use crate::servers::Servers;
use crate::world::{Blow, Event, LEASE, Strike, World, pair};

/// The life of a job that meets no fault is shorter.
const LIFE: Micros = Micros::secs(1);
/// Longer than an instance is present without saying so.
const PAUSE: Micros = Micros::secs(10);
/// The instance of the session, that of the node where it is another one, and one that survives.
const SESSION: usize = 0;
const NODE: usize = 1;
const SURVIVOR: usize = 2;

/// A job's life, with a blow or without one. Gives back what each event heard by the instances
/// led to.
fn live(world: &mut World, across: bool, strike: Option<Strike>) -> Vec<Vec<usize>> {
    world.again(7);
    for _ in [SESSION, NODE, SURVIVOR] {
        world.start_process();
    }
    world.start_machine(1, Micros::millis(100));
    world.connect_to(0, if across { NODE } else { SESSION });
    world.settle();
    world.run_for(LIFE);
    world.processes.iter_mut().for_each(|process| process.heard.clear());
    if let Some(strike) = strike {
        world.strike_at(strike);
    }
    let request = RequestId { session: SessionId(1), index: 0, tgt: pair().tgt };
    world.schedule(world.now, Event::Ask(SESSION, request));
    world.run_for(LIFE);
    let heard = world.processes.iter().map(|process| process.heard.clone()).collect();
    // Another node is there for a second try, and another instance for the session.
    let second = world.start_machine(1, Micros::millis(100));
    world.connect_to(second, SURVIVOR);
    if world.seen.kills > 0 {
        world.start_process();
    }
    if !world.processes[SESSION].alive {
        world.schedule(world.now, Event::Ask(SURVIVOR, request));
    }
    world.settle();
    world.run_for(Micros(LEASE.0 + 5_000_000));
    let point = format!("across {across}, {strike:?}");
    assert_eq!(world.seen.oversold, 0, "{point}");
    let finals = world.seen.finals.remove(&request).unwrap_or_default();
    assert!(!finals.is_empty(), "{point}: nobody was answered");
    if strike.is_none() {
        assert!(matches!(finals[..], [last] if last.ending == Ending::Answered), "{finals:?}");
    }
    assert_eq!(world.leaked(), [""; 0], "{point}");
    heard
}

/// All points of all lives; their number.
fn die_everywhere(servers: Servers) -> usize {
    let mut world = World::new(servers, 7);
    let mut points = 0;
    for across in [false, true] {
        let heard = live(&mut world, across, None);
        let victims = if across { &[SESSION, NODE][..] } else { &[SESSION] };
        for &process in victims {
            for (event, &sent) in heard[process].iter().enumerate() {
                let kills = (0..=sent).map(Blow::Kill);
                for blow in kills.chain([Blow::Pause(PAUSE), Blow::Crash(0)]) {
                    live(&mut world, across, Some(Strike { process, event, blow }));
                    points += 1;
                }
            }
        }
    }
    println!("{:?}: {points} kill points, nothing oversold or leaked", world.servers.layout);
    points
}

#[test]
fn an_instance_may_die_anywhere_on_one_server() {
    assert!(die_everywhere(Servers::one()) >= 50);
}

#[test]
fn an_instance_may_die_anywhere_on_a_cluster() {
    assert!(die_everywhere(Servers::cluster()) >= 50);
}
