//! Prediction beside measurement: one scenario simulated and run over real sockets.

mod page;

use std::path::Path;

use crate::facts::{ratio, verdict};
use crate::files::{WriteError, write};
use crate::number::{decimal, percent};
use crate::plots::{Figure, PlotError, prediction as curves};
use crate::run::{Artifacts, Run, Summary, Verdict};
use crate::table::{Align, Cell, Table};

/// Most by which refusals may differ, as a share of the jobs: one point.
const POINTS: f64 = 0.01;
/// Most by which a latency may differ from the measured one, as a share of it.
const SHARE: f64 = 0.2;

/// Why a prediction cannot be held against a measurement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PredictionError {
    /// Other things were predicted than measured.
    #[error(
        "predicted was `{predicted}`, measured `{measured}`: simulate the file that was run over \
         sockets, with the same changes"
    )]
    Scenario {
        /// The simulated scenario.
        predicted: String,
        /// The measured one.
        measured: String,
    },
    /// Not the same span of time, or not the same plan.
    #[error("{what} is {predicted} in the simulation and {measured} over sockets: use the same")]
    Plan {
        /// What differs.
        what: &'static str,
        /// Simulated.
        predicted: String,
        /// Measured.
        measured: String,
    },
    /// The curves cannot be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
}

/// How a quantity is read and judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// A share, shown in percent; differences are in points.
    Share,
    /// A plain number.
    Number,
}

/// Whether prediction and measurement agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Within what is allowed.
    Agrees,
    /// Further apart.
    Differs,
    /// Shown without a rule.
    NotJudged,
}

/// One quantity, predicted and measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// What it is.
    pub name: &'static str,
    /// How to read it.
    pub unit: Unit,
    /// From the simulation.
    pub predicted: f64,
    /// From the sockets.
    pub measured: f64,
    /// Largest difference allowed: of a share in points / 100, else relative to the measured value.
    pub allowed: Option<f64>,
}

impl Quantity {
    /// What the rule compares: the difference of shares, else the one relative to the measured
    /// value; absent where nothing was measured and something predicted.
    pub fn difference(&self) -> Option<f64> {
        let difference = self.predicted - self.measured;
        if self.unit == Unit::Share || difference == 0.0 {
            Some(difference)
        } else {
            (self.measured != 0.0).then(|| difference / self.measured.abs())
        }
    }

    /// Whether both agree.
    pub fn agreement(&self) -> Agreement {
        let Some(allowed) = self.allowed else { return Agreement::NotJudged };
        // A share that is exactly one point off is computed with an error in the last place.
        let within = |difference: f64| difference.abs() <= allowed + 1e-12;
        if self.difference().is_some_and(within) { Agreement::Agrees } else { Agreement::Differs }
    }

    fn shown(&self, value: f64) -> Cell {
        match self.unit {
            Unit::Share => Cell::percent(value),
            Unit::Ms => Cell::new(format!("{} ms", decimal(value)), value.to_string()),
            Unit::Number => Cell::decimal(value),
        }
    }

    fn difference_cell(&self) -> Cell {
        let Some(difference) = self.difference() else { return Cell::new("–", "") };
        let plus = if difference > 0.0 { "+" } else { "" };
        let shown = match self.unit {
            Unit::Share => format!("{plus}{} points", decimal(difference * 100.0)),
            Unit::Ms | Unit::Number => format!("{plus}{}", percent(difference)),
        };
        Cell::new(shown, difference.to_string())
    }

    fn rule(&self) -> String {
        let Some(allowed) = self.allowed else { return String::new() };
        match self.unit {
            Unit::Share => format!("within {} points", decimal(allowed * 100.0)),
            Unit::Ms | Unit::Number => format!("within {}", percent(allowed)),
        }
    }
}

/// A simulated run against a measured one.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Title of the scenario.
    pub scenario: String,
    /// Quantities, those that are judged first.
    pub quantities: Vec<Quantity>,
    /// Both runs are measurements and nothing broke in them: else nothing can agree.
    pub is_sound: bool,
    /// What the reader must know before he trusts the comparison, one sentence each.
    pub notes: Vec<String>,
    /// Percentile curves of both.
    pub figures: Vec<Figure>,
}

/// Holds a simulated run against a measured one of the same scenario.
///
/// # Errors
/// The runs are of different scenarios, seeds or lengths.
pub fn predict(predicted: &Artifacts, measured: &Artifacts) -> Result<Prediction, PredictionError> {
    same_plan(&predicted.run, &measured.run)?;
    let curves = |name: &'static str, title: &'static str, of: &str| {
        curves(name, title, predicted.histograms.get(of), measured.histograms.get(of))
    };
    Ok(Prediction {
        scenario: measured.run.scenario.name.clone(),
        quantities: quantities(&predicted.run, &measured.run),
        is_sound: [&predicted.run, &measured.run].into_iter().all(is_sound),
        notes: notes(&predicted.run, &measured.run),
        figures: vec![
            curves("dispatch-net", "Dispatch net, predicted and measured", "dispatch_net")?,
            curves("response", "Response, predicted and measured", "response")?,
        ],
    })
}

/// The scenario's bytes may differ, since predicted costs are an input of the simulation alone.
fn same_plan(predicted: &Run, measured: &Run) -> Result<(), PredictionError> {
    let names = [predicted, measured].map(|run| run.scenario.name.clone());
    if names[0] != names[1] {
        let [predicted, measured] = names;
        return Err(PredictionError::Scenario { predicted, measured });
    }
    let of = |run: &Run| [run.seed.to_string(), format!("{} s", decimal(run.duration_s))];
    let what = ["the seed", "the counted time"];
    for ((what, predicted), measured) in what.into_iter().zip(of(predicted)).zip(of(measured)) {
        if predicted != measured {
            return Err(PredictionError::Plan { what, predicted, measured });
        }
    }
    Ok(())
}

