//! What messages cost an instance, in nanoseconds of virtual time.

use lingua_core::instance::{Input, Output};
use lingua_scenarios::{Costs, Dur, Style};

use crate::world::World;

/// Whether no message costs an instance any time.
pub(super) fn free_of_cost(costs: &Costs) -> bool {
    let Costs { dispatch, candidate, scan_node, heartbeat, register, chunk, .. } = costs;
    let Costs { result, kib, lock, statistics, model_na, .. } = costs;
    [dispatch, candidate, scan_node, heartbeat, register, chunk]
        .into_iter()
        .chain([result, kib, lock, statistics, model_na])
        .all(|cost| cost.nanos() == 0)
}

impl World {
    /// Nanoseconds for a message, whatever comes of it.
    pub(super) fn fixed_cost(&mut self, at: u16, input: &Input) -> u64 {
        if self.free_of_cost {
            return 0;
        }
        let costs = &self.costs;
        let phase0 = self.scheduler.style == Some(Style::Phase0);
        match input {
            Input::Chunk(_, chunk) => self.chunk_cost(chunk.bytes),
            Input::Heartbeat(..) => {
                let lock = if phase0 { costs.lock.nanos() } else { 0 };
                self.servers[usize::from(at)].locked += lock;
                costs.heartbeat.nanos() + lock
            }
            Input::NodeOpened(_) => costs.register.nanos(),
            Input::Answer(..) => costs.result.nanos(),
            Input::Request(request) => per_kib(costs.kib, request.bytes),
            _ => 0,
        }
    }

    /// Nanoseconds for a chunk of so many bytes.
    pub(super) fn chunk_cost(&self, bytes: u32) -> u64 {
        self.costs.chunk.nanos() + per_kib(self.costs.kib, bytes.into())
    }

    /// Nanoseconds for what came of a message.
    pub(super) fn output_cost(&mut self, output: &Output) -> u64 {
        let costs = &self.costs;
        let phase0 = self.scheduler.style == Some(Style::Phase0);
        match output {
            Output::Work(work) => {
                let looked_at = u64::from(work.looked_at);
                let base = costs.dispatch.nanos() + looked_at * costs.candidate.nanos();
                if phase0 {
                    let scan = self.nodes.len() as u64 * costs.scan_node.nanos();
                    base + scan + costs.lock.nanos() + costs.statistics.nanos()
                } else {
                    base
                }
            }
            Output::RefreshModel(_) if phase0 => costs.model_na.nanos(),
            Output::Assign(assign) => per_kib(costs.kib, assign.bytes),
            _ => 0,
        }
    }
}

fn per_kib(cost: Dur, bytes: u64) -> u64 {
    cost.nanos() * bytes / 1_024
}
