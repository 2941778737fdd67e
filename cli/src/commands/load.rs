//! `lingua load`: a scenario over real sockets.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lingua_loadgen::{Codec, Options, Program, Target};
use lingua_reports::{files, junit, terminal};
use lingua_scenarios::Loaded;

use crate::args::{Audio, Load, Profile};
use crate::failure::{Code, Failure, print};
use crate::live::Live;
use crate::machine;

pub(crate) fn run(args: &Load) -> Result<Code, Failure> {
    let loaded = args.file.load()?;
    for warning in &loaded.warnings {
        eprintln!("warning: {warning}");
    }
    let dir = out_dir(args, &loaded);
    let options = Options {
        profile: match args.profile {
            Profile::Lingua => lingua_loadgen::Profile::Lingua,
            Profile::Deployed => lingua_loadgen::Profile::Deployed,
        },
        codec: args.audio.map(|audio| match audio {
            Audio::Opus => Codec::Opus,
            Audio::Pcm16 => Codec::Pcm16,
        }),
        speed: args.speed,
        sockets: args.sockets,
        lag_max: Duration::from_millis(args.max_lag_ms),
        ..Options::new(target(args, &dir)?)
    };
    let started = Instant::now();
    let mut artifacts = lingua_loadgen::run(&loaded, &options, &mut Live::new())?;
    artifacts.machine = machine::describe(&artifacts.run, started.elapsed(), 1);
    print(&terminal::summary(&artifacts.run, std::io::stdout().is_terminal()))?;
    files::write_dir(&dir, &artifacts)?;
    print(&format!("\nfiles: {} (open report.html)\n", dir.display()))?;
    if let Some(file) = &args.junit {
        std::fs::write(file, junit::xml(&[&artifacts.run]))
            .map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
    }
    Ok(artifacts.run.verdict.into())
}

/// Where the files go: as asked for, else a folder named after the scenario.
fn out_dir(args: &Load, loaded: &Loaded) -> PathBuf {
    let name = loaded.path().file_stem().unwrap_or_default();
    args.out.clone().unwrap_or_else(|| Path::new("out").join("load").join(name))
}

/// The scheduler that was named, or this program as one.
fn target(args: &Load, dir: &Path) -> Result<Target, Failure> {
    if let Some(url) = &args.target {
        return Ok(Target::Url(url.clone()));
    }
    let program = std::env::current_exe()
        .map_err(|error| Failure::Usage(format!("cannot find this program itself: {error}")))?;
    let mut arguments = vec!["serve".to_owned(), args.file.file.display().to_string()];
    for change in &args.file.overrides {
        arguments.extend(["--set".to_owned(), change.clone()]);
    }
    arguments.extend(["--listen".to_owned(), "{address}".to_owned()]);
    Ok(Target::Own(Program { program, arguments, log: Some(dir.join("scheduler.log")) }))
}
