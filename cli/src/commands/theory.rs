//! `lingua theory`: the simulator against queueing theory, with z-scores.

use lingua_reports::number;
use lingua_reports::table::{Align, Cell, Table};
use lingua_sim::theory::{self, Row};
use lingua_sim::{Finished, simulate_all};

use crate::args::Theory;
use crate::failure::{Code, Failure, print};
use crate::progress::Bar;

/// Standard errors that no row may be away, and that one in ten may.
const Z_MAX: f64 = 3.5;
const Z_USUAL: f64 = 2.0;

pub(crate) fn run(args: &Theory) -> Result<Code, Failure> {
    let rows = theory::rows(theory::TABLE).map_err(|error| Failure::Usage(error.to_string()))?;
    let asked = |row: &Row| {
        let name = format!("{} {}", row.model.name(), row.params);
        (row.is_test || args.all) && args.filter.as_ref().is_none_or(|text| name.contains(text))
    };
    let mut scenarios = Vec::new();
    let mut chosen = Vec::new();
    for row in rows.into_iter().filter(asked) {
        if let Some(scenario) = row.scenario(args.jobs as f64, args.seed)? {
            scenarios.push(scenario);
            chosen.push(row);
        }
    }
    if chosen.is_empty() {
        return Err(Failure::Usage("no row of the table fits: try `lingua theory erlang`".into()));
    }
    let mut bar = Bar::new("theory");
    let runs = simulate_all(&scenarios, "", usize::from(args.threads), &mut bar)?;
    drop(bar);
    show(&chosen, &runs)
}

fn show(rows: &[Row], runs: &[Finished]) -> Result<Code, Failure> {
    let mut table = Table::new(&[
        ("model", Align::Left),
        ("parameters", Align::Left),
        ("value", Align::Right),
        ("simulated", Align::Right),
        ("z", Align::Right),
    ]);
    let (mut far, mut unusual) = (0, 0);
    for (row, run) in rows.iter().zip(runs) {
        let found = row.found(run);
        let z = row.z(found);
        far += u32::from(z.abs() > Z_MAX);
        unusual += u32::from(z.abs() > Z_USUAL);
        let params = row.params.replace(";repl=without", "");
        let cells = [
            row.model.name().to_owned(),
            params,
            number::decimal(row.value),
            number::decimal(found.0),
            format!("{z:+.2}"),
        ];
        table.row(cells.map(|cell| Cell::new(cell.clone(), cell)));
    }
    print(&table.to_text(100))?;
    print(&format!(
        "\n{} rows: {far} beyond {Z_MAX} standard errors, {unusual} beyond {Z_USUAL} (one in ten \
         may be)\n",
        rows.len()
    ))?;
    let fine = far == 0 && unusual as usize * 10 <= rows.len().max(10);
    Ok(if fine { Code::Fine } else { Code::ExpectationFailed })
}
