//! The snapshot in the text format of Prometheus. Names are those of the deployed scheduler where
//! it has them.

use std::fmt::{Display, Write};

use lingua_core::NodeState;

use crate::hub::{Counts, StoreFigures};
use crate::snapshot::{Histogram, Pool, Snapshot};

/// The page; `reads` is how often snapshots were read.
pub(super) fn text(snapshot: &Snapshot, now_ms: i64, reads: u64) -> String {
    let mut page = Page(String::with_capacity(16 << 10));
    process(&mut page, snapshot, now_ms, reads);
    peers(&mut page, snapshot);
    pools(&mut page, &snapshot.pools);
    jobs(&mut page, snapshot);
    if let Some(figures) = &snapshot.sample.store {
        store(&mut page, figures);
        let counts = &snapshot.sample.counts;
        let lost = [("not_posted", counts.not_posted), ("no_parcel", counts.parcels_missed)];
        let help = "Messages between instances that were lost; the jobs go elsewhere.";
        page.tally("instance_messages_lost_total", help, "cause", lost.into_iter());
    }
    if let Some(duties) = &snapshot.sample.duties {
        let help = "Work that one instance at a time does, and this one now.";
        page.gauge("duties_held", help, duties.held);
        let help = "Alarms: this instance held more duties than duty_alarm_above.";
        page.counter("duty_alarms_total", help, duties.alarms);
    }
    page.0
}

fn process(page: &mut Page, snapshot: &Snapshot, now_ms: i64, reads: u64) {
    let identity = &snapshot.instance;
    page.family("build_info", "gauge", "Always 1; the labels say which process this is.");
    let instance = identity.instance.to_string();
    page.labelled("build_info", &[("instance_id", &instance), ("version", identity.version)], 1);
    let started_s = identity.started_at_ms as f64 / 1e3;
    page.gauge("start_time_seconds", "When the process started, Unix time.", started_s);
    let draining = u8::from(snapshot.draining);
    page.gauge("draining", "1 while the server stops and admits nothing new.", draining);
    let age_s = (now_ms - snapshot.made_at_ms).max(0) as f64 / 1e3;
    page.gauge("dashboard_snapshot_age_seconds", "Age of the figures on this page.", age_s);
    page.counter("stats_requests_total", "Reads of snapshots, this one included.", reads);
    let help = "How late sockets were read in the last seconds; 0 below 50 ms.";
    page.gauge("lag_seconds", help, snapshot.sample.lag.0 as f64 / 1e6);
    if let Some(bytes) = snapshot.resident_bytes {
        page.gauge("resident_memory_bytes", "Memory of this process.", bytes);
    }
}

fn peers(page: &mut Page, snapshot: &Snapshot) {
    let sample = &snapshot.sample;
    let counts = &sample.counts;
    page.gauge("sockets", "Open WebSockets of nodes and clients.", snapshot.sockets);
    page.gauge("sessions", "Open sessions.", sample.sessions);
    page.gauge("rooms", "Open rooms that this instance owns.", sample.rooms);
    page.counter("sessions_opened_total", "Sessions ever opened.", counts.sessions_opened);
    let bytes = counts.audio_bytes;
    page.counter("audio_received_bytes_total", "Decoded audio from clients.", bytes);

    page.family("nodes", "gauge", "Registered nodes by state; only ready ones get jobs.");
    for state in NodeState::ALL {
        let nodes = sample.nodes.iter().filter(|node| node.status.state == state);
        page.labelled("nodes", &[("state", state.name())], nodes.count());
    }
    let sum = |figure: fn(&crate::hub::NodeSample) -> u32| {
        sample.nodes.iter().map(|node| u64::from(figure(node))).sum::<u64>()
    };
    page.gauge("slots", "Concurrent jobs that all nodes allow.", sum(|n| n.status.max_jobs));
    page.gauge("slots_taken", "Slots that are taken.", sum(|n| n.status.running));
    let registered = counts.registered;
    page.counter("node_registrations_total", "Registrations that were taken.", registered);
    let refused = counts.registrations_refused;
    page.counter("node_registrations_refused_total", "Registrations that were not.", refused);
    page.tally(
        "nodes_gone_total",
        "Nodes that are no longer served: their socket closed, they fell silent, or a newer socket \
         registered their id.",
        "cause",
        counts.nodes_gone.iter(),
    );
}

fn pools(page: &mut Page, pools: &[Pool]) {
    type Figure = fn(&Pool) -> u32;
    let figures: [(&str, &str, Figure); 5] = [
        ("pool_nodes", "Nodes that speak the pair.", |pool| pool.nodes),
        ("pool_slots", "Their slots; a node lends its slots to each of its pairs.", |p| p.slots),
        ("pool_slots_free", "Slots that a job of the pair could have.", |pool| pool.free),
        ("pool_jobs_running", "Jobs of the pair at a node.", |pool| pool.running),
        ("pool_sessions", "Sessions of the pair.", |pool| pool.sessions),
    ];
    for (name, help, figure) in figures {
        page.family(name, "gauge", help);
        for pool in pools {
            page.labelled(name, &[("pair", &pool.pair.to_string())], figure(pool));
        }
    }
}

