//! `lingua serve`.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use lingua_scenarios::{Scenario, Scheduler, StoreKind};
use lingua_server::{Access, Config, Rule, Secret, SecretError, ServeError, logs, serve};
use lingua_sim::{instance_config, state_config};
use tokio::net::TcpListener;

use crate::args::{self, Serve};
use crate::failure::{Code, Failure, print};

pub(crate) fn run(args: &Serve) -> Result<Code, Failure> {
    let access = access(&args.access)?;
    let mut config = Config { max_jobs: args.max_jobs, access, ..Config::default() };
    if let Some(file) = &args.file {
        let scheduler = Scenario::load(file, &args.overrides)?.scenario.scheduler;
        check(&scheduler)?;
        config.instance = instance_config(&scheduler, 0);
        config.state = state_config(&scheduler);
    }
    let _logs = logs::start(&config.log).map_err(ServeError::Logs)?;
    let runtime = tokio::runtime::Runtime::new().map_err(ServeError::Listen)?;
    runtime.block_on(async {
        let listener = TcpListener::bind(args.listen).await.map_err(|error| {
            let listen = args.listen;
            let mend = "choose another address and port with --listen";
            Failure::Usage(format!("--listen {listen}: {error}; {mend}"))
        })?;
        let address = listener.local_addr().map_err(ServeError::Listen)?;
        print(&format!(
            "serving on {address}: policy {:?}, {} jobs per node that names no maximum\n\
             nodes: ws://{address}/ws/node   clients: ws://{address}/ws/session   \
             counts: http://{address}/api/v1/stats\n",
            config.instance.policy, config.max_jobs,
        ))?;
        serve(config, listener, ordered_to_stop()).await?;
        Ok(Code::Fine)
    })
}

fn access(args: &args::Access) -> Result<Access, Failure> {
    let rule = |token: &Option<PathBuf>, key: &Option<PathBuf>| -> Result<Rule, Failure> {
        Ok(match (token, key) {
            (Some(file), _) => Rule::Token(secret(file)?),
            (None, Some(file)) => Rule::Jwt(secret(file)?),
            (None, None) => Rule::Open,
        })
    };
    Ok(Access {
        sessions: rule(&args.session_token, &args.session_jwt_key)?,
        nodes: rule(&args.node_token, &args.node_jwt_key)?,
        admin_anywhere: args.admin_anywhere,
    })
}

/// The first line of a file: a secret on the command line would be seen by all users.
fn secret(file: &Path) -> Result<Secret, Failure> {
    let refused = |error: &dyn Display| Failure::Usage(format!("{}: {error}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| refused(&error))?;
    text.trim_end().parse().map_err(|error: SecretError| refused(&error))
}

/// One process with its own state is what this command runs.
fn check(scheduler: &Scheduler) -> Result<(), Failure> {
    if scheduler.store != StoreKind::Embedded || scheduler.instances != 1 {
        return Err(Failure::Usage(
            "the scenario has several instances or a Redis store, which lingua serve does not have \
             yet: add --set scheduler.store=embedded --set scheduler.instances=1"
                .into(),
        ));
    }
    Ok(())
}

/// Ctrl-C, or SIGTERM from whoever runs the process.
async fn ordered_to_stop() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = interrupted => {}
                _ = terminated.recv() => {}
            }
            return;
        }
    }
    // Without a handler the process dies of the signal, as any other does.
    let _ = interrupted.await;
}
