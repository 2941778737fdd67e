//! Random operations, drawn as small choices, so that they shrink well.

use lingua_core::*;
use proptest::prelude::*;
use proptest::sample::select;

/// Names of nodes; numbers up to one more are asked for, so that some are of nobody.
pub(crate) const NAMES: u8 = 7;
const SESSIONS: u64 = 5;

/// One choice.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Wait(u64),
    Register {
        name: u8,
        kind: usize,
        max_jobs: u32,
        owner: u16,
    },
    Heartbeat {
        node: u8,
        stale: bool,
        report: Report,
    },
    Drain {
        node: u8,
        stale: bool,
        on: bool,
    },
    Remove {
        node: u8,
        stale: bool,
    },
    ModelLost {
        node: u8,
        stale: bool,
        model: u32,
    },
    Dispatch(Ask),
    /// The last of these dispatches again, as it was.
    Again(u8),
    Open(Ask),
    Reserve {
        which: u8,
        ask: Ask,
        elsewhere: Option<u8>,
    },
    Move {
        which: u8,
        seen: bool,
        same: bool,
        to: Option<u8>,
        generation: Option<u32>,
    },
    End {
        which: u8,
        same: bool,
    },
    Find {
        class: u32,
        word: u32,
        excluded: Vec<u8>,
    },
    Hint {
        node: u8,
        free: bool,
    },
    Confirm {
        which: u8,
        stale: bool,
    },
    Release {
        which: u8,
        stale: bool,
    },
    RecordAffinity {
        session: u64,
        node: u8,
        stale: bool,
        life: u64,
        only: Option<u32>,
    },
    ClearAffinity(u64),
    Debounce {
        model: u32,
        window: u64,
    },
    Snapshot,
}

/// What a dispatch asks for.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) session: u64,
    pub(crate) index: u32,
    pub(crate) pair: usize,
    pub(crate) features: u64,
    pub(crate) model: Option<u32>,
    pub(crate) region: Option<u16>,
    pub(crate) attempt: u32,
    pub(crate) instance: u16,
    pub(crate) affinity: bool,
    pub(crate) preferred: Option<u8>,
    pub(crate) excluded: Vec<u8>,
    pub(crate) candidates: Vec<u8>,
    pub(crate) scan: Option<u32>,
    pub(crate) deadline: u64,
}

/// `(asr, semantic, tts, features, models, region)` of the kinds of node.
type Kind = (&'static str, &'static str, &'static str, u64, &'static [u32], Option<u16>);

const KINDS: [Kind; 6] = [
    ("zh", "zh en", "en", 0, &[], None),
    ("en zh", "en zh", "en zh", 1, &[0, 2], Some(1)),
    ("en zh", "en zh de", "en zh", 1 << 40 | 3, &[2], Some(2)),
    ("de", "de", "en", 1 << 31, &[10, 12], None),
    ("zh", "zh en", "en", 0, &[1], Some(0)),
    ("zh de", "zh", "en-x en", u64::MAX, &[0, 1, 2, 3], Some(1)),
];

const PAIRS: [(&str, &str); 7] = [
    ("zh", "en"),
    ("en", "zh"),
    ("de", "en"),
    ("zh", "en-x"),
    ("en", "en"),
    ("zh", "fr"),
    ("zh", "zh"),
];

/// Instances, so that leases have up to twenty digits.
const INSTANCES: [u16; 3] = [0, 1, u16::MAX];

const MODELS: [&[u32]; 4] = [&[], &[0, 2], &[2], &[0, 1, 2, 3]];

fn langs(tags: &str) -> Vec<Lang> {
    tags.split_whitespace().map(|tag| tag.parse().unwrap()).collect()
}

pub(crate) fn capabilities(kind: usize, rule: PoolRule) -> Capabilities {
    let (asr, semantic, tts, features, models, region) = KINDS[kind];
    Capabilities {
        languages: Languages::new(&langs(asr), &langs(semantic), &langs(tts), rule).unwrap(),
        features: Features(features),
        models: models.iter().copied().map(ModelId).collect(),
        region: region.map(RegionId),
    }
}

pub(crate) fn pairs() -> impl Iterator<Item = Pair> {
    PAIRS.iter().map(|(src, tgt)| Pair { src: src.parse().unwrap(), tgt: tgt.parse().unwrap() })
}

