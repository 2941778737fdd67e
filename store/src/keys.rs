//! Names of keys. What lies in one slot of a Cluster has one tag: a session, a node, a capability
//! class, a model, or the directory.

use lingua_core::{InstanceId, ModelId, NodeNum, RequestId, SessionId};

/// Start of every key of this schema.
pub const PREFIX: &str = "lingua:v1:";
/// Schema and rules that all instances must share.
pub const RULES: &str = "lingua:v1:{dir}:rules";
/// Names of nodes, to numbers.
pub const NAMES: &str = "lingua:v1:{dir}:names";
/// Generations of nodes as the directory gave them.
pub const GENERATIONS: &str = "lingua:v1:{dir}:generations";
/// Capabilities, to classes.
pub const CLASSES: &str = "lingua:v1:{dir}:classes";
/// Nodes, to their class and shards.
pub const LISTING: &str = "lingua:v1:{dir}:listing";
/// How many instances there have been.
pub const INSTANCES: &str = "lingua:v1:{dir}:instances";
/// Instances, by the end of their presence.
pub const PRESENCE: &str = "lingua:v1:{dir}:presence";
/// Instances, to what they say of themselves.
pub const ABOUT: &str = "lingua:v1:{dir}:about";
/// Instances, to since when they have been present without a break.
pub const JOINED: &str = "lingua:v1:{dir}:joined";
/// Figures of each instance.
pub const FIGURES: &str = "lingua:v1:{dir}:figures";
/// The figures of all, put together.
pub const PAGE: &str = "lingua:v1:{dir}:page";
/// What an instance shows another one at its door.
pub const SECRET: &str = "lingua:v1:{dir}:secret";
/// Headers that could not be dealt with.
pub const DEAD_LETTERS: &str = "lingua:v1:{dir}:dead";
/// Channel on which changes of the directory and of the instances are told.
pub const CHANGED: &str = "lingua:v1:changed";

/// The board of duties: version, duties, members, leases.
pub const DUTIES: [&str; 4] = [
    "lingua:v1:{duties}:version",
    "lingua:v1:{duties}:duties",
    "lingua:v1:{duties}:members",
    "lingua:v1:{duties}:leases",
];
/// What runs of duties write.
pub const WORK: &str = "lingua:v1:{duties}:work";
/// Channel on which changes at the board of duties are told.
pub const DUTIES_CHANGED: &str = "lingua:v1:duties";

/// The headers for an instance.
pub fn inbox(instance: InstanceId) -> String {
    format!("{PREFIX}{{i:{}}}:inbox", instance.0)
}

/// A node's record and its leases.
pub fn node(num: NodeNum) -> [String; 2] {
    let home = format!("{PREFIX}{{n:{}}}:", num.0);
    [format!("{home}node"), format!("{home}leases")]
}

/// A node's verdict on a lease.
pub fn verdict(num: NodeNum, lease: u64) -> String {
    format!("{PREFIX}{{n:{}}}:verdict:{lease}", num.0)
}

/// The answer of a request.
pub fn answer(request: RequestId) -> String {
    of_request("answer", request)
}

/// The intent of a request (Cluster).
pub fn intent(request: RequestId) -> String {
    of_request("intent", request)
}

fn of_request(kind: &str, request: RequestId) -> String {
    let RequestId { session, index, tgt } = request;
    format!("{PREFIX}{{s:{}}}:{kind}:{index}:{tgt}", session.0)
}

/// The affinity of a session.
pub fn affinity(session: SessionId) -> String {
    format!("{PREFIX}{{s:{}}}:affinity", session.0)
}

/// The free index of a class.
pub fn free(class: u32) -> String {
    format!("{PREFIX}{{c:{class}}}:free")
}

/// The window of a model's debounce.
pub fn debounce(model: ModelId) -> String {
    format!("{PREFIX}{{m:{}}}:debounce", model.0)
}
