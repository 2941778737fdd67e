//! From counts to the record of the run.

use std::collections::BTreeMap;

use lingua_core::Micros;
use lingua_reports::run::{
    Artifacts, Fairness, Kind, Machine, Oversold, PairRow, Run, SCHEMA_VERSION, Sample,
    ScenarioRef, SchedulerLoad, StoreLoad, Verdict,
};
use lingua_reports::{stats, summary, theory};
use lingua_scenarios::{Basis, Scenario, WhenFull, name_of};

use crate::limits::Used;
use crate::record::standard_error;
use crate::world::{Event, World};
use crate::{Broken, Finished, verdict};

impl World {
    /// A row of the time series is due.
    pub(super) fn sample(&mut self) {
        let in_service = (0..self.nodes.len()).filter(|&at| self.node_in_service(at));
        let (nodes, slots) = in_service.fold((0u64, 0u64), |(nodes, slots), at| {
            (nodes + 1, slots + u64::from(self.nodes[at].max_jobs))
        });
        let sessions = self.present;
        let waiting = self.servers.iter().map(|server| server.instance().waiting() as u64).sum();
        let span = self.recorder.series.span;
        let busy = self.busiest_since_last_row(span);
        let ops = self.store.ops;
        let ops_before: u64 = self.recorder.series.rows.iter().map(|row| row.store_ops).sum();
        self.recorder.series.close_row(self.now, |row: &mut Sample| {
            row.nodes = nodes;
            row.sessions = sessions;
            row.waiting = waiting;
            row.utilisation = if slots == 0 { 0.0 } else { row.running as f64 / slots as f64 };
            row.scheduler_busy = busy;
            row.store_ops = ops - ops_before;
        });
        if self.recorder.row() <= self.end {
            self.queue.push(self.recorder.row(), Event::Sample);
        }
    }

    fn busiest_since_last_row(&mut self, span: Micros) -> f64 {
        let mut busiest = 0.0_f64;
        for server in &mut self.servers {
            let busy = server.busy - server.busy_before;
            server.busy_before = server.busy;
            busiest = busiest.max(busy as f64 / 1e3 / span.0 as f64);
        }
        busiest.min(1.0)
    }

    /// Collects what the watch at the shared state has found.
    pub(super) fn hear_watch(&mut self) {
        if !self.watch.has_found() {
            return;
        }
        for (promised, broken) in self.watch.take_found() {
            self.judge(promised, broken);
        }
    }

    /// After the last event: what should have ended must have ended.
    pub(super) fn settle(&mut self) {
        if self.broken.is_some() || self.void.is_some() {
            let open = self.open.iter().filter(|(_, job)| job.counted).count();
            self.recorder.jobs.in_flight = open as u64;
            return;
        }
        self.now = self.now.max(self.end) + self.quiet_span();
        self.watch.check_end(self.now);
        self.hear_watch();
        let lost = self.open.iter().map(|&(request, job)| (request, job));
        let lost: Vec<_> = lost.collect();
        self.recorder.jobs.lost += lost.iter().filter(|(_, job)| job.counted).count() as u64;
        if let Some((request, job)) = lost.first() {
            let message = format!("{request:?}, offered at {:?}, never got an answer", job.offered);
            self.judge(self.promises.one_final, Broken::new("I7", self.now, message));
        }
        for at in 0..self.servers.len() {
            let counters = *self.servers[at].instance().counters();
            self.recorder.retire(&counters);
        }
    }