fn node() -> impl Strategy<Value = u8> {
    0..NAMES
}

fn rare() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.1)
}

fn report() -> impl Strategy<Value = Report> {
    let usage = prop::option::weighted(0.3, select(vec![0u16, 499, 500, 501, 900]));
    let models = prop::option::weighted(0.15, select(MODELS.to_vec()));
    let max_jobs = prop::option::weighted(0.15, select(vec![0u32, 1, 2, 3, 1_024, 1_025]));
    let features = prop::option::weighted(0.15, select(vec![0u64, 1, 1 << 40 | 3, u64::MAX]));
    let all = (0u32..4, usage, models, features, max_jobs);
    all.prop_map(|(running, usage, models, features, max_jobs)| Report {
        running,
        usage: [None, usage, usage.map(|usage| usage / 2)],
        models: models.map(|models| models.iter().copied().map(ModelId).collect()),
        features: features.map(Features),
        max_jobs,
    })
}

fn ask() -> impl Strategy<Value = Ask> {
    let word = prop_oneof![Just(0), Just(u32::MAX), any::<u32>()];
    let instance = select(INSTANCES.to_vec());
    let whom = (0..SESSIONS, 0u32..3, 0usize..PAIRS.len(), 1u32..4, instance);
    let features = select(vec![0, 0, 0, 1, 3, 1 << 31, 1 << 40]);
    let what = (
        features,
        prop::option::weighted(0.2, select(vec![0u32, 1, 2, 3, 10])),
        prop::option::weighted(0.3, 0u16..3),
        select(vec![1u64, 4_000_000, 9_000_000, 60_000_000, 60_000_000, 90_000_000]),
    );
    let nodes = |most| prop::collection::vec(0..=NAMES, 0..most);
    let how = (
        any::<bool>(),
        prop::option::weighted(0.2, 0..=NAMES),
        prop_oneof![4 => Just(Vec::new()), 1 => nodes(4)],
        nodes(4),
        prop::option::weighted(0.7, word),
    );
    (whom, what, how).prop_map(|(whom, what, how)| Ask {
        session: whom.0,
        index: whom.1,
        // Mostly a pair that many speak.
        pair: if whom.2 > 4 && whom.1 > 0 { 0 } else { whom.2 },
        attempt: whom.3,
        instance: whom.4,
        features: what.0,
        model: what.1,
        region: what.2,
        deadline: what.3,
        affinity: how.0,
        preferred: how.1,
        excluded: how.2,
        candidates: how.3,
        scan: how.4,
    })
}

fn wait() -> impl Strategy<Value = Step> {
    let span = prop_oneof![
        4 => 0u64..3,
        4 => 1_000_000u64..6_000_000,
        2 => select(vec![5_000_000u64, 10_000_000, 30_000_000, 45_000_000, 600_000_000]),
        1 => 20_000_000u64..700_000_000,
    ];
    span.prop_map(Step::Wait)
}

/// Steps that both layouts know.
fn shared() -> BoxedStrategy<Step> {
    let life = select(vec![1u64, 3_000_000, 60_000_000]);
    prop_oneof![
        8 => wait(),
        6 => (node(), 0usize..KINDS.len(), 0u32..4, select(INSTANCES.to_vec())).prop_map(
            |(name, kind, max_jobs, owner)| Step::Register { name, kind, max_jobs, owner }
        ),
        14 => (node(), rare(), report())
            .prop_map(|(node, stale, report)| Step::Heartbeat { node, stale, report }),
        2 => (node(), rare(), prop::bool::weighted(0.4))
            .prop_map(|(node, stale, on)| Step::Drain { node, stale, on }),
        2 => (node(), rare()).prop_map(|(node, stale)| Step::Remove { node, stale }),
        3 => (node(), rare(), select(vec![0u32, 1, 2, 2, 2, 10]))
            .prop_map(|(node, stale, model)| Step::ModelLost { node, stale, model }),
        5 => (any::<u8>(), rare()).prop_map(|(which, stale)| Step::Confirm { which, stale }),
        9 => (any::<u8>(), rare()).prop_map(|(which, stale)| Step::Release { which, stale }),
        4 => (0..SESSIONS, node(), rare(), life, prop::option::weighted(0.3, 0u32..3)).prop_map(
            |(session, node, stale, life, only)| {
                Step::RecordAffinity { session, node, stale, life, only }
            }
        ),
        1 => (0..SESSIONS).prop_map(Step::ClearAffinity),
        2 => (0u32..3, select(vec![1u64, 5_000_000]))
            .prop_map(|(model, window)| Step::Debounce { model, window }),
        1 => Just(Step::Snapshot),
    ]
    .boxed()
}

