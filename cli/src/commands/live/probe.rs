//! `lingua probe`.

use std::io::IsTerminal;
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lingua_loadgen::probe::{
    self, Commands, OwnScheduler, Plan, Progress, Report, Target, Times, Tokens, Verdict,
};
use lingua_server::ServeError;

use crate::args::Probe;
use crate::commands::live::target::own_server;
use crate::failure::{Code, Failure, print};

/// Most names of behaviours under way that are shown.
const NAMES: usize = 3;

pub(super) fn run(args: &Probe) -> Result<Code, Failure> {
    if args.list {
        print(&probe::list())?;
        return Ok(Code::Fine);
    }
    let behaviours =
        probe::choose(&args.only).map_err(|unknown| Failure::Usage(unknown.to_string()))?;
    let runtime = tokio::runtime::Runtime::new().map_err(ServeError::Listen)?;
    let report = runtime.block_on(async {
        let own = match &args.target {
            Some(_) => None,
            None => Some(OwnScheduler::start(&own_server()?).await?),
        };
        let own_url = own.as_ref().map(OwnScheduler::url);
        let url = args.target.as_deref().or(own_url.as_deref()).unwrap_or_default();
        let tokens = Tokens {
            session: token(args.session_token.as_deref())?,
            node: token(args.node_token.as_deref())?,
        };
        let target = Target::resolve(url)?.with_tokens(tokens);
        if !target.is_loopback() && !args.allow_remote {
            let message = format!(
                "--target {target} is not this machine: add --allow-remote if it may be probed \
                 (a few hundred sockets, up to 250 utterances a second)"
            );
            return Err(Failure::Usage(message));
        }
        let commands = Commands {
            drain: own.as_ref().map(OwnScheduler::stop_command).or_else(|| args.drain.clone()),
            redis_restart: args.redis_restart.clone(),
        };
        let plan = Plan { target, behaviours, times: Times::default(), commands };
        let bar = Bar::new();
        let report = probe::run(&plan, |progress| bar.show(progress)).await?;
        Ok(report)
    })?;
    print(&probe::table(&report))?;
    if let Some(file) = &args.json {
        let mut json = serde_json::to_string_pretty(&report).unwrap_or_default();
        json.push('\n');
        write(file, &json)?;
    }
    if let Some(file) = &args.junit {
        write(file, &probe::junit(&report))?;
    }
    Ok(code(&report))
}

fn code(report: &Report) -> Code {
    match report.count(Verdict::Fail) {
        0 => Code::Fine,
        _ => Code::ExpectationFailed,
    }
}

/// The text of a file, without the line end.
fn token(file: Option<&Path>) -> Result<Option<String>, Failure> {
    let read = |file: &Path| {
        std::fs::read_to_string(file)
            .map(|text| text.trim_end().to_owned())
            .map_err(|error| Failure::Usage(format!("cannot read {}: {error}", file.display())))
    };
    file.map(read).transpose()
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(file, text)
        .map_err(|error| Failure::Usage(format!("cannot write {}: {error}", file.display())))
}

/// Progress and time left on a terminal; nothing anywhere else.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        let target = match std::io::stderr().is_terminal() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{pos}/{len} {wide_bar} {msg}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    fn show(&self, progress: &Progress) {
        self.0.set_length(progress.of as u64);
        self.0.set_position(progress.done as u64);
        let names = progress.running.iter().take(NAMES).copied().collect::<Vec<_>>().join(", ");
        let more = match progress.running.len().saturating_sub(NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        self.0.set_message(format!("{names}{more}  {} s left", progress.left.as_secs()));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
