//! Languages, directed pairs, and which pairs a node joins.

use std::fmt;
use std::str::FromStr;

/// A language tag of 1 to 11 characters (`zh`, `pt-BR`, `qaa`), held inline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lang {
    // Bytes first, zero-padded: the derived order is the byte order of the tag.
    bytes: [u8; Self::MAX],
    len: u8,
}

impl Lang {
    /// Longest tag.
    pub const MAX: usize = 11;

    /// The tag.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or_default()
    }
}

/// A tag that is not a language.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no language tag: 1 to 11 letters, digits or hyphens are, such as `zh` or `pt-BR`"
)]
pub struct LangError(pub String);

impl FromStr for Lang {
    type Err = LangError;

    fn from_str(tag: &str) -> Result<Self, LangError> {
        let fits = (1..=Self::MAX).contains(&tag.len());
        if !fits || !tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(LangError(tag.chars().take(40).collect()));
        }
        let mut bytes = [0; Self::MAX];
        bytes[..tag.len()].copy_from_slice(tag.as_bytes());
        Ok(Self { bytes, len: tag.len() as u8 })
    }
}

impl fmt::Display for Lang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Lang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A directed pair: `zh:en` is not `en:zh`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// Language heard.
    pub src: Lang,
    /// Language spoken.
    pub tgt: Lang,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.src, self.tgt)
    }
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The languages of a node, each list sorted and without repeats.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Languages {
    asr: Vec<Lang>,
    semantic: Vec<Lang>,
    tts: Vec<Lang>,
}

/// Languages that a node may not register with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LanguagesError {
    /// No language to hear.
    #[error("asr languages are empty: name at least one")]
    NoAsr,
    /// No language to repair.
    #[error("semantic languages are empty: name at least one")]
    NoSemantic,
    /// No language to speak, though pools are asr × tts.
    #[error("tts languages are empty: the pool rule asr-x-tts needs at least one")]
    NoTts,
    /// More languages than a node may name.
    #[error("a list names more than {} languages", Languages::MAX)]
    TooMany,
}

impl Languages {
    /// Most languages in one list.
    pub const MAX: usize = 128;

    /// Sorts the lists and drops repeats.
    ///
    /// # Errors
    /// An empty or overlong list. `tts` may be empty where the rule does not use it.
    pub fn new(
        asr: &[Lang],
        semantic: &[Lang],
        tts: &[Lang],
        rule: PoolRule,
    ) -> Result<Self, LanguagesError> {
        let sorted = |list: &[Lang]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list.dedup();
            list
        };
        let this = Self { asr: sorted(asr), semantic: sorted(semantic), tts: sorted(tts) };
        if this.asr.is_empty() {
            return Err(LanguagesError::NoAsr);
        }
        if this.semantic.is_empty() {
            return Err(LanguagesError::NoSemantic);
        }
        if this.tts.is_empty() && rule == PoolRule::AsrXTts {
            return Err(LanguagesError::NoTts);
        }
        if [&this.asr, &this.semantic, &this.tts].iter().any(|list| list.len() > Self::MAX) {
            return Err(LanguagesError::TooMany);
        }
        Ok(this)
    }

    /// Languages heard.
    pub fn asr(&self) -> &[Lang] {
        &self.asr
    }

    /// Languages repaired.
    pub fn semantic(&self) -> &[Lang] {
        &self.semantic
    }

    /// Languages spoken.
    pub fn tts(&self) -> &[Lang] {
        &self.tts
    }

    /// The directed pairs under a rule, sorted.
    pub fn pairs(&self, rule: PoolRule) -> Vec<Pair> {
        let cross = |srcs: &[Lang], tgts: &[Lang]| -> Vec<Pair> {
            srcs.iter().flat_map(|&src| tgts.iter().map(move |&tgt| Pair { src, tgt })).collect()
        };
        match rule {
            PoolRule::AsrXTts => cross(&self.asr, &self.tts),
            PoolRule::AsrXSemantic => cross(&self.asr, &self.semantic),
            PoolRule::FaceToFace => {
                let mut pairs = cross(&self.semantic, &self.semantic);
                pairs.retain(|pair| pair.src != pair.tgt);
                pairs
            }
        }
    }
}

/// Which directed pairs a node joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PoolRule {
    /// Every (asr, tts) pair; semantic languages are checked, not used.
    #[default]
    AsrXTts,
    /// Every (asr, semantic) pair, as the deployed scheduler has it.
    AsrXSemantic,
    /// Every ordered pair of two different semantic languages (v4.1, face to face).
    FaceToFace,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn langs(tags: &str) -> Vec<Lang> {
        tags.split_whitespace().map(|tag| tag.parse().unwrap()).collect()
    }

    fn pairs(asr: &str, semantic: &str, tts: &str, rule: PoolRule) -> String {
        let languages = Languages::new(&langs(asr), &langs(semantic), &langs(tts), rule).unwrap();
        let pairs: Vec<_> = languages.pairs(rule).iter().map(ToString::to_string).collect();
        pairs.join(" ")
    }

    #[test]
    fn the_documents_tables_of_pairs() {
        let check = |asr, semantic, tts, rule, want: &str| {
            assert_eq!(pairs(asr, semantic, tts, rule), want);
        };
        check("zh en", "zh en", "zh en", PoolRule::AsrXTts, "en:en en:zh zh:en zh:zh");
        check("zh en de", "zh en", "en", PoolRule::AsrXTts, "de:en en:en zh:en");
        check(
            "zh en de",
            "zh en",
            "",
            PoolRule::AsrXSemantic,
            "de:en de:zh en:en en:zh zh:en zh:zh",
        );
        check("ko", "zh en ja", "zh", PoolRule::FaceToFace, "en:ja en:zh ja:en ja:zh zh:en zh:ja");
    }

    #[test]
    fn tags_are_checked() {
        for bad in ["", "zh:en", "a-very-long-tag", "zh en", "日本"] {
            assert!(bad.parse::<Lang>().is_err(), "{bad}");
        }
        assert_eq!("zh-Hant".parse::<Lang>().unwrap().to_string(), "zh-Hant");
    }

    #[test]
    fn order_is_byte_order() {
        assert!(langs("a")[0] < langs("a-b")[0]);
        assert!(langs("a9")[0] < langs("b")[0]);
    }

    #[test]
    fn empty_lists_are_refused_by_name() {
        let zh = langs("zh");
        let new = |a: &[Lang], s: &[Lang], t: &[Lang], r| Languages::new(a, s, t, r).unwrap_err();
        assert_eq!(new(&[], &zh, &zh, PoolRule::AsrXTts), LanguagesError::NoAsr);
        assert_eq!(new(&zh, &[], &zh, PoolRule::AsrXTts), LanguagesError::NoSemantic);
        assert_eq!(new(&zh, &zh, &[], PoolRule::AsrXTts), LanguagesError::NoTts);
    }
}
