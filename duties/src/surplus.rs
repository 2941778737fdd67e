//! What an instance gives up so that another one has its share.

use lingua_core::InstanceId;
use lingua_core::claim::{DutyId, View};

/// Duties given up at one tick, at most: the rest follows at the next ones.
const AT_ONCE: usize = 8;

/// The duties that `instance` should give up, by what it has just seen: some, where it holds more
/// than its fair share and another one less. Nobody gives up anything while a duty is unclaimed.
pub(crate) fn surplus(view: &View, instance: InstanceId) -> Vec<DutyId> {
    if view.duties.iter().any(|(_, holder)| holder.is_none()) {
        return Vec::new();
    }
    let held_by = |id: InstanceId| {
        let held = view.duties.iter();
        held.filter(move |(_, holder)| holder.is_some_and(|holder| holder.instance == id))
    };
    let takers = view.members.iter().filter(|member| !member.draining);
    let takers: Vec<InstanceId> = takers.map(|member| member.membership.instance).collect();
    if !takers.contains(&instance) {
        return Vec::new();
    }
    let (low, high) = (view.duties.len() / takers.len(), view.duties.len().div_ceil(takers.len()));
    let wanted = takers.iter().map(|&id| low.saturating_sub(held_by(id).count())).max();
    let spare = held_by(instance).count().saturating_sub(high);
    let count = spare.min(wanted.unwrap_or(0)).min(AT_ONCE);
    held_by(instance).map(|&(duty, _)| duty).take(count).collect()
}

#[cfg(test)]
mod tests {
    use lingua_core::claim::{Holder, Member, Membership, Token};

    use super::*;

    /// Instances that hold so many duties each, and so many that nobody holds.
    fn view(held: &[usize], unclaimed: usize, draining: &[u16]) -> View {
        let mut view = View::default();
        for (n, &count) in held.iter().enumerate() {
            let instance = InstanceId(n as u16);
            let membership = Membership { instance, token: Token(1) };
            let draining = draining.contains(&instance.0);
            view.members.push(Member { membership, draining });
            for _ in 0..count {
                let duty = DutyId(view.duties.len() as u32);
                view.duties.push((duty, Some(Holder { instance, token: Token(2) })));
            }
        }
        for _ in 0..unclaimed {
            view.duties.push((DutyId(view.duties.len() as u32), None));
        }
        view
    }

    #[test]
    fn more_than_the_share_goes_to_whoever_has_less() {
        let gives = |held: &[usize], unclaimed, draining: &[u16]| {
            surplus(&view(held, unclaimed, draining), InstanceId(0)).len()
        };
        for (held, unclaimed, draining, expected) in [
            (&[66, 0, 0][..], 0, &[][..], 8),
            (&[24, 21, 21], 0, &[], 1),
            (&[22, 22, 22], 0, &[], 0),
            // The shares are 22 or 23: nobody has less.
            (&[24, 22, 22], 0, &[], 0),
            (&[60, 2, 4], 1, &[], 0),
            // Who drains counts for nobody's share, and gives up by other rules.
            (&[33, 33, 0], 0, &[2], 0),
            (&[66, 0], 0, &[0], 0),
            (&[5], 0, &[], 0),
        ] {
            assert_eq!(gives(held, unclaimed, draining), expected, "{held:?} {draining:?}");
        }
    }
}
