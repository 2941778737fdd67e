//! The documented tables and situations, with their figures.

use lingua_core::Micros;
use lingua_core::claim::*;

use crate::claim_script::{Script, id};

#[test]
fn limits_of_five_instances_with_tolerances_of_their_own() {
    for (duties, limits) in [(10, [3, 3, 4, 6, 11]), (12, [4, 4, 5, 7, 13]), (15, [4, 4, 6, 8, 16])]
    {
        let tolerances = [1, 1, 2, 3, 4].map(|n| Tolerance::new(n).unwrap());
        let plan = Plan::new(duties, 5, &tolerances).unwrap();
        assert_eq!(plan.limits(), limits, "{duties} duties");
        assert_eq!(plan.left_to_others(4), 0, "E alone is enough");
    }
    let tolerances = [1, 1, 2, 3, 4].map(|n| Tolerance::new(n).unwrap());
    let plan = Plan::new(10, 5, &tolerances).unwrap();
    assert_eq!(plan.left_to_others(3), 4, "with D, four are left to the others");
}

/// Section 5.1: one instance, then two.
fn to_5_1() -> Script {
    let mut script = Script::new(1);
    script.create(9, "");
    script.join('A', 10);
    script.expect("at first", 9, 1, &[('A', 10, 9)]);
    script.create(1, "A");
    script.expect("a tenth duty", 10, 1, &[('A', 11, 10)]);
    assert_eq!(script.alarms('A'), [], "X = M is no alarm");
    script.create(1, "A");
    script.expect("an eleventh", 11, 1, &[('A', 12, 11)]);
    assert_eq!(script.alarms('A'), [11]);
    script.join('B', 8);
    script.expect("B has come", 11, 2, &[('A', 12, 11), ('B', 12, 0)]);
    script.create(1, "B");
    script.expect("a twelfth", 12, 2, &[('A', 13, 11), ('B', 13, 1)]);
    assert_eq!(script.alarms('A'), [], "only its own acquire raises an alarm");
    script.create(1, "A");
    script.expect("a thirteenth", 13, 2, &[('A', 14, 12), ('B', 14, 1)]);
    assert_eq!(script.alarms('A'), [12]);
    script.by_hand('A', 'B', 5);
    script.expect("balanced by hand", 13, 2, &[('A', 14, 7), ('B', 14, 6)]);
    script
}

/// Section 5.2: eighteen duties.
fn to_5_2() -> Script {
    let mut script = to_5_1();
    script.create(5, "AABAB");
    script.expect("eighteen duties", 18, 2, &[('A', 19, 10), ('B', 19, 8)]);
    assert_eq!((script.alarms('A'), script.alarms('B')), (vec![], vec![]));
    script
}

#[test]
fn situation_1_b_dies() {
    let mut script = to_5_2();
    script.crash('B');
    script.settle("AAAAAAAA");
    script.expect("B is dead", 18, 1, &[('A', 19, 18)]);
    assert_eq!(script.alarms('A'), [11, 12, 13, 14, 15, 16, 17, 18]);
}

#[test]
fn situation_2_b_dies_and_the_news_is_late() {
    let mut script = to_5_2();
    script.crash_unnoticed('B');
    script.settle("AAAAAAAA");
    script.expect("B is believed in", 18, 2, &[('A', 19, 18)]);
    assert_eq!(script.alarms('A').last(), Some(&18));
}

/// Situation 3, from which section 5.3 goes on.
fn to_situation_3() -> Script {
    let mut script = to_5_2();
    script.create(1, "B");
    script.expect("a nineteenth duty", 19, 2, &[('A', 20, 10), ('B', 20, 9)]);
    assert_eq!((script.alarms('A'), script.alarms('B')), (vec![], vec![9]));
    script
}

/// Section 5.3: a third instance.
fn to_5_3(by_hand: bool) -> Script {
    let mut script = to_situation_3();
    script.join('C', 4);
    script.expect("C has come", 19, 3, &[('A', 10, 10), ('B', 10, 9), ('C', 10, 0)]);
    if by_hand {
        script.by_hand('A', 'C', 1);
        script.by_hand('B', 'C', 2);
        script.expect("by hand", 19, 3, &[('A', 10, 9), ('B', 10, 7), ('C', 10, 3)]);
        assert_eq!(script.alarms('C'), []);
    }
    script
}

