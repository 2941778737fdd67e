//! Single duties: claimed, held, handed over.

use super::message::*;
use super::{Claimer, Cx, Output, Refusal};
use crate::draws::pick;

/// A claim under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Claim {
    by_hand: bool,
    // A tick has passed since.
    is_old: bool,
}

/// A duty held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Held {
    pub(super) token: Token,
    running: bool,
    stay: Stay,
}

/// Whether a duty held is handed over after its run, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Stay {
    Stays,
    Drains,
    Yielded,
}

#[cfg(test)]
impl Claim {
    pub(super) fn bits(self) -> u64 {
        1 << 2 | u64::from(self.by_hand) << 1 | u64::from(self.is_old)
    }
}

impl Held {
    #[cfg(test)]
    pub(super) fn bits(self) -> u64 {
        1 << 7 | u64::from(self.running) << 6 | self.stay as u64
    }

    pub(super) fn is_staying(&self) -> bool {
        self.stay == Stay::Stays
    }
}

impl Claimer {
    /// Claims one unclaimed duty, by chance, while there is room; the next one follows its answer.
    /// So instances that start together share, and none takes all that it may at once.
    pub(super) fn claim_next(&mut self, cx: &mut Cx<'_>) {
        let Some(membership) = self.standing.membership() else { return };
        if self.claims.values().any(|claim| !claim.by_hand) {
            return;
        }
        if self.draining || self.held.len() >= self.limit() {
            self.candidates.clear();
            return;
        }
        if self.candidates.is_empty() {
            return;
        }
        if self.claims_left == 0 {
            self.candidates.clear();
            self.look(cx, Cause::Event);
            return;
        }
        self.claims_left -= 1;
        let duty = self.candidates.select(pick(cx.word, self.candidates.len()));
        self.candidates.remove(duty);
        self.claims.insert(DutyId(duty), Claim { by_hand: false, is_old: false });
        cx.op(Op::Claim(DutyId(duty), membership));
    }

    pub(super) fn claimed(&mut self, cx: &mut Cx<'_>, duty: DutyId, token: Token) {
        let Some(membership) = self.standing.membership() else { return };
        let known = self.held.get(&duty).is_some_and(|held| held.token >= token);
        if token < membership.token || known {
            return;
        }
        let claim = self.claims.remove(&duty);
        let by_hand = claim.is_some_and(|claim| claim.by_hand);
        let has_room = claim.is_some() || self.held.len() < self.limit();
        if has_room && !self.draining {
            self.hold(cx, duty, token);
            return;
        }
        self.release(cx, duty, token);
        if by_hand {
            cx.out.push(Output::Refused(duty, Refusal::Draining));
        }
    }

    pub(super) fn taken(&mut self, cx: &mut Cx<'_>, duty: DutyId) {
        if self.claims.remove(&duty).is_some_and(|claim| claim.by_hand) {
            cx.out.push(Output::Refused(duty, Refusal::Taken));
        }
    }

    fn hold(&mut self, cx: &mut Cx<'_>, duty: DutyId, token: Token) {
        self.held.insert(duty, Held { token, running: false, stay: Stay::Stays });
        self.ages.remove(&duty);
        cx.out.push(Output::Start(duty, token));
        let held = self.held.len();
        let quiet = |at| cx.now < at + self.config.alarm_debounce;
        if held > self.config.alarm_above && !self.alarmed_at.is_some_and(quiet) {
            self.alarmed_at = Some(cx.now);
            cx.out.push(Output::Alarm(held));
        }
    }

    fn release(&mut self, cx: &mut Cx<'_>, duty: DutyId, token: Token) {
        if self.held.remove(&duty).is_some() {
            cx.out.push(Output::Stop(duty));
        }
        self.releasing.insert(duty, token);
        cx.op(Op::Release(duty, token));
    }

    pub(super) fn released(&mut self, duty: DutyId, token: Token) {
        if self.releasing.get(&duty) == Some(&token) {
            self.releasing.remove(&duty);
        }
    }

    /// A claim whose reply seems lost is forgotten: the next view tells whether it was granted. A
    /// release is sent again.
    pub(super) fn repeat_lost_steps(&mut self, cx: &mut Cx<'_>) {
        for (&duty, &token) in &self.releasing {
            cx.op(Op::Release(duty, token));
        }
        self.claims.retain(|_, claim| !std::mem::replace(&mut claim.is_old, true));
    }

