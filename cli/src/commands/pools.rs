//! `lingua pools`: what a scenario's nodes come to as pools (table E).

use lingua_reports::number;
use lingua_reports::table::{Align, Cell, Table};
use lingua_sim::pools::{Pools, Rule};

use crate::args::File;
use crate::failure::{Code, Failure, print};

pub(crate) fn run(args: &File) -> Result<Code, Failure> {
    let loaded = args.load_with_nodes()?;
    let mut table = Table::new(&[
        ("rule", Align::Left),
        ("pairs", Align::Right),
        ("nodes", Align::Right),
        ("shards", Align::Right),
        ("pools", Align::Right),
        ("formula", Align::Right),
        ("no node", Align::Right),
        ("per node", Align::Right),
        ("max", Align::Right),
        ("bias", Align::Right),
        ("KiB", Align::Right),
    ]);
    let mut advice = String::new();
    for rule in Rule::ALL {
        let pools = Pools::of(&loaded.scenario, rule)?;
        let cells = [
            rule.name().to_owned(),
            number::count(pools.pairs),
            range(pools.nodes_per_pair),
            range(pools.shards_per_pair),
            number::count(pools.pools),
            number::count(pools.by_formula),
            number::count(pools.unserved),
            number::decimal(pools.pools_per_node),
            number::count(pools.largest),
            number::decimal(pools.bias),
            number::count(pools.bytes / 1_024),
        ];
        if pools.shards_per_pair.2 > 10.0 {
            advice = "more than 10 shards per pair: raise scheduler.shard_size, or accept it, the \
                      choice costs no more\n"
                .to_owned();
        }
        table.row(cells.map(|cell| Cell::new(cell.clone(), cell)));
    }
    print(&format!("{}\n\n{}", loaded.scenario.title, table.to_text(100)))?;
    print(
        "\nnodes, shards: per pair, min/mean/max. formula: pools by the documents' formula. no node: \
         pairs in\ndemand without a node. bias: what a member of the smallest shard gets of a \
         uniform choice of shards,\n1 = fair. ",
    )?;
    print(&format!("KiB: index keys and members.\n{advice}"))?;
    Ok(Code::Fine)
}

fn range((min, mean, max): (f64, f64, f64)) -> String {
    format!("{min:.0}/{mean:.1}/{max:.0}")
}
