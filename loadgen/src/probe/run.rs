//! Runs behaviours: most of them side by side, some alone, the dangerous ones last.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::clock::since_1970;
use crate::probe::behaviours::{BEHAVIOURS, Behaviour, Turn};
use crate::probe::stage::Stage;
use crate::probe::target::{Target, Unreachable};
use crate::probe::times::Times;
use crate::probe::verdict::{Answer, Trouble, Verdict};

/// From one look at the progress to the next.
const LOOK: Duration = Duration::from_millis(200);
/// A behaviour that has not ended so long after its time is given up.
const GRACE: Duration = Duration::from_secs(180);

/// What to probe, and how.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The scheduler.
    pub target: Target,
    /// The behaviours, in the order in which they are told.
    pub behaviours: Vec<&'static Behaviour>,
    /// Waits and pauses.
    pub times: Times,
    /// What an operator lets the probe do.
    pub commands: Commands,
}

/// Shell commands that do what no peer can.
#[derive(Debug, Clone, Default)]
pub struct Commands {
    /// Orders the scheduler to stop.
    pub drain: Option<String>,
    /// Restarts the scheduler's Redis and ends when it is up.
    pub redis_restart: Option<String>,
}

/// How far the probe is.
#[derive(Debug, Clone)]
pub struct Progress {
    /// Behaviours that have come out.
    pub done: usize,
    /// All.
    pub of: usize,
    /// Names of those under way.
    pub running: Vec<&'static str>,
    /// About how long it still takes.
    pub left: Duration,
}

/// How a scheduler came out.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The scheduler.
    pub target: String,
    /// When it began, in Unix milliseconds.
    pub began_ms: u64,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// The behaviours, in the order in which they are told.
    pub behaviours: Vec<Answer>,
}

impl Report {
    /// How many behaviours came out so.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.behaviours.iter().filter(|answer| answer.verdict == verdict).count()
    }
}

/// A name that no behaviour has.
#[derive(Debug, thiserror::Error)]
#[error("--only {0}: no such behaviour; lingua probe --list names them all")]
pub struct UnknownBehaviour(String);

/// The behaviours with these names; without names all.
///
/// # Errors
/// A name that none has.
pub fn choose(names: &[String]) -> Result<Vec<&'static Behaviour>, UnknownBehaviour> {
    let unknown = |name: &&String| BEHAVIOURS.iter().all(|behaviour| behaviour.name != **name);
    if let Some(name) = names.iter().find(unknown) {
        return Err(UnknownBehaviour(name.clone()));
    }
    let wanted = |behaviour: &&'static Behaviour| {
        names.is_empty() || names.iter().any(|name| name == behaviour.name)
    };
    Ok(BEHAVIOURS.iter().filter(wanted).collect())
}

/// Probes a scheduler; `watch` learns how far it is, a few times a second.
///
/// # Errors
/// There is no scheduler.
pub async fn run(plan: &Plan, mut watch: impl FnMut(&Progress)) -> Result<Report, Unreachable> {
    plan.target.reach().await?;
    let began = since_1970(SystemTime::now());
    let start = Instant::now();
    let mut answers = BTreeMap::new();
    for batch in batches(&plan.behaviours) {
        let mut batch = Batch::start(plan, (began % 1_000_000_000) as u32, &batch);
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while !batch.tasks.is_empty() {
            tokio::select! {
                Some(came) = batch.tasks.join_next() => {
                    // A behaviour that panicked is missing below and told there.
                    if let Ok((place, answer)) = came {
                        batch.running.remove(&place);
                        answers.insert(place, answer);
                    }
                }
                _ = looks.tick() => watch(&progress(plan, &answers, &batch)),
            }
        }
    }
    let behaviours = plan
        .behaviours
        .iter()
        .enumerate()
        .map(|(place, behaviour)| answers.remove(&place).unwrap_or_else(|| broken(behaviour)))
        .collect();
    Ok(Report {
        target: plan.target.to_string(),
        began_ms: began / 1_000_000,
        took_ms: start.elapsed().as_millis() as u64,
        behaviours,
    })
}

/// Places of behaviours that may run side by side, batch after batch.
fn batches(behaviours: &[&Behaviour]) -> Vec<Vec<usize>> {
    let of = |turn| (0..behaviours.len()).filter(move |&place| behaviours[place].turn == turn);
    let mut batches = vec![of(Turn::Together).collect()];
    batches.extend(of(Turn::Alone).chain(of(Turn::Last)).map(|place| vec![place]));
    batches
}

/// Behaviours under way.
struct Batch {
    tasks: JoinSet<(usize, Answer)>,
    running: BTreeMap<usize, &'static str>,
    began: Instant,
}

impl Batch {
    fn start(plan: &Plan, run: u32, places: &[usize]) -> Self {
        let mut tasks = JoinSet::new();
        let mut running = BTreeMap::new();
        for &place in places {
            let behaviour = plan.behaviours[place];
            let (target, commands) = (plan.target.clone(), plan.commands.clone());
            let stage = Stage::new(target, plan.times, commands, run, place as u32);
            tasks.spawn(async move { (place, look_at(behaviour, &stage).await) });
            running.insert(place, behaviour.name);
        }
        Self { tasks, running, began: Instant::now() }
    }
}

async fn look_at(behaviour: &Behaviour, stage: &Stage) -> Answer {
    let began = Instant::now();
    let limit = (behaviour.takes)(&stage.times) + GRACE;
    let (verdict, found) = match timeout(limit, (behaviour.act)(stage)).await {
        Ok(Ok(found)) => (Verdict::Pass, found),
        Ok(Err(Trouble::Failed(why))) => (Verdict::Fail, why),
        Ok(Err(Trouble::Unsupported(why))) => (Verdict::Unsupported, why),
        Ok(Err(Trouble::NotRun(why))) => (Verdict::NotRun, why),
        Err(_) => (Verdict::Fail, format!("not over after {} s", limit.as_secs())),
    };
    Answer {
        name: behaviour.name,
        explains: behaviour.explains,
        verdict,
        found,
        took_ms: began.elapsed().as_millis() as u64,
        evidence: stage.log.evidence(),
    }
}

fn broken(behaviour: &Behaviour) -> Answer {
    Answer {
        name: behaviour.name,
        explains: behaviour.explains,
        verdict: Verdict::Fail,
        found: "the probe itself broke here: its report goes to its authors".into(),
        took_ms: 0,
        evidence: Default::default(),
    }
}

fn progress(plan: &Plan, answers: &BTreeMap<usize, Answer>, batch: &Batch) -> Progress {
    let takes = |place: usize| (plan.behaviours[place].takes)(&plan.times);
    let running = batch.running.keys().map(|&place| takes(place)).max().unwrap_or_default();
    let open = (0..plan.behaviours.len())
        .filter(|place| !answers.contains_key(place) && !batch.running.contains_key(place));
    Progress {
        done: answers.len(),
        of: plan.behaviours.len(),
        running: batch.running.values().copied().collect(),
        left: running.saturating_sub(batch.began.elapsed()) + open.map(takes).sum(),
    }
}
