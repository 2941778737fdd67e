//! `lingua claim-plan`: what the limits of duties come to, and which deaths they survive.

use std::collections::BTreeMap;

use lingua_core::claim::{Plan, Tolerance};
use lingua_reports::number;
use lingua_reports::table::{Align, Cell, Table};

use crate::args::ClaimPlan;
use crate::failure::{Code, Failure, print, tell};

/// With fewer, one death and one drain leave nobody.
const INSTANCES_ADVISED: usize = 3;
/// Most rows of deaths shown.
const DEATHS_SHOWN: usize = 16;

pub(crate) fn run(args: &ClaimPlan) -> Result<Code, Failure> {
    let plan = Plan::new(args.jobs, args.instances, &args.tolerance)?;
    if args.instances < INSTANCES_ADVISED {
        tell(&format!(
            "warning: {}: deploy at least {INSTANCES_ADVISED}, so that one may die while another \
             drains",
            number::counted(args.instances as u64, "instance")
        ));
    }
    print(&format!(
        "{} duties over {}, {:.1} each if they were even\n\n",
        number::count(args.jobs as u64),
        number::counted(args.instances as u64, "instance"),
        args.jobs as f64 / args.instances as f64
    ))?;
    print(&limits(&plan, &args.tolerance).to_text(100))?;
    print("\n")?;
    if args.instances > 1 {
        print(&deaths(&plan).to_text(100))?;
        print("\n")?;
    }
    let survived = match plan.survives() {
        0 => "No death is".to_owned(),
        1 => "Any one death is".to_owned(),
        n => format!("Any {n} deaths at once are"),
    };
    print(&format!(
        "{survived} survived before anybody hears of it. Once it is heard of, limits are counted \
         anew\nand whoever is left has room for all.\n"
    ))?;
    Ok(Code::Fine)
}

/// A row for all instances of one tolerance.
fn limits(plan: &Plan, tolerances: &[Tolerance]) -> Table {
    let mut table = Table::new(&[
        ("instances", Align::Left),
        ("tolerance", Align::Right),
        ("limit", Align::Right),
        ("left to others", Align::Right),
    ]);
    let mut groups: BTreeMap<Tolerance, Vec<usize>> = BTreeMap::new();
    for at in 0..plan.limits().len() {
        let tolerance = tolerances[at.min(tolerances.len() - 1)];
        groups.entry(tolerance).or_default().push(at);
    }
    for (tolerance, group) in groups {
        let cells = [
            positions(&group),
            number::count(u64::from(tolerance.get())),
            number::count(plan.limits()[group[0]] as u64),
            number::count(plan.left_to_others(group[0]) as u64),
        ];
        table.row(cells.map(|cell| Cell::new(cell.clone(), cell)));
    }
    table
}

/// A row per number of deaths, until none is survived.
fn deaths(plan: &Plan) -> Table {
    let mut table = Table::new(&[
        ("dead", Align::Right),
        ("worst case", Align::Left),
        ("room left", Align::Right),
        ("all held", Align::Left),
        ("cases survived", Align::Right),
    ]);
    for dead in 1..plan.limits().len().min(DEATHS_SHOWN + 1) {
        let deaths = plan.deaths(dead);
        let fits = deaths.room >= plan.duties();
        let short = plan.duties().saturating_sub(deaths.room) as u64;
        let cases = deaths.cases.map_or_else(
            || "not counted".to_owned(),
            |(fine, all)| format!("{} of {}", number::count(fine), number::count(all)),
        );
        let cells = [
            number::count(dead as u64),
            positions(&deaths.worst),
            number::count(deaths.room as u64),
            if fits { "yes".to_owned() } else { format!("{} short", number::count(short)) },
            cases,
        ];
        table.row(cells.map(|cell| Cell::new(cell.clone(), cell)));
        if deaths.cases.is_some_and(|(fine, _)| fine == 0) {
            break;
        }
    }
    table
}

/// Instances by position, from 1.
fn positions(instances: &[usize]) -> String {
    let positions: Vec<u64> = instances.iter().map(|&at| at as u64 + 1).collect();
    number::ranges(&positions)
}
