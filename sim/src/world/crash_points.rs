//! Where a dispatch on a Cluster was when something went wrong: marks of rare paths.

use std::collections::BTreeMap;

use lingua_core::{Home, InstanceId, Intended, NodeNum, Op, Released, Reply, RequestId, Reserved};

use crate::world::World;
use crate::world::store::{CLUSTER, server_of};

/// The crash points of DESIGN section 2: a swarm that never reaches one says so.
const MARKS: [&str; 13] = [
    "crash_after_open",
    "crash_after_reserve",
    "crash_after_full",
    "crash_after_release",
    "retry_after_open",
    "retry_after_reserve",
    "retry_after_full",
    "reserve_after_move",
    "open_reply_lost",
    "reserve_reply_lost",
    "move_reply_lost",
    "failover_of_session",
    "failover_of_node",
];

/// The last step that was carried out for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opened,
    Granted(NodeNum),
    Refused(NodeNum),
    Released(NodeNum),
}

/// Dispatches under way, by request, each with the instance that asked last.
#[derive(Debug, Default)]
pub(super) struct CrashPoints {
    last: BTreeMap<RequestId, (Stage, InstanceId)>,
}

impl World {
    /// A step has been carried out on a Cluster.
    pub(super) fn note_crash_points(&mut self, from: InstanceId, op: &Op, reply: &Reply) {
        match (op, reply) {
            (Op::Open(open), Reply::Intended(Intended::Stands(intent))) => {
                let before = self.store.crash_points.last.get(&open.request).copied();
                let stage = match before {
                    Some((stage, by)) if by != from => {
                        self.recorder.mark(match stage {
                            Stage::Opened => "retry_after_open",
                            Stage::Granted(_) => "retry_after_reserve",
                            Stage::Refused(_) => "retry_after_full",
                            Stage::Released(_) => "retry_after_release",
                        });
                        if intent.lease == open.lease { Stage::Opened } else { stage }
                    }
                    _ => Stage::Opened,
                };
                self.store.crash_points.last.insert(open.request, (stage, from));
            }
            (Op::Reserve(r), Reply::Reserved(reserved)) => {
                let intent = self.watch.state().intent(r.request);
                let meant = intent.and_then(|intent| intent.target);
                if meant.is_none_or(|target| target.node != r.target.node) {
                    self.recorder.mark("reserve_after_move");
                }
                let stage = match reserved {
                    Reserved::Granted { .. } => Stage::Granted(r.target.node),
                    Reserved::Refused(_) => Stage::Refused(r.target.node),
                    Reserved::Over => Stage::Released(r.target.node),
                };
                self.store.crash_points.last.insert(r.request, (stage, from));
            }
            (Op::Move(m), Reply::Intended(Intended::Stands(intent))) => {
                if intent.target.is_none() {
                    self.store.crash_points.last.remove(&m.request);
                } else {
                    self.store.crash_points.last.insert(m.request, (Stage::Opened, from));
                }
            }
            (Op::Release(release), Reply::Released(Released::Freed { .. })) => {
                let stage = Stage::Released(release.node.num);
                self.store.crash_points.last.insert(release.request, (stage, from));
            }
            (Op::End(request, _), _) => {
                self.store.crash_points.last.remove(request);
            }
            _ => {}
        }
    }

    /// The reply to a step of a dispatch is lost.
    pub(super) fn note_lost_reply(&mut self, op: &Op) {
        match op {
            Op::Open(_) => self.recorder.mark("open_reply_lost"),
            Op::Reserve(_) => self.recorder.mark("reserve_reply_lost"),
            Op::Move(_) => self.recorder.mark("move_reply_lost"),
            _ => {}
        }
    }

    /// Rare paths of a Cluster, those never reached among them.
    pub(super) fn cluster_marks(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counters = &self.recorder.counters;
        let counted = [
            ("intent_moved", counters.moved),
            ("intent_followed", counters.followed),
            ("attempt_fenced", counters.fenced),
        ];
        // A slot loses an intent that is just being moved: too rare to be asked of a swarm.
        let lost = Some(("intent_lost", counters.intents_lost)).filter(|&(_, count)| count > 0);
        let all = MARKS.map(|name| (name, 0)).into_iter().chain(counted).chain(lost);
        all.filter(|_| self.store.is_cluster())
    }

    /// An instance dies in the middle of dispatches.
    pub(super) fn note_crash(&mut self, id: InstanceId) {
        for (stage, by) in self.store.crash_points.last.values() {
            if *by == id {
                self.recorder.mark(match stage {
                    Stage::Opened => "crash_after_open",
                    Stage::Granted(_) => "crash_after_reserve",
                    Stage::Refused(_) => "crash_after_full",
                    Stage::Released(_) => "crash_after_release",
                });
            }
        }
    }

    /// A server of the Cluster fails over in the middle of dispatches.
    pub(super) fn note_failover(&mut self, server: usize) {
        for (request, (stage, _)) in &self.store.crash_points.last {
            if server_of(Home::Session(request.session), CLUSTER) == server {
                self.recorder.mark("failover_of_session");
            }
            if let Stage::Granted(node) | Stage::Refused(node) = *stage
                && server_of(Home::Node(node), CLUSTER) == server
            {
                self.recorder.mark("failover_of_node");
            }
        }
    }
}
