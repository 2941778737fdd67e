//! Which subjects have become slower.

use std::fmt;

use super::{Figures, GateError};

/// Largest change, as a share of the baseline, that is let through.
pub const TOLERANCE: f64 = 0.03;

/// Dispatch among 10,000 nodes may cost this many times dispatch among 100.
pub const DISPATCH_GROWTH_MAX: f64 = 1.3;

const GROWTH: [&str; 2] = ["dispatch-100", "dispatch-10000"];

/// What a change of one subject means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As before.
    Same,
    /// More than the tolerance above the baseline: the gate fails.
    Slower,
    /// More than the tolerance below it: the baseline is to be renewed, or it would hide as much.
    Faster,
}

/// One subject, before and now.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Which subject.
    pub subject: String,
    /// Instructions per operation in the baseline.
    pub before: f64,
    /// Instructions per operation now.
    pub now: f64,
}

impl Row {
    /// The change as a share of the baseline.
    pub fn change(&self) -> f64 {
        self.now / self.before - 1.0
    }

    /// What it means.
    pub fn verdict(&self) -> Verdict {
        let change = self.change();
        if change > TOLERANCE {
            Verdict::Slower
        } else if change < -TOLERANCE {
            Verdict::Faster
        } else {
            Verdict::Same
        }
    }
}

/// All subjects, before and now. Its display is the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    rows: Vec<Row>,
}

impl Comparison {
    /// Sets counts beside those of the baseline.
    ///
    /// # Errors
    /// They are of different compilers or targets, or of different subjects.
    pub fn new(baseline: &Figures, now: &Figures) -> Result<Self, GateError> {
        baseline.check_compiler(now)?;
        let gone = baseline.instructions.keys().find(|name| !now.instructions.contains_key(*name));
        if let Some(name) = gone {
            return Err(GateError::Unpaired(name.clone()));
        }
        let row = |(subject, &now): (&String, &f64)| match baseline.instructions.get(subject) {
            Some(&before) => Ok(Row { subject: subject.clone(), before, now }),
            None => Err(GateError::Unpaired(subject.clone())),
        };
        Ok(Self { rows: now.instructions.iter().map(row).collect::<Result<_, _>>()? })
    }

    /// The subjects in order of their names.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Subjects of that verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict() == verdict).count()
    }

    /// How many times dispatch among 100 nodes costs dispatch among 10,000; absent without both.
    pub fn dispatch_growth(&self) -> Option<f64> {
        let now = |name| self.rows.iter().find(|row| row.subject == name).map(|row| row.now);
        let [small, large] = GROWTH.map(now);
        Some(large? / small?)
    }

    /// Whether no subject is slower and dispatch does not grow too much with the nodes.
    pub fn passes(&self) -> bool {
        let grows = self.dispatch_growth().is_some_and(|growth| growth > DISPATCH_GROWTH_MAX);
        self.count(Verdict::Slower) == 0 && !grows
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ("instructions per operation", "baseline", "now", "change");
        writeln!(f, "{:<28}{:>16}{:>16}{:>10}", head.0, head.1, head.2, head.3)?;
        for row in &self.rows {
            let change = row.change() * 100.0;
            let word = match row.verdict() {
                Verdict::Same => "",
                Verdict::Slower => "  SLOWER",
                Verdict::Faster => "  faster",
            };
            let (before, now) = (row.before, row.now);
            writeln!(f, "{:<28}{before:>16.2}{now:>16.2}{change:>+8.2} %{word}", row.subject)?;
        }
        if let Some(growth) = self.dispatch_growth() {
            let fits = if growth <= DISPATCH_GROWTH_MAX { "kept" } else { "MISSED" };
            writeln!(
                f,
                "dispatch at 10,000 nodes / at 100: {growth:.3}, goal at most \
                 {DISPATCH_GROWTH_MAX:.1}: {fits}"
            )?;
        }
        Ok(())
    }
}