    /// The record of the run.
    pub(crate) fn finish(mut self, scenario: &Scenario, sha256: &str) -> Finished {
        let duration_s = (self.end - self.warmup).as_secs_f64();
        let busy: Vec<f64> = (0..self.nodes.len() as u32).map(|at| self.busy_seconds(at)).collect();
        let used = self.used(&busy, duration_s);
        let (first_limit, headroom) = used.first_limit();
        let node_jobs: Vec<(String, u32, u64)> = (0..self.nodes.len())
            .map(|at| {
                let node = &self.nodes[at];
                (self.node_name(at as u32).to_owned(), node.max_jobs, node.jobs)
            })
            .collect();
        let slots: f64 = self.nodes.iter().map(|node| f64::from(node.max_jobs)).sum();
        let jobs = self.recorder.jobs.clone();
        let offered = jobs.offered.max(1) as f64;
        let (scheduler, store) = self.loads(duration_s, offered);
        let none = crate::record::Latencies::new(false);
        let histograms = std::mem::replace(&mut self.recorder.latencies, none).into_map();
        let mut run = Run {
            schema_version: SCHEMA_VERSION,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            kind: Kind::Sim,
            scenario: ScenarioRef { name: scenario.title.clone(), sha256: sha256.to_owned() },
            seed: scenario.seed,
            digest: self.digest.hex(),
            arrivals_digest: format!("{:016x}", self.arrivals_digest),
            verdict: Verdict::Ok,
            reasons: Vec::new(),
            duration_s,
            setting: self.setting(scenario, slots),
            carried_per_s: jobs.completed as f64 / duration_s,
            refused_ratio: jobs.refused as f64 / offered,
            jobs,
            refused_by_cause: self.recorder.refused_by_cause.clone(),
            erlang_b: self.erlang_b(scenario, slots, duration_s),
            utilisation: busy.iter().sum::<f64>() / (slots * duration_s).max(1e-9),
            pairs: Vec::new(),
            affinity: self.recorder.affinity.clone(),
            broken_segments: self.recorder.broken_segments.clone(),
            fairness: fairness(&node_jobs),
            oversold: self.oversold(),
            latency_ms: summary::latencies(&histograms),
            scheduler,
            store,
            first_limit,
            headroom,
            invariants: BTreeMap::new(),
            sometimes: self.sometimes(),
            inputs: inputs(scenario),
            expectations: Vec::new(),
            events: self.queue.scheduled(),
            load: None,
            duties: None,
        };
        run.pairs = self.pair_rows(run.erlang_b);
        for (name, &count) in self.recorder.broken() {
            run.invariants.insert((*name).to_owned(), count);
        }
        verdict::judge(&mut run, scenario, self.broken.as_ref(), self.void);
        let artifacts = Artifacts {
            run,
            histograms,
            timeseries: std::mem::take(&mut self.recorder.series.rows),
            node_jobs,
            duties: Vec::new(),
            machine: Machine::default(),
            sample_s: self.recorder.series.span.as_secs_f64(),
            warmup_s: self.warmup.as_secs_f64(),
        };
        Finished { artifacts, batches: self.recorder.batches, broken: self.broken }
    }

    /// How much of each resource was used.
    fn used(&self, busy: &[f64], duration_s: f64) -> Used {
        let mut used = Used::default();
        let directory = self.watch.state().directory();
        for count in &self.recorder.pairs {
            if count.offered == 0 {
                continue;
            }
            let (mut taken, mut slots) = (0.0, 0.0);
            for (num, &at) in self.node_of_num.iter().enumerate() {
                let num = lingua_core::NodeNum(num as u32);
                if at != u32::MAX && directory.speaks(num, count.pair) {
                    taken += busy[at as usize];
                    slots += f64::from(self.nodes[at as usize].max_jobs) * duration_s;
                }
            }
            // Where jobs are refused the slots have given way, however idle they are on average.
            let refused = count.refused * 1_000 > count.offered;
            let share = if slots > 0.0 && !refused { taken / slots } else { 1.0 };
            used.pairs.insert(count.pair.to_string(), share);
        }
        let total_ns = self.end.0 as f64 * 1e3;
        let busiest = self.servers.iter().map(|server| server.busy).max().unwrap_or(0);
        used.scheduler = busiest as f64 / total_ns;
        used.store = self.store.busiest() as f64 / total_ns;
        used
    }

