//! What binds the utterances of one session together: turns of speech, groups of results.

use lingua_core::finalize::Reason;
use lingua_core::{Micros, SessionId};
use lingua_protocol::{GroupId, TurnId};
use serde::Serialize;

use crate::clock::unix_ms;
use crate::wire;

/// Silence after the last result was played that begins a new group.
const GAP: Micros = Micros::millis(2_000);

/// The turn that the session's next utterance goes on with, if any.
#[derive(Debug, Default)]
pub(super) struct Turn(Option<TurnId>);

impl Turn {
    /// The turn of the next utterance. One that was cut for its length alone goes on in the next.
    pub(super) fn next(&mut self, reason: Option<Reason>, new: impl FnOnce() -> TurnId) -> TurnId {
        let turn = self.0.take();
        let goes_on = match reason {
            Some(Reason::MaxDuration) => true,
            Some(Reason::MaxLength) => turn.is_some(),
            Some(Reason::IsFinal | Reason::Pause | Reason::Timeout) | None => false,
        };
        let turn = turn.unwrap_or_else(new);
        self.0 = goes_on.then(|| turn.clone());
        turn
    }
}

/// Results of one session that are played without a pause between them.
#[derive(Debug)]
pub(super) struct Group {
    id: GroupId,
    parts: u64,
    // When it began, or when its last result had been played.
    quiet_since: Micros,
}

/// A result's place in its group.
#[derive(Debug, Serialize)]
pub(super) struct Part {
    group_id: GroupId,
    part_index: u64,
}

impl Group {
    /// The place of a result that leaves now.
    pub(super) fn next_part(group: &mut Option<Self>, session: SessionId, now: Micros) -> Part {
        let open = group.take().filter(|group| now - group.quiet_since <= GAP);
        let group = group.insert(open.unwrap_or_else(|| {
            let id = format!("group_{}_{}", wire::session_id(session), unix_ms());
            let id = GroupId::new(&id).expect("a session id and digits are visible");
            Self { id, parts: 0, quiet_since: now }
        }));
        group.parts += 1;
        Part { group_id: group.id.clone(), part_index: group.parts - 1 }
    }

    pub(super) fn play_ended(&mut self, id: &GroupId, now: Micros) {
        if self.id == *id {
            self.quiet_since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_goes_on_over_cuts_for_length() {
        let mut turn = Turn::default();
        let mut made = 0;
        let mut next = |reason| {
            let new = || {
                made += 1;
                TurnId::new(&format!("turn-{made}")).unwrap()
            };
            turn.next(reason, new).to_string()
        };
        let reasons = [
            (Some(Reason::IsFinal), "turn-1"),
            (Some(Reason::MaxDuration), "turn-2"),
            (Some(Reason::MaxLength), "turn-2"),
            (Some(Reason::MaxDuration), "turn-2"),
            (Some(Reason::Pause), "turn-2"),
            (Some(Reason::MaxLength), "turn-3"),
            (Some(Reason::Timeout), "turn-4"),
            (None, "turn-5"),
        ];
        for (reason, want) in reasons {
            assert_eq!(next(reason), want, "{reason:?}");
        }
    }

    #[test]
    fn two_seconds_of_quiet_begin_a_new_group() {
        let mut group = None;
        let part = |group: &mut Option<Group>, ms| {
            let part = Group::next_part(group, SessionId(1), Micros::millis(ms));
            part.part_index
        };
        assert_eq!([0, 1_000, 2_000].map(|ms| part(&mut group, ms)), [0, 1, 2]);
        let id = group.as_ref().unwrap().id.clone();
        group.as_mut().unwrap().play_ended(&id, Micros::millis(5_000));
        assert_eq!(part(&mut group, 7_000), 3);
        let other = GroupId::new("another").unwrap();
        group.as_mut().unwrap().play_ended(&other, Micros::millis(7_000));
        assert_eq!(part(&mut group, 7_001), 0);
    }
}
