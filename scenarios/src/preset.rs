//! Named bundles of settings. Keys that the file writes out win.

use toml::{Table, Value};

/// What `preset = "deployed"` stands for: the scheduler that is deployed today, as observed.
const DEPLOYED: [(&str, &str); 6] = [
    ("policy", "two-level-random"),
    ("capacity_check", "off"),
    ("pool_rule", "asr-x-semantic"),
    ("max_duration", "10s"),
    ("job_timeout", "60s"),
    ("pause_detect", "timer"),
];

/// Fills in a preset's settings; tells whether there is one.
pub(crate) fn apply(table: &mut Table) -> bool {
    let scheduler = table.get_mut("scheduler").and_then(Value::as_table_mut);
    let Some(scheduler) = scheduler else { return false };
    let deployed = scheduler.get("preset").and_then(Value::as_str) == Some("deployed");
    if deployed {
        for (key, value) in DEPLOYED {
            scheduler.entry(key).or_insert_with(|| Value::String(value.to_owned()));
        }
    }
    deployed
}
