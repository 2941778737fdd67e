//! Traces: readable, named, and nothing on a track at the same time as something else.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::rc::Rc;

use lingua_scenarios::Scenario;
use lingua_sim::{Finished, Quiet, SimError, TRACE_EVENTS_MAX, Traced, simulate_traced, swarm};
use serde_json::Value;

use crate::load;

/// A file in memory that the test keeps a hand on.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn traced(scenario: &Scenario, events_max: u64) -> (Finished, Traced, Vec<u8>) {
    let out = Shared::default();
    let (finished, traced) =
        simulate_traced(scenario, "", &mut Quiet, Box::new(out.clone()), events_max).unwrap();
    let bytes = out.0.take();
    (finished, traced, bytes)
}

/// One event of the format.
struct Event {
    ph: String,
    name: String,
    track: (u64, u64),
    from: f64,
    to: f64,
    value: Value,
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} is missing: {value}"))
}

fn events(bytes: &[u8]) -> Vec<Event> {
    let file: Value = serde_json::from_slice(bytes).unwrap();
    let event = |value: &Value| {
        let text = |key: &str| value[key].as_str().unwrap().to_owned();
        let from = number(value, "ts");
        let track = (number(value, "pid") as u64, number(value, "tid") as u64);
        let ph = text("ph");
        let dur = if ph == "X" { number(value, "dur") } else { 0.0 };
        assert!(from >= 0.0 && dur >= 0.0, "{value}");
        Event { ph, name: text("name"), track, from, to: from + dur, value: value.clone() }
    };
    file["traceEvents"].as_array().unwrap().iter().map(event).collect()
}

/// Names of processes and threads, by process and thread.
fn names(events: &[Event], what: &str) -> BTreeMap<(u64, u64), String> {
    let told = events.iter().filter(|event| event.ph == "M" && event.name == what);
    told.map(|e| (e.track, e.value["args"]["name"].as_str().unwrap().to_owned())).collect()
}

fn check(events: &[Event]) {
    let threads = names(events, "thread_name");
    let processes: BTreeSet<u64> =
        names(events, "process_name").into_keys().map(|(process, _)| process).collect();
    let mut slices: BTreeMap<(u64, u64), Vec<&Event>> = BTreeMap::new();
    let (mut leave, mut arrive) = (BTreeSet::new(), BTreeSet::new());
    for event in events {
        assert!(["M", "X", "i", "C"].contains(&event.ph.as_str()), "{}", event.value);
        assert!(threads.contains_key(&event.track), "no thread name: {}", event.value);
        assert!(processes.contains(&event.track.0), "no process name: {}", event.value);
        if event.ph == "X" {
            slices.entry(event.track).or_default().push(event);
        }
        if let Some(id) = event.value["bind_id"].as_str() {
            let fresh = if event.value["flow_out"] == true { &mut leave } else { &mut arrive };
            assert!(fresh.insert(id.to_owned()), "two arrows are one: {}", event.value);
        }
    }
    for (track, slices) in &mut slices {
        slices.sort_by(|a, b| a.from.total_cmp(&b.from).then(a.to.total_cmp(&b.to)));
        for pair in slices.windows(2) {
            // Parts of a microsecond are not exact in the file.
            let apart = pair[0].to <= pair[1].from + 1e-3;
            assert!(apart, "{track:?}: {} and {}", pair[0].value, pair[1].value);
        }
    }
    assert!(!arrive.is_empty() && arrive.intersection(&leave).count() > 0, "no arrow arrives");
}

fn swarm_seed(seed: u64) -> Scenario {
    swarm::draw(&load("swarm.toml", &[]), seed)
}

#[test]
fn tracks_are_named_and_slices_lie_apart() {
    for seed in 1..=12 {
        let (_, _, bytes) = traced(&swarm_seed(seed), TRACE_EVENTS_MAX);
        check(&events(&bytes));
    }
    for (file, change) in [
        ("nodes-100.toml", "duration=40s"),
        ("rooms.toml", "duration=60s"),
        ("scheduler-bound.toml", "duration=40s"),
    ] {
        let (_, _, bytes) = traced(&load(file, &[change, "warmup=30s"]), 200_000);
        check(&events(&bytes));
    }
}

#[test]
fn every_kind_of_track_is_there() {
    let scenario = load("faults/store-failover.toml", &["duration=60s", "faults.0.at=35s"]);
    let (finished, _, bytes) = traced(&scenario, TRACE_EVENTS_MAX);
    let events = events(&bytes);
    let processes: BTreeSet<String> = names(&events, "process_name").into_values().collect();
    for name in ["world", "store", "instance 0", "g0-0"] {
        assert!(processes.contains(name), "{name} is missing: {processes:?}");
    }
    let has = |ph: &str, name: &str| events.iter().any(|e| e.ph == ph && e.name == name);
    assert!(has("i", "store_failover begins") && has("i", "failover") && has("X", "stalled"));
    assert!(has("i", "connected") && has("X", "dispatch") && has("X", "reply: dispatched"));
    let results = events.iter().filter(|e| e.value["args"]["ending"] == "result").count() as u64;
    assert!(results >= finished.artifacts.run.jobs.completed, "{results} results");
}

#[test]
fn nodes_and_instances_tell_what_befalls_them() {
    let instants = |file: &str| -> BTreeSet<String> {
        let (_, _, bytes) = traced(&load(file, &[]), TRACE_EVENTS_MAX);
        let found = events(&bytes);
        let lost = found.iter().filter(|e| e.value["args"]["ending"] == "lost");
        let lost = lost.map(|_| "lost".to_owned());
        let told = found.iter().filter(|e| e.ph == "i").map(|e| e.name.clone());
        told.chain(lost).collect()
    };
    for (file, wanted) in [
        ("faults/node-crash.toml", &["node_crash begins", "crash", "lost"][..]),
        ("faults/node-silent.toml", &["silent", "wakes", "declared dead", "lost"]),
        ("faults/drain.toml", &["drain", "drain ends"]),
        ("faults/instance-crash.toml", &["crash", "start", "socket lost"]),
    ] {
        let found = instants(file);
        for name in wanted {
            assert!(found.contains(*name), "{file}: {name} is missing: {found:?}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_the_same_run() {
    let scenario = swarm_seed(3);
    let (with, _, first) = traced(&scenario, TRACE_EVENTS_MAX);
    let (_, _, second) = traced(&scenario, TRACE_EVENTS_MAX);
    assert!(first == second);
    let (_, _, other) = traced(&swarm_seed(5), TRACE_EVENTS_MAX);
    assert!(first != other);
    assert_eq!(with.artifacts.run, crate::run(&scenario).artifacts.run);
}

#[test]
fn a_full_trace_says_so_and_stays_readable() {
    let scenario = swarm_seed(1);
    let (_, whole, _) = traced(&scenario, TRACE_EVENTS_MAX);
    let (_, cut, bytes) = traced(&scenario, 500);
    assert_eq!((cut.events, cut.left_out), (500, whole.events - 500));
    assert_eq!(whole.left_out, 0);
    let told = events(&bytes);
    check(&told);
    assert_eq!(told.iter().filter(|event| event.name == "the trace is full").count(), 1);
    let file: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(file["otherData"]["events_left_out"], whole.events - 500);
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let result = simulate_traced(&swarm_seed(1), "", &mut Quiet, Box::new(Full), 100);
    assert!(matches!(result, Err(SimError::Trace(_))));
}
