//! One line of one script changed: the conformance cases must notice.
//!
//! The test takes a sample of twenty. `LINGUA_MUTANTS=all` tries every one and names the survivors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lingua_core::StateConfig;
use lingua_store::{Layout, Scripts, Store, StoreError};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tokio::runtime::Runtime;

use crate::conformance::{Both, rules};
use crate::duties;
use crate::servers::Servers;
use crate::steps::{self, Step};

/// Cases that a mutant has to survive.
const CASES: usize = 250;
const STEPS: std::ops::Range<usize> = 150..250;
const SAMPLE: usize = 10;

/// What is changed in a line: the first of each pair becomes the second.
const CHANGES: [(&str, &str); 15] = [
    (" < ", " <= "),
    (" <= ", " < "),
    (" > ", " >= "),
    (" >= ", " > "),
    (" == ", " ~= "),
    (" ~= ", " == "),
    (" + ", " - "),
    (" - ", " + "),
    (" and ", " or "),
    (" or ", " and "),
    ("true", "false"),
    ("false", "true"),
    ("not ", ""),
    ("math.max", "math.min"),
    ("math.min", "math.max"),
];

/// Files that a layout loads but never calls: (on a Cluster, file).
const NOT_OF_LAYOUT: [(bool, &str); 15] = [
    (false, "enrol.lua"),
    (false, "seat.lua"),
    (false, "list.lua"),
    (false, "relisted.lua"),
    (false, "open.lua"),
    (false, "reserve.lua"),
    (false, "move.lua"),
    (false, "end.lua"),
    (false, "find.lua"),
    (false, "hint.lua"),
    (false, "hinted.lua"),
    (false, "lib/intent.lua"),
    (true, "register.lua"),
    (true, "dispatch.lua"),
    (true, "dispatch_at_once.lua"),
];

/// What the board of duties is made of; its cases are others.
const BOARD: [&str; 2] = ["duties.lua", "work.lua"];

/// Lines whose change shows in no answer and no state: how long rubbish lies about, and what
/// happens to contents that are not ours or to limits out of reach, which have tests of their own.
const ELSEWHERE: [&str; 32] = [
    "rubbish",
    "quarantine",
    "'PX'",
    "repaired",
    "readable",
    "capable",
    "stored[",
    "not busy",
    "GENERATION_MAX",
    "tonumber(max_jobs)",
    "strangers",
    "NODES_MAX",
    "SHARDS_MAX",
    "time[",
    // The walk ends where it began; a longer one meets the same nodes again.
    "-- once around",
    // Searches for text, not for a pattern: items have no magic characters but the hyphen.
    "1, true)",
    // Expiries that stand for no lease.
    "expiry_moved(n)",
    "EXPIRIES, member",
    // A generation that node or directory has lost.
    "listed.generation",
    // A pair without room takes a thousand shards.
    "-- no room",
    "elseif n.first",
    // Orders of grant are unique.
    "-- no two are equal",
    "-- by number",
    // So many are not made here.
    "DUTIES_MAX",
    "INSTANCES_MAX",
    // Who listens hears it.
    "PUBLISH",
    // Whoever looks in vain finds the same.
    "-- saves looks in vain",
    // Writes what stands already.
    "first > expires",
    // What is not decided at once is decided alike.
    "-- or the long way",
    // A lease and its answer disagree only where contents are lost.
    "a[5] ~= lease",
    "its answer is lost",
    // A registration that has died halfway.
    "local known = tonumber",
];

/// Functions that put contents aside that are not ours.
const FUNCTIONS_ELSEWHERE: [&str; 4] = ["quarantine", "read", "write", "repaired"];

/// What a Cluster does not look at: its nodes tell no index, pairs are indexed for the walk of one
/// server, and a lease that ends by itself tells nobody, so that any later step may sweep it.
const NOT_ON_CLUSTER: [&str; 5] =
    ["room_changed(n)", "expiry_moved", "lease_ended", "others", "-- or the next step"];

struct Mutant {
    file: &'static str,
    // Lines of the file from zero.
    at: usize,
    line: &'static str,
    changed: String,
}

impl Mutant {
    fn scripts(&self, layout: Layout, config: &StateConfig) -> Scripts {
        Scripts::edited(layout, config, |file, text| {
            let mut lines: Vec<&str> = text.lines().collect();
            if file == self.file {
                lines[self.at] = &self.changed;
            }
            lines.join("\n")
        })
    }
}

