//! How things are, copied: what the snapshot is made of, off this task.

use std::collections::BTreeMap;
use std::sync::Arc;

use lingua_core::instance::Counters;
use lingua_core::{Micros, NodeStatus, Pair};

use crate::hub::Hub;
use crate::hub::counts::Counts;
use crate::hub::home::{Home, StoreFigures};
use crate::instances::DutyFigures;
use crate::profile::{Profile, Services};

/// A copy of what the hub knows. It costs one walk over nodes, sessions and open jobs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    pub(crate) at: Micros,
    /// How late the process has heard its sockets lately.
    pub(crate) lag: Micros,
    pub(crate) counts: Counts,
    pub(crate) counters: Counters,
    pub(crate) nodes: Vec<NodeSample>,
    /// Sessions and jobs at a node, by pair.
    pub(crate) pairs: BTreeMap<Pair, InUse>,
    pub(crate) sessions: usize,
    /// Of the store on Redis, where there is one.
    pub(crate) store: Option<StoreFigures>,
    /// Of the duties that this instance holds, where there are others to hold them.
    pub(crate) duties: Option<DutyFigures>,
    /// Rooms that this instance owns.
    pub(crate) rooms: usize,
    /// Jobs whose final message is owed.
    pub(crate) in_flight: usize,
    /// Jobs that wait for a slot.
    pub(crate) waiting: usize,
}

/// A node that is registered.
#[derive(Debug, Clone)]
pub(crate) struct NodeSample {
    pub(crate) name: Arc<str>,
    pub(crate) profile: Arc<Profile>,
    pub(crate) status: NodeStatus,
    pub(crate) services: Services,
    /// CPU, GPU and memory use in permille; unknown is absent.
    pub(crate) usage: [Option<u16>; 3],
    pub(crate) heard: Micros,
    pub(crate) since: Micros,
}

/// How a pair is used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InUse {
    pub(crate) sessions: u32,
    pub(crate) running: u32,
}

impl Hub {
    pub(super) fn sample(&self) -> Sample {
        let mut pairs = BTreeMap::<Pair, InUse>::new();
        for pair in self.sessions.pairs() {
            pairs.entry(pair).or_default().sessions += 1;
        }
        for pair in self.answers.running() {
            pairs.entry(pair).or_default().running += 1;
        }
        let mut nodes: Vec<_> = self.nodes.samples(&self.home, &self.instance).collect();
        nodes.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Sample {
            at: self.clock.now(),
            lag: self.lag.at(self.clock.now()),
            counts: self.counts.clone(),
            counters: *self.instance.counters(),
            nodes,
            pairs,
            sessions: self.sessions.len(),
            store: match &self.home {
                Home::Here(_) => None,
                Home::Redis(remote) => Some(remote.figures(self.clock.now())),
            },
            duties: self.abroad.as_ref().map(|abroad| abroad.duties),
            rooms: self.rooms.book.len(),
            in_flight: self.answers.len(),
            waiting: self.instance.waiting(),
        }
    }
}
