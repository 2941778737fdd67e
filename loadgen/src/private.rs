//! Private language codes, so that fake peers meet nobody but each other.

use std::collections::BTreeMap;

use lingua_scenarios::{Pair, Scenario};

/// ISO 639 keeps `qaa` to `qtz` for private use.
pub(crate) const CODES: usize = 20 * 26;

/// The private code of each language of a scenario.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disguise(BTreeMap<String, String>);

impl Disguise {
    /// A code for every language that a node or a client of the scenario speaks. Where there are
    /// more than codes, the last ones share one.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let mut codes = BTreeMap::new();
        let nodes = scenario.nodes.iter().flat_map(|group| {
            group.asr.iter().chain(&group.tts).chain(group.semantic.iter().flatten())
        });
        let pairs =
            scenario.sessions.iter().flat_map(|group| group.pair.iter().chain(&group.pairs));
        let bare = scenario.arrivals.iter().flat_map(|group| group.pair.iter().chain(&group.pairs));
        let spoken = pairs.chain(bare).flat_map(|pair| [&pair.src, &pair.tgt]);
        let heard = scenario.sessions.iter().flat_map(|group| &group.listeners);
        for tag in nodes.chain(spoken).chain(heard) {
            let next = code(codes.len().min(CODES - 1));
            codes.entry(tag.clone()).or_insert(next);
        }
        Self(codes)
    }

    fn tag(&self, tag: &mut String) {
        // A language that only a recorded call speaks has no node here.
        *tag = self.0.get(tag).cloned().unwrap_or_else(|| code(CODES - 1));
    }

    pub(crate) fn pair(&self, pair: &mut Pair) {
        self.tag(&mut pair.src);
        self.tag(&mut pair.tgt);
    }

    /// A pair of private codes in the scenario's own languages again.
    pub(crate) fn take_off(&self, pair: &mut Pair) {
        for code in [&mut pair.src, &mut pair.tgt] {
            if let Some((tag, _)) = self.0.iter().find(|(_, private)| *private == code) {
                code.clone_from(tag);
            }
        }
    }

    /// The scenario in private codes.
    pub(crate) fn put_on(&self, scenario: &mut Scenario) {
        for group in &mut scenario.nodes {
            let lists = [&mut group.asr, &mut group.tts].into_iter().chain(&mut group.semantic);
            lists.flatten().for_each(|tag| self.tag(tag));
        }
        for group in &mut scenario.sessions {
            let pairs = group.pair.iter_mut().chain(&mut group.pairs);
            pairs.for_each(|pair| self.pair(pair));
            group.listeners.iter_mut().for_each(|tag| self.tag(tag));
        }
        for group in &mut scenario.arrivals {
            let pairs = group.pair.iter_mut().chain(&mut group.pairs);
            pairs.for_each(|pair| self.pair(pair));
        }
    }
}

/// The code of a number; after the last comes the first again.
pub(crate) fn code(number: usize) -> String {
    let at = number % CODES;
    let letter = |n: usize| char::from(b'a' + n as u8);
    ['q', letter(at / 26), letter(at % 26)].into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_private_and_keep_apart_what_is_different() {
        assert_eq!([code(0), code(27), code(CODES - 1), code(CODES)], ["qaa", "qbb", "qtz", "qaa"]);
        let mut scenario: Scenario = r#"
[[nodes]]
asr = ["zh", "en"]
tts = ["en"]
[[sessions]]
count = 1
pair = "zh:en"
"#
        .parse()
        .unwrap();
        let disguise = Disguise::of(&scenario);
        disguise.put_on(&mut scenario);
        assert_eq!(scenario.nodes[0].asr, ["qaa", "qab"]);
        assert_eq!(scenario.nodes[0].tts, ["qab"]);
        let pair = scenario.sessions[0].pair.clone().unwrap();
        assert_eq!(pair.to_string(), "qaa:qab");
        let mut strange: Pair = "fr:zh".parse().unwrap();
        disguise.pair(&mut strange);
        assert_eq!(strange.to_string(), "qtz:qaa");
        let mut pair = pair;
        disguise.take_off(&mut pair);
        assert_eq!(pair.to_string(), "zh:en");
    }
}