    fn loads(&self, duration_s: f64, offered: f64) -> (SchedulerLoad, StoreLoad) {
        let total_ns = self.end.0 as f64 * 1e3;
        let total_s = self.end.as_secs_f64();
        let busiest = self.servers.iter().map(|server| server.busy).max().unwrap_or(0);
        let busy: u64 = self.servers.iter().map(|server| server.busy).sum();
        let locked: u64 = self.servers.iter().map(|server| server.locked).sum();
        let scheduler = SchedulerLoad {
            instances: self.scheduler.instances,
            busy: (busiest as f64 / total_ns).min(1.0),
            lock_wait: if busy == 0 { 0.0 } else { locked as f64 / busy as f64 },
            queue_max: self.servers.iter().map(|server| server.queue_max as u64).max().unwrap_or(0),
            heartbeats_per_s: self.recorder.heartbeats as f64 / total_s,
            failure_detection_s: self.recorder.failure_detection_s(),
            jobs_to_dead_nodes: self.recorder.jobs_to_dead_nodes,
        };
        // Offered jobs are those of the counted part, operations those of the whole run.
        let jobs = offered * total_s / duration_s;
        let store = StoreLoad {
            ops: self.store.ops,
            ops_per_s: self.store.ops as f64 / total_s,
            ops_per_job: (self.store.ops - self.store.heartbeat_ops) as f64 / jobs,
            busy: (self.store.busiest() as f64 / total_ns).min(1.0),
        };
        (scheduler, store)
    }

    fn setting(&self, scenario: &Scenario, slots: f64) -> BTreeMap<String, String> {
        let scheduler = &scenario.scheduler;
        BTreeMap::from([
            ("policy".to_owned(), name_of(scheduler.policy)),
            ("sample".to_owned(), scheduler.sample.to_string()),
            ("nodes".to_owned(), self.nodes.len().to_string()),
            ("slots".to_owned(), format!("{slots:.0}")),
            ("instances".to_owned(), scheduler.instances.to_string()),
            ("store".to_owned(), name_of(scheduler.store)),
            ("capacity_check".to_owned(), name_of(scheduler.capacity_check)),
            ("affinity_rule".to_owned(), name_of(scheduler.affinity_rule)),
            ("when_full".to_owned(), name_of(scheduler.when_full)),
        ])
    }

    /// Erlang B over all slots: every node serves every pair in demand, jobs are refused at once.
    fn erlang_b(&self, scenario: &Scenario, slots: f64, duration_s: f64) -> Option<f64> {
        let only_arrivals = scenario.sessions.is_empty() && scenario.faults.is_empty();
        let directory = self.watch.state().directory();
        let nodes = self.nodes.len();
        let all_serve = self.recorder.pairs.iter().filter(|count| count.offered > 0).all(|count| {
            let speakers = (0..nodes as u32).map(lingua_core::NodeNum);
            speakers.filter(|&num| directory.speaks(num, count.pair)).count() == nodes
        });
        let refuses = scenario.scheduler.when_full == WhenFull::Refuse;
        let churns = scenario.nodes.iter().any(|group| group.uptime.is_some());
        let plain = scenario.arrivals.iter().all(|group| {
            let steady = group.rate.as_ref().is_none_or(lingua_scenarios::Rate::is_constant);
            steady && group.model.is_none() && group.features.is_empty() && group.trace.is_none()
        });
        if !only_arrivals
            || !plain
            || !all_serve
            || !refuses
            || churns
            || self.recorder.jobs.offered == 0
        {
            return None;
        }
        let mean: f64 = scenario
            .nodes
            .iter()
            .map(|group| {
                let share = f64::from(group.count * group.max_jobs) / slots;
                share * group.service_time.mean()
            })
            .sum();
        let erlangs = self.recorder.jobs.offered as f64 / duration_s * mean;
        Some(theory::erlang_b(slots as u64, erlangs))
    }

