//! Turns of events that single random steps would hardly ever make.

use lingua_core::{ModelId, Report};
use proptest::prelude::*;
use proptest::sample::select;

use crate::steps::{Step, node};

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
pub(crate) fn turns(
    single: BoxedStrategy<Step>,
    ask: BoxedStrategy<Vec<Step>>,
) -> BoxedStrategy<Vec<Step>> {
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
