//! The world's trace: how it begins and ends.

use std::io::{self, Write};

use lingua_scenarios::Scenario;

use crate::trace::{Trace, Traced};
use crate::world::World;

impl World {
    /// Writes a trace from here on.
    pub(crate) fn trace_to(&mut self, out: Box<dyn Write>, events_max: u64) {
        let nodes = (0..self.nodes.len() as u32).map(|at| self.node_name(at));
        let store = if self.is_remote() { self.store.servers.len() } else { 0 };
        self.trace = Trace::new(out, events_max, store, self.servers.len(), nodes);
    }

    /// Ends the trace where the run has ended.
    pub(crate) fn end_trace(&mut self, scenario: &Scenario) -> io::Result<Traced> {
        let mut trace = std::mem::take(&mut self.trace);
        if let Some(broken) = &self.broken {
            trace.breaks(broken.at, broken.invariant);
        }
        trace.end(self.now, &scenario.title, scenario.seed, &self.digest.hex())
    }
}
