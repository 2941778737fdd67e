//! Ranges, and what goes together: all that is wrong is told at once.

mod duties;

use std::collections::BTreeSet;

use crate::fault::split;
use crate::pair::is_language;
use crate::shape;
use crate::{
    ArrivalGroup, CapacityPlan, Dist, Dur, Expect, Fault, FaultKind, NodeGroup, Pair, PoolRule,
    Scenario, Scheduler, SessionGroup, StoreKind,
};

/// Nodes of one scenario.
const NODES_MAX: u64 = 1_000_000;
/// Sessions of one scenario.
const SESSIONS_MAX: u64 = 10_000_000;
/// Scheduler instances.
const INSTANCES_MAX: u32 = 1_000;
/// Bytes of a node group's name.
const NAME_MAX: usize = 100;
/// Characters of a title.
const TITLE_MAX: usize = 200;
/// Listeners of one room.
const LISTENERS_MAX: usize = 64;
/// Longest run.
const DURATION_MAX: Dur = Dur::from_secs(366 * 86_400 / 2);

/// One value that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// As in `nodes.0.max_jobs`.
    pub(crate) path: String,
    /// What is wrong, and the mend.
    pub(crate) what: String,
}

/// What is wrong so far.
#[derive(Default)]
struct Checks(Vec<Wrong>);

impl Checks {
    fn need(&mut self, holds: bool, path: impl Into<String>, what: impl Into<String>) {
        if !holds {
            self.0.push(Wrong { path: path.into(), what: what.into() });
        }
    }

    fn share(&mut self, value: f64, path: String) {
        let what = format!("{value} is no share: 0 to 1 are allowed");
        self.need((0.0..=1.0).contains(&value), path, what);
    }

    fn positive(&mut self, value: Dur, path: String) {
        self.need(value > Dur::ZERO, path, "zero is not allowed: write a duration such as 10s");
    }
}

/// All that is wrong with a scenario.
pub(crate) fn check(scenario: &Scenario) -> Vec<Wrong> {
    let mut checks = Checks::default();
    top(&mut checks, scenario);
    scheduler(&mut checks, &scenario.scheduler);
    for (at, group) in scenario.nodes.iter().enumerate() {
        nodes(&mut checks, group, &format!("nodes.{at}"));
    }
    names(&mut checks, &scenario.nodes);
    for (at, group) in scenario.sessions.iter().enumerate() {
        sessions(&mut checks, group, &format!("sessions.{at}"));
    }
    for (at, group) in scenario.arrivals.iter().enumerate() {
        arrivals(&mut checks, group, &format!("arrivals.{at}"));
    }
    faults(&mut checks, scenario);
    duties::check(&mut checks, scenario);
    for (at, expect) in scenario.expect.iter().enumerate() {
        expectation(&mut checks, expect, &format!("expect.{at}"));
    }
    if let Some(plan) = &scenario.capacity {
        capacity(&mut checks, plan);
    }
    checks.0
}

fn top(checks: &mut Checks, scenario: &Scenario) {
    let title = &scenario.title;
    let fine = title.chars().count() <= TITLE_MAX && !title.chars().any(char::is_control);
    let what = format!("a title is one line of at most {TITLE_MAX} characters");
    checks.need(fine, "title", what);
    checks.positive(scenario.duration, "duration".into());
    checks.need(scenario.duration <= DURATION_MAX, "duration", "longer than half a year");
    let (warmup, duration) = (scenario.warmup, scenario.duration);
    let what = format!("{warmup} leaves nothing of the duration {duration}: write less");
    if scenario.duties.is_none() {
        checks.need(duration == Dur::ZERO || warmup < duration, "warmup", what);
        let what = "there is no node: add a [[nodes]] group";
        checks.need(!scenario.nodes.is_empty(), "nodes", what);
    }
    let nodes: u64 = scenario.nodes.iter().map(|group| u64::from(group.count)).sum();
    let what = format!("{nodes} nodes are more than the limit of {NODES_MAX}");
    checks.need(nodes <= NODES_MAX, "nodes.0.count", what);
    let sessions = scenario.sessions.iter().filter_map(|group| group.count);
    let sessions: u64 = sessions.map(u64::from).sum();
    let what = format!("{sessions} sessions are more than the limit of {SESSIONS_MAX}");
    checks.need(sessions <= SESSIONS_MAX, "sessions.0.count", what);
}

