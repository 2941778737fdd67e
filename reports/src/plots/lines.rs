//! Lines: latency by percentile, and what changes over time.

use plotters::prelude::*;

use crate::plots::{colour, svg, top};
use crate::run::{Artifacts, Sample};

type Points = Vec<(f64, f64)>;

struct Line {
    name: &'static str,
    colour: RGBColor,
    points: Points,
}

/// Latency by percentile; the axis counts nines.
pub(super) fn percentiles(artifacts: &Artifacts) -> String {
    let curve = |name: &'static str, colour| {
        let histogram = artifacts.histograms.get(name).filter(|histogram| !histogram.is_empty());
        let points = histogram.map_or_else(Vec::new, |histogram| {
            let steps = (0..=80).map(|step| f64::from(step) / 20.0);
            let at = |nines: f64| {
                let quantile = 1.0 - libm::pow(10.0, -nines);
                (nines, histogram.value_at_quantile(quantile) as f64 / 1e6)
            };
            steps.map(at).collect()
        });
        Line { name, colour, points }
    };
    let lines = [
        curve("dispatch", colour::BLUE),
        curve("dispatch_net", colour::ORANGE),
        curve("response", colour::GREEN),
    ];
    let axis = |nines: &f64| {
        let quantile = 100.0 * (1.0 - libm::pow(10.0, -*nines));
        format!("{quantile:.*} %", (*nines as usize).saturating_sub(1).min(2))
    };
    draw(&lines, (0.0, 4.0), None, ("percentile", "milliseconds"), &axis)
}

pub(super) fn jobs(artifacts: &Artifacts) -> String {
    let per_s = |pick: fn(&Sample) -> u64| {
        let row = move |row: &Sample| (row.t_s, pick(row) as f64 / artifacts.sample_s.max(1e-9));
        artifacts.timeseries.iter().map(row).collect::<Points>()
    };
    let lines = [
        Line { name: "offered", colour: colour::BLUE, points: per_s(|row| row.offered) },
        Line { name: "completed", colour: colour::GREEN, points: per_s(|row| row.completed) },
        Line { name: "refused", colour: colour::ORANGE, points: per_s(|row| row.refused) },
        Line { name: "failed", colour: colour::PINK, points: per_s(|row| row.failed) },
    ];
    over_time(artifacts, &lines, "jobs per second")
}

pub(super) fn latency(artifacts: &Artifacts) -> String {
    let points = |pick: fn(&Sample) -> f64| {
        artifacts.timeseries.iter().map(|row| (row.t_s, pick(row))).collect::<Points>()
    };
    let lines = [
        Line { name: "p50", colour: colour::BLUE, points: points(|row| row.dispatch_p50_ms) },
        Line { name: "p99", colour: colour::ORANGE, points: points(|row| row.dispatch_p99_ms) },
    ];
    over_time(artifacts, &lines, "milliseconds")
}

pub(super) fn utilisation(artifacts: &Artifacts) -> String {
    let points = |pick: fn(&Sample) -> f64| {
        artifacts.timeseries.iter().map(|row| (row.t_s, 100.0 * pick(row))).collect::<Points>()
    };
    let lines = [
        Line { name: "slots", colour: colour::BLUE, points: points(|row| row.utilisation) },
        Line {
            name: "scheduler",
            colour: colour::ORANGE,
            points: points(|row| row.scheduler_busy),
        },
    ];
    over_time(artifacts, &lines, "percent busy")
}

fn over_time(artifacts: &Artifacts, lines: &[Line], unit: &str) -> String {
    let end = artifacts.timeseries.last().map_or(1.0, |row| row.t_s).max(1.0);
    let axis = |seconds: &f64| format!("{seconds:.0}");
    draw(lines, (0.0, end), Some(artifacts.warmup_s), ("virtual seconds", unit), &axis)
}

fn draw(
    lines: &[Line],
    x: (f64, f64),
    warmup: Option<f64>,
    (x_name, y_name): (&str, &str),
    x_label: &dyn Fn(&f64) -> String,
) -> String {
    let high = top(lines.iter().flat_map(|line| line.points.iter().map(|&(_, y)| y)));
    let text = |error: DrawingAreaErrorKind<std::io::Error>| error.to_string();
    svg(|area| {
        let mut chart = ChartBuilder::on(area)
            .margin(14)
            .x_label_area_size(44)
            .y_label_area_size(70)
            .build_cartesian_2d(x.0..x.1, 0.0..high)
            .map_err(text)?;
        if let Some(warmup) = warmup.filter(|warmup| *warmup > 0.0) {
            let shade = Rectangle::new([(x.0, 0.0), (warmup, high)], colour::SHADE.filled());
            chart.draw_series([shade]).map_err(text)?;
        }
        chart
            .configure_mesh()
            .light_line_style(WHITE.mix(0.0))
            .bold_line_style(colour::GRID)
            .axis_style(colour::INK)
            .label_style(("sans-serif", 13, &colour::INK))
            .x_labels(8)
            .y_labels(6)
            .x_desc(x_name)
            .y_desc(y_name)
            .x_label_formatter(x_label)
            .draw()
            .map_err(text)?;
        for line in lines.iter().filter(|line| !line.points.is_empty()) {
            let style = line.colour.stroke_width(2);
            chart
                .draw_series(LineSeries::new(line.points.iter().copied(), style))
                .map_err(text)?
                .label(line.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.85))
            .border_style(colour::GRID)
            .label_font(("sans-serif", 13, &colour::INK))
            .draw()
            .map_err(text)
    })
}