    /// Puts right what a view shows differently: what is not held any more, and claims that were
    /// granted unheard. What is newer than the view stands.
    pub(super) fn agree_on_held(&mut self, cx: &mut Cx<'_>, view: &View) {
        self.held.retain(|&duty, held| {
            let stands = held.token > view.version
                || view.holder(duty).is_some_and(|holder| holder.token == held.token);
            if !stands {
                cx.out.push(Output::Stop(duty));
            }
            stands
        });
        let Some(membership) = self.standing.membership() else { return };
        for &(duty, holder) in &view.duties {
            let Some(holder) = holder else { continue };
            let ours = holder.instance == membership.instance && holder.token > membership.token;
            let known = self.held.contains_key(&duty)
                || self.claims.contains_key(&duty)
                || self.releasing.get(&duty) == Some(&holder.token);
            if ours && !known {
                self.claimed(cx, duty, holder.token);
            }
        }
    }

    pub(super) fn drop_removed(&mut self, cx: &mut Cx<'_>, duty: DutyId, version: Token) {
        if self.held.get(&duty).is_some_and(|held| held.token < version) {
            self.held.remove(&duty);
            cx.out.push(Output::Stop(duty));
        }
    }

    pub(super) fn run_started(&mut self, duty: DutyId) {
        if let Some(held) = self.held.get_mut(&duty) {
            held.running = true;
        }
    }

    pub(super) fn run_ended(&mut self, cx: &mut Cx<'_>, duty: DutyId) {
        let Some(held) = self.held.get_mut(&duty) else { return };
        held.running = false;
        let Held { token, stay, .. } = *held;
        if stay != Stay::Stays {
            self.release(cx, duty, token);
        }
    }

    pub(super) fn acquire(&mut self, cx: &mut Cx<'_>, duty: DutyId) {
        let refusal = match self.standing.membership() {
            None => Refusal::NoMember,
            Some(_) if self.draining => Refusal::Draining,
            Some(membership) => {
                self.yielded.remove(&duty);
                if self.held.contains_key(&duty) {
                    self.set_stay(cx, duty, Stay::Stays);
                } else {
                    self.candidates.remove(duty.0);
                    self.claims.insert(duty, Claim { by_hand: true, is_old: false });
                    cx.op(Op::Claim(duty, membership));
                }
                return;
            }
        };
        cx.out.push(Output::Refused(duty, refusal));
    }

    /// Hands a duty over for good: others come first.
    pub(super) fn yield_duty(&mut self, cx: &mut Cx<'_>, duty: DutyId) {
        if self.held.contains_key(&duty) {
            self.yielded.insert(duty);
            self.candidates.remove(duty.0);
            self.set_stay(cx, duty, Stay::Yielded);
        } else {
            cx.out.push(Output::Refused(duty, Refusal::NotHeld));
        }
    }

    pub(super) fn set_draining(&mut self, cx: &mut Cx<'_>, draining: bool) {
        if std::mem::replace(&mut self.draining, draining) == draining {
            return;
        }
        self.told_drained = false;
        let (from, to) = match draining {
            true => (Stay::Stays, Stay::Drains),
            false => (Stay::Drains, Stay::Stays),
        };
        let changed = self.held.iter().filter(|(_, held)| held.stay == from);
        let changed: Vec<DutyId> = changed.map(|(&duty, _)| duty).collect();
        for duty in changed {
            self.set_stay(cx, duty, to);
        }
    }

    /// Says once that a drain is through.
    pub(super) fn tell_drained(&mut self, cx: &mut Cx<'_>) {
        let is_empty = self.held.is_empty() && self.releasing.is_empty() && self.claims.is_empty();
        if self.draining && is_empty && !std::mem::replace(&mut self.told_drained, true) {
            cx.out.push(Output::Drained);
        }
    }

    /// A duty between two runs goes at once.
    fn set_stay(&mut self, cx: &mut Cx<'_>, duty: DutyId, stay: Stay) {
        let Some(held) = self.held.get_mut(&duty) else { return };
        let before = std::mem::replace(&mut held.stay, stay);
        let Held { token, running, .. } = *held;
        if stay != Stay::Stays && !running {
            self.release(cx, duty, token);
        } else if (before == Stay::Stays) != (stay == Stay::Stays) {
            let told = if stay == Stay::Stays { Output::Resume } else { Output::Finish };
            cx.out.push(told(duty));
        }
    }
}
