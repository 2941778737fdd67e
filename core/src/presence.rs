//! How long a node's heartbeat keeps it present: three times its own interval.

use crate::Micros;

/// A node's heartbeats so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Presence {
    last_seen: Micros,
    interval: Option<Micros>,
    heard: bool,
    until: Micros,
}

impl Presence {
    /// Life until a node's own interval is known.
    const UNKNOWN: Micros = Micros::secs(45);
    /// Heartbeats in a burst say nothing about the interval.
    const INTERVAL_MIN: Micros = Micros::secs(1);
    /// Nor does the first interval alone: a node may report at once and again in its own time.
    const FIRST_INTERVAL_MIN: Micros = Micros::secs(8);

    /// A node has registered.
    pub(crate) fn new(now: Micros) -> Self {
        Self { last_seen: now, interval: None, heard: false, until: now + Self::UNKNOWN }
    }

    /// A heartbeat has come. One that comes early shortens the interval only little by little, so
    /// that the next one in its usual time is not too late.
    pub(crate) fn beat(&mut self, now: Micros) {
        if self.heard {
            let least = match self.interval {
                Some(usual) => Micros(usual.0 / 4 * 3).max(Self::INTERVAL_MIN),
                None => Self::FIRST_INTERVAL_MIN,
            };
            self.interval = Some((now - self.last_seen).max(least));
        }
        self.heard = true;
        self.last_seen = now;
        let life = self.interval.map_or(Self::UNKNOWN, |usual| Micros(usual.0.saturating_mul(3)));
        self.until = now + life;
    }

    /// All of it in microseconds: last seen, interval (zero where unknown), heard, until.
    pub(crate) fn describe(&self) -> String {
        let interval = self.interval.unwrap_or_default();
        format!("{} {} {} {}", self.last_seen.0, interval.0, self.heard, self.until.0)
    }

    /// Whether a heartbeat has ever come.
    pub(crate) fn is_heard(&self) -> bool {
        self.heard
    }

    /// When the last heartbeat came, or the registration.
    pub(crate) fn last_seen(&self) -> Micros {
        self.last_seen
    }

    /// The end of its presence if nothing more comes.
    pub(crate) fn until(&self) -> Micros {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn life_is_three_intervals_once_one_is_known() {
        let mut presence = Presence::new(Micros::ZERO);
        assert_eq!(presence.until(), Micros::secs(45));
        presence.beat(Micros::secs(1));
        assert_eq!(presence.until(), Micros::secs(46));
        presence.beat(Micros::secs(11));
        assert_eq!(presence.until(), Micros::secs(41));
    }

    #[test]
    fn a_second_heartbeat_right_after_the_first_does_not_end_a_node() {
        let mut presence = Presence::new(Micros::ZERO);
        for second in [0, 1] {
            presence.beat(Micros::secs(second));
        }
        assert!(presence.until() > Micros::secs(16), "the next one comes after 15 s");
    }

    #[test]
    fn a_burst_does_not_end_a_node() {
        let mut presence = Presence::new(Micros::ZERO);
        for second in [0, 10, 20] {
            presence.beat(Micros::secs(second));
        }
        presence.beat(Micros::secs(20));
        assert!(presence.until() > Micros::secs(30));
    }
}
