//! `lingua redis`: what an operator asks of the store.

use lingua_core::StateConfig;
use lingua_scenarios::{Scenario, StoreKind};
use lingua_server::operator::Operator;
use lingua_server::{RedisConfig, ServeError};
use lingua_sim::state_config;

use crate::args::{Redis, RedisCommand};
use crate::failure::{Code, Failure, print};
use crate::settings;

pub(super) fn run(args: &Redis) -> Result<Code, Failure> {
    let on = args.command.on();
    let mut rules = StateConfig::default();
    let mut cluster = on.redis_cluster;
    if let Some(file) = &on.scenario {
        let scheduler = Scenario::load(file, &[])?.scenario.scheduler;
        rules = state_config(&scheduler);
        cluster |= scheduler.store == StoreKind::RedisCluster;
    }
    let addresses = settings::addresses(&on.redis)
        .map_err(|what| Failure::Usage(format!("--redis: {what}")))?;
    let mut redis = RedisConfig { addresses, cluster, ..RedisConfig::default() };
    if let RedisCommand::Duties { duty_zookeeper: at, duty_zookeeper_login: login, .. } =
        &args.command
    {
        redis.duties = settings::duties(at.as_deref(), login.as_deref()).map_err(Failure::Usage)?;
    }
    let runtime = tokio::runtime::Runtime::new().map_err(ServeError::Listen)?;
    runtime.block_on(async {
        let operator = Operator::new(&redis, rules).await?;
        match &args.command {
            RedisCommand::Check(_) => check(&operator).await,
            RedisCommand::Stats(_) => {
                for (name, value) in operator.stats().await? {
                    print(&format!("{name:<16} {value}\n"))?;
                }
                Ok(Code::Fine)
            }
            RedisCommand::Duties { drain: Some(id), end, force, .. } => {
                operator.drain_instance(*id, !end, *force).await?;
                let done = if *end { "takes part again" } else { "hands its duties over" };
                print(&format!("instance {id} {done}\n"))?;
                Ok(Code::Fine)
            }
            RedisCommand::Duties { drain: None, .. } => {
                let duties = operator.duties().await?;
                if duties.is_empty() {
                    print("no duties yet: no instance has joined\n")?;
                }
                for (name, value) in duties {
                    print(&format!("{name:<16} {value}\n"))?;
                }
                Ok(Code::Fine)
            }
            RedisCommand::Drain { node, end, .. } => {
                operator.drain(node, !end).await?;
                let done = if *end { "gets jobs again" } else { "gets no new jobs" };
                print(&format!("{node} {done}\n"))?;
                Ok(Code::Fine)
            }
        }
    })
}

async fn check(operator: &Operator) -> Result<Code, Failure> {
    let mut code = Code::Fine;
    for finding in operator.check().await? {
        let mark = if finding.mend.is_some() { "!" } else { " " };
        print(&format!("{mark} {:<26} {}\n", finding.what, finding.is))?;
        if let Some(mend) = finding.mend {
            code = Code::ExpectationFailed;
            print(&format!("  {mend}\n"))?;
        }
    }
    Ok(code)
}