#[test]
fn situation_4_b_of_three_dies() {
    let mut script = to_5_3(true);
    script.crash('B');
    script.settle("AACACAC");
    script.expect("B is dead", 19, 2, &[('A', 20, 13), ('C', 20, 6)]);
    assert_eq!(script.alarms('A'), [11, 12, 13]);
    assert_eq!(script.alarms('C'), [5, 6]);
}

#[test]
fn situation_5_b_of_three_dies_and_the_news_is_lost() {
    let mut script = to_5_3(true);
    script.crash_unnoticed('B');
    script.settle("A");
    script.expect("A is full", 19, 3, &[('A', 10, 10), ('C', 10, 9)]);
    assert_eq!(script.alarms('A'), []);
    assert_eq!(script.alarms('C'), [5, 6, 7, 8, 9]);
}

#[test]
fn section_5_4_the_limit_refuses_at_21() {
    let mut script = to_5_3(false);
    script.create(1, "A");
    script.create(1, "C");
    script.expect("21 duties", 21, 3, &[('A', 11, 11), ('B', 11, 9), ('C', 11, 1)]);
    // One lies free, and A asks for nothing.
    let duty = script.seats[&'C'].claimer.held().next().unwrap();
    script.tell('C', Input::Release(duty));
    script.step('C');
    script.all_hear();
    assert!(script.seats[&'A'].ops.is_empty(), "A is at its limit");
    assert!(!script.seats[&'B'].ops.is_empty(), "B is not");
}

/// Section 4.3: as many as the tolerance may drain at once, and change their minds.
#[test]
fn a_drain_ends_after_the_run_and_may_be_undone() {
    let mut script = Script::new(1);
    script.create(9, "");
    for name in ['A', 'B', 'C'] {
        script.join(name, usize::MAX);
    }
    script.by_hand('A', 'B', 3);
    script.by_hand('A', 'C', 3);
    script.expect("even", 9, 3, &[('A', 5, 3), ('B', 5, 3), ('C', 5, 3)]);
    let running = script.seats[&'A'].claimer.held().next().unwrap();
    script.tell('A', Input::RunStarted(running));
    assert_eq!(script.apply(&Op::Drain { instance: id('A'), force: false }), Reply::Done);
    script.settle("");
    assert_eq!(script.held('A'), 1, "the run goes on");
    assert_eq!(script.orphans(), 0, "B and C have taken the others");
    assert_eq!(script.seats[&'A'].claimer.may_start(script.now, running), None);
    assert!(script.seats[&'A'].claimer.may_run(script.now, running).is_some());
    let second = script.apply(&Op::Drain { instance: id('B'), force: false });
    assert_eq!(second, Reply::Draining(id('A')), "one after the other");

    script.apply(&Op::EndDrain(id('A')));
    script.settle("");
    assert!(script.seats[&'A'].claimer.may_start(script.now, running).is_some());
    script.tell('A', Input::RunEnded(running));
    script.settle("");
    assert_eq!(script.held('A'), 1, "it has changed its mind: nothing is handed over");
    script.create(1, "A");

    script.apply(&Op::Drain { instance: id('A'), force: false });
    script.settle("");
    assert_eq!((script.held('A'), script.orphans()), (0, 0));
}

/// Two of four die. By the document an event of their going recounts and claims nothing, so what
/// did not fit under the limit that counted them is nobody's for good.
#[test]
fn a_recount_alone_orphans_duties_and_a_scan_repairs_it() {
    let orphans = |scan: bool| {
        let mut script = Script::new(1);
        script.create(19, "");
        for name in ['A', 'B', 'C', 'D'] {
            script.join(name, usize::MAX);
        }
        for (name, duties) in [('B', 5), ('C', 5), ('D', 4)] {
            script.by_hand('A', name, duties);
        }
        for name in ['C', 'D'] {
            script.crash_unnoticed(name);
        }
        script.settle("");
        script.expect("both are believed in", 19, 4, &[('A', 7, 7), ('B', 7, 7)]);
        for name in ['C', 'D'] {
            let membership = script.membership(name);
            script.apply(&Op::Leave(membership));
        }
        for name in ['A', 'B'] {
            let events: Vec<Event> =
                script.seats.get_mut(&name).unwrap().events.drain(..).collect();
            for event in events {
                script.tell(name, Input::Event(event));
            }
            let ops = &mut script.seats.get_mut(&name).unwrap().ops;
            assert!(ops.contains(&Op::Look(Cause::Event)), "the event asks for a scan");
            if !scan {
                ops.clear();
            }
        }
        assert_eq!(script.seats[&'A'].claimer.limit(), 20, "the limit is recounted");
        script.settle("");
        script.orphans()
    };
    assert_eq!(orphans(false), 5, "as documented");
    assert_eq!(orphans(true), 0);
}

