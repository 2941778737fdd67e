//! Random operations, drawn as small choices, so that they shrink well.

use lingua_core::*;
use proptest::prelude::*;
use proptest::sample::select;

use crate::turns::turns;

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

pub(crate) fn node() -> impl Strategy<Value = u8> {
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