    fn pair_rows(&self, erlang_b: Option<f64>) -> Vec<PairRow> {
        let directory = self.watch.state().directory();
        let single = self.recorder.pairs.iter().filter(|count| count.offered > 0).count() == 1;
        let row = |count: &crate::record::PairCount| {
            let speakers = self.node_of_num.iter().enumerate().filter(|&(num, &at)| {
                at != u32::MAX && directory.speaks(lingua_core::NodeNum(num as u32), count.pair)
            });
            let (mut nodes, mut slots) = (0, 0);
            for (_, &at) in speakers {
                nodes += 1;
                slots += self.nodes[at as usize].max_jobs;
            }
            let ratio = count.refused as f64 / count.offered.max(1) as f64;
            let oracle = erlang_b.filter(|_| single);
            let z = oracle.and_then(|b| stats::z_score(ratio, b, self.refusal_se()));
            PairRow {
                pair: count.pair.to_string(),
                nodes,
                slots,
                offered: count.offered,
                refused: count.refused,
                refused_ratio: ratio,
                erlang_b: oracle,
                z,
            }
        };
        let mut rows: Vec<PairRow> = self.recorder.pairs.iter().map(row).collect();
        rows.sort_by(|a, b| b.offered.cmp(&a.offered).then_with(|| a.pair.cmp(&b.pair)));
        rows
    }

    fn refusal_se(&self) -> f64 {
        let ratio = |batch: &crate::record::Batch| (batch.refused as f64, batch.offered as f64);
        standard_error(&self.recorder.batches.ratios(ratio))
    }

    fn oversold(&self) -> Oversold {
        let overselling = &self.recorder.overselling;
        Oversold {
            assignments: overselling.assignments,
            nodes: overselling.node_count(),
            max_excess: overselling.max_excess,
            excess_seconds: self.recorder.oversold_seconds,
            excess_histogram: overselling.by_excess.clone(),
            duration_histogram_ms: overselling.by_duration_ms.clone(),
        }
    }

    fn sometimes(&self) -> BTreeMap<String, u64> {
        let counters = &self.recorder.counters;
        let mut marks = BTreeMap::from([
            ("stale_answer".to_owned(), counters.stale_answers),
            ("stale_generation".to_owned(), counters.stale_generations),
            ("gate_refused".to_owned(), counters.gate_refused),
            ("redispatched".to_owned(), counters.redispatched),
            ("rejoined".to_owned(), counters.rejoined),
            ("store_retried".to_owned(), counters.store_retries),
            ("late_grant".to_owned(), counters.late_grants),
            ("repeated_grant".to_owned(), counters.repeated_grants),
            ("merged_into_next".to_owned(), counters.merged),
            ("vanished_job".to_owned(), counters.vanished_jobs),
            ("model_not_available".to_owned(), counters.model_losses),
        ]);
        marks.extend(self.cluster_marks().map(|(name, count)| (name.to_owned(), count)));
        for (name, &count) in self.recorder.marks() {
            marks.insert((*name).to_owned(), count);
        }
        for (name, &count) in &self.recorder.failed_by_cause {
            marks.insert(format!("failed_{name}"), count);
        }
        marks
    }
}

fn fairness(nodes: &[(String, u32, u64)]) -> Fairness {
    let per_slot: Vec<f64> =
        nodes.iter().map(|&(_, max_jobs, jobs)| jobs as f64 / f64::from(max_jobs)).collect();
    let mean = stats::mean(&per_slot);
    let max = per_slot.iter().copied().fold(0.0, f64::max);
    let max_over_mean = if mean > 0.0 { max / mean } else { 1.0 };
    Fairness { max_over_mean, jain: stats::jain(&per_slot) }
}

fn inputs(scenario: &Scenario) -> BTreeMap<String, String> {
    let basis = match scenario.costs.basis {
        Basis::Measured => "measured",
        Basis::Assumed => "assumed",
    };
    BTreeMap::from([
        ("costs".to_owned(), basis.to_owned()),
        ("service_time".to_owned(), "assumed".to_owned()),
        ("talk_pattern".to_owned(), "assumed".to_owned()),
    ])
}
