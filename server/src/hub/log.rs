//! What the hub writes to the log: rare things, and never more of one kind than a reader can use.
//!
//! Lines about single jobs are written at `debug` only, so that at the usual level a job costs a
//! comparison.

use lingua_core::instance::{Assign, Final, Refused};
use lingua_core::{AffinityOutcome, InstanceId, Micros, Pair, Refusal, SessionId};
use lingua_store::StoreError;
use tracing::{debug, info, warn};

use crate::hub::answers::Open;
use crate::hub::counts::NodeGone;
use crate::wire;

/// Pairs that one line names.
const PAIRS_SHOWN: usize = 12;

/// Lets through so many lines of one kind in ten seconds.
#[derive(Debug)]
struct Throttle {
    most: u32,
    ends: Micros,
    written: u32,
    left_out: u64,
}

impl Throttle {
    const WINDOW: Micros = Micros::secs(10);

    fn new(most: u32) -> Self {
        Self { most, ends: Micros::ZERO, written: 0, left_out: 0 }
    }

    /// Whether a line may be written; if so, how many were left out before it, where any were.
    fn admit(&mut self, now: Micros) -> Option<Option<u64>> {
        if now >= self.ends {
            self.ends = now + Self::WINDOW;
            self.written = 0;
        }
        if self.written == self.most {
            self.left_out += 1;
            return None;
        }
        self.written += 1;
        let left_out = std::mem::take(&mut self.left_out);
        Some((left_out > 0).then_some(left_out))
    }
}

/// The hub's pen.
#[derive(Debug)]
pub(super) struct Log {
    instance: u16,
    affinity_missed: Throttle,
    affinity: Throttle,
    no_node: Throttle,
    refused: Throttle,
    pool_empty: Throttle,
    nodes: Throttle,
    store: Throttle,
}

impl Log {
    pub(super) fn new(instance: InstanceId) -> Self {
        Self {
            instance: instance.0,
            affinity_missed: Throttle::new(5),
            affinity: Throttle::new(50),
            no_node: Throttle::new(5),
            refused: Throttle::new(5),
            pool_empty: Throttle::new(5),
            nodes: Throttle::new(200),
            store: Throttle::new(5),
        }
    }

    pub(super) fn step_failed(&mut self, now: Micros, error: &StoreError) {
        let Some(left_out) = self.store.admit(now) else { return };
        let cause = error.name();
        warn!(instance = self.instance, cause, %error, left_out, "step failed in the store");
    }

    pub(super) fn node_registered(
        &mut self,
        now: Micros,
        node: &str,
        max_jobs: u32,
        pairs: &[Pair],
    ) {
        let Some(left_out) = self.nodes.admit(now) else { return };
        let (instance, pairs) = (self.instance, shown(pairs));
        info!(instance, node, max_jobs, %pairs, left_out, "node registered");
    }

    pub(super) fn node_refused(&mut self, now: Micros, node: &str, cause: &dyn std::fmt::Display) {
        let Some(left_out) = self.nodes.admit(now) else { return };
        warn!(instance = self.instance, node, %cause, left_out, "node registration refused");
    }

    pub(super) fn node_lost(&mut self, now: Micros, node: &str, cause: NodeGone, running: u32) {
        let Some(left_out) = self.nodes.admit(now) else { return };
        let cause = cause.name();
        info!(instance = self.instance, node, cause, running, left_out, "node lost");
    }

    /// Pairs whose last node has gone.
    pub(super) fn pools_empty(&mut self, now: Micros, node: &str, pairs: &[Pair]) {
        let Some(left_out) = self.pool_empty.admit(now) else { return };
        let (instance, pairs) = (self.instance, shown(pairs));
        warn!(instance, %pairs, last_node = node, left_out, "pool empty");
    }

    pub(super) fn affinity_set(&mut self, now: Micros, session: SessionId, node: &str) {
        let Some(left_out) = self.affinity.admit(now) else { return };
        let session = wire::session_id(session);
        info!(instance = self.instance, %session, node, left_out, "affinity set");
    }

    pub(super) fn affinity_cleared(&mut self, now: Micros, session: SessionId, node: &str) {
        let Some(left_out) = self.affinity.admit(now) else { return };
        let session = wire::session_id(session);
        info!(instance = self.instance, %session, node, left_out, "affinity cleared");
    }

    pub(super) fn dispatched(&mut self, now: Micros, assign: &Assign, node: &str) {
        let Assign { job, attempt, request, .. } = *assign;
        let instance = self.instance;
        debug!(
            instance,
            session = %wire::session_id(request.session),
            job = %wire::job_id(job),
            attempt,
            node,
            utterance = request.index,
            "job dispatched"
        );
        let AffinityOutcome::Missed(cause) = assign.affinity else { return };
        let Some(left_out) = self.affinity_missed.admit(now) else { return };
        warn!(
            instance,
            session = %wire::session_id(request.session),
            job = %wire::job_id(job),
            attempt,
            node,
            cause = cause.name(),
            left_out,
            "affinity node not usable: another has the job"
        );
    }

    pub(super) fn ended(&mut self, now: Micros, last: &Final, open: &Open) {
        use lingua_core::instance::Ending::Refused as NoSlot;
        let instance = self.instance;
        let request = last.request;
        debug!(
            instance,
            session = %wire::session_id(request.session),
            job = open.job.map(|assigned| tracing::field::display(wire::job_id(assigned.job))),
            utterance = request.index,
            ending = ?last.ending,
            "job ended"
        );
        let NoSlot(refused) = last.ending else { return };
        let (throttle, what) = match refused {
            Refused::NoSlot(Refusal::NoFittingNode) => (&mut self.no_node, "no node for the pair"),
            _ => (&mut self.refused, "job refused"),
        };
        let Some(left_out) = throttle.admit(now) else { return };
        let session = wire::session_id(request.session);
        let cause = refused.name();
        warn!(instance, %session, pair = %open.pair, cause, left_out, "{what}");
    }
}

/// Some of the pairs, and how many more there are.
fn shown(pairs: &[Pair]) -> String {
    let mut text = String::new();
    for pair in pairs.iter().take(PAIRS_SHOWN) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&pair.to_string());
    }
    match pairs.len().saturating_sub(PAIRS_SHOWN) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_told_later() {
        let mut throttle = Throttle::new(2);
        let at = |throttle: &mut Throttle, second| throttle.admit(Micros::secs(second));
        let first: Vec<_> = (0..5).map(|second| at(&mut throttle, second)).collect();
        assert_eq!(first, [Some(None), Some(None), None, None, None]);
        assert_eq!(at(&mut throttle, 10), Some(Some(3)));
        assert_eq!(at(&mut throttle, 11), Some(None));
    }
}
