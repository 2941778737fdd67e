//! What may go wrong between an instance and its store.

use lingua_core::RestoreError;

/// What errors of a refused name or password hold.
const REFUSALS: [&str; 3] = ["AuthenticationFailed", "NOAUTH", "WRONGPASS"];

/// Why a step was not answered.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// An address of the store is none.
    #[error("`{url}` is no address of a store: {why}; write redis://host:port")]
    Address {
        /// What was given.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// No address was given.
    #[error("no address of a store is given: name at least one redis://host:port")]
    NoAddress,
    /// A rule that only the embedded state can follow.
    #[error("{0} is for simulation and the embedded state alone: a store on Redis cannot serve it")]
    Rule(&'static str),
    /// The store is used under other rules.
    #[error(
        "the store holds `{stored}`, this instance runs `{ours}`: give all instances the same \
         version and rules, or a store of their own"
    )]
    OtherRules {
        /// The rules in the store.
        stored: String,
        /// The rules of this instance.
        ours: String,
    },
    /// The server is too old.
    #[error("the store runs version {found}: {least} or later is needed")]
    Version {
        /// What it says.
        found: String,
        /// The oldest that will do.
        least: u32,
    },
    /// The server belongs to a Cluster.
    #[error("the server belongs to a Cluster: configure the store as redis-cluster")]
    IsCluster,
    /// The server belongs to no Cluster.
    #[error("the server belongs to no Cluster: configure the store as redis")]
    NoCluster,
    /// The store refuses the password or name.
    #[error("the store refuses the credentials: {0}")]
    Credentials(String),
    /// The store cannot be reached.
    #[error("the store cannot be reached: {0}")]
    Unreachable(String),
    /// No reply in time; whether the step was carried out is not known.
    #[error("the store has not replied in time: {0}")]
    TimedOut(String),
    /// The store takes no writes because its memory is full.
    #[error("the store is out of memory: raise maxmemory, policy noeviction")]
    OutOfMemory,
    /// The store takes no writes because it is a replica.
    #[error("the store is a read-only replica: name its primary")]
    ReadOnly,
    /// The store serves nothing for now: it loads its data, or a Cluster lacks slots.
    #[error("the store is not ready: {0}")]
    NotReady(String),
    /// A script failed in the store, as it does on contents that are not ours.
    #[error("script {script} failed in the store: {why}")]
    Script {
        /// Its file.
        script: &'static str,
        /// What the store says.
        why: String,
    },
    /// The server does not know a script.
    #[error("the store does not know script {0}")]
    NoScript(&'static str),
    /// A reply is not what the step gives.
    #[error("script {script} replied {got}, which is no answer to it")]
    Reply {
        /// Its file.
        script: &'static str,
        /// What came, cut.
        got: String,
    },
    /// The stored directory contradicts itself.
    #[error("the stored directory cannot be read: {0}")]
    Directory(#[from] RestoreError),
    /// Too many steps wait for the store.
    #[error("{0} steps wait for the store, which is the limit")]
    Backlog(usize),
}

impl StoreError {
    /// Name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Address { .. } | Self::NoAddress => "address",
            Self::Rule(_) | Self::OtherRules { .. } => "rules",
            Self::Version { .. } => "version",
            Self::IsCluster | Self::NoCluster => "layout",
            Self::Credentials(_) => "credentials",
            Self::Unreachable(_) => "unreachable",
            Self::TimedOut(_) => "timed_out",
            Self::OutOfMemory => "out_of_memory",
            Self::ReadOnly => "read_only",
            Self::NotReady(_) => "not_ready",
            Self::Script { .. } | Self::NoScript(_) => "script",
            Self::Reply { .. } | Self::Directory(_) => "contents",
            Self::Backlog(_) => "backlog",
        }
    }

    /// Whether nothing came from the store, not even a refusal.
    pub fn is_silence(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::TimedOut(_))
    }

    /// From the client library, for a step or for none.
    pub(crate) fn from_redis(error: &redis::RedisError, script: &'static str) -> Self {
        use redis::{ErrorKind, ServerErrorKind as Server};
        let why = error.to_string();
        match error.kind() {
            _ if error.is_timeout() => Self::TimedOut(why),
            ErrorKind::AuthenticationFailed => Self::Credentials(why),
            ErrorKind::Server(Server::ReadOnly) => Self::ReadOnly,
            ErrorKind::Server(Server::NoScript) => Self::NoScript(script),
            ErrorKind::Server(
                Server::BusyLoading
                | Server::MasterDown
                | Server::ClusterDown
                | Server::CrossSlot
                | Server::TryAgain
                | Server::Moved
                | Server::Ask,
            ) => Self::NotReady(why),
            _ => match error.code() {
                Some("OOM") => Self::OutOfMemory,
                Some("READONLY") => Self::ReadOnly,
                Some("NOAUTH" | "WRONGPASS" | "NOPERM") => Self::Credentials(why),
                // Errors from within a script carry the code of the command that failed.
                Some(_) if why.contains("OOM command not allowed") => Self::OutOfMemory,
                Some(_) if why.contains("READONLY") => Self::ReadOnly,
                Some(_) => Self::Script { script, why },
                // The client of a Cluster hands on what its servers say as text.
                None if REFUSALS.iter().any(|refusal| why.contains(refusal)) => {
                    Self::Credentials(why)
                }
                None => Self::Unreachable(why),
            },
        }
    }
}