fn capacity(checks: &mut Checks, plan: &CapacityPlan) {
    let search = &plan.search;
    let rises = search.from > 0.0 && search.from < search.to && search.to.is_finite();
    checks.need(rises, "capacity.search", "from must be above 0 and below to");
    let known = shape::is_known(&split(&search.path));
    let what = "is no path of a scenario: write one such as arrivals.0.rate or sessions.0.count";
    checks.need(known, "capacity.search.path", what);
    let counts = |counts: &[u32], max: u32| counts.iter().all(|count| (1..=max).contains(count));
    let what = format!("1 to {NODES_MAX} nodes are allowed");
    checks.need(counts(&plan.nodes, NODES_MAX as u32), "capacity.nodes", what);
    let what = format!("1 to {INSTANCES_MAX} instances are allowed");
    checks.need(counts(&plan.instances, INSTANCES_MAX), "capacity.instances", what);
}

fn scheduler(checks: &mut Checks, s: &Scheduler) {
    let mut range = |name: &str, value: u32, min: u32, max: u32| {
        let what = format!("{value} is out of range: {min} to {max} are allowed");
        checks.need((min..=max).contains(&value), format!("scheduler.{name}"), what);
    };
    range("sample", s.sample, 1, 16);
    range("shard_size", s.shard_size, 1, 100);
    range("instances", s.instances, 1, INSTANCES_MAX);
    range("max_waiting", s.max_waiting, 1, 10_000_000);
    range("max_length", s.max_length, 1, 1 << 30);
    for (name, value) in [
        ("lease", s.lease),
        ("unconfirmed", s.unconfirmed),
        ("job_timeout", s.job_timeout),
        ("deadline", s.deadline),
        ("store_timeout", s.store_timeout),
        ("snapshot_age", s.snapshot_age),
        ("pause", s.pause),
        ("timeout", s.timeout),
        ("max_duration", s.max_duration),
    ] {
        checks.positive(value, format!("scheduler.{name}"));
    }
    let shared = s.instances <= 1 || s.store != StoreKind::Embedded;
    let what =
        format!("{} instances need a shared store: set scheduler.store = \"redis\"", s.instances);
    checks.need(shared, "scheduler.instances", what);
    if let Some(percent) = s.resource_threshold {
        let what = format!("{percent} is no percentage: above 0 up to 100 are allowed");
        let fine = percent > 0.0 && percent <= 100.0;
        checks.need(fine, "scheduler.resource_threshold", what);
    }
}

