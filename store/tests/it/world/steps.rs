//! The way to the store and back.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use lingua_core::instance::{Input, Token};
use lingua_core::{Micros, Op, Reply};
use lingua_store::StoreError;

use super::{DELAY, Event, World};

/// A step on its way.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) process: usize,
    pub(crate) token: Token,
    /// The instance's own time when it was sent.
    pub(crate) by: Micros,
    pub(crate) op: Box<Op>,
}

impl World {
    /// An instance sends a step. One connection keeps the order.
    pub(super) fn send_step(&mut self, process: usize, token: Token, by: Micros, op: Box<Op>) {
        if self.random.permille(self.losses.steps) {
            self.seen.lost += 1;
            return;
        }
        let way = self.random.between(DELAY, Micros(2 * DELAY.0));
        let arrives = (self.now + way).max(self.processes[process].last_step);
        self.processes[process].last_step = arrives;
        self.sequence += 1;
        self.steps.insert((arrives, self.sequence), Sent { process, token, by, op });
    }

    /// Carries out what arrives within the shortest delay: nothing that follows from it can arrive
    /// within it too.
    pub(super) fn carry_out(&mut self, until: Micros) {
        let end = (self.now + DELAY).min(until);
        let later = self.steps.split_off(&(end, 0));
        let batch = std::mem::replace(&mut self.steps, later);
        let replies = self.apply_all(batch.into_iter().map(|((at, _), sent)| (at, sent)).collect());
        for (at, Sent { process, token, op, .. }, reply) in replies {
            let counted = matches!(*op, Op::Dispatch(_) | Op::Reserve(_) | Op::Release(_));
            self.seen.operations += u64::from(counted);
            let Ok(reply) = reply else {
                self.seen.errors += 1;
                continue;
            };
            if matches!(reply, Reply::Registered(Ok(_)))
                || matches!(*op, Op::Remove(_) | Op::Drain(..))
            {
                self.changed();
            }
            let lost = self.random.permille(self.losses.replies);
            self.seen.lost += u64::from(lost);
            if !lost {
                let way = self.random.between(DELAY, Micros(2 * DELAY.0));
                let input = Input::Store(token, reply);
                self.schedule(at + way, Event::Input(process, input));
            }
        }
    }

    /// On one server all go out together, in order. On a Cluster those of one home go one after the
    /// other: looks into the free indexes, then registrations, then all the rest.
    fn apply_all(
        &mut self,
        batch: Vec<(Micros, Sent)>,
    ) -> Vec<(Micros, Sent, Result<Reply, StoreError>)> {
        self.clock.store(self.now.0, Ordering::Release);
        let mut groups: [Vec<Vec<(Micros, Sent)>>; 3] = Default::default();
        if self.is_cluster() {
            let mut homes: BTreeMap<Home, Vec<(Micros, Sent)>> = BTreeMap::new();
            for (at, sent) in batch {
                homes.entry(home(&sent.op)).or_default().push((at, sent));
            }
            for (home, chain) in homes {
                groups[home.0.min(2)].push(chain);
            }
        } else {
            groups[0] = batch.into_iter().map(|step| vec![step]).collect();
        }
        let store = &self.store;
        self.runtime.block_on(async {
            let mut replies = Vec::new();
            for group in groups {
                let chains = group.into_iter().enumerate().map(|(place, chain)| async move {
                    let mut replies = Vec::new();
                    for (at, sent) in chain {
                        let reply = store.apply(sent.by, &sent.op).await;
                        replies.push((at, sent, reply));
                    }
                    (place, replies)
                });
                let mut done: Vec<_> = chains.collect::<FuturesUnordered<_>>().collect().await;
                done.sort_by_key(|(place, _)| *place);
                replies.extend(done.into_iter().flat_map(|(_, replies)| replies));
            }
            replies
        })
    }
}

/// Kind and number of a home on a Cluster.
type Home = (usize, u64);

fn home(op: &Op) -> Home {
    match op {
        Op::Find(find) => (0, u64::from(find.class.number())),
        // They give numbers and generations in the order in which they come.
        Op::Register(_) => (1, 0),
        Op::Heartbeat(node, _)
        | Op::ModelLost(node, _)
        | Op::Remove(node)
        | Op::Drain(node, _)
        | Op::Confirm(node, _) => (2, u64::from(node.num.0)),
        Op::Release(release) => (2, u64::from(release.node.num.0)),
        Op::Reserve(reserve) => (2, u64::from(reserve.target.node.0)),
        Op::Hint(num, _) => (2, u64::from(num.0)),
        Op::Open(open) => (3, open.request.session.0),
        Op::Move(m) => (3, m.request.session.0),
        Op::End(request, _) => (3, request.session.0),
        Op::RecordAffinity(record) => (3, record.session.0),
        Op::ClearAffinity(session) => (3, session.0),
        Op::Debounce(model, _) => (4, u64::from(model.0)),
        Op::Dispatch(_) | Op::Snapshot => unreachable!("no instance on a Cluster sends these"),
    }
}
