//! `lingua load`: a scenario over real sockets.

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use lingua_loadgen::{Codec, Options, Shard, Target, Urls, Wanted};
use lingua_reports::number::{count, decimal};
use lingua_reports::{files, junit, terminal};
use lingua_scenarios::{Loaded, Scenario};

use crate::args::{Audio, Load, Profile};
use crate::commands::live::target::{elsewhere, server_of};
use crate::commands::live::watch::Live;
use crate::failure::{Code, Failure, print, tell};
use crate::machine;

pub(super) fn run(args: &Load) -> Result<Code, Failure> {
    let loaded = args.file.load_with_nodes()?;
    for warning in &loaded.warnings {
        tell(&format!("warning: {warning}"));
    }
    let dir = out_dir(args, &loaded);
    let mut options = Options {
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
        shard: args.shard,
        start_at: args.start_at.map(|since| UNIX_EPOCH + Duration::from_secs(since)),
        run_id: args.run_id.clone(),
        ..Options::new(target(args, &dir)?)
    };
    if args.target.is_empty() && args.shard != Shard::default() {
        return Err(Failure::Usage(
            "--shard: name the scheduler that all shards load by --target".into(),
        ));
    }
    keep_from_harm(args, &loaded.scenario, &mut options)?;
    for what in lingua_loadgen::left_out(&loaded.scenario, &options) {
        tell(&format!("warning: {what}"));
    }
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
    if !args.target.is_empty() {
        let (sessions, nodes) = (args.target.clone(), args.node_target.clone());
        return Ok(Target::Running(Urls { sessions, nodes }));
    }
    let log = Some(dir.join("scheduler.log"));
    Ok(Target::Own(server_of(&args.file.file, &args.file.overrides, log)?))
}

/// Limits that were set hold, and nobody loads another machine unawares.
fn keep_from_harm(args: &Load, scenario: &Scenario, options: &mut Options) -> Result<(), Failure> {
    let wanted = Wanted::of(scenario, options);
    let rate = Wanted::peak_rate(scenario, options);
    if let Some(most) = args.max_sockets.filter(|&most| wanted.all() > most) {
        return Err(Failure::Usage(format!(
            "--max-sockets {most}: the scenario wants {}; make it smaller or allow more",
            wanted.all()
        )));
    }
    if let Some(most) = args.max_rate.filter(|&most| rate > most) {
        return Err(Failure::Usage(format!(
            "--max-rate {most}: the scenario comes to {} utterances/s; make it smaller or allow more",
            decimal(rate)
        )));
    }
    let Target::Running(urls) = &options.target else { return Ok(()) };
    let mut remote = None;
    for url in urls.iter() {
        remote = remote.or(elsewhere(url)?.map(|address| (url.clone(), address)));
    }
    let Some((url, address)) = remote else { return Ok(()) };
    if !args.allow_remote {
        return Err(Failure::Usage(format!(
            "--target {url}: {address} is not this machine; add --allow-remote if you may load it"
        )));
    }
    options.private_languages = true;
    let asked = format!(
        "{url} ({address}) will see {} node sockets and {} session sockets, about {} utterances/s, for {}, \
         all in private language codes",
        count(wanted.nodes),
        count(wanted.sessions),
        decimal(rate),
        scenario.duration
    );
    tell(&asked);
    if args.yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure::Usage("nobody is there to ask: add --yes to go on".into()));
    }
    eprint!("go on? [y/N] ");
    let mut answer = String::new();
    // Whoever cannot answer has not agreed.
    let _ = std::io::stdin().lock().read_line(&mut answer);
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::Usage("not begun".into())),
    }
}