/// All events are lost: the next tick finds what is free.
#[test]
fn a_tick_repairs_lost_events() {
    let mut script = to_5_3(true);
    script.crash('B');
    for seat in script.seats.values_mut() {
        seat.events.clear();
    }
    script.settle("");
    assert_eq!(script.orphans(), 7, "nobody has heard");
    script.tick_all();
    assert_eq!(script.orphans(), 0);
}

/// A creation that nobody heard of is found with the next event of any kind.
#[test]
fn any_event_repairs_a_lost_one() {
    let mut script = to_5_2();
    script.apply(&Op::Create(DutyId(100)));
    for seat in script.seats.values_mut() {
        seat.events.clear();
    }
    script.settle("");
    assert_eq!(script.orphans(), 1);
    script.create(1, "");
    assert_eq!(script.orphans(), 0);
}

/// The dead stay listed for good: unclaimed duties age, and raise the limits until all are held.
#[test]
fn ageing_repairs_a_view_that_stays_wrong() {
    let mut script = Script::new(1);
    script.create(100, "");
    for name in ['A', 'B', 'C', 'D', 'E'] {
        script.join(name, usize::MAX);
    }
    for name in ['B', 'C', 'D', 'E'] {
        script.by_hand('A', name, 20);
    }
    for name in ['B', 'C', 'D', 'E'] {
        script.crash_unnoticed(name);
    }
    script.settle("");
    script.expect("four dead are counted", 100, 5, &[('A', 26, 26)]);
    let dead = ['B', 'C', 'D', 'E'].map(|name| script.membership(name));
    let orphans: Vec<usize> = std::iter::repeat_with(|| {
        for membership in dead {
            script.apply(&Op::Renew(membership, script.now));
        }
        script.tick_all();
        script.orphans()
    })
    .take(9)
    .collect();
    // Patience is two ticks; then 1, 2, 4, ... more.
    assert_eq!(orphans, [74, 73, 72, 70, 66, 58, 42, 10, 0]);
}

/// A second instance under a taken name is no member, disturbs nobody, and takes over once the
/// first is gone.
#[test]
fn a_name_is_taken_once() {
    let mut script = to_5_2();
    let first = script.membership('B');
    let join = Join { instance: id('B'), lease: Micros::secs(10), sent: script.now };
    assert_eq!(script.apply(&Op::Join(join)), Reply::Duplicate);
    assert_eq!(script.membership('B'), first, "the first one's lease stands");
    script.settle("");
    script.expect("nothing has changed", 18, 2, &[('A', 19, 10), ('B', 19, 8)]);
    script.crash('B');
    let Reply::Joined(second, _) = script.apply(&Op::Join(join)) else {
        panic!("the name is free")
    };
    assert!(second.token > first.token);
    let duty = script.board.view().duties.iter().find(|(_, holder)| holder.is_none()).unwrap().0;
    assert_eq!(script.apply(&Op::Claim(duty, first)), Reply::Ended(first), "a former life");
}

/// As many deaths tolerated as there are instances, or more, is legal: the limit is 1 + K.
#[test]
fn a_tolerance_of_all_gives_each_room_for_all() {
    for n in [3, 4, 100] {
        let mut script = Script::new(n);
        script.create(19, "");
        for name in ['A', 'B', 'C'] {
            script.join(name, usize::MAX);
        }
        script.expect("all at A", 19, 3, &[('A', 20, 19), ('B', 20, 0), ('C', 20, 0)]);
        script.crash('A');
        script.crash('B');
        script.settle("");
        script.expect("C alone", 19, 1, &[('C', 20, 19)]);
    }
}
