//! `lingua calibrate`: the costs of a running scheduler as a scenario's `[costs]`.

use std::path::PathBuf;

use lingua_loadgen::Target;
use lingua_loadgen::calibrate::{Calibration, Latency, calibrate};

use crate::args::Calibrate;
use crate::commands::live::target::{elsewhere, own_server};
use crate::failure::{Code, Failure, print, tell};
use crate::machine;

/// Parts of a dispatch that cannot be told apart from outside.
const WITHIN_DISPATCH: [&str; 4] = ["candidate", "scan_node", "lock", "statistics"];

pub(super) fn run(args: &Calibrate) -> Result<Code, Failure> {
    let target = match &args.target {
        Some(url) => {
            check_remote(url, args.allow_remote)?;
            Target::Running(url.as_str().into())
        }
        None => Target::Own(own_server()?),
    };
    let place = args.target.as_deref().unwrap_or("a server of its own");
    tell(&format!("measuring {place}, about a minute"));
    let found = calibrate(&target)?;
    let beside = |latency: &Latency| {
        args.out.with_extension(format!("{}.csv", latency.field.name.replace('_', "-")))
    };
    let latencies: Vec<PathBuf> = found.latencies.iter().map(beside).collect();
    let text = block(&found, place, &latencies);
    print(&text)?;
    let values = latencies.iter().zip(&found.latencies).map(|(file, found)| (file, csv(found)));
    for (file, text) in values.chain([(&args.out, text)]) {
        std::fs::write(file, text)
            .map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
    }
    let out = args.out.display();
    print(&format!("\nwritten: {out}   next: lingua sim SCENARIO.toml --costs {out}\n"))?;
    Ok(Code::Fine)
}

/// A scheduler elsewhere may be at work: it is measured only where that is wanted.
fn check_remote(url: &str, allowed: bool) -> Result<(), Failure> {
    let Some(address) = elsewhere(url)?.filter(|_| !allowed) else { return Ok(()) };
    Err(Failure::Usage(format!(
        "--target {url}: {address} is not this machine, and a calibration keeps a scheduler fully busy for some \
         seconds, with 220 nodes and 200 sessions of languages that nobody speaks; add \
         --allow-remote if it may"
    )))
}

/// A latency in the form of an empirical distribution.
fn csv(latency: &Latency) -> String {
    let mut text = "seconds\n".to_owned();
    for value in &latency.values {
        text.push_str(&format!("{:.9}\n", value.secs_f64()));
    }
    text
}

/// The figures as a file that `--costs` reads; the latencies are in files beside it.
fn block(found: &Calibration, place: &str, latencies: &[PathBuf]) -> String {
    let mut text = format!(
        "# Measured by lingua calibrate: {place}, on {}.\n[costs]\nbasis = \"measured\"\n",
        machine::processor()
    );
    let values = found.costs.fields();
    let value = |name: &str| values.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    for (file, latency) in latencies.iter().zip(&found.latencies) {
        let (name, note) = (latency.field.name, &latency.field.note);
        let file = file.file_name().unwrap_or_default().to_string_lossy();
        text.push_str(&format!("{name} = {{ empirical = \"{file}\" }} # {note}\n"));
    }
    let within = WITHIN_DISPATCH.map(|name| (name, "part of dispatch"));
    let measured = found.fields.iter().map(|field| (field.name, field.note.as_str()));
    for (name, note) in measured.chain(within) {
        if let Some(value) = value(name) {
            text.push_str(&format!("{name} = {value} # {note}\n"));
        }
    }
    text
}
