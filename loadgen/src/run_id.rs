//! Which run a chunk of audio belongs to.

use std::time::SystemTime;

use lingua_scenarios::Loaded;
use lingua_scenarios::streams::mix;

use crate::Options;
use crate::clock::since_1970;

/// The number of a run. All shards of one reckon the same, since any node may get the job of any
/// shard's session; a run that is whole and has no name takes one that no other has by chance.
pub(crate) fn of(loaded: &Loaded, options: &Options) -> u32 {
    if !options.shard.is_part() && options.run_id.is_none() {
        let parts = [since_1970(SystemTime::now()), std::process::id().into()];
        return parts.into_iter().fold(0, add) as u32;
    }
    let numbers = [
        loaded.scenario.seed,
        options.shard.count().into(),
        options.start_at.map_or(0, since_1970),
    ];
    let name = options.run_id.as_deref().unwrap_or_default();
    let bytes = loaded.sha256.bytes().chain(name.bytes()).map(u64::from);
    bytes.chain(numbers).fold(0, add) as u32
}

fn add(sum: u64, part: u64) -> u64 {
    mix(sum.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ part.wrapping_add(1))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::Target;

    const SCENARIO: &str = r#"
duration = "1s"
warmup = "0s"
[[nodes]]
asr = ["zh"]
tts = ["en"]
[[arrivals]]
pair = "zh:en"
rate = "1/s"
"#;

    fn run(seed: u64, change: impl Fn(&mut Options)) -> u32 {
        let loaded: Loaded = format!("seed = {seed}{SCENARIO}").parse().unwrap();
        let mut options = Options::new(Target::Running("ws://127.0.0.1:1".into()));
        change(&mut options);
        of(&loaded, &options)
    }

    #[test]
    fn shards_of_one_run_have_one_number_and_other_runs_have_others() {
        let shard = |text: &str| {
            let shard = text.parse().unwrap();
            move |options: &mut Options| options.shard = shard
        };
        let first = run(1, shard("0/2"));
        assert_eq!(first, run(1, shard("1/2")));
        let others = [
            run(2, shard("0/2")),
            run(1, shard("0/3")),
            run(1, |options| {
                shard("0/2")(options);
                options.run_id = Some("b".into());
            }),
            run(1, |options| {
                shard("0/2")(options);
                options.start_at = Some(UNIX_EPOCH + Duration::from_secs(1_900_000_000));
            }),
            run(1, |_| {}),
            run(1, |_| {}),
        ];
        for (at, other) in others.iter().enumerate() {
            assert!(*other != first && !others[at + 1..].contains(other), "{at}: {others:x?}");
        }
    }
}
