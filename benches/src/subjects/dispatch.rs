//! A request is given to a node: choice, reservation, assignment.

use lingua_core::{Micros, StateConfig};

use super::Subject;
use super::deployment::{Deployment, JOBS};

/// Requests of one run: a twentieth of the slots of the smallest deployment.
pub(super) const REQUESTS: u64 = 50;

pub(super) struct Dispatch {
    deployment: Deployment,
}

impl Dispatch {
    pub(super) fn new(nodes: u32) -> Self {
        // At one request per microsecond this keeps a few thousand answers.
        let state = StateConfig { answer_life: Micros::millis(4), ..StateConfig::default() };
        let mut deployment = Deployment::new(nodes, state);
        // Heartbeats an hour apart make presence outlast every measurement.
        for span in [Micros::ZERO, Micros::secs(3_600)] {
            deployment.pass(span);
            for at in 0..deployment.nodes.len() {
                deployment.beat(deployment.nodes[at]);
            }
        }
        for _ in 0..nodes * JOBS {
            deployment.dispatch();
        }
        Self { deployment }
    }
}

impl Subject for Dispatch {
    fn restore(&mut self) {
        for _ in 0..REQUESTS {
            self.deployment.answer_oldest();
        }
    }

    fn run(&mut self) -> u64 {
        let mut sum = 0;
        for _ in 0..REQUESTS {
            self.deployment.pass(Micros(1));
            sum += u64::from(self.deployment.dispatch().num.0);
        }
        sum
    }
}