fn nodes(checks: &mut Checks, group: &NodeGroup, path: &str) {
    let read = group.from.is_some();
    checks.need(group.count > 0 || read, format!("{path}.count"), "0 nodes: write at least 1");
    let max_jobs = group.max_jobs;
    let what = format!("{max_jobs} is out of range: 1 to 1024 are allowed");
    checks.need((1..=1_024).contains(&max_jobs), format!("{path}.max_jobs"), what);
    languages(checks, &group.asr, &format!("{path}.asr"), read);
    languages(checks, &group.tts, &format!("{path}.tts"), read);
    if let Some(semantic) = &group.semantic {
        languages(checks, semantic, &format!("{path}.semantic"), read);
    }
    checks.positive(group.heartbeat, format!("{path}.heartbeat"));
    let jitter = group.heartbeat_jitter;
    let what = format!("{jitter} is out of range: 0 to 0.9 are allowed");
    checks.need((0.0..=0.9).contains(&jitter), format!("{path}.heartbeat_jitter"), what);
    let factor = group.speech_factor;
    let fine = factor.is_finite() && (0.0..=100.0).contains(&factor);
    checks.need(fine, format!("{path}.speech_factor"), "0 to 100 are allowed");
    distribution(checks, &group.service_time, &format!("{path}.service_time"));
    if let Some(cpu) = group.cpu {
        let fine = (0.0..=100.0).contains(&cpu);
        checks.need(fine, format!("{path}.cpu"), "0 to 100 percent are allowed");
    }
    // A node that leaves and returns at one instant would do so for ever.
    for (name, dist) in [("uptime", &group.uptime), ("downtime", &group.downtime)] {
        if let Some(dist) = dist {
            distribution(checks, dist, &format!("{path}.{name}"));
        }
    }
    let fits = group.models.len() <= 256 && group.features.len() <= 63;
    checks.need(fits, path, "more than 256 models or 63 features");
}

fn languages(checks: &mut Checks, tags: &[String], path: &str, may_be_empty: bool) {
    let what = "no language: name at least one, such as [\"zh\", \"en\"]";
    checks.need(may_be_empty || !tags.is_empty(), path, what);
    checks.need(tags.len() <= 128, path, "more than 128 languages");
    for tag in tags.iter().filter(|tag| !is_language(tag)) {
        let tag: String = tag.chars().take(40).collect();
        let what = format!("`{tag}` is no language tag: write 1 to 11 letters, digits or hyphens");
        checks.need(false, path, what);
    }
}

fn names(checks: &mut Checks, nodes: &[NodeGroup]) {
    let mut taken = BTreeSet::new();
    for (at, group) in nodes.iter().enumerate().filter(|(_, group)| group.from.is_none()) {
        let name = group.name_at(at);
        let shown: String = name.chars().take(40).collect();
        let fine = !name.is_empty() && name.len() <= NAME_MAX;
        let what = format!("a name has 1 to {NAME_MAX} bytes");
        checks.need(fine, format!("nodes.{at}.name"), what);
        let what = format!("`{shown}` is taken by an earlier group: names are unique");
        checks.need(taken.insert(name), format!("nodes.{at}.name"), what);
    }
}

fn distribution(checks: &mut Checks, dist: &Dist, path: &str) {
    let zero = dist.mean() <= 0.0 && !matches!(dist, Dist::Empirical(_));
    checks.need(!zero, path, "takes no time: write a duration above 0");
}

fn sessions(checks: &mut Checks, group: &SessionGroup, path: &str) {
    let one = group.count.is_some() != group.rate.is_some();
    checks.need(one, path, "needs either count or rate");
    pairs(checks, group.pair.as_ref(), &group.pairs, group.zipf, path);
    checks.share(group.manual_cut, format!("{path}.manual_cut"));
    checks.positive(group.chunk, format!("{path}.chunk"));
    let fine = (1..=100_000).contains(&group.bytes_per_ms);
    checks.need(fine, format!("{path}.bytes_per_ms"), "1 to 100,000 are allowed");
    distribution(checks, &group.utterance, &format!("{path}.utterance"));
    if let Some(stay) = &group.stay {
        distribution(checks, stay, &format!("{path}.stay"));
    }
    let listeners = &group.listeners;
    languages(checks, listeners, &format!("{path}.listeners"), true);
    let what = format!("more than {LISTENERS_MAX} listeners in one room");
    checks.need(listeners.len() <= LISTENERS_MAX, format!("{path}.listeners"), what);
    let mut distinct = listeners.clone();
    distinct.sort();
    distinct.dedup();
    let what = "more than 8 languages in one room";
    checks.need(distinct.len() <= 8, format!("{path}.listeners"), what);
}

