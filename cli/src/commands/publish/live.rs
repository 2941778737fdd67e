//! Measurements over real sockets, which a machine has made once: they stand in a file of the
//! project and are shown below the table that they belong to.

use std::path::Path;

use lingua_reports::table::{Align, Cell, Table};

use crate::failure::Failure;

/// Beside the scenarios that are run over real sockets.
const FILE: &str = "live/measured.csv";
const COLUMNS: [&str; 6] = ["table", "figure", "measured", "machine", "date", "command"];

/// All measurements, in the order of the file.
pub(super) struct Measured(Vec<csv::StringRecord>);

impl Measured {
    /// Reads them.
    pub(super) fn read(dir: &Path) -> Result<Self, Failure> {
        let path = dir.join(FILE);
        let wrong = |what: String| Failure::Usage(format!("{}: {what}", path.display()));
        let mut reader = csv::Reader::from_path(&path).map_err(|error| wrong(error.to_string()))?;
        let header = reader.headers().map_err(|error| wrong(error.to_string()))?;
        if header.iter().ne(COLUMNS) {
            return Err(wrong(format!("the columns must be {}", COLUMNS.join(","))));
        }
        let rows: Result<_, _> = reader.records().collect();
        Ok(Self(rows.map_err(|error| {
            let columns = COLUMNS.join(",");
            wrong(format!("{error}: a row is {columns}, in quotes where one holds a comma"))
        })?))
    }

    fn of<'a>(&'a self, letter: &'a str) -> impl Iterator<Item = &'a csv::StringRecord> {
        self.0.iter().filter(move |row| &row[0] == letter)
    }

    /// What was measured for a row of a table.
    pub(super) fn figure(&self, letter: &str, row: &str) -> Option<&str> {
        let found = self.0.iter().find(|found| (&found[0], &found[1]) == (letter, row))?;
        Some(&found[2])
    }

    /// Whether something below a table was measured for its quantity, to whose name more may have
    /// been added.
    pub(super) fn tells_of(&self, letter: &str, quantity: &str) -> bool {
        let quantity = quantity.split(',').next().unwrap_or(quantity);
        self.of(letter).any(|found| found[1].contains(quantity))
    }

    /// The measurements of one table; empty where there are none yet.
    pub(super) fn below(&self, letter: &str) -> String {
        let mut table = Table::new(&[
            ("measured over real sockets", Align::Left),
            ("figure", Align::Right),
            ("machine", Align::Left),
            ("date", Align::Left),
            ("command", Align::Left),
        ]);
        for row in self.of(letter) {
            let words = [1, 2, 3, 4].map(|column| Cell::from(&row[column]));
            table.row(words.into_iter().chain([Cell::code(&row[5])]));
        }
        if table.is_empty() { String::new() } else { format!("\n{}", table.to_markdown()) }
    }
}