/// Of the board's scripts, or of all others.
fn mutants(layout: Layout, board: bool) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for (file, text) in Scripts::sources(layout) {
        let of_board = BOARD.contains(&file);
        // The rest of what the board calls has been looked at with the others.
        if of_board != board || NOT_OF_LAYOUT.contains(&(layout == Layout::Cluster, file)) {
            continue;
        }
        let mut elsewhere = false;
        for (at, line) in text.lines().enumerate() {
            if let Some(function) = line.strip_prefix("local function ") {
                let name = function.split('(').next().unwrap_or_default();
                elsewhere = FUNCTIONS_ELSEWHERE.contains(&name);
            }
            let comment = line.trim_start().starts_with("--");
            let contains = |words: &[&str]| words.iter().any(|word| line.contains(word));
            let not_here =
                layout == Layout::Cluster && (contains(&NOT_ON_CLUSTER) || line.contains("index"));
            if comment || elsewhere || not_here || contains(&ELSEWHERE) {
                continue;
            }
            let changes = changes(line).into_iter();
            mutants.extend(changes.map(|changed| Mutant { file, at, line, changed }));
        }
    }
    mutants
}

fn changes(line: &str) -> Vec<String> {
    let line = line.split(" -- ").next().unwrap_or(line);
    let replaced = CHANGES.iter().filter(|(from, _)| line.contains(from));
    let mut changed: Vec<String> = replaced.map(|(from, to)| line.replacen(from, to, 1)).collect();
    let trimmed = line.trim_start();
    let calls = ["redis.call(", "write(", "save_", "set_first(", "room_changed(", "sweep_node("];
    let assigns = trimmed.starts_with("n.") || trimmed.starts_with("intent.");
    if (assigns || calls.iter().any(|call| trimmed.starts_with(call))) && line.ends_with([')', 'w'])
    {
        changed.push(String::new());
    }
    changed
}

fn cases(steps: &BoxedStrategy<Vec<Step>>) -> Vec<(usize, Vec<Step>)> {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let cases = (0..rules().len(), prop::collection::vec(steps.clone(), STEPS));
    let case = |_| {
        let (rule, parts) = cases.new_tree(&mut runner).unwrap().current();
        (rule, parts.concat())
    };
    (0..CASES).map(case).collect()
}

/// The mutants that the cases of `differs` do not notice, under the rules of each store.
fn survivors(
    mut servers: Servers,
    all: &[Mutant],
    rules: &[StateConfig],
    differs: impl Fn(&Runtime, &mut Servers, &[Store]) -> bool,
) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let every = std::env::var("LINGUA_MUTANTS").is_ok_and(|which| which == "all");
    let stride = if every { 1 } else { all.len() / SAMPLE };
    let mut survivors = Vec::new();
    for mutant in all.iter().skip(stride / 2).step_by(stride) {
        let stores: Result<Vec<_>, _> = rules
            .iter()
            .map(|rules| {
                let scripts = mutant.scripts(servers.layout, rules);
                servers.flush();
                runtime.block_on(Store::connect_with(servers.config(rules), scripts))
            })
            .collect();
        let stores = match stores {
            Ok(stores) => stores,
            // It is no script any more.
            Err(StoreError::Script { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        if !differs(&runtime, &mut servers, &stores) {
            let Mutant { file, at, line, changed } = mutant;
            let (line, changed) = (line.trim(), changed.trim());
            survivors.push(format!("{file}:{} `{line}` as `{changed}`", at + 1));
            println!("survives: {}", survivors[survivors.len() - 1]);
        }
    }
    println!("{} of {} mutants survive", survivors.len(), all.len() / stride);
    survivors
}

/// Survivors among the steps of the shared state.
fn survivors_of_state(servers: Servers, steps: &BoxedStrategy<Vec<Step>>) -> Vec<String> {
    let (all, rules, cases) = (mutants(servers.layout, false), rules(), cases(steps));
    survivors(servers, &all, &rules, |runtime, servers, stores| {
        // A store that contradicts itself ends the look into it.
        cases.iter().any(|(rule, steps)| {
            let mut both = Both { runtime, servers, store: &stores[*rule], operations: 0 };
            let run = catch_unwind(AssertUnwindSafe(|| both.run(&rules[*rule], steps)));
            !matches!(run, Ok(Ok(())))
        })
    })
}

#[test]
fn a_changed_line_is_noticed_on_one_server() {
    assert_eq!(survivors_of_state(Servers::one(), &steps::on_one_server()), [""; 0]);
}

#[test]
fn a_changed_line_is_noticed_on_a_cluster() {
    assert_eq!(survivors_of_state(Servers::cluster(), &steps::on_cluster()), [""; 0]);
}

#[test]
fn a_changed_line_of_the_board_is_noticed() {
    let (servers, cases) = (Servers::one(), duties::cases());
    let (all, rules) = (mutants(servers.layout, true), [StateConfig::default()]);
    let left = survivors(servers, &all, &rules, |runtime, servers, stores| {
        cases.iter().any(|steps| duties::case(runtime, servers, &stores[0], steps).is_err())
    });
    assert_eq!(left, [""; 0]);
}
