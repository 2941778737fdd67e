//! The generator looks at itself: processor time, time in want of a processor, memory.

use std::fs::read_to_string;

use crate::pacer::Nanos;
use crate::process::Process;

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
        let cpu = Process::own().cpu().ok().map(|cpu| cpu.as_nanos() as Nanos);
        Self { cpu, starved: starved(), resident_kib: resident_kib() }
    }

    /// Shares of a span since an earlier reading: on a processor, and in want of one.
    pub(crate) fn shares_since(&self, before: &Self, span: Nanos) -> (Option<f64>, Option<f64>) {
        let share = |now: Option<Nanos>, then: Option<Nanos>| {
            Some(now?.checked_sub(then?)? as f64 / span.max(1) as f64)
        };
        (share(self.cpu, before.cpu), share(self.starved, before.starved))
    }
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
