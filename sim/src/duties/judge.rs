//! What must never happen to duties.
//!
//! - I8: no duty is run by two, and who may run it holds it at the coordinator.
//! - limit: nobody claims beyond its limit, except by ageing.
//! - coverage: a duty finds a holder within a lease and two ticks of the last disturbance, and the
//!   time that its claim takes.

use lingua_core::Micros;
use lingua_core::claim::{DutyId, Token};
use lingua_scenarios::{Duties, Fault, FaultKind};

use super::World;
use crate::invariants::Broken;
use crate::setup;

/// Share of draws that are below what counts as the longest.
const LONGEST: f64 = 0.999;

/// What is known of a scenario beforehand.
pub(super) struct Judge {
    heals_within: Micros,
    // When something begins or ends to go wrong, sorted.
    disturbed: Vec<Micros>,
    // Times at which answers may fail, so that nothing is promised.
    deaf: Vec<(Micros, Micros)>,
    // Until when letters of a slow time are under way.
    slow_until: Micros,
    // The latest token under which something was written, by duty.
    written: Vec<Token>,
}

impl Judge {
    pub(super) fn new(duties: &Duties, faults: &[Fault]) -> Self {
        let (mut disturbed, mut deaf) = (vec![Micros::ZERO], Vec::new());
        let longest = duties.delay.sample(LONGEST);
        for fault in faults {
            let begins = setup::micros(fault.at);
            let ends = begins + fault.lasts.map_or(Micros::ZERO, setup::micros);
            disturbed.extend([begins, ends]);
            if matches!(fault.kind, FaultKind::ReplyLoss | FaultKind::Delay) {
                let ends = if fault.lasts.is_some() { ends } else { Micros::NEVER };
                deaf.push((begins, ends));
            }
        }
        disturbed.sort_unstable();
        // One instance may have to claim all, one after the other, each in a round trip.
        let claims = f64::from(duties.count + duties.count / duties.claims_per_view);
        let settles = claims * 3.0 * duties.delay.mean() + 16.0 * longest.secs_f64();
        let tick = setup::micros(duties.tick);
        let heals_within =
            setup::micros(duties.lease) + tick + tick + Micros((settles * 1e6) as u64);
        Self {
            heals_within,
            disturbed,
            deaf,
            slow_until: Micros::ZERO,
            written: vec![Token::default(); duties.count as usize],
        }
    }

    /// When every duty must be held again, whatever went wrong until `end`.
    pub(super) fn healed_after(&self, end: Micros) -> Micros {
        end.max(self.slow_until) + self.heals_within + Micros(1)
    }

    /// Letters of a slow time are under way until then.
    pub(super) fn slow_until(&mut self, until: Micros) {
        self.slow_until = self.slow_until.max(until);
    }

    /// Since when nothing goes wrong; absent while answers may fail.
    fn calm_since(&self, now: Micros) -> Option<Micros> {
        if now < self.slow_until
            || self.deaf.iter().any(|&(begins, ends)| begins <= now && now < ends)
        {
            return None;
        }
        let before = self.disturbed.partition_point(|&at| at <= now);
        Some(self.disturbed[before.saturating_sub(1)].max(self.slow_until))
    }
}

impl World {
    fn break_(&mut self, invariant: &'static str, message: String) {
        let broken = Broken::new(invariant, self.now, message);
        self.broken.get_or_insert(broken);
    }

    /// Who may run a duty holds it at the coordinator.
    pub(super) fn check_runner(&mut self, i: u16) {
        let process = &self.processes[usize::from(i)];
        let claimer = &process.claimer;
        let unheld = claimer.held().find(|&duty| {
            let token = claimer.may_run(self.now, duty);
            token.is_some_and(|token| !self.board.holds(duty, token))
        });
        if let Some(duty) = unheld {
            let holder = self.board.view().holder(duty);
            let holder = holder.map_or_else(
                || "nobody holds".to_owned(),
                |holder| format!("instance {} holds", holder.instance.0),
            );
            let message =
                format!("instance {i} may run duty {}, which {holder} at the coordinator", duty.0);
            self.break_("I8", message);
        }
    }

    /// Nobody else may run what begins here.
    pub(super) fn check_start(&mut self, i: u16, duty: DutyId) {
        let mut others = self.processes.iter().filter(|other| other.id().0 != i);
        let other = others
            .find(|other| other.is_awake() && other.claimer.may_run(self.now, duty).is_some());
        if let Some(other) = other {
            let other = other.id().0;
            let message = format!("instances {other} and {i} both may run duty {}", duty.0);
            self.break_("I8", message);
        }
    }

    /// What is written under a token is never older than what was written before.
    pub(super) fn check_write(&mut self, duty: DutyId, token: Token) {
        let before = &mut self.judge.written[duty.0 as usize];
        let last = std::mem::replace(before, token);
        if token < last {
            let message = format!("duty {} was written under {token:?} after {last:?}", duty.0);
            self.break_("I8", message);
        }
    }

    /// An instance claims one more.
    pub(super) fn check_claim(&mut self, i: u16) {
        self.record.claims += 1;
        let process = &self.processes[usize::from(i)];
        let wants = process.claimer.held().len() + 1;
        let (bound, raise) = process.belief.bound(self.duties.count, process.tolerance());
        if wants > bound.saturating_add(raise) {
            let message = format!(
                "instance {i} claims duty number {wants}: its limit is {bound}, and ageing adds \
                 {raise}"
            );
            self.break_("limit", message);
        } else if wants > bound {
            self.record.mark("limit_raised_by_ageing");
        }
    }

    /// No duty is nobody's for long where somebody could hold it.
    pub(super) fn check_coverage(&mut self) {
        if self.record.unheld() == 0 {
            return;
        }
        let view = self.board.view();
        let drains = |process: &super::Process| {
            let mut members = view.members.iter();
            members.any(|member| member.membership.instance == process.id() && member.draining)
        };
        let able = self.processes.iter().any(|process| {
            process.is_awake() && !process.cut.up && !process.cut.down && !drains(process)
        });
        let Some(calm) = self.judge.calm_since(self.now).filter(|_| able) else { return };
        let Some((duty, since)) = self.record.longest_open() else { return };
        let span = self.now - since.max(calm);
        if span > self.judge.heals_within {
            let message = format!(
                "duty {duty} has been nobody's since {since:?}, and nothing went wrong since \
                 {calm:?}: {:?} are allowed",
                self.judge.heals_within
            );
            self.break_("coverage", message);
        }
    }
}
