//! What an instance knows: views, events between them, and how long duties lie unclaimed.

use std::collections::BTreeSet;

use super::message::*;
use super::{Claimer, Cx, limit};
use crate::InstanceId;

/// What there is, by the last recount and the events since.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Known {
    version: Token,
    duties: BTreeSet<DutyId>,
    // Without those on the drain list, which acquire nothing.
    instances: BTreeSet<InstanceId>,
}

impl Known {
    fn of(view: &View) -> Self {
        Self {
            version: view.version,
            duties: view.duties.iter().map(|&(duty, _)| duty).collect(),
            instances: acquiring(view).collect(),
        }
    }

    /// An event twice, or one that the recount has seen, changes nothing.
    fn note(&mut self, event: Event) {
        if self.counts(event) {
            return;
        }
        match event.change {
            Change::Created(duty) => drop(self.duties.insert(duty)),
            Change::Removed(duty) => drop(self.duties.remove(&duty)),
            Change::Joined(instance) | Change::EndDrain(instance) => {
                self.instances.insert(instance);
            }
            Change::Left(instance) | Change::Drain(instance) => {
                self.instances.remove(&instance);
            }
            Change::Released(_) => {}
        }
    }

    /// Whether an event has been counted already.
    pub(super) fn counts(&self, event: Event) -> bool {
        event.version <= self.version
    }

    #[cfg(test)]
    pub(super) fn has(&self, duty: DutyId) -> bool {
        self.duties.contains(&duty)
    }

    #[cfg(test)]
    pub(super) fn believes_in(&self, instance: InstanceId) -> bool {
        self.instances.contains(&instance)
    }

    pub(super) fn duties(&self) -> usize {
        self.duties.len()
    }

    pub(super) fn instances(&self) -> usize {
        self.instances.len()
    }
}

/// The members that are not on the drain list.
fn acquiring(view: &View) -> impl Iterator<Item = InstanceId> + '_ {
    let members = view.members.iter().filter(|member| !member.draining);
    members.map(|member| member.membership.instance)
}

impl Claimer {
    pub(super) fn take_event(&mut self, cx: &mut Cx<'_>, event: Event) {
        if self.standing.membership().is_none() {
            return;
        }
        self.known.note(event);
        if let Change::Removed(duty) = event.change {
            self.drop_removed(cx, duty, event.version);
        }
        self.look(cx, Cause::Event);
    }

    /// Asks for all. Of many events at once only the first and the last ask.
    pub(super) fn look(&mut self, cx: &mut Cx<'_>, cause: Cause) {
        if self.looking && cause == Cause::Event {
            self.look_again = true;
            return;
        }
        self.looking = true;
        self.look_again = false;
        cx.op(Op::Look(cause));
    }

    pub(super) fn take_view(&mut self, cx: &mut Cx<'_>, cause: Cause, view: &View) {
        let Some(membership) = self.standing.membership() else { return };
        self.looking = false;
        if std::mem::take(&mut self.look_again) {
            self.look(cx, Cause::Event);
        }
        if view.version < membership.token {
            return;
        }
        let Some(own) = view.members.iter().find(|member| member.membership == membership) else {
            self.give_up(cx);
            return;
        };
        let draining = own.draining;
        self.seen_limit = limit(view.duties.len(), acquiring(view).count(), self.config.tolerance);
        if cause == Cause::Tick {
            self.known = Known::of(view);
            self.grow_older(view);
        } else {
            self.ages.retain(|duty, _| view.holder(*duty).is_none());
        }
        self.forget_yielded(view);
        self.agree_on_held(cx, view);
        self.set_draining(cx, draining);
        let free = view.duties.iter().filter(|(_, holder)| holder.is_none());
        self.claims_left = self.config.claims_per_view;
        self.candidates.clear();
        for &(duty, _) in free {
            if !self.yielded.contains(&duty) && !self.claims.contains_key(&duty) {
                self.candidates.insert(duty.0);
            }
        }
    }

    /// Duties that lie unclaimed raise the limit: by 1 once the oldest has lain for as many ticks as
    /// patience has, and by twice as much with every further tick. So even an instance that believes
    /// in any number of others takes all within `patience + log2(K) + 1` ticks.
    fn grow_older(&mut self, view: &View) {
        let before = std::mem::take(&mut self.ages);
        let free = view.duties.iter().filter(|(_, holder)| holder.is_none());
        let older = free.map(|&(duty, _)| (duty, before.get(&duty).map_or(1, |age| age + 1)));
        self.ages = older.collect();
        let oldest = self.ages.values().max().copied().unwrap_or(0);
        self.raise = match oldest.checked_sub(self.config.patience) {
            Some(beyond) => 1usize.checked_shl(beyond).unwrap_or(usize::MAX),
            None => 0,
        };
    }

    /// A duty that an operator has released here is anybody's again once somebody has taken it, or
    /// nobody has for as long as patience lasts.
    fn forget_yielded(&mut self, view: &View) {
        let (ages, held, releasing) = (&self.ages, &self.held, &self.releasing);
        let patience = self.config.patience;
        self.yielded.retain(|duty| {
            let is_waiting =
                || view.holder(*duty).is_none() && ages.get(duty).is_none_or(|&age| age < patience);
            held.contains_key(duty) || releasing.contains_key(duty) || is_waiting()
        });
    }
}
