//! Being a member: joining, renewing, and giving up in time.

use super::message::*;
use super::scan::Known;
use super::{ClaimConfig, Claimer, Cx, Output};
use crate::Micros;

/// Where an instance stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Standing {
    /// Not a member, as far as it knows.
    Out,
    /// A member, surely until `until` by its own clock.
    In { membership: Membership, until: Micros },
    /// Has left for good.
    Gone,
}

impl Standing {
    /// Whether a membership may have ended unheard.
    pub(super) fn is_over(self, now: Micros) -> bool {
        matches!(self, Self::In { until, .. } if until <= now)
    }

    pub(super) fn membership(self) -> Option<Membership> {
        match self {
            Self::In { membership, .. } => Some(membership),
            Self::Out | Self::Gone => None,
        }
    }
}

impl Claimer {
    pub(super) fn join(&self, cx: &mut Cx<'_>) {
        let ClaimConfig { instance, lease, .. } = self.config;
        cx.op(Op::Join(Join { instance, lease, sent: cx.now }));
    }

    pub(super) fn joined(&mut self, cx: &mut Cx<'_>, membership: Membership, sent: Micros) {
        let until = sent + self.config.lease;
        if self.standing == Standing::Gone || until <= cx.now {
            cx.op(Op::Leave(membership));
            return;
        }
        // A former request that seemed lost; the later membership is the one that stands.
        self.give_up(cx);
        self.standing = Standing::In { membership, until };
        self.next_tick = cx.now + self.config.tick;
        self.look(cx, Cause::Tick);
    }

    /// The lease is counted from when the renewal was sent, so it ends here before it ends there.
    pub(super) fn renewed(&mut self, renewed: Membership, sent: Micros) {
        if let Standing::In { membership, until } = &mut self.standing
            && *membership == renewed
        {
            *until = (*until).max(sent + self.config.lease);
        }
    }

    pub(super) fn leave(&mut self, cx: &mut Cx<'_>) {
        self.give_up(cx);
        self.standing = Standing::Gone;
    }

    /// Stops all duties and ends the membership. Their next holders may be at work already, so
    /// nothing is finished first. The next tick joins anew.
    pub(super) fn give_up(&mut self, cx: &mut Cx<'_>) {
        for duty in std::mem::take(&mut self.held).into_keys() {
            cx.out.push(Output::Stop(duty));
        }
        if let Some(membership) = self.standing.membership() {
            cx.op(Op::Leave(membership));
        }
        self.standing = Standing::Out;
        self.next_tick = cx.now;
        self.known = Known::default();
        self.seen_limit = 0;
        self.raise = 0;
        self.looking = false;
        self.look_again = false;
        self.ages.clear();
        self.candidates.clear();
        self.claims.clear();
        self.releasing.clear();
        self.yielded.clear();
        self.draining = false;
        self.told_drained = false;
    }
}