fn quantities(predicted: &Run, measured: &Run) -> Vec<Quantity> {
    let both = |name, unit, allowed, of: &dyn Fn(&Run) -> f64| Quantity {
        name,
        unit,
        predicted: of(predicted),
        measured: of(measured),
        allowed,
    };
    let net = |of: fn(&Summary) -> f64| move |run: &Run| of(&run.latency_ms.dispatch_net);
    let response = |of: fn(&Summary) -> f64| move |run: &Run| of(&run.latency_ms.response);
    let offered = |part: u64, run: &Run| ratio(part, run.jobs.offered);
    let (ms, share, number) = (Unit::Ms, Unit::Share, Unit::Number);
    vec![
        both("refused", share, Some(POINTS), &|run| run.refused_ratio),
        both("dispatch net p50", ms, Some(SHARE), &net(|summary| summary.p50)),
        both("dispatch net p99", ms, Some(SHARE), &net(|summary| summary.p99)),
        both("dispatch net p90", ms, None, &net(|summary| summary.p90)),
        both("dispatch net mean", ms, None, &net(|summary| summary.mean)),
        both("response p50", ms, None, &response(|summary| summary.p50)),
        both("response p90", ms, None, &response(|summary| summary.p90)),
        both("response p99", ms, None, &response(|summary| summary.p99)),
        both("offered jobs/s", number, None, &|run| run.jobs.offered as f64 / run.duration_s),
        both("carried jobs/s", number, None, &|run| run.carried_per_s),
        both("failed", share, None, &|run| offered(run.jobs.failed, run)),
        both("timed out", share, None, &|run| offered(run.jobs.timed_out, run)),
        both("utilisation", share, None, &|run| run.utilisation),
        both("oversold assignments", number, None, &|run| run.oversold.assignments as f64),
        both("affinity kept", share, None, &|run| ratio(run.affinity.kept, run.affinity.expected)),
        both("busiest node over mean", number, None, &|run| run.fairness.max_over_mean),
        both("heartbeats/s", number, None, &|run| run.scheduler.heartbeats_per_s),
    ]
}

fn is_sound(run: &Run) -> bool {
    !matches!(run.verdict, Verdict::Void | Verdict::InvariantBroken)
}

fn notes(predicted: &Run, measured: &Run) -> Vec<String> {
    let mut notes = Vec::new();
    notes.push(if predicted.arrivals_digest == measured.arrivals_digest {
        "Both met the same arrivals.".to_owned()
    } else if measured.arrivals_digest.is_empty() {
        "Both drew their arrivals from the same seed.".to_owned()
    } else {
        "The arrivals are of one plan but not equal to the last one: what the scheduler answered \
         has moved some."
            .to_owned()
    });
    let costs = predicted.inputs.get("costs").map_or("unknown", String::as_str);
    notes.push(format!("The costs that the prediction stands on are {costs}."));
    for (side, run) in [("simulated", predicted), ("measured", measured)] {
        if !is_sound(run) {
            let (word, _) = verdict(run.verdict);
            notes.push(format!("The {side} run's verdict is {word}: do not trust the comparison."));
        }
    }
    notes
}

impl Prediction {
    /// Whether every quantity that is judged agrees.
    pub fn agrees(&self) -> bool {
        self.is_sound
            && self.quantities.iter().all(|quantity| quantity.agreement() != Agreement::Differs)
    }

    /// The quantities as a table; its CSV has every digit.
    pub fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("quantity", Align::Left),
            ("predicted", Align::Right),
            ("measured", Align::Right),
            ("difference", Align::Right),
            ("", Align::Left),
            ("rule", Align::Left),
        ]);
        for quantity in &self.quantities {
            let word = match quantity.agreement() {
                Agreement::Agrees => "agrees",
                Agreement::Differs => "DIFFERS",
                Agreement::NotJudged => "",
            };
            table.row([
                Cell::from(quantity.name),
                quantity.shown(quantity.predicted),
                quantity.shown(quantity.measured),
                quantity.difference_cell(),
                Cell::from(word),
                Cell::from(quantity.rule()),
            ]);
        }
        table
    }

    /// The outcome in one sentence.
    pub fn headline(&self) -> String {
        let judged = self.quantities.iter().filter(|quantity| quantity.allowed.is_some());
        let wrong = judged.clone().filter(|q| q.agreement() == Agreement::Differs);
        let wrong: Vec<&str> = wrong.map(|quantity| quantity.name).collect();
        if !self.is_sound {
            "Nothing can be held against a run that is void or broken.".to_owned()
        } else if wrong.is_empty() {
            format!("Prediction and measurement agree in all {} judged quantities.", judged.count())
        } else {
            format!("Prediction and measurement differ in: {}.", wrong.join(", "))
        }
    }

    /// Writes `comparison.html`, `comparison.csv` and the curves into a directory, which is made
    /// where it is missing.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_dir(&self, dir: &Path) -> Result<(), WriteError> {
        write(&dir.join("comparison.html"), page::page(self)?.as_bytes())?;
        write(&dir.join("comparison.csv"), self.table().to_csv().as_bytes())?;
        for figure in &self.figures {
            let path = dir.join(format!("plots/{}.svg", figure.name));
            write(&path, figure.svg.as_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
