//! The same steps in the embedded state and in Redis give the same replies and the same state.

use lingua_core::{
    Features, Micros, ModelId, Needs, NodeNum, PoolRule, Reply, Snapshot, State, StateConfig,
};
use lingua_store::Store;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use tokio::runtime::Runtime;

use crate::dump::dump;
use crate::servers::Servers;
use crate::size;
use crate::steps::{self, NAMES, Step};
use crate::story::Story;

/// Parts of one case, each a step or a few.
const STEPS: std::ops::Range<usize> = 150..250;
/// Operations in all; `LINGUA_OPERATIONS` sets another number.
const OPERATIONS: u32 = 100_000;
/// What a case of this many parts has on average, and a little less.
const OPERATIONS_OF_CASE: u32 = 220;
/// A time of the years that come, so that numbers are as large as they will be.
const START: Micros = Micros(1_900_000_000_000_007);

/// Rules to try; each has scripts of its own.
pub(crate) fn rules() -> Vec<StateConfig> {
    let base = StateConfig { shard_size: 2, usage_max: Some(500), ..StateConfig::default() };
    vec![
        base.clone(),
        StateConfig {
            pool_rule: PoolRule::FaceToFace,
            shard_size: 1,
            answer_life: Micros::secs(8),
            ..base.clone()
        },
        StateConfig {
            pool_rule: PoolRule::AsrXSemantic,
            answer_life: Micros::ZERO,
            lease: Micros::secs(8),
            unconfirmed: Micros::secs(2),
            usage_max: None,
            ..base
        },
    ]
}

/// The two executions.
pub(crate) struct Both<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) servers: &'a mut Servers,
    pub(crate) store: &'a Store,
    /// Operations that were answered alike.
    pub(crate) operations: u32,
}

impl Both<'_> {
    /// Feeds one case to both.
    pub(crate) fn run(
        &mut self,
        config: &StateConfig,
        steps: &[Step],
    ) -> Result<(), TestCaseError> {
        self.servers.flush();
        let mut state = State::new(config.clone());
        let mut story = Story::new(config.pool_rule);
        let mut now = START;
        for (at, step) in steps.iter().enumerate() {
            if let Step::Wait(span) = *step {
                now = now + Micros(span);
            }
            let Some(op) = story.op(now, step) else { continue };
            let expected = state.apply(now, &op);
            let stored = self.runtime.block_on(self.store.apply(now, &op));
            let stored = stored.map_err(|error| TestCaseError::fail(format!("{op:?}: {error}")))?;
            match (&expected, &stored) {
                (Reply::Snapshot(expected), Reply::Snapshot(stored)) => {
                    compare_snapshots(expected, stored)?;
                }
                _ => {
                    let (expected, stored) = (format!("{expected:?}"), format!("{stored:?}"));
                    prop_assert_eq!(expected, stored, "step {}: {:?}", at, op);
                }
            }
            story.hear(&op, &expected);
            self.operations += 1;
        }
        let mut expected = state.dump(now);
        let unseen = if self.servers.connections.len() == 1 { "hint" } else { "free" };
        expected.retain(|line| !line.starts_with(unseen));
        let stored = dump(&mut self.servers.connections, now);
        let missing: Vec<_> = expected.iter().filter(|line| !stored.contains(line)).collect();
        let strange: Vec<_> = stored.iter().filter(|line| !expected.contains(line)).collect();
        prop_assert!(
            missing.is_empty() && strange.is_empty(),
            "missing {missing:#?}\nstrange {strange:#?}"
        );
        Ok(())
    }
}

/// Both copies answer every question of a policy alike.
fn compare_snapshots(a: &Snapshot, b: &Snapshot) -> Result<(), TestCaseError> {
    prop_assert_eq!(&a.loads, &b.loads);
    prop_assert_eq!(&a.live, &b.live);
    for pair in steps::pairs() {
        for model in [None, Some(ModelId(2))] {
            for features in [0, 1, 1 << 40] {
                let features = Features(features);
                let needs = Needs { model, features, ..Needs::pair(pair) };
                let count = |s: &Snapshot| s.directory.fitting_count(needs);
                prop_assert_eq!(count(a), count(b), "{:?}", needs);
                for num in 0..u32::from(NAMES) {
                    let fits = |s: &Snapshot| s.directory.fits(NodeNum(num), &needs);
                    prop_assert_eq!(fits(a), fits(b), "{} {:?}", num, needs);
                }
            }
        }
        let shards = |s: &Snapshot| {
            let all = s.directory.shards(pair).map(|shards| shards.all().to_vec());
            let mut all = all.unwrap_or_default();
            while all.last().is_some_and(Vec::is_empty) {
                all.pop();
            }
            all
        };
        prop_assert_eq!(shards(a), shards(b));
    }
    Ok(())
}

fn conform(mut servers: Servers, steps: BoxedStrategy<Vec<Step>>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let rules = rules();
    let stores: Vec<Store> =
        rules.iter().map(|rules| runtime.block_on(servers.store(rules))).collect();
    let cases = (0..rules.len(), prop::collection::vec(steps, STEPS));
    let wanted = size::operations(OPERATIONS);
    let config = Config {
        cases: wanted.div_ceil(OPERATIONS_OF_CASE),
        max_shrink_iters: 2_000,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let layout = servers.layout;
    let servers = std::cell::RefCell::new(servers);
    let operations = std::cell::Cell::new(0);
    let run = runner.run(&cases, |(rule, steps)| {
        let mut servers = servers.borrow_mut();
        let mut both = Both {
            runtime: &runtime,
            servers: &mut servers,
            store: &stores[rule],
            operations: operations.get(),
        };
        let run = both.run(&rules[rule], &steps.concat());
        operations.set(both.operations);
        run
    });
    if let Err(error) = run {
        panic!("{error}");
    }
    let operations = operations.get();
    println!("{layout:?}: {operations} operations, all answered and stored alike");
    assert!(operations >= wanted, "{operations} operations, {wanted} were wanted");
}

#[test]
fn one_server_agrees_with_the_embedded_state() {
    conform(Servers::one(), steps::on_one_server());
}

#[test]
fn a_cluster_agrees_with_the_embedded_state() {
    conform(Servers::cluster(), steps::on_cluster());
}
