//! What gives way first, and how much is left before it does.

use std::collections::BTreeMap;

/// How much of each resource is used, 0..=1 (more: it has given way).
#[derive(Debug, Default)]
pub(crate) struct Used {
    /// Slots of the nodes that speak a pair, per pair in demand.
    pub(crate) pairs: BTreeMap<String, f64>,
    /// Busiest instance.
    pub(crate) scheduler: f64,
    /// Store.
    pub(crate) store: f64,
}

impl Used {
    /// The name of the tightest resource, and the share of capacity left before it gives way.
    pub(crate) fn first_limit(&self) -> (String, f64) {
        let pairs = self.pairs.iter().map(|(pair, &used)| (used, format!("slots of {pair}")));
        let others =
            [(self.scheduler, "scheduler CPU".to_owned()), (self.store, "store".to_owned())];
        let tightest = pairs.chain(others).max_by(|(a, _), (b, _)| a.total_cmp(b));
        tightest.map_or_else(
            || ("nothing".to_owned(), 1.0),
            |(used, name)| (name, (1.0 - used).clamp(0.0, 1.0)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_resource_is_named() {
        let mut used = Used { scheduler: 0.5, store: 0.1, ..Used::default() };
        used.pairs.insert("zh:en".into(), 0.8);
        used.pairs.insert("en:zh".into(), 0.7);
        let (name, left) = used.first_limit();
        assert_eq!(name, "slots of zh:en");
        assert!((left - 0.2).abs() < 1e-12);
        used.scheduler = 0.99;
        assert_eq!(used.first_limit().0, "scheduler CPU");
    }
}
