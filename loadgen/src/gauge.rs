//! The generator looks at itself: processor time, time in want of a processor, memory.

use std::fs::read_to_string;

use crate::pacer::Nanos;

/// Length of a tick of `/proc/self/stat`: 100 a second on every Linux.
const TICK: Nanos = 10_000_000;

/// Readings since the process began; absent where the system does not tell.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Gauge {
    /// On a processor.
    cpu: Option<Nanos>,
    /// Ready to run, without a processor, in the thread that reads.
    starved: Option<Nanos>,
    pub(crate) resident_kib: Option<u64>,
}

impl Gauge {
    pub(crate) fn read() -> Self {
        Self { cpu: cpu(), starved: starved(), resident_kib: resident_kib() }
    }

    /// Shares of a span since an earlier reading: on a processor, and in want of one.
    pub(crate) fn shares_since(&self, before: &Self, span: Nanos) -> (Option<f64>, Option<f64>) {
        let share = |now: Option<Nanos>, then: Option<Nanos>| {
            Some(now?.checked_sub(then?)? as f64 / span.max(1) as f64)
        };
        (share(self.cpu, before.cpu), share(self.starved, before.starved))
    }
}

fn cpu() -> Option<Nanos> {
    let stat = read_to_string("/proc/self/stat").ok()?;
    // The name may hold spaces; what follows it does not.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some((ticks(11)? + ticks(12)?) * TICK)
}

fn starved() -> Option<Nanos> {
    let stat = read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split_whitespace().nth(1)?.parse().ok()
}

fn resident_kib() -> Option<u64> {
    let status = read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