/// A span, or one microsecond more or less: just where something ends.
fn around(spans: &'static [u64]) -> impl Strategy<Value = Step> {
    (select(spans), 0u64..3).prop_map(|(span, more)| Step::Wait(span + more - 1))
}

/// A usage that is known until just now.
fn usage_grows_old() -> impl Strategy<Value = Vec<Step>> {
    (node(), around(&[600_000_000])).prop_map(|(node, wait)| {
        let beat = |usage| {
            let report = Report { usage: [None, usage, None], ..Report::default() };
            Step::Heartbeat { node, stale: false, report }
        };
        vec![beat(Some(900)), wait, beat(None)]
    })
}

/// A node that loses a model again and again, lists it again, and is asked for it.
fn model_storm(ask: BoxedStrategy<Vec<Step>>) -> impl Strategy<Value = Vec<Step>> {
    let (wait, later) = (around(&[1_000_000, 10_000_000]), around(&[1, 10_000_000]));
    let model = select(vec![0u32, 2]);
    (node(), model, 8usize..12, 0usize..12, wait, later, ask).prop_map(
        |(node, model, count, at, wait, later, ask)| {
            let mut storm = vec![Step::ModelLost { node, stale: false, model }; count];
            storm.insert(at.min(count), wait);
            let models = Some([0, 1, 2].map(ModelId).to_vec());
            let report = Report { models, ..Report::default() };
            storm.push(Step::Heartbeat { node, stale: false, report });
            storm.push(later);
            let asks = ask.into_iter().map(|mut step| {
                if let Step::Dispatch(ask) | Step::Open(ask) = &mut step {
                    ask.model = Some(model);
                    ask.excluded.clear();
                    ask.candidates.insert(0, node);
                }
                step
            });
            storm.extend(asks);
            storm
        },
    )
}

/// A node whose presence is just over or not.
fn presence_ends(ask: BoxedStrategy<Vec<Step>>) -> impl Strategy<Value = Vec<Step>> {
    let interval = select(vec![1u64, 1_000_000, 4_000_001, 4_000_002, 4_000_003, 8_000_000]);
    (node(), interval, 0usize..4, 0u64..3, any::<bool>(), ask).prop_map(
        |(node, interval, beats, more, known, ask)| {
            let beat = Step::Heartbeat { node, stale: false, report: Report::default() };
            let mut steps = vec![beat.clone()];
            for _ in 0..beats {
                steps.extend([Step::Wait(interval), beat.clone()]);
            }
            let life = if known { 3 * interval.max(1_000_000) } else { 45_000_000 };
            steps.push(Step::Wait(life + more - 1));
            steps.extend(ask);
            steps
        },
    )
}

/// A slot, an answer, an intent or a verdict that is just over or not, and the same asked again.
fn life_ends(again: BoxedStrategy<Vec<Step>>) -> impl Strategy<Value = Vec<Step>> {
    let span = around(&[
        2_000_000,
        5_000_000,
        8_000_000,
        10_000_000,
        12_000_000,
        30_000_000,
        60_000_000,
        70_000_000,
        600_000_000,
        660_000_000,
    ]);
    let beats = prop::collection::vec(node(), 0..4);
    let release = prop::option::of(any::<u8>());
    (again, release, span, beats).prop_map(|(again, release, wait, beats)| {
        let mut steps = again.clone();
        steps.extend(release.map(|which| Step::Release { which: which % 2, stale: false }));
        steps.push(wait);
        let report = Report { running: 1, ..Report::default() };
        let beat = |node| Step::Heartbeat { node, stale: false, report: report.clone() };
        steps.extend(beats.into_iter().map(beat));
        steps.extend(again);
        steps
    })
}

