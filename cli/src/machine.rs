//! What differs from machine to machine.

use std::time::Duration;

use lingua_reports::run::{Machine, Run};

/// Describes this machine and how fast it was.
pub(crate) fn describe(run: &Run, wall: Duration, threads: usize) -> Machine {
    let wall_s = wall.as_secs_f64();
    Machine {
        wall_s,
        events_per_s: run.events as f64 / wall_s,
        ns_per_job: wall_s * 1e9 / run.jobs.offered.max(1) as f64,
        peak_rss_mib: peak_rss_mib(),
        processor: processor(),
        host: std::fs::read_to_string("/proc/sys/kernel/hostname")
            .map_or_else(|_| "unknown".into(), |host| host.trim().to_owned()),
        threads: threads as u32,
    }
}

/// Model of the processor.
pub(crate) fn processor() -> String {
    first_line("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".into())
}

/// Peak resident memory of this process, where the system tells.
pub(crate) fn peak_rss_mib() -> Option<f64> {
    let line = first_line("/proc/self/status", "VmHWM")?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1_024.0)
}

/// The value of the first `key: value` line.
fn first_line(path: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
