//! The scripts: put together from their parts, with the rules in front, and called by their hash.

use lingua_core::{PoolRule, StateConfig};

use crate::Layout;

/// A step of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// A registration, whole.
    Register,
    /// A registration's first half, at the directory (Cluster).
    Enrol,
    /// A registration's second half, at the node (Cluster).
    Seat,
    /// A heartbeat.
    Heartbeat,
    /// A drain, or its end.
    Drain,
    /// A removal.
    Remove,
    /// A lost model.
    ModelLost,
    /// A listing with other models, at the directory (Cluster).
    List,
    /// A new class, at the node (Cluster).
    Relisted,
    /// A dispatch, whole.
    Dispatch,
    /// An intent is written (Cluster).
    Open,
    /// A slot is taken (Cluster).
    Reserve,
    /// An intent is moved (Cluster).
    Move,
    /// An intent's lease has ended (Cluster).
    End,
    /// A look into a free index (Cluster).
    Find,
    /// Where a node stands in the free indexes (Cluster).
    Hinted,
    /// A node enters or leaves a free index (Cluster).
    Hint,
    /// A confirmation.
    Confirm,
    /// A release.
    Release,
    /// An affinity is recorded.
    RecordAffinity,
    /// An affinity is cleared.
    ClearAffinity,
    /// A debounce.
    Debounce,
    /// The directory is read.
    Members,
    /// A step at the board of duties.
    Duties,
    /// What a run of a duty writes.
    Work,
}

#[derive(Debug, Clone, Copy)]
enum Part {
    /// How a node's record tells its state.
    Record,
    /// The common dispatch, decided before any function is made.
    DispatchAtOnce,
    /// The common release likewise, where one server holds all homes.
    ReleaseAtOnce,
    /// Numbers, and keys that do not hold what they should.
    Base,
    Caps,
    Node,
    Directory,
    /// What a change at a node means at its other homes, the directory apart.
    Homes,
    /// The directory beside its nodes, where it lies on the same server.
    Listing,
    Affinity,
    Intent,
}

use Part::{
    Affinity, Base, Caps, Directory, DispatchAtOnce, Homes, Intent, Listing, Node, Record,
    ReleaseAtOnce,
};

/// A file's name and its text.
type Source = (&'static str, &'static str);

macro_rules! source {
    ($file:literal) => {
        ($file, include_str!(concat!("../scripts/", $file)))
    };
}

macro_rules! sources {
    ($($step:ident $file:literal [$($part:ident)*]),* $(,)?) => {
        const SOURCES: &[(Step, Source, &[Part])] = &[
            $((Step::$step, source!($file), &[$($part),*])),*
        ];
    };
}

sources! {
    Register "register.lua" [Record Base Caps Node Homes Listing],
    Enrol "enrol.lua" [Base Caps Directory],
    Seat "seat.lua" [Record Base Caps Node Homes],
    Heartbeat "heartbeat.lua" [Record Base Caps Node Homes Listing],
    Drain "drain.lua" [Record Base Caps Node Homes],
    Remove "remove.lua" [Record Base Caps Node Homes Listing],
    ModelLost "model_lost.lua" [Record Base Caps Node Homes Listing],
    List "list.lua" [Base Caps Directory],
    Relisted "relisted.lua" [Record Base Caps Node Homes],
    Dispatch "dispatch.lua" [Record DispatchAtOnce Base Caps Node Homes Affinity],
    Open "open.lua" [Base Affinity Intent],
    Reserve "reserve.lua" [Record Base Caps Node Homes],
    Move "move.lua" [Base Intent],
    End "end.lua" [Base Intent],
    Find "find.lua" [Base],
    Hinted "hinted.lua" [Record Base Caps Node Homes],
    Hint "hint.lua" [Base],
    Confirm "confirm.lua" [Record Base Caps Node Homes],
    Release "release.lua" [Record ReleaseAtOnce Base Caps Node Homes],
    RecordAffinity "record_affinity.lua" [Base],
    ClearAffinity "clear_affinity.lua" [Base],
    Debounce "debounce.lua" [Base],
    Members "members.lua" [Base],
    Duties "duties.lua" [Base],
    Work "work.lua" [Base],
}

const LIMITS: Source = source!("lib/limits.lua");
const DIRECTORY: Source = source!("lib/directory.lua");

