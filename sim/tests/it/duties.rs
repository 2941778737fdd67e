//! Duties among instances: what each disturbance costs, and that nothing is held by two.

use lingua_reports::duties::{Duties, Episode};
use lingua_reports::files;
use lingua_reports::run::Verdict;
use lingua_scenarios::Scenario;
use lingua_sim::{Finished, Quiet, shrink, simulate_all, swarm};

use crate::{load, run};

/// The situations of the requirements.
const SITUATIONS: [&str; 10] = [
    "crash-one",
    "crash-two",
    "drain",
    "event-late",
    "event-loss",
    "freeze",
    "join",
    "split-view",
    "stale-view",
    "unequal",
];

fn situation(name: &str, overrides: &[&str]) -> Scenario {
    load(&format!("duties/{name}.toml"), overrides)
}

fn duties(finished: &Finished) -> &Duties {
    finished.artifacts.run.duties.as_ref().unwrap()
}

#[track_caller]
fn episode<'a>(finished: &'a Finished, what: &str) -> &'a Episode {
    let episodes = &duties(finished).episodes;
    episodes.iter().find(|episode| episode.what == what).unwrap_or_else(|| panic!("{episodes:?}"))
}

#[test]
fn every_situation_is_as_it_should_be() {
    for name in SITUATIONS {
        for seed in ["seed=1", "seed=2", "seed=3"] {
            let finished = run(&situation(name, &[seed]));
            let record = &finished.artifacts.run;
            assert_eq!(record.verdict, Verdict::Ok, "{name}, {seed}: {:?}", record.reasons);
            let duties = duties(&finished);
            assert_eq!(duties.unheld_at_end, 0, "{name}, {seed}");
            let held: u64 = duties.instances.iter().map(|row| row.held).sum();
            assert_eq!(held, duties.count, "{name}, {seed}");
        }
    }
}

/// The coordinator frees the duties of the dead when their lease ends. It was renewed at the last
/// tick, so that is between eight and ten seconds later.
#[test]
fn the_dead_cost_what_was_left_of_their_lease() {
    for (name, what, all) in
        [("crash-one", "1 dies", 30..60), ("crash-two", "1 dies, 3 dies", 60..120)]
    {
        let finished = run(&situation(name, &[]));
        let episode = episode(&finished, what);
        assert!(all.contains(&episode.unheld_most), "{name}: {episode:?}");
        assert!((8.0..10.5).contains(&episode.longest_unheld_s), "{name}: {episode:?}");
        assert_eq!(episode.all_held_s, Some(episode.longest_unheld_s), "{name}: {episode:?}");
        assert_eq!(episode.moves, episode.unheld_most, "{name}: each went to another");
    }
    let short = situation("crash-one", &["duties.lease=4100ms"]);
    let short = run(&short);
    assert!((2.0..4.5).contains(&episode(&short, "1 dies").longest_unheld_s), "{short:?}");
}

/// A drain costs a handing over, never a lease; whoever leaves says so.
#[test]
fn a_drain_and_a_farewell_cost_little() {
    let finished = run(&situation("join", &[]));
    for what in ["drain of 0", "4 leaves"] {
        let episode = episode(&finished, what);
        assert!(episode.unheld_most > 0 && episode.longest_unheld_s < 0.5, "{episode:?}");
    }
    let rows = &duties(&finished).instances;
    assert!(rows[3].acquired > 0 && rows[4].acquired > 0, "those that joined have taken: {rows:?}");
    let finished = run(&situation("drain", &[]));
    assert_eq!(episode(&finished, "end: drain of 2").moves, 0, "it keeps what it still holds");
    assert!(duties(&finished).instances[2].held > 0);
}

/// Lost events cost at most a tick beside what is lost with nothing lost at all.
#[test]
fn lost_and_late_events_cost_a_tick_at_most() {
    let plain = episode(&run(&situation("crash-one", &[])), "1 dies").longest_unheld_s;
    for name in ["event-loss", "event-late"] {
        let finished = run(&situation(name, &[]));
        let longest = episode(&finished, "1 dies").longest_unheld_s;
        assert!(longest <= plain + 2.2, "{name}: {longest} after {plain}");
    }
}

/// Whoever is cut off stops by its own clock before the coordinator gives its duties to others.
#[test]
fn the_cut_off_stop_before_others_begin() {
    let finished = run(&situation("split-view", &[]));
    let episode = episode(&finished, "1 is cut off");
    assert!(episode.longest_unheld_s < 2.5, "{episode:?}");
    assert!(episode.all_held_s.is_some_and(|s| (8.0..12.5).contains(&s)), "{episode:?}");
}

