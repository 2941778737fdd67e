//! Whether parts are the shards of one run, each once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::Part;
use crate::load::Shard;
use crate::number::ranges;
use crate::run::{Kind, Run};

/// Why parts cannot be put together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// Nothing to merge.
    #[error("there is nothing to merge; name the directory of every shard")]
    Empty,
    /// Not measured.
    #[error(
        "{} holds no run over real sockets; name directories that `lingua load --shard` wrote",
        place.display()
    )]
    Simulated {
        /// Its directory.
        place: PathBuf,
    },
    /// Of another run.
    #[error(
        "{} and {} are not shards of one run: {what} is {first} and {other}; start every shard \
         with the same file, changes and seed", places.0.display(), places.1.display()
    )]
    Differ {
        /// Both directories.
        places: (PathBuf, PathBuf),
        /// What should be equal.
        what: String,
        /// At the first.
        first: String,
        /// At the other.
        other: String,
    },
    /// One shard, two directories.
    #[error(
        "shard {shard} is in {} and in {}; name each shard once", places.0.display(),
        places.1.display()
    )]
    Twice {
        /// Which.
        shard: Shard,
        /// Both directories.
        places: (PathBuf, PathBuf),
    },
    /// Not all are there.
    #[error("of {of} shards {missing} is missing; name its directory too, or run it again")]
    Missing {
        /// How many there should be.
        of: u32,
        /// Which are missing.
        missing: String,
    },
}

pub(super) fn shard(part: &Part) -> Shard {
    part.artifacts.run.load.as_ref().map_or_else(Shard::default, |load| load.shard)
}

/// Checks that the parts, sorted by shard, belong together; gives the settings of the whole.
pub(super) fn check(parts: &[Part]) -> Result<BTreeMap<String, String>, MergeError> {
    let Some(first) = parts.first() else { return Err(MergeError::Empty) };
    let measured = |part: &&Part| part.artifacts.run.kind == Kind::Load;
    if let Some(part) = parts.iter().find(|part| !measured(part)) {
        return Err(MergeError::Simulated { place: part.place.clone() });
    }
    let mut setting = first.artifacts.run.setting.clone();
    for other in &parts[1..] {
        for ((what, one), (_, two)) in plan(first).into_iter().zip(plan(other)) {
            if one != two {
                return Err(differ((first, other), what, one, two));
            }
        }
        add_setting(&mut setting, (first, other))?;
    }
    each_once(parts)?;
    Ok(setting)
}

/// What all shards of a run share.
fn plan(part: &Part) -> [(&'static str, String); 7] {
    let Run { tool_version, scenario, seed, arrivals_digest, duration_s, .. } = &part.artifacts.run;
    [
        ("the scenario", scenario.name.clone()),
        ("the scenario's SHA-256", scenario.sha256.clone()),
        ("the seed", seed.to_string()),
        ("the plan's digest", arrivals_digest.clone()),
        ("the counted time", format!("{duration_s} s")),
        ("the number of shards", shard(part).of.to_string()),
        ("the tool's version", tool_version.clone()),
    ]
}

fn differ(parts: (&Part, &Part), what: &str, first: String, other: String) -> MergeError {
    let places = (parts.0.place.clone(), parts.1.place.clone());
    MergeError::Differ { places, what: what.to_owned(), first, other }
}

/// Counts that each shard has a share of are added, the rest must be equal.
fn add_setting(
    setting: &mut BTreeMap<String, String>,
    (first, other): (&Part, &Part),
) -> Result<(), MergeError> {
    const SHARED_OUT: [&str; 3] = ["nodes", "slots", "sessions"];
    let theirs = &other.artifacts.run.setting;
    let names: BTreeSet<String> = setting.keys().chain(theirs.keys()).cloned().collect();
    for name in names {
        let absent = || "absent".to_owned();
        let one = first.artifacts.run.setting.get(&name).cloned().unwrap_or_else(absent);
        let two = theirs.get(&name).cloned().unwrap_or_else(absent);
        let sum =
            setting.get(&name).and_then(|text| text.parse::<u64>().ok()).zip(two.parse().ok());
        match sum {
            Some((a, b)) if SHARED_OUT.contains(&name.as_str()) => {
                setting.insert(name, a.saturating_add(b).to_string());
            }
            _ if one == two => {}
            _ => return Err(differ((first, other), &format!("the setting `{name}`"), one, two)),
        }
    }
    Ok(())
}

fn each_once(parts: &[Part]) -> Result<(), MergeError> {
    for pair in parts.windows(2) {
        if shard(&pair[0]) == shard(&pair[1]) {
            let places = (pair[0].place.clone(), pair[1].place.clone());
            return Err(MergeError::Twice { shard: shard(&pair[0]), places });
        }
    }
    let of = shard(&parts[0]).of;
    let there = |index: &u32| parts.iter().any(|part| shard(part).index == *index);
    let missing: Vec<u64> = (0..of).filter(|index| !there(index)).map(u64::from).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(MergeError::Missing { of, missing: ranges(&missing) })
    }
}
