//! How capabilities and lists are written in the store. The scripts take the same text apart.

use std::fmt::{Display, Write};

use lingua_core::{
    Capabilities, Excluded, Features, Lang, Languages, Micros, ModelId, PoolRule, RegionId,
};

/// Longest span that travels: scripts count in doubles, which are exact up to 2^53.
const SPAN_MAX: u64 = 1 << 50;

/// `|a|b|`, so that an item is found with its bars around it.
fn list(items: impl IntoIterator<Item = impl Display>) -> String {
    let mut text = String::from("|");
    for item in items {
        let _ = write!(text, "{item}|");
    }
    text
}

pub(crate) fn excluded(nodes: &Excluded) -> String {
    list(nodes.as_slice().iter().map(|node| node.0))
}

pub(crate) fn models(models: &[ModelId]) -> String {
    list(models.iter().map(|model| model.0))
}

/// A span in microseconds.
pub(crate) fn span(span: Micros) -> String {
    span.0.min(SPAN_MAX).to_string()
}

/// The upper and the lower half: scripts cannot hold 64 bits.
pub(crate) fn halves(features: Features) -> [String; 2] {
    [features.0 >> 32, features.0 & 0xffff_ffff].map(|half| half.to_string())
}

/// A number, or -1 where there is none.
pub(crate) fn or_none(n: Option<impl Into<u64>>) -> String {
    n.map_or_else(|| "-1".to_owned(), |n| n.into().to_string())
}

/// `asr;semantic;tts;features high;features low;models;region`.
pub(crate) fn capabilities(caps: &Capabilities) -> String {
    let Capabilities { languages, features, models: present, region } = caps;
    let [high, low] = halves(*features);
    let lists = [languages.asr(), languages.semantic(), languages.tts()].map(list);
    let region = or_none(region.map(|region| region.0));
    format!("{};{high};{low};{};{region}", lists.join(";"), models(present))
}

/// Takes stored capabilities apart; absent where they are none.
pub(crate) fn read_capabilities(text: &str, rule: PoolRule) -> Option<Capabilities> {
    let mut parts = text.split(';');
    let mut langs =
        || -> Option<Vec<Lang>> { items(parts.next()?)?.map(|tag| tag.parse().ok()).collect() };
    let (asr, semantic, tts) = (langs()?, langs()?, langs()?);
    let languages = Languages::new(&asr, &semantic, &tts, rule).ok()?;
    let high: u32 = parts.next()?.parse().ok()?;
    let low: u32 = parts.next()?.parse().ok()?;
    let numbers = items(parts.next()?)?.map(|n| n.parse().ok().map(ModelId));
    let models: Vec<ModelId> = numbers.collect::<Option<_>>()?;
    let region = match parts.next()? {
        "-1" => None,
        region => Some(RegionId(region.parse().ok()?)),
    };
    let features = Features(u64::from(high) << 32 | u64::from(low));
    let sorted = models.is_sorted();
    (parts.next().is_none() && sorted).then_some(Capabilities {
        languages,
        features,
        models,
        region,
    })
}

fn items(list: &str) -> Option<impl Iterator<Item = &str>> {
    let inner = list.strip_prefix('|')?;
    Some(inner.split_terminator('|'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caps() -> Capabilities {
        let langs = |tags: &str| -> Vec<Lang> {
            tags.split_whitespace().map(|tag| tag.parse().unwrap()).collect()
        };
        let (asr, tts) = (langs("zh en"), langs("pt-BR"));
        Capabilities {
            languages: Languages::new(&asr, &asr, &tts, PoolRule::AsrXTts).unwrap(),
            features: Features(u64::MAX - 1),
            models: vec![ModelId(3), ModelId(40)],
            region: Some(RegionId(2)),
        }
    }

    #[test]
    fn capabilities_survive_the_store() {
        let text = capabilities(&caps());
        assert_eq!(text, "|en|zh|;|en|zh|;|pt-BR|;4294967295;4294967294;|3|40|;2");
        assert_eq!(read_capabilities(&text, PoolRule::AsrXTts), Some(caps()));
        let bare = Capabilities { models: vec![], region: None, ..caps() };
        let text = capabilities(&bare);
        assert_eq!(read_capabilities(&text, PoolRule::AsrXTts), Some(bare));
    }

    #[test]
    fn broken_capabilities_are_none() {
        for text in ["", ";;;;;;", "|en|;|en|;|en|;0;0;|2|1|;-1", "|en|;|en|;|en|;0;0;|;-1;9"] {
            assert_eq!(read_capabilities(text, PoolRule::AsrXTts), None, "{text}");
        }
    }
}
