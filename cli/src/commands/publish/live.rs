//! Measurements over real sockets, which a machine has made once: they stand in a file of the
//! project and are shown below the table that they belong to.

use std::path::Path;

use lingua_reports::table::{Align, Cell, Table};

use crate::failure::Failure;

/// Beside the scenarios that are run over real sockets.
const FILE: &str = "live/measured.csv";
const COLUMNS: [&str; 6] = ["table", "figure", "measured", "machine", "date", "command"];

/// The measurements of one table; empty where there are none yet.
pub(super) fn below(dir: &Path, letter: &str) -> Result<String, Failure> {
    let path = dir.join(FILE);
    let wrong = |what: String| Failure::Usage(format!("{}: {what}", path.display()));
    let mut reader = csv::Reader::from_path(&path).map_err(|error| wrong(error.to_string()))?;
    let header = reader.headers().map_err(|error| wrong(error.to_string()))?;
    if header.iter().ne(COLUMNS) {
        return Err(wrong(format!("the columns must be {}", COLUMNS.join(","))));
    }
    let mut table = Table::new(&[
        ("measured over real sockets", Align::Left),
        ("figure", Align::Right),
        ("machine", Align::Left),
        ("date", Align::Left),
        ("command", Align::Left),
    ]);
    for row in reader.records() {
        let row = row.map_err(|error| wrong(error.to_string()))?;
        if &row[0] == letter {
            let words = [1, 2, 3, 4].map(|column| Cell::from(&row[column]));
            table.row(words.into_iter().chain([Cell::code(&row[5])]));
        }
    }
    Ok(if table.is_empty() { String::new() } else { format!("\n{}", table.to_markdown()) })
}
