//! `lingua serve`.

use lingua_scenarios::{Scenario, Scheduler, StoreKind};
use lingua_server::{ServeError, logs, serve};
use lingua_sim::{instance_config, state_config};
use tokio::net::TcpListener;

use crate::args::Serve;
use crate::failure::{Code, Failure, print};
use crate::settings::Settings;

pub(crate) fn run(args: &Serve) -> Result<Code, Failure> {
    let mut settings = Settings::default();
    if let Some(file) = &args.file {
        let scheduler = Scenario::load(file, &args.overrides)?.scenario.scheduler;
        check(&scheduler)?;
        settings.server.instance = instance_config(&scheduler, 0);
        settings.server.state = state_config(&scheduler);
    }
    let environment = std::env::vars_os()
        .filter_map(|(name, text)| Some((name.into_string().ok()?, text.into_string().ok()?)));
    settings.take(args.config.as_deref(), environment, &args.flags)?;
    let config = settings.config()?;
    let listen = settings.listen;
    let _logs = logs::start(&config.log).map_err(ServeError::Logs)?;
    let runtime = tokio::runtime::Runtime::new().map_err(ServeError::Listen)?;
    runtime.block_on(async {
        let listener = TcpListener::bind(listen).await.map_err(|error| {
            let mend = "choose another address and port with --listen";
            Failure::Usage(format!("--listen {listen}: {error}; {mend}"))
        })?;
        // Whoever reads that it serves may order it to stop at once.
        let stop = ordered_to_stop();
        let address = listener.local_addr().map_err(ServeError::Listen)?;
        // Before anybody reads that it serves.
        config.check_reach(address)?;
        print(&format!(
            "serving on {address}: policy {}\n\
             nodes: ws://{address}/ws/node   clients: ws://{address}/ws/session   \
             dashboard: http://{address}/dashboard\n{}",
            config.instance.policy.name(),
            settings.shown(),
        ))?;
        serve(config, listener, stop).await?;
        Ok(Code::Fine)
    })
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

/// Ctrl-C, or SIGTERM from whoever runs the process: heard from this call on, waited for by what it
/// gives.
fn ordered_to_stop() -> impl Future<Output = ()> + Send + 'static {
    #[cfg(unix)]
    let terminated = {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::terminate())
    };
    async move {
        let interrupted = tokio::signal::ctrl_c();
        #[cfg(unix)]
        if let Ok(mut terminated) = terminated {
            tokio::select! {
                _ = interrupted => {}
                _ = terminated.recv() => {}
            }
            return;
        }
        // Without a handler the process dies of the signal, as any other does.
        let _ = interrupted.await;
    }
}