fn jobs(page: &mut Page, snapshot: &Snapshot) {
    let sample = &snapshot.sample;
    let (counts, counters) = (&sample.counts, &sample.counters);
    page.gauge("jobs_in_flight", "Jobs whose final message is owed.", sample.in_flight);
    page.gauge("jobs_waiting", "Jobs that wait for a slot.", sample.waiting);
    page.tally(
        "web_task_finalized_total",
        "Utterances by what ended them.",
        "reason",
        counts.finalized.iter(),
    );
    page.counter("jobs_offered_total", "Jobs made; each owes one final message.", counts.offered);
    let dispatched = counts.dispatched;
    let help = "Jobs handed to a node, later attempts included.";
    page.counter("jobs_dispatched_total", help, dispatched);
    endings(page, counts);
    let help = "Attempts made anew after a loss or a time-out.";
    page.counter("redispatched_total", help, counters.redispatched);
    let help = "Results of attempts that are no longer current; they were dropped.";
    page.counter("stale_results_total", help, counts.stale_results);
    let help = "Choices of a node, later attempts included.";
    page.counter("reserve_attempt_total", help, counts.reservations);
    let help = "Jobs held back because their node had no room after all.";
    page.counter("node_overload_reject_total", help, counters.gate_refused);
    let help = "Slots given up because a node reported fewer jobs twice.";
    page.counter("vanished_jobs_total", help, counters.vanished_jobs);
    page.counter("model_na_total", "MODEL_NOT_AVAILABLE from nodes.", counters.model_losses);
    let help = "Jobs that went to the node of their session.";
    page.counter("affinity_kept_total", help, counts.affinity_kept);
    let help = "Jobs that should have gone to the node of their session and did not.";
    page.tally("affinity_missed_total", help, "cause", counts.affinity_missed.iter());
    page.histogram(
        "dispatch_latency_seconds",
        "From the last audio, hangover taken off, until the job was handed to its node; manual cuts \
         and whole utterances.",
        &counts.dispatch,
    );
    page.histogram(
        "response_latency_seconds",
        "From the last audio until the translation was sent.",
        &counts.response,
    );
}

fn store(page: &mut Page, figures: &StoreFigures) {
    let help = "1 while the store takes this instance for present.";
    page.gauge("store_up", help, u8::from(figures.up));
    let help = "Steps sent to the store, repeated ones included.";
    page.tally("store_steps_total", help, "step", figures.steps.iter());
    let help = "Steps that were not sent, or failed in the store.";
    page.tally("store_steps_failed_total", help, "cause", figures.failed.iter());
    let help = "Commands sent to the store, whatever for.";
    page.counter("store_commands_total", help, figures.commands);
    let help = "Scripts that the store did not know and was given again.";
    page.counter("store_scripts_reloaded_total", help, figures.reloads);
    let help = "Keys that could not be read and were put aside.";
    page.counter("store_keys_quarantined_total", help, figures.quarantined);
    let help = "From sending a step to the store until its reply.";
    page.histogram("store_round_trip_seconds", help, &figures.round_trip);
}

fn endings(page: &mut Page, counts: &Counts) {
    let completed = counts.completed.iter();
    page.tally("jobs_completed_total", "Jobs answered by a node.", "outcome", completed);
    let refused = counts.refused.iter();
    page.tally("jobs_refused_total", "Jobs that got no slot.", "cause", refused);
    let help =
        "Jobs refused because no node of their pair was free or there; part of jobs_refused.";
    let no_node =
        counts.refused.iter().filter(|(cause, _)| ["no_fitting_node", "full"].contains(cause));
    page.counter("no_available_node_total", help, no_node.map(|(_, count)| count).sum::<u64>());
    page.tally("jobs_failed_total", "Jobs that failed.", "cause", counts.failed.iter());
    let help = "Jobs whose deadline came first.";
    page.counter("jobs_timed_out_total", help, counts.timed_out);
}

/// Text that grows by families. Label values are names of ours, numbers and language tags: none
/// needs escaping.
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP scheduler_{name} {help}"));
        self.line(format_args!("# TYPE scheduler_{name} {kind}"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{line}");
    }

    fn labelled(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let _ = write!(self.0, "scheduler_{name}");
        for (at, (label, text)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{text}\"");
        }
        let after = if labels.is_empty() { "" } else { "}" };
        self.line(format_args!("{after} {value}"));
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.labelled(name, &[], value);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "counter", help);
        self.labelled(name, &[], value);
    }

    fn tally<'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        counts: impl Iterator<Item = (&'a str, u64)>,
    ) {
        self.family(name, "counter", help);
        for (cause, count) in counts {
            self.labelled(name, &[(label, cause)], count);
        }
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.family(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        for (bound, count) in histogram.cumulative() {
            self.labelled(&bucket, &[("le", &bound.to_string())], count);
        }
        self.labelled(&bucket, &[("le", "+Inf")], histogram.count());
        self.labelled(&format!("{name}_sum"), &[], histogram.sum_s());
        self.labelled(&format!("{name}_count"), &[], histogram.count());
    }
}
