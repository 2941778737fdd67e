//! The probe finds what was planted, and nothing else.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use lingua_loadgen::probe::{self, Commands, Plan, Report, Target, Times, Verdict};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::faulty::{Fault, Faulty, Pace};

/// Schedulers that are probed at once.
const AT_ONCE: usize = 12;

/// Behaviours that load the scheduler or wait for pages; a test names them where it needs them.
const ALONE: &[&str] = &["latency-under-load", "goodput-overload", "stats-page", "metrics-page"];

/// Behaviours that a scheduler shows although no session hears how its utterances end.
const ASK_NO_ANSWER: &[&str] = &[
    "late-chunk",
    "close-with-audio",
    "close-in-hangover",
    "no-result-twice",
    "own-results",
    "no-unexplained-close",
    "capacity-kept",
    "skew",
    "burst-spreads",
    "affinity",
    "close-answered",
    "health-page",
    // Not shown by the faulty one, with or without answers.
    "redis-restart",
    "node-drain",
    "drain",
];

/// Waits that fit [`Pace::brisk`].
fn brisk() -> Times {
    Times {
        prompt: Duration::from_secs(5),
        warm_up: Duration::from_secs(12),
        heartbeat: Duration::from_millis(300),
        dispatch: Duration::from_secs(3),
        idle_gap: Duration::from_millis(300),
        silence: Duration::from_millis(2_500),
        pause: Duration::from_millis(900),
        cut: Duration::from_secs(5),
        settle: Duration::from_secs(12),
        presence: Duration::from_millis(2_500),
        load: Duration::from_secs(3),
        page: Duration::from_secs(3),
    }
}

async fn probed(scheduler: &Faulty, only: &[&str]) -> Report {
    let names: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
    let plan = Plan {
        target: Target::resolve(&scheduler.url()).unwrap(),
        behaviours: probe::choose(&names).unwrap(),
        times: brisk(),
        commands: Commands::default(),
    };
    probe::run(&plan, |_| {}).await.unwrap()
}

/// All but those of [`ALONE`].
fn most() -> Vec<&'static str> {
    let names = probe::BEHAVIOURS.iter().map(|behaviour| behaviour.name);
    names.filter(|name| !ALONE.contains(name)).collect()
}

fn failed(report: &Report) -> BTreeSet<&'static str> {
    let failed = |answer: &&probe::Answer| answer.verdict == Verdict::Fail;
    report.behaviours.iter().filter(failed).map(|answer| answer.name).collect()
}

/// What fails of a scheduler with a fault, among which behaviours.
fn planted(fault: Fault) -> (Vec<&'static str>, Vec<&'static str>) {
    // These disturb whatever comes after them, so only a few behaviours are looked at.
    let few = ["session-bound", "two-way", "health-page"];
    let with_few = |name| (vec![name], [&few[..], &[name]].concat());
    let only = |fails: &[&'static str]| (fails.to_vec(), most());
    match fault {
        Fault::Oversells => only(&["capacity-kept", "full-nodes-refuse"]),
        Fault::DuplicatesResult => only(&["no-result-twice"]),
        Fault::DropsResult => only(&["no-result-lost"]),
        Fault::Reorders => only(&["result-order"]),
        Fault::AnswersWrongSession => only(&["own-results"]),
        Fault::IgnoresAffinity => only(&["affinity"]),
        Fault::PicksFirstNode => only(&["burst-spreads", "skew"]),
        Fault::PinsSessions => only(&["burst-spreads"]),
        Fault::Freezes => with_few("latency-under-load"),
        Fault::ClosesSilently => only(&["no-unexplained-close"]),
        // Whatever asks for an answer.
        Fault::NeverAnswers => {
            let asks = |name: &&'static str| !ASK_NO_ANSWER.contains(name);
            (most().into_iter().filter(asks).collect(), most())
        }
        Fault::SplitsLateChunk => only(&["late-chunk"]),
        Fault::LosesAudioAtClose => only(&["close-with-audio"]),
        Fault::LosesHangoverAtClose => only(&["close-in-hangover"]),
        Fault::ForgetsIdleSessions => only(&["silent-session"]),
        Fault::DropsSessionWithoutNode => only(&["recovers-after-no-node"]),
        Fault::DelaysNewcomers => only(&["newcomer-serves"]),
        Fault::LosesJobsOfDeadNodes => only(&["node-dies"]),
        Fault::NeverRetries => only(&["node-never-answers"]),
        Fault::SkipsGapsSilently => only(&["gap-rule"]),
        Fault::TakesStaleResults => only(&["stale-result"]),
        Fault::TakesForeignResults => only(&["foreign-result"]),
        Fault::TakesUnknownResults => only(&["unknown-result"]),
        Fault::TakesRepeatedResults => only(&["repeated-result"]),
        Fault::OldSocketEndsNew => only(&["node-id-twice"]),
        Fault::IgnoresMalformed | Fault::DiesOfMalformed => {
            only(&["malformed-node", "malformed-session"])
        }
        Fault::MeasuresAllAsOpus => only(&["pcm16-duration"]),
        Fault::AnswersSpeakerOfRoom => only(&["room-languages"]),
        Fault::ServesOneWay => only(&["two-way"]),
        Fault::OpensSessionsToAll => only(&["session-bound"]),
        Fault::CollapsesUnderLoad => with_few("goodput-overload"),
        Fault::KeepsSilentNodes => only(&["heartbeats-stop"]),
        Fault::HidesNodes => with_few("stats-page"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduler_without_fault_shows_all() {
    let scheduler = Faulty::start_at(&[], Pace::brisk()).await;
    let report = probed(&scheduler, &[]).await;
    assert_eq!(failed(&report), BTreeSet::new(), "{}", probe::table(&report));
    let unsupported: Vec<_> = report
        .behaviours
        .iter()
        .filter(|answer| answer.verdict == Verdict::Unsupported)
        .map(|answer| answer.name)
        .collect();
    assert_eq!(unsupported, ["redis-restart", "node-drain"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_what_is_planted_fails() {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut probes = JoinSet::new();
    for &fault in Fault::ALL {
        let turns = turns.clone();
        probes.spawn(async move {
            let _turn = turns.acquire().await.unwrap();
            let (fails, among) = planted(fault);
            let scheduler = Faulty::start_at(&[fault], Pace::brisk()).await;
            let report = probed(&scheduler, &among).await;
            let found = failed(&report);
            (found != fails.into_iter().collect())
                .then(|| format!("{fault:?}: {found:?}\n{}", probe::table(&report)))
        });
    }
    let wrong: Vec<String> = probes.join_all().await.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
