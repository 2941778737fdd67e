//! A black-box suite of named behaviours that any Lingua scheduler must show.
//!
//! The probe opens a few nodes and sessions of its own under private language codes, does what
//! peers do, well or badly, and judges what it hears. It reads frames as plain JSON, field by
//! field, and shares no rule and no message type with a scheduler: a mistake that both made would
//! be seen by neither.

mod behaviours;
mod client;
mod heartbeat;
mod log;
mod node;
mod own;
mod peer;
mod run;
mod show;
mod speech;
mod stage;
mod talk;
mod target;
mod times;
mod verdict;
mod worker;

pub use behaviours::{BEHAVIOURS, Behaviour};
pub use log::{Evidence, Line, Way};
pub use own::OwnScheduler;
pub use run::{Commands, Plan, Progress, Report, UnknownBehaviour, choose, run};
pub use show::{junit, list, table};
pub use target::{Target, Tokens, Unreachable};
pub use times::Times;
pub use verdict::{Answer, Verdict};