fn arrivals(checks: &mut Checks, group: &ArrivalGroup, path: &str) {
    let given = [group.rate.is_some(), group.load.is_some(), group.trace.is_some()];
    let one = given.into_iter().filter(|&given| given).count() == 1;
    checks.need(one, path, "needs exactly one of rate, load and trace");
    if group.trace.is_none() {
        pairs(checks, group.pair.as_ref(), &group.pairs, group.zipf, path);
    }
    if let Some(load) = group.load {
        let what = format!("{load} is out of range: above 0 up to 100 are allowed");
        checks.need(load > 0.0 && load <= 100.0, format!("{path}.load"), what);
    }
}

fn pairs(checks: &mut Checks, pair: Option<&Pair>, pairs: &[Pair], zipf: f64, path: &str) {
    let one = pair.is_some() == pairs.is_empty();
    checks.need(one, path, "needs either pair or pairs, such as pair = \"zh:en\"");
    let fine = zipf.is_finite() && (0.0..=10.0).contains(&zipf);
    checks.need(fine, format!("{path}.zipf"), "0 to 10 are allowed");
    checks.need(pair.is_none() || zipf == 0.0, format!("{path}.zipf"), "needs pairs");
}

fn faults(checks: &mut Checks, scenario: &Scenario) {
    for (at, fault) in scenario.faults.iter().enumerate() {
        let path = format!("faults.{at}");
        fault_alone(checks, scenario, fault, &path);
        let end = |fault: &Fault| fault.at.nanos() + fault.lasts.map_or(0, Dur::nanos);
        let target = |fault: &Fault| (fault.kind, fault.instance.unwrap_or(0));
        for (before, other) in scenario.faults[..at].iter().enumerate() {
            let apart = fault.at.nanos() > end(other) || other.at.nanos() > end(fault);
            let what = format!("overlaps faults.{before}, which is of the same kind");
            // Any number may come at once.
            let same = target(fault) == target(other) && fault.kind != FaultKind::InstanceJoin;
            checks.need(!same || apart, format!("{path}.at"), what);
        }
    }
}

fn fault_alone(checks: &mut Checks, scenario: &Scenario, fault: &Fault, path: &str) {
    use FaultKind as Kind;
    let within = fault.at < scenario.duration;
    let what = format!("{} is after the end at {}", fault.at, scenario.duration);
    checks.need(within, format!("{path}.at"), what);
    if let Some(lasts) = fault.lasts {
        checks.positive(lasts, format!("{path}.for"));
    }
    let both = fault.nodes.is_some() && fault.share.is_some();
    checks.need(!both, path, "needs nodes or share, not both");
    let groups = || scenario.nodes.iter().enumerate();
    let hit = |&(at, group): &(usize, &NodeGroup)| {
        fault.group.as_ref().is_none_or(|name| *name == group.name_at(at))
    };
    if let Some(name) = &fault.group {
        let names: Vec<String> = groups().map(|(at, group)| group.name_at(at)).collect();
        let what = format!("{name:?} is no group of nodes: there are {}", names.join(", "));
        checks.need(names.contains(name), format!("{path}.group"), what);
    }
    let count: u64 = groups().filter(hit).map(|(_, group)| u64::from(group.count)).sum();
    let known = scenario.nodes.iter().all(|group| group.from.is_none());
    let nodes = fault.nodes.unwrap_or(0);
    let what = format!("{nodes} nodes are hit, but there are {count}");
    checks.need(!known || u64::from(nodes) <= count, format!("{path}.nodes"), what);
    if let Some(share) = fault.share {
        checks.share(share, format!("{path}.share"));
    }
    if let Some(probability) = fault.probability {
        checks.share(probability, format!("{path}.probability"));
    }
    if let Some(factor) = fault.factor {
        let fine = factor.is_finite() && factor > 0.0 && factor <= 1e6;
        checks.need(fine, format!("{path}.factor"), "above 0 up to 1,000,000 are allowed");
    }
    if let Some(max_jobs) = fault.max_jobs {
        let what = format!("{max_jobs} is out of range: 1 to 1024 are allowed");
        checks.need((1..=1_024).contains(&max_jobs), format!("{path}.max_jobs"), what);
    }
    if let Some(instance) = fault.instance {
        let count = scenario.instances();
        let what = format!("{instance} is no instance: there are {count}, counted from 0");
        checks.need(instance < count, format!("{path}.instance"), what);
    }
    if let (Some(span), Kind::StoreFailover) = (fault.span, fault.kind) {
        let what = "is longer than the time before the fault";
        checks.need(span <= fault.at, format!("{path}.span"), what);
    }
    let (field, there) = match fault.kind {
        Kind::SlowNode | Kind::Delay => ("factor", fault.factor.is_some()),
        Kind::StoreFailover | Kind::ClockStep | Kind::LateRelease | Kind::EventReorder => {
            ("span", fault.span.is_some())
        }
        Kind::ReplyLoss | Kind::HeartbeatLoss | Kind::DuplicateRelease | Kind::EventLoss => {
            ("probability", fault.probability.is_some())
        }
        Kind::ModelStorm => ("model", fault.model.is_some()),
        Kind::MaxJobs => ("max_jobs", fault.max_jobs.is_some()),
        Kind::StoreStall | Kind::Partition | Kind::NodeSilent | Kind::InstanceFreeze => {
            ("for", fault.lasts.is_some())
        }
        Kind::NodeCrash
        | Kind::Drain
        | Kind::InstanceCrash
        | Kind::InstanceJoin
        | Kind::InstanceDrain
        | Kind::ReconnectHerd => ("", true),
    };
    checks.need(there, format!("{path}.kind"), format!("this kind needs `{field}`"));
}

