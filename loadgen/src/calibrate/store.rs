//! Steps at a store that the scheduler shares with others, as it tells of them.

use std::time::Duration;

use crate::http::ask;
use crate::target::Address;

/// Sum and count of the time from sending a step until its reply.
const SUM: &str = "scheduler_store_round_trip_seconds_sum";
const COUNT: &str = "scheduler_store_round_trip_seconds_count";

/// Steps so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Steps {
    seconds: f64,
    count: u64,
}

impl Steps {
    /// Those of a scheduler; absent where it has no such store, or does not tell.
    pub(super) async fn at(address: &Address) -> Option<Self> {
        let host = address.base.strip_prefix("ws://").unwrap_or(&address.base);
        let page = ask(address.socket, host, "GET", "/metrics").await.ok()?;
        if page.status == 200 { Self::read(&page.body) } else { None }
    }

    fn read(page: &str) -> Option<Self> {
        let value =
            |name: &str| page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Some(Self { seconds: value(SUM)?.parse().ok()?, count: value(COUNT)?.parse().ok()? })
    }

    /// Mean time of a step since then, and how many there were.
    pub(super) fn since(self, before: Self) -> Option<(Duration, u64)> {
        let count = self.count.checked_sub(before.count).filter(|&count| count > 0)?;
        let mean = Duration::try_from_secs_f64((self.seconds - before.seconds) / count as f64);
        Some((mean.ok()?, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_that_of_the_steps_between() {
        let page = |sum: f64, count: u64| format!("# HELP x\n{SUM} {sum}\n{COUNT} {count}\n");
        let [before, after] = [page(1.0, 10), page(1.5, 1_010)].map(|page| Steps::read(&page));
        let (before, after) = (before.unwrap(), after.unwrap());
        assert_eq!(after.since(before), Some((Duration::from_micros(500), 1_000)));
        assert_eq!(before.since(before), None);
        assert_eq!(Steps::read("scheduler_up 1\n"), None);
    }
}
