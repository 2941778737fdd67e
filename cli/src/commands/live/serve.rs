//! `lingua serve`.

use lingua_scenarios::{Scenario, Scheduler, StoreKind};
use lingua_server::{Config, ServeError, Server, logs};
use lingua_sim::{instance_config, state_config};
use tokio::net::TcpListener;

use crate::args::Serve;
use crate::failure::{Code, Failure, print};
use crate::settings::Settings;

pub(super) fn run(args: &Serve) -> Result<Code, Failure> {
    let mut settings = Settings::default();
    let mut asked_for = None;
    if let Some(file) = &args.file {
        let scheduler = Scenario::load(file, &args.overrides)?.scenario.scheduler;
        settings.server.redis.cluster = scheduler.store == StoreKind::RedisCluster;
        asked_for = Some(scheduler.clone());
        settings.server.instance = instance_config(&scheduler, 0);
        settings.server.state = state_config(&scheduler);
    }
    let environment = std::env::vars_os()
        .filter_map(|(name, text)| Some((name.into_string().ok()?, text.into_string().ok()?)));
    settings.take(args.config.as_deref(), environment, &args.flags)?;
    let config = settings.config()?;
    if let Some(scheduler) = asked_for {
        check(&scheduler, &config)?;
    }
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
        // Whatever is amiss is told before anybody reads that it serves.
        let server = Server::new(config, listener).await.map_err(|error| match error {
            ServeError::Store(error) => Failure::Usage(format!("--redis: {error}")),
            ServeError::ZooKeeper(error) => Failure::Usage(format!("--duty-zookeeper: {error}")),
            error => error.into(),
        })?;
        let config = server.config();
        print(&format!(
            "serving on {address}: policy {}{}\n\
             nodes: ws://{address}/ws/node   clients: ws://{address}/ws/session   \
             dashboard: http://{address}/dashboard\n{}",
            config.instance.policy.name(),
            match config.redis.addresses.is_empty() {
                true => String::new(),
                false => format!(", instance {} on Redis", config.instance.id.0),
            },
            settings.shown(),
        ))?;
        server.run(stop).await?;
        Ok(Code::Fine)
    })
}

/// Several instances, or a store, are not served by one process alone.
fn check(scheduler: &Scheduler, config: &Config) -> Result<(), Failure> {
    let shared = scheduler.store != StoreKind::Embedded || scheduler.instances != 1;
    if shared && config.redis.addresses.is_empty() {
        return Err(Failure::Usage(
            "the scenario has several instances or a Redis store: name the Redis with --redis URL, \
             or add --set scheduler.store=embedded --set scheduler.instances=1"
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