/// A debounce whose window is just over or not.
fn window_ends() -> impl Strategy<Value = Vec<Step>> {
    (0u32..3, around(&[5_000_000])).prop_map(|(model, wait)| {
        let win = Step::Debounce { model, window: 5_000_000 };
        vec![win.clone(), wait, win]
    })
}

/// Many jobs at one node, granted one after the other; some are confirmed, some renewed, and they
/// end at different times.
fn crowd(ask: BoxedStrategy<Vec<Step>>) -> impl Strategy<Value = Vec<Step>> {
    let one = (ask, prop::option::weighted(0.4, 0u8..2), 0u64..3_000_000);
    let asks = prop::collection::vec(one, 3..8);
    let later = prop::collection::vec((0u32..6, around(&[2_000_000, 5_000_000, 9_000_000])), 1..4);
    (node(), asks, later).prop_map(|(node, asks, later)| {
        let beat = |running| {
            let report = Report { running, max_jobs: Some(1_024), ..Report::default() };
            Step::Heartbeat { node, stale: false, report }
        };
        let mut steps = vec![beat(0)];
        for (ask, confirm, wait) in asks {
            steps.extend(ask.into_iter().map(|mut step| {
                if let Step::Dispatch(ask) | Step::Open(ask) | Step::Reserve { ask, .. } = &mut step
                {
                    (ask.pair, ask.features, ask.model) = (0, 0, None);
                    (ask.affinity, ask.preferred) = (false, None);
                    ask.excluded.clear();
                    ask.candidates = vec![node];
                }
                step
            }));
            steps.extend(confirm.map(|which| Step::Confirm { which, stale: false }));
            steps.push(Step::Wait(wait));
        }
        for (running, wait) in later {
            steps.extend([beat(running), wait]);
        }
        steps
    })
}

/// Single steps and rare turns of events.
fn turns(single: BoxedStrategy<Step>, ask: BoxedStrategy<Vec<Step>>) -> BoxedStrategy<Vec<Step>> {
    prop_oneof![
        180 => single.prop_map(|step| vec![step]),
        2 => usage_grows_old(),
        4 => model_storm(ask.clone()),
        4 => presence_ends(ask.clone()),
        10 => life_ends(ask.clone()),
        1 => window_ends(),
        2 => crowd(ask),
    ]
    .boxed()
}

/// Steps on one server.
pub(crate) fn on_one_server() -> BoxedStrategy<Vec<Step>> {
    let single = prop_oneof![
        58 => shared(),
        30 => ask().prop_map(Step::Dispatch),
        4 => any::<u8>().prop_map(Step::Again),
    ];
    turns(single.boxed(), ask().prop_map(|ask| vec![Step::Dispatch(ask)]).boxed())
}

/// Steps on a Cluster.
pub(crate) fn on_cluster() -> BoxedStrategy<Vec<Step>> {
    let which = || any::<u8>();
    let generation = prop::option::weighted(0.3, 0u32..4);
    let single = prop_oneof![
        58 => shared(),
        12 => ask().prop_map(Step::Open),
        20 => (which(), ask(), prop::option::weighted(0.2, 0..=NAMES))
            .prop_map(|(which, ask, elsewhere)| Step::Reserve { which, ask, elsewhere }),
        8 => (which(), prop::bool::weighted(0.8), prop::bool::weighted(0.8),
              prop::option::weighted(0.7, 0..=NAMES), generation)
            .prop_map(|(which, seen, same, to, generation)| {
                Step::Move { which, seen, same, to, generation }
            }),
        4 => (which(), prop::bool::weighted(0.8))
            .prop_map(|(which, same)| Step::End { which, same }),
        10 => (0u32..8, any::<u32>(), prop::collection::vec(0..NAMES, 0..3))
            .prop_map(|(class, word, excluded)| Step::Find { class, word, excluded }),
        16 => (0..=NAMES, prop::bool::weighted(0.8))
            .prop_map(|(node, free)| Step::Hint { node, free }),
    ];
    let opened = ask().prop_map(|ask| {
        let reserve = Step::Reserve { which: 0, ask: ask.clone(), elsewhere: None };
        vec![Step::Open(ask), reserve]
    });
    turns(single.boxed(), opened.boxed())
}
