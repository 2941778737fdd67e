//! What a deployment's limits come to, before it is deployed.

use super::limit::{Tolerance, limit};

/// The limits of a deployment, and the deaths they survive.
///
/// Worst case: those that are left do not hear of the deaths, so their limits stay. Once they have
/// heard, any of them that are left have room for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    duties: usize,
    limits: Vec<usize>,
    // The instances from the largest limit to the smallest.
    order: Vec<usize>,
}

/// Why there is no plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No instances, or too many.
    #[error("{0} instances: give 1 to {max}", max = Plan::INSTANCES_MAX)]
    Instances(usize),
    /// More duties than can be.
    #[error("{0} duties: give at most {max}", max = Plan::DUTIES_MAX)]
    Duties(usize),
    /// Neither one tolerance for all nor one for each.
    #[error("{tolerances} tolerances for {instances} instances: give one for all or one for each")]
    Tolerances {
        /// How many were given.
        tolerances: usize,
        /// How many instances there are.
        instances: usize,
    },
}

/// What some number of deaths at once does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deaths {
    /// Those whose death leaves the least room, by position.
    pub worst: Vec<usize>,
    /// The room that is left then.
    pub room: usize,
    /// In how many of all cases all duties find room; absent where there are too many to count.
    pub cases: Option<(u64, u64)>,
}

impl Plan {
    /// Most instances of a plan.
    pub const INSTANCES_MAX: usize = 1_000;
    /// Most duties of a plan.
    pub const DUTIES_MAX: usize = 1_000_000_000;
    /// Most instances whose deaths are counted case by case.
    const COUNTED_MAX: usize = 16;

    /// The limits of `instances` instances for `duties` duties. One tolerance is all instances';
    /// else each has its own.
    ///
    /// # Errors
    /// When a number is out of range, or tolerances and instances do not match.
    pub fn new(
        duties: usize,
        instances: usize,
        tolerances: &[Tolerance],
    ) -> Result<Self, PlanError> {
        if !(1..=Self::INSTANCES_MAX).contains(&instances) {
            return Err(PlanError::Instances(instances));
        }
        if duties > Self::DUTIES_MAX {
            return Err(PlanError::Duties(duties));
        }
        let tolerances = match *tolerances {
            [one] => vec![one; instances],
            ref each if each.len() == instances => each.to_vec(),
            ref each => {
                return Err(PlanError::Tolerances { tolerances: each.len(), instances });
            }
        };
        let limits = tolerances.iter().map(|&n| limit(duties, instances, n));
        let limits: Vec<usize> = limits.collect();
        let mut order: Vec<usize> = (0..instances).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(limits[i]));
        Ok(Self { duties, limits, order })
    }

    /// How many duties there are.
    pub fn duties(&self) -> usize {
        self.duties
    }

    /// The limit of each instance.
    pub fn limits(&self) -> &[usize] {
        &self.limits
    }

    /// How many duties the others must hold when all who can die but this one die.
    pub fn left_to_others(&self, instance: usize) -> usize {
        self.duties.saturating_sub(self.limits[instance])
    }

    /// The most deaths at once that are survived whoever dies.
    pub fn survives(&self) -> usize {
        let mut room: usize = self.limits.iter().sum();
        let fits = self.order.iter().take_while(|&&i| {
            room -= self.limits[i];
            room >= self.duties
        });
        fits.count().min(self.limits.len() - 1)
    }

    /// What `dead` deaths at once do.
    ///
    /// # Panics
    /// When more die than there are.
    pub fn deaths(&self, dead: usize) -> Deaths {
        let (worst, left) = self.order.split_at(dead);
        let mut worst = worst.to_vec();
        worst.sort_unstable();
        let room = left.iter().map(|&i| self.limits[i]).sum();
        Deaths { worst, room, cases: self.cases(dead) }
    }

    fn cases(&self, dead: usize) -> Option<(u64, u64)> {
        let instances = self.limits.len();
        if instances > Self::COUNTED_MAX {
            return None;
        }
        let alive = instances - dead;
        let sets = (0u32..1 << instances).filter(|set| set.count_ones() as usize == alive);
        let (mut fine, mut all) = (0, 0);
        for set in sets {
            let room: usize =
                (0..instances).map(|i| (set >> i & 1) as usize * self.limits[i]).sum();
            fine += u64::from(room >= self.duties);
            all += 1;
        }
        Some((fine, all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(duties: usize, tolerances: &[u32]) -> Plan {
        let tolerances: Vec<Tolerance> =
            tolerances.iter().map(|&n| Tolerance::new(n).unwrap()).collect();
        Plan::new(duties, tolerances.len(), &tolerances).unwrap()
    }

    #[test]
    fn the_worst_deaths_are_those_with_the_largest_limits() {
        let plan = plan(10, &[1, 1, 2, 3, 4]);
        assert_eq!(plan.limits(), [3, 3, 4, 6, 11]);
        assert_eq!(plan.survives(), 2);
        let two = plan.deaths(2);
        assert_eq!((two.worst.as_slice(), two.room), (&[3, 4][..], 10));
        assert_eq!(two.cases, Some((10, 10)));
        let three = plan.deaths(3);
        assert_eq!((three.worst.as_slice(), three.room), (&[2, 3, 4][..], 6));
        // E with any other, and D with C.
        assert_eq!(three.cases, Some((5, 10)));
        assert_eq!(plan.deaths(4).cases, Some((1, 5)), "the last one alone has room");
    }

    #[test]
    fn an_even_tolerance_survives_itself() {
        for n in 1..6 {
            let plan = plan(200, &[n; 6]);
            assert!(plan.survives() >= n as usize, "{n}: {}", plan.survives());
        }
        assert_eq!(plan(200, &[9]).survives(), 0, "somebody must be left");
        assert_eq!(plan(0, &[1, 1]).survives(), 1);
    }
}
