//! Nodes report; their leases are renewed.

use lingua_core::{Micros, StateConfig};

use super::Subject;
use super::deployment::{Deployment, JOBS};

/// Reports of one run.
pub(super) const REPORTS: u64 = 20;

/// Every node reports at this interval, and a job lasts as long.
const INTERVAL: Micros = Micros::secs(10);

pub(super) struct Heartbeat {
    deployment: Deployment,
    next: usize,
}

impl Heartbeat {
    pub(super) fn new(nodes: u32) -> Self {
        let state = StateConfig { answer_life: Micros::secs(1), ..StateConfig::default() };
        let mut this = Self { deployment: Deployment::new(nodes, state), next: 0 };
        for _ in 0..nodes {
            this.beat();
        }
        for _ in 0..nodes {
            this.beat();
            for _ in 0..JOBS {
                this.deployment.dispatch();
            }
        }
        this
    }

    fn beat(&mut self) -> u64 {
        let nodes = self.deployment.nodes.len();
        self.deployment.pass(Micros(INTERVAL.0 / nodes as u64));
        let node = self.deployment.nodes[self.next % nodes];
        self.next += 1;
        self.deployment.beat(node).0
    }
}

impl Subject for Heartbeat {
    /// As many jobs end and begin as in the time of the reports.
    fn restore(&mut self) {
        for _ in 0..REPORTS * u64::from(JOBS) {
            self.deployment.answer_oldest();
            self.deployment.dispatch();
        }
    }

    fn run(&mut self) -> u64 {
        (0..REPORTS).fold(0, |sum, _| sum ^ self.beat())
    }
}
