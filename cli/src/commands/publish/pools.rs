//! Table E: pools under the three rules.

use std::path::Path;

use lingua_reports::number::{count, decimal};
use lingua_reports::table::{Align, Cell, Table};
use lingua_scenarios::Scenario;
use lingua_sim::pools::{Pools, Rule};

use crate::failure::Failure;

/// Name, file, and what is changed.
const ROWS: [(&str, &str, &[&str]); 8] = [
    ("2×2", "policies.toml", &["nodes.0.asr=[\"zh\",\"en\"]", "nodes.0.tts=[\"zh\",\"en\"]"]),
    (
        "3×2",
        "policies.toml",
        &[
            "nodes.0.asr=[\"zh\",\"en\",\"de\"]",
            "nodes.0.semantic=[\"zh\",\"en\"]",
            "nodes.0.tts=[\"zh\",\"en\"]",
        ],
    ),
    (
        "3×3",
        "policies.toml",
        &["nodes.0.asr=[\"zh\",\"en\",\"ja\"]", "nodes.0.tts=[\"zh\",\"en\",\"ja\"]"],
    ),
    (
        "3×3 at 150 nodes per pair",
        "policies.toml",
        &[
            "nodes.0.count=150",
            "nodes.0.asr=[\"zh\",\"en\",\"ja\"]",
            "nodes.0.tts=[\"zh\",\"en\",\"ja\"]",
        ],
    ),
    ("one pair, 250 nodes", "policies.toml", &["nodes.0.count=250"]),
    ("nodes-100", "nodes-100.toml", &[]),
    ("nodes-1000", "nodes-1000.toml", &[]),
    (
        "10×10 at 2,000 nodes",
        "policies.toml",
        &[
            "nodes.0.count=2000",
            "nodes.0.asr=[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"zh\",\"j\"]",
            "nodes.0.tts=[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"en\",\"j\"]",
        ],
    ),
];

pub(super) fn table(dir: &Path) -> Result<String, Failure> {
    let mut table = Table::new(&[
        ("deployment", Align::Left),
        ("rule", Align::Left),
        ("pairs", Align::Right),
        ("nodes per pair", Align::Right),
        ("shards per pair", Align::Right),
        ("pools by formula", Align::Right),
        ("pools built", Align::Right),
        ("pairs in demand without a node", Align::Right),
        ("pools per node", Align::Right),
        ("largest", Align::Right),
        ("bias", Align::Right),
        ("bytes", Align::Right),
        ("writes per heartbeat", Align::Right),
        ("advice", Align::Left),
    ]);
    for (name, file, changes) in ROWS {
        let changes: Vec<String> = changes.iter().map(|&text| text.to_owned()).collect();
        let loaded = Scenario::load(&dir.join(file), &changes)?;
        for rule in Rule::ALL {
            let pools = Pools::of(&loaded.scenario, rule)?;
            let range = |(min, mean, max): (f64, f64, f64)| format!("{min:.0}/{mean:.1}/{max:.0}");
            let many = pools.shards_per_pair.2 > 10.0;
            let cells = [
                name.to_owned(),
                rule.name().to_owned(),
                count(pools.pairs),
                range(pools.nodes_per_pair),
                range(pools.shards_per_pair),
                count(pools.by_formula),
                count(pools.pools),
                count(pools.unserved),
                decimal(pools.pools_per_node),
                count(pools.largest),
                decimal(pools.bias),
                count(pools.bytes),
                // The documented heartbeat refreshes the node and each of its pools.
                decimal(1.0 + 2.0 * pools.pools_per_node),
                if many { "larger shards".to_owned() } else { "fine".to_owned() },
            ];
            table.row(cells.map(Cell::from));
        }
    }
    Ok(format!(
        "\n## E. Pools\n\n{}\nPools by formula: pairs × ceil(mean nodes per pair / 100). Bias: what \
         a member of the smallest shard gets of a uniform choice of shards, 1 = fair. Bytes: keys \
         and members, a rough count. Writes per heartbeat: by the documented script; ours writes \
         once. `lingua pools FILE` prints the same of any scenario. Empty pools do not arise: a \
         shard is built when a node joins.\n",
        table.to_markdown()
    ))
}
