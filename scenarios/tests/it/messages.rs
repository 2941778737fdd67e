//! The exact words of the messages, for review: a message is part of the product.

use lingua_scenarios::Scenario;

const FILE: &str = r#"title = "fine"
duration = "10s"
warmup = "1s"

[scheduler]
sample = 3
policy = "sample-scan"

[[nodes]]
count = 2
asr = ["zh"]
tts = ["en"]
max_jobs = 2
service_time = { lognormal = { median = "1s", p99 = "3s" } }

[[sessions]]
count = 5
pair = "zh:en"
manual_cut = 0.5

[[arrivals]]
pair = "zh:en"
rate = [["0s", "5/s"], ["5s", "9/s"]]

[[faults]]
kind = "reply-loss"
at = "2s"
for = "2s"
probability = 0.5

[[expect]]
metric = "refused_ratio"
max = 0.5

[capacity]
nodes = [2, 4]
search = { path = "arrivals.0.rate", from = 1, to = 9 }

[variants]
other = { "scheduler.sample" = 5, scheduler = { policy = "power-of-d" } }
"#;

/// Each is one spoilt piece of the file: what stands there, and what is put there.
const SPOILT: &[(&str, &str)] = &[
    ("sample = 3", "sampel = 3"),
    ("sample = 3", "colour = 3"),
    ("sample = 3", "sample = 17"),
    ("sample = 3", "sample = 3.5"),
    ("sample = 3", "sample = \"3\""),
    ("sample = 3", "sample = 3\nsample = 4"),
    ("\"sample-scan\"", "\"sample-scam\""),
    ("\"sample-scan\"", "\"best\""),
    ("\"sample-scan\"", "1"),
    ("[[nodes]]", "[nodes]"),
    ("[[nodes]]", "[[nodes]"),
    ("\"10s\"", "\"10\""),
    ("\"10s\"", "10"),
    ("\"10s\"", "\"10sec\""),
    ("\"10s\"", "\"-10s\""),
    ("\"1s\"\n", "\"10s\"\n"),
    ("count = 2", "count = 0"),
    ("count = 2", "count = 2000000"),
    ("asr = [\"zh\"]", "asr = []"),
    ("asr = [\"zh\"]", "asr = [\"zh\", 7]"),
    ("asr = [\"zh\"]", "asr = [\"中文\"]"),
    ("max_jobs = 2", "max_jobs = 0"),
    ("p99 = \"3s\"", "p99 = \"3\""),
    ("p99 = \"3s\"", "p95 = \"3s\""),
    ("p99 = \"3s\"", "p99 = \"0.5s\""),
    ("lognormal =", "lognormall ="),
    ("{ lognormal = { median = \"1s\", p99 = \"3s\" } }", "\"0s\""),
    ("manual_cut = 0.5", "manual_cut = 1.5"),
    ("manual_cut = 0.5", "manual_cut = nan"),
    ("manual_cut = 0.5", "zipf = 1"),
    ("count = 5", "count = 5\nrate = \"1/s\""),
    ("\"5/s\"", "\"5\""),
    ("\"5/s\"", "\"inf/s\""),
    ("\"5/s\"", "-1"),
    ("[\"5s\", \"9/s\"]", "[\"0s\", \"9/s\"]"),
    ("[[\"0s\", \"5/s\"], [\"5s\", \"9/s\"]]", "1\nload = 0.5"),
    ("\"reply-loss\"", "\"slow-node\""),
    ("\"reply-loss\"", "\"store-failover\""),
    ("kind = \"reply-loss\"\n", ""),
    ("probability = 0.5", "probability = -0.5"),
    ("probability = 0.5", "probability = 0.5\ninstance = 3"),
    ("probability = 0.5", "probability = 0.5\nnodes = 9"),
    ("at = \"2s\"", "at = \"20s\""),
    ("\"refused_ratio\"", "\"refused ratio\""),
    ("max = 0.5", "min = 0.7\nmax = 0.5"),
    ("\"arrivals.0.rate\"", "\"arrivals.0.rat\""),
    ("from = 1", "from = 9"),
    ("\"scheduler.sample\" = 5", "\"scheduler.sampel\" = 5"),
    ("policy = \"power-of-d\" }", "policy = \"power\" }"),
];

#[test]
fn each_message_names_place_value_and_mend() {
    FILE.parse::<Scenario>().unwrap_or_else(|error| panic!("{error}"));
    let mut all = String::new();
    for (from, to) in SPOILT {
        let text = FILE.replacen(from, to, 1);
        assert_ne!(text, FILE, "nothing was spoilt: {from}");
        let error = text.parse::<Scenario>().expect_err(to).to_string();
        all.push_str(&format!("{from:?} -> {to:?}\n{error}\n\n"));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_message_about_a_change_names_the_change() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fine.toml");
    std::fs::write(&path, FILE).unwrap();
    let mut all = String::new();
    for change in [
        "scheduler.sampel=3",
        "schedular.sample=3",
        "nodes.0.max_jobs=0",
        "nodes.0.service_time.lognormal.p99=fast",
        "nodes.3.count=1",
        "duration=10",
        "scheduler.policy=best",
        "title",
        "..=1",
    ] {
        let error = Scenario::load(&path, &[change.to_owned()]).expect_err(change).to_string();
        all.push_str(&format!("{error}\n"));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_variant_changes_single_keys_of_a_section() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fine.toml");
    std::fs::write(&path, FILE).unwrap();
    let loaded = Scenario::load(&path, &["scheduler.shard_size=7".to_owned()]).unwrap();
    let variants = loaded.variants().unwrap();
    let scheduler = &variants[0].1.scenario.scheduler;
    assert_eq!((scheduler.sample, scheduler.shard_size), (5, 7));
    assert_eq!(scheduler.policy, lingua_scenarios::Policy::PowerOfD);
}
