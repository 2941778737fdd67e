//! The design choices that are compared, by the scenario that shows what each costs.

use super::Case;

/// One counted minute per seed.
const SHORT: &str = "duration=2m";

/// Scenario files with their cases.
pub(super) fn groups() -> Vec<(&'static str, Vec<Case>)> {
    vec![
        ("policies.toml", policies()),
        ("policies.toml", documented_reservation()),
        ("costs/lowered-maximum.toml", lowered_maximum()),
        ("costs/missing-counter.toml", missing_counter()),
        ("costs/preferred-pool.toml", preferred_pool()),
        ("costs/shard-hole.toml", shard_hole()),
        ("shards-uneven.toml", shard_layouts()),
        ("costs/stale-pool-members.toml", stale_pool_members()),
        ("rare-model.toml", rare_model()),
        ("bottleneck.toml", styles()),
        ("deployed.toml", vec![Case::new("the deployed scheduler", &[])]),
        ("affinity-long-speech.toml", affinity_rules()),
        ("costs/affinity-life.toml", affinity_lives()),
    ]
}

fn policies() -> Vec<Case> {
    let mut cases = Vec::new();
    for sample in 1..=5 {
        let sets = ["scheduler.policy=sample-reserve", &format!("scheduler.sample={sample}")];
        cases.push(Case::new(format!("sample-reserve, N = {sample}"), &[SHORT, sets[0], sets[1]]));
    }
    for name in ["sample-scan", "power-of-d", "least-connections", "round-robin"] {
        cases.push(Case::new(name, &[SHORT, &format!("scheduler.policy={name}")]));
    }
    let power_of_d = ["scheduler.policy=power-of-d", "scheduler.fallback=refuse"];
    cases.extend([
        Case::new("power-of-d without scan", &[SHORT, power_of_d[0], power_of_d[1]]),
        Case::new("two-level-random", &[SHORT, "scheduler.policy=two-level-random"]),
        Case::new("first-online, set order", &[SHORT, "scheduler.policy=first-online"]),
        Case::new("first-online, sorted", &[SHORT, "scheduler.policy=first-online-sorted"]),
        Case::new("refusing when full", &[SHORT, "scheduler.when_full=refuse"]),
        Case::new("queueing when full", &[SHORT, "scheduler.when_full=wait"]),
        Case::new("capacity by leases", &[SHORT, "scheduler.capacity_check=lease"]),
        Case::new("no look at capacity", &[SHORT, "scheduler.capacity_check=off"]),
    ]);
    for age in ["1s", "5s", "10s"] {
        let set = format!("scheduler.snapshot_age={age}");
        cases.push(Case::new(
            format!("power-of-d without scan, snapshot {age} old"),
            &[SHORT, power_of_d[0], power_of_d[1], "scheduler.store=redis", &set],
        ));
    }
    cases
}

fn documented_reservation() -> Vec<Case> {
    let case = |max: u32| {
        Case::new(
            format!("documented reservation, max_jobs {max}, more than enough load"),
            &[
                SHORT,
                "scheduler.capacity_check=as-documented",
                &format!("nodes.0.max_jobs={max}"),
                "nodes.0.count=10",
                "arrivals.0.load=10",
            ],
        )
    };
    [9, 10, 12, 16].map(case).into()
}

fn lowered_maximum() -> Vec<Case> {
    vec![
        Case::new(
            "maximum lowered from 10 to 9 with 10 running, documented reservation",
            &["scheduler.capacity_check=as-documented"],
        ),
        Case::new("the same, leases", &["scheduler.capacity_check=lease"]),
    ]
}

fn missing_counter() -> Vec<Case> {
    vec![
        Case::new("a missing counter key reads as no jobs", &["scheduler.missing_counter=true"]),
        Case::new("the counter key is kept", &["scheduler.missing_counter=false"]),
        Case::new("leases in a set", &["scheduler.capacity_check=lease"]),
    ]
}

fn preferred_pool() -> Vec<Case> {
    let pinned = "scheduler.preferred_pool=1h";
    vec![
        Case::new("preferred pool for an hour, half of it drained, N = 5", &[pinned]),
        Case::new(
            "preferred pool for an hour, half of it drained, N = 16",
            &[pinned, "scheduler.sample=16"],
        ),
        Case::new(
            "preferred pool for an hour, half of it drained, then a scan",
            &[pinned, "scheduler.policy=sample-scan"],
        ),
        Case::new("no preferred pool, N = 5", &["scheduler.preferred_pool=0s"]),
    ]
}

fn shard_hole() -> Vec<Case> {
    vec![
        Case::new("the search stops at a shard hole", &["scheduler.stop_at_shard_hole=true"]),
        Case::new("the search sees all shards", &["scheduler.stop_at_shard_hole=false"]),
    ]
}

fn shard_layouts() -> Vec<Case> {
    let uniform = "scheduler.policy=two-level-random";
    vec![
        Case::new("shards 100/100/3, uniform shard", &[uniform]),
        Case::new("shards 100/100/3, weighted by size", &["scheduler.policy=sample-scan"]),
        Case::new("shards 100/100/50, uniform shard", &[uniform, "nodes.0.count=250"]),
        Case::new("shards 100/100, uniform shard", &[uniform, "nodes.0.count=200"]),
        Case::new(
            "20 shards of 10 and one of 3, uniform shard",
            &[uniform, "scheduler.shard_size=10"],
        ),
    ]
}

fn stale_pool_members() -> Vec<Case> {
    let stale = "scheduler.stale_pool_members=true";
    vec![
        Case::new("any member keeps dead ones listed, sample-reserve", &[stale]),
        Case::new(
            "the dead are not listed, sample-reserve",
            &["scheduler.stale_pool_members=false"],
        ),
        Case::new(
            "any member keeps dead ones listed, sample-scan",
            &[stale, "scheduler.policy=sample-scan"],
        ),
    ]
}

fn rare_model() -> Vec<Case> {
    vec![
        Case::new("a model on 2 of 100 nodes, sample-scan", &["scheduler.policy=sample-scan"]),
        Case::new(
            "a model on 2 of 100 nodes, sample-reserve, N = 1",
            &["scheduler.policy=sample-reserve", "scheduler.sample=1"],
        ),
    ]
}

fn styles() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, style) in [("Phase 0", "phase0"), ("Phase 1", "phase1")] {
        for rate in ["5000/s", "9000/s"] {
            cases.push(Case::new(
                format!("{name} style at {rate}"),
                &[
                    &format!("scheduler.style={style}"),
                    &format!("arrivals.0.rate=\"{rate}\""),
                    "faults=[]",
                ],
            ));
        }
    }
    cases
}

fn affinity_rules() -> Vec<Case> {
    let mut cases = Vec::new();
    for rule in ["as-documented", "next-job"] {
        for detect in ["timer", "on-chunk"] {
            cases.push(Case::new(
                format!("affinity {rule}, pause by {detect}"),
                &[
                    &format!("scheduler.affinity_rule={rule}"),
                    &format!("scheduler.pause_detect={detect}"),
                ],
            ));
        }
    }
    cases
}

fn affinity_lives() -> Vec<Case> {
    let case = |life: &str| {
        Case::new(format!("affinity life {life}"), &[&format!("scheduler.affinity_life={life}")])
    };
    ["10s", "60s", "2m", "5m", "30m"].map(case).into()
}
