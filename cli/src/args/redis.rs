//! What is asked of a store on Redis.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct Redis {
    #[command(subcommand)]
    pub(crate) command: RedisCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RedisCommand {
    /// See whether it is fit for its work; exit code 3 where something is to be mended.
    Check(OnRedis),
    /// Show instances, nodes, waiting headers, dead letters and memory.
    Stats(OnRedis),
    /// Show who does what exactly one instance may do, and who takes part; or hand an instance's
    /// duties over to the others.
    Duties {
        /// Hand over what this instance does, and let it take nothing more.
        #[arg(long, value_name = "INSTANCE", value_parser = instance)]
        drain: Option<u16>,
        /// Let it take part again.
        #[arg(long, requires = "drain")]
        end: bool,
        /// Also while another instance drains.
        #[arg(long, requires = "drain", conflicts_with = "end")]
        force: bool,
        /// ZooKeeper that keeps them, as the instances have it; absent: Redis does.
        #[arg(long, value_name = "HOST:PORT[,HOST:PORT][/PATH]", env = "LINGUA_DUTY_ZOOKEEPER")]
        duty_zookeeper: Option<String>,
        /// File with the user:password that ZooKeeper knows.
        #[arg(long, value_name = "FILE", env = "LINGUA_DUTY_ZOOKEEPER_LOGIN")]
        duty_zookeeper_login: Option<String>,
        #[command(flatten)]
        on: OnRedis,
    },
    /// Give a node no new jobs, whichever instance holds its socket, until it registers anew.
    Drain {
        /// The node's id.
        node: String,
        /// Give it jobs again.
        #[arg(long)]
        end: bool,
        #[command(flatten)]
        on: OnRedis,
    },
}

impl RedisCommand {
    /// Which Redis.
    pub(crate) fn on(&self) -> &OnRedis {
        match self {
            Self::Check(on)
            | Self::Stats(on)
            | Self::Duties { on, .. }
            | Self::Drain { on, .. } => on,
        }
    }
}

fn instance(text: &str) -> Result<u16, String> {
    let why = |_| "no instance: give its number, as `lingua redis duties` lists it".to_owned();
    text.parse().map_err(why)
}

/// Which Redis, and the rules under which it is used.
#[derive(Debug, ClapArgs)]
pub(crate) struct OnRedis {
    /// redis://host:port, of a Cluster several with commas between them.
    #[arg(long, value_name = "URL[,URL]", env = "LINGUA_REDIS", hide_env_values = true)]
    pub(crate) redis: String,
    /// It is a Cluster.
    #[arg(long, env = "LINGUA_REDIS_CLUSTER")]
    pub(crate) redis_cluster: bool,
    /// Scenario whose [scheduler] section the instances serve; absent: the defaults.
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
}