/// Forty-odd runs end while their instance stands still; they write when it wakes, too late.
#[test]
fn what_the_frozen_write_on_waking_is_refused() {
    let finished = run(&situation("freeze", &[]));
    assert!(duties(&finished).writes.stale > 20, "{:?}", duties(&finished).writes);
    let short = run(&situation("freeze", &["faults.0.for=3s", "expect=[]"]));
    assert_eq!(duties(&short).writes.stale, 0, "within the lease nothing is stale");
    assert_eq!(duties(&short).moves, 0);
}

#[test]
fn a_stale_count_is_paid_for_until_duties_age() {
    let longest = |overrides: &[&str]| {
        let finished = run(&situation("stale-view", overrides));
        episode(&finished, "drain of 0").longest_unheld_s
    };
    let (ageing, never) = (longest(&[]), longest(&["duties.patience=1000"]));
    let short = longest(&["duties.lease=10s"]);
    assert!(never > 50.0, "the whole lease: {never}");
    assert!(ageing < 20.0 && short < 10.0, "{ageing} {short}");
}

#[test]
fn unequal_tolerances_make_unequal_limits() {
    let finished = run(&situation("unequal", &["faults=[]"]));
    let limits: Vec<u64> = duties(&finished).instances.iter().map(|row| row.limit).collect();
    assert_eq!(limits, [51, 51, 67, 101, 201]);
}

#[test]
fn alarms_are_raised_above_the_threshold() {
    let finished = run(&situation("crash-two", &["duties.alarm_above=50"]));
    let alarms = &duties(&finished).instances;
    assert!(alarms[1].alarms == 0 && alarms[0].alarms > 0, "{alarms:?}");
}

#[test]
fn the_same_run_leaves_the_same_bytes_on_any_number_of_threads() {
    let swarm = situation("swarm", &[]);
    let drawn: Vec<Scenario> = (1..=6).map(|seed| swarm::draw(&swarm, seed)).collect();
    let bytes = |threads| {
        let finished = simulate_all(&drawn, "", threads, &mut Quiet).unwrap();
        let files = finished.iter().map(|f| files::contents(&f.artifacts).unwrap());
        files.collect::<Vec<_>>()
    };
    let (one, four) = (bytes(1), bytes(4));
    assert!(one == four, "bytes differ");
    let names: Vec<&str> = one[0].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["run.json", "machine.json", "summary.md", "report.html", "duties.csv", "plots/duties.svg"]
    );
    assert!(one[0] != one[1], "seeds differ");
}

#[test]
fn the_summary_reads_well() {
    let finished = run(&situation("crash-two", &[]));
    let files = files::contents(&finished.artifacts).unwrap();
    let summary = files.into_iter().find(|(name, _)| name == "summary.md").unwrap().1;
    insta::assert_snapshot!(String::from_utf8(summary).unwrap());
}

#[test]
fn no_seed_of_the_swarm_breaks_anything_and_every_rare_path_is_reached() {
    let scenario = situation("swarm", &[]);
    let mut reached = std::collections::BTreeMap::<String, u64>::new();
    for seed in 1..=400 {
        let finished = run(&swarm::draw(&scenario, seed));
        assert_eq!(finished.broken, None, "lingua sim scenarios/duties/swarm.toml --seed {seed}");
        for (name, count) in &finished.artifacts.run.sometimes {
            *reached.entry(name.clone()).or_default() += count;
        }
    }
    assert!(reached.len() >= 9 && reached.values().all(|&count| count > 0), "{reached:?}");
}

#[test]
fn every_planted_defect_is_found_and_made_small() {
    for (plant, name) in [("I8", "crash-one"), ("coverage", "crash-one"), ("limit", "join")] {
        let scenario = situation(name, &[&format!("plant={plant}"), "expect=[]"]);
        let finished = lingua_sim::simulate(&scenario, "", &mut Quiet).unwrap();
        let broken = finished.broken.unwrap_or_else(|| panic!("{plant} was not found"));
        assert_eq!(broken.invariant, plant, "{broken:?}");
        assert_eq!(finished.artifacts.run.verdict, Verdict::InvariantBroken);
        let small = shrink::shrink(&scenario, &broken, &mut Quiet).scenario;
        let again = lingua_sim::simulate(&small, "", &mut Quiet).unwrap();
        assert_eq!(again.broken.map(|broken| broken.invariant), Some(broken.invariant));
        let size = |scenario: &Scenario| scenario.duties.as_ref().unwrap().count;
        assert!(size(&small) * 2 < size(&scenario), "{plant}: {small:?}");
        small.to_toml().parse::<Scenario>().unwrap_or_else(|error| panic!("{error}"));
    }
}