fn expectation(checks: &mut Checks, expect: &Expect, path: &str) {
    let syntax = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    let fine = !expect.metric.is_empty() && expect.metric.chars().all(syntax);
    let what = "is no metric: write a path of run.json such as refused_ratio";
    checks.need(fine, format!("{path}.metric"), what);
    let some = expect.min.is_some() || expect.max.is_some();
    checks.need(some, path, "needs min, max or both");
    let finite = [expect.min, expect.max].into_iter().flatten().all(f64::is_finite);
    checks.need(finite, path, "min and max must be numbers");
    if let (Some(min), Some(max)) = (expect.min, expect.max) {
        checks.need(min <= max, path, format!("min {min} is above max {max}"));
    }
}

/// What is allowed but hardly meant: pairs that no node speaks.
pub(crate) fn warnings(scenario: &Scenario) -> Vec<String> {
    let sessions = scenario.sessions.iter().flat_map(|g| g.pair.iter().chain(&g.pairs));
    let arrivals = scenario.arrivals.iter().flat_map(|g| g.pair.iter().chain(&g.pairs));
    let rule = scenario.scheduler.pool_rule;
    let speaks = |pair: &Pair| scenario.nodes.iter().any(|node| joins(rule, node, pair));
    // Each pair is looked for once: there may be a million nodes.
    let asked: BTreeSet<&Pair> = sessions.chain(arrivals).collect();
    let silent = asked.into_iter().filter(|pair| !speaks(pair));
    silent.map(|pair| format!("no node speaks {pair}: its jobs will be refused")).collect()
}

/// Whether a node joins a pair.
fn joins(rule: PoolRule, node: &NodeGroup, pair: &Pair) -> bool {
    let semantic = node.semantic.as_ref().unwrap_or(&node.asr);
    let (heard, spoken) = match rule {
        PoolRule::AsrXTts => (&node.asr, &node.tts),
        PoolRule::AsrXSemantic => (&node.asr, semantic),
        PoolRule::F2f => (semantic, semantic),
    };
    let different = rule != PoolRule::F2f || pair.src != pair.tgt;
    different && heard.contains(&pair.src) && spoken.contains(&pair.tgt)
}