impl Part {
    fn sources(self, layout: Layout) -> &'static [Source] {
        match (self, layout) {
            (Record, _) => &[source!("lib/record.lua")],
            (DispatchAtOnce, _) => &[source!("dispatch_at_once.lua")],
            (ReleaseAtOnce, Layout::OneServer) => &[source!("release_at_once.lua")],
            (ReleaseAtOnce, Layout::Cluster) => &[],
            (Base, _) => &[source!("lib/base.lua")],
            (Caps, _) => &[source!("lib/caps.lua")],
            (Node, _) => &[source!("lib/node.lua")],
            (Directory, _) => &[DIRECTORY],
            (Homes, Layout::OneServer) => &[source!("lib/whole.lua")],
            (Homes, Layout::Cluster) => &[source!("lib/steps.lua")],
            (Listing, Layout::OneServer) => &[DIRECTORY, source!("lib/listing.lua")],
            (Listing, Layout::Cluster) => &[],
            (Affinity, _) => &[source!("lib/affinity.lua")],
            (Intent, _) => &[source!("lib/intent.lua")],
        }
    }
}

/// The texts of all scripts under one set of rules.
#[derive(Debug, Clone)]
pub struct Scripts {
    texts: Vec<String>,
}

impl Scripts {
    /// The scripts for a layout and rules.
    pub fn new(layout: Layout, config: &StateConfig) -> Self {
        Self::edited(layout, config, |_, text| text.to_owned())
    }

    /// The same from sources that `edit` may change, to see what a fault in one does.
    pub fn edited(
        layout: Layout,
        config: &StateConfig,
        edit: impl Fn(&str, &str) -> String,
    ) -> Self {
        let text = |&(_, body, parts): &(Step, Source, &'static [Part])| {
            let mut text = rules(config);
            for (file, source) in sources(layout, body, parts) {
                text.push('\n');
                text.push_str(&edit(file, source));
            }
            text
        };
        Self { texts: SOURCES.iter().map(text).collect() }
    }

    /// All files of a layout with their texts, each once.
    pub fn sources(layout: Layout) -> Vec<(&'static str, &'static str)> {
        let mut all: Vec<Source> =
            SOURCES.iter().flat_map(|&(_, body, parts)| sources(layout, body, parts)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The steps and the files they come from.
    pub fn files() -> impl Iterator<Item = (Step, &'static str)> {
        SOURCES.iter().map(|&(step, (file, _), _)| (step, file))
    }

    /// The text of a step's script.
    pub fn text(&self, step: Step) -> &str {
        &self.texts[step as usize]
    }
}

/// The file of a step.
pub(crate) fn file_of(step: Step) -> &'static str {
    SOURCES[step as usize].1.0
}

/// What a script is put together from, in order.
fn sources(layout: Layout, body: Source, parts: &'static [Part]) -> impl Iterator<Item = Source> {
    let parts = parts.iter().flat_map(move |part| part.sources(layout)).copied();
    [LIMITS].into_iter().chain(parts).chain([body])
}

fn rules(config: &StateConfig) -> String {
    let pool_rule = match config.pool_rule {
        PoolRule::AsrXTts => 0,
        PoolRule::AsrXSemantic => 1,
        PoolRule::FaceToFace => 2,
    };
    format!(
        "local LEASE, UNCONFIRMED, ANSWER_LIFE, USAGE_MAX, POOL_RULE, SHARD_SIZE = \
         {}, {}, {}, {}, {pool_rule}, {}",
        config.lease.0,
        config.unconfirmed.0,
        config.answer_life.0,
        config.usage_max.map_or(u32::MAX, u32::from),
        config.shard_size,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_stands_at_its_own_place() {
        assert!(SOURCES.iter().enumerate().all(|(at, &(step, ..))| step as usize == at));
    }

    #[test]
    fn headers_name_every_key_and_argument() {
        for &(_, (file, body), _) in SOURCES {
            let header: String = body.lines().take_while(|line| line.starts_with("--")).collect();
            for name in ["KEYS", "ARGV"] {
                for n in 1..30 {
                    let used = body.contains(&format!("{name}[{n}]"));
                    assert!(
                        !used || header.contains(&format!("{name}[{n}]")),
                        "{file} {name}[{n}]"
                    );
                }
            }
            assert!(header.contains("-- Reply: "), "{file}");
        }
    }

    #[test]
    fn no_script_draws_chance_or_reads_a_clock_of_its_own() {
        let scripts = Scripts::new(Layout::OneServer, &StateConfig::default());
        for (step, file) in Scripts::files() {
            let text = scripts.text(step);
            assert!(!text.contains("math.random") && !text.contains("os."), "{file}");
        }
    }
}
