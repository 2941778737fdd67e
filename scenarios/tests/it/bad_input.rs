//! Bad input: one clear message with place and mend, never a panic.

use std::path::Path;

use lingua_scenarios::{Calls, Scenario, import};
use proptest::prelude::*;

/// A scenario that is fine, to be spoilt.
const FINE: &str = r#"title = "fine"
duration = "10s"
warmup = "1s"

[scheduler]
sample = 3

[[nodes]]
count = 2
asr = ["zh"]
tts = ["en"]
max_jobs = 2

[[arrivals]]
pair = "zh:en"
rate = "5/s"

[[faults]]
kind = "reply-loss"
at = "2s"
for = "2s"
probability = 0.5
"#;

fn spoil(from: &str, to: &str) -> String {
    let text = FINE.replacen(from, to, 1);
    assert_ne!(text, FINE, "nothing was spoilt");
    let error = text.parse::<Scenario>().expect_err("bad input was taken");
    error.to_string()
}

#[test]
fn each_bad_value_is_answered_with_place_and_mend() {
    for (from, to, line, words) in [
        ("sample = 3", "sampel = 3", 6, "did you mean `sample`"),
        ("sample = 3", "sample = 0", 6, "1 to 16 are allowed"),
        ("sample = 3", "sample = -1", 6, "1 to 16 are allowed"),
        ("\"10s\"", "\"10 parsecs\"", 2, "such as 10s"),
        ("\"10s\"", "10", 2, "write a number and a unit"),
        ("\"10s\"", "\"0s\"", 2, "zero is not allowed"),
        ("count = 2", "count = -2", 9, "0 to 1000000 are allowed"),
        ("count = 2", "count = 0", 9, "at least 1"),
        ("max_jobs = 2", "max_jobs = 0", 12, "1 to 1024"),
        ("max_jobs = 2", "max_jobs = 1025", 12, "1 to 1024"),
        ("[\"zh\"]", "[]", 10, "name at least one"),
        ("[\"zh\"]", "[\"z h\"]", 10, "no language tag"),
        ("\"5/s\"", "\"5\"", 16, "such as 200/s"),
        ("\"5/s\"", "\"nan/s\"", 16, "out of range"),
        ("\"5/s\"", "\"-5/s\"", 16, "out of range"),
        ("\"zh:en\"", "\"zh-en\"", 15, "such as zh:en"),
        ("probability = 0.5", "probability = 1.5", 22, "0 to 1 are allowed"),
        ("probability = 0.5", "probability = nan", 22, "0 to 1 are allowed"),
        ("\"reply-loss\"", "\"reply-los\"", 19, "did you mean `reply-loss`"),
        ("\"1s\"", "\"11s\"", 3, "leaves nothing"),
        ("at = \"2s\"", "at = \"20s\"", 20, "after the end"),
        ("rate =", "load = 0.5\nrate =", 14, "exactly one of"),
    ] {
        let message = spoil(from, to);
        let place = format!("scenario:{line}:");
        assert!(message.contains(&place), "{to}: {message}");
        assert!(message.contains(words), "{to}: {message}");
        assert!(message.starts_with("error: "), "{message}");
    }
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let text = FINE.replace("max_jobs = 2", "max_jobs = 0").replace("sample = 3", "sample = 99");
    let message = text.parse::<Scenario>().expect_err("bad input was taken").to_string();
    assert_eq!(message.matches("error: ").count(), 2, "{message}");
}

#[test]
fn overlapping_faults_are_told() {
    let again =
        "\n[[faults]]\nkind = \"reply-loss\"\nat = \"3s\"\nfor = \"2s\"\nprobability = 0.1\n";
    let message = format!("{FINE}{again}").parse::<Scenario>().expect_err("taken").to_string();
    assert!(message.contains("overlaps faults.0"), "{message}");
}

#[test]
fn files_that_cannot_be_read_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let load = |path: &Path| Scenario::load(path, &[]).expect_err("taken").to_string();
    std::fs::write(dir.path().join("nodes.toml"), FINE).unwrap();
    let missing = load(&dir.path().join("node.toml"));
    assert!(missing.contains("no such file") && missing.contains("nodes.toml"), "{missing}");
    assert!(load(dir.path()).contains("is a folder"));
    let large = dir.path().join("large.toml");
    std::fs::File::create(&large).unwrap().set_len(100 << 20).unwrap();
    assert!(load(&large).contains("at most 1048576"));
    let binary = dir.path().join("binary.toml");
    std::fs::write(&binary, [0xff, 0xfe, 0x00]).unwrap();
    assert!(load(&binary).contains("UTF-8"));
}

#[test]
fn a_bad_override_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fine.toml");
    std::fs::write(&path, FINE).unwrap();
    for (change, words) in [
        ("scheduler.sampel=3", "did you mean `sample`"),
        ("nodes.7.count=3", "index 7 is too large"),
        ("nodes.x.count=3", "no index"),
        ("seed", "write path=value"),
        ("title.x=1", "plain value"),
    ] {
        let error = Scenario::load(&path, &[change.to_owned()]).expect_err(change).to_string();
        assert!(error.contains(words), "{change}: {error}");
    }
}

#[test]
fn a_broken_line_of_a_csv_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("calls.csv");
    let calls = |rows: &str| {
        std::fs::write(&path, format!("time,session,src,tgt,speech_ms,manual\n{rows}")).unwrap();
        let mut calls = Calls::open(&path).unwrap();
        calls.find_map(Result::err).expect("taken").to_string()
    };
    for (rows, line, words) in [
        ("1,s,zh,en,1000,1\nx,s,zh,en,1000,1\n", 3, "time is `x`"),
        ("2,s,zh,en,1000,1\n1,s,zh,en,1000,1\n", 3, "sort the file"),
        ("1,s,zh,en,-5,1\n", 2, "speech_ms is `-5`"),
        ("1,s,zh,e n,5,1\n", 2, "tgt is `e n`"),
        ("1,s,zh,en,5,maybe\n", 2, "write 0 or 1"),
    ] {
        let message = calls(rows);
        assert!(message.contains(&format!("calls.csv:{line}: ")), "{message}");
        assert!(message.contains(words), "{message}");
    }
    let endless = format!("1,\"{}", "x".repeat(1 << 20));
    let message = calls(&endless);
    assert!(message.contains("is a quote left open?"), "{message}");
    std::fs::write(&path, "when,who\n").unwrap();
    let Err(error) = Calls::open(&path) else { panic!("taken") };
    assert!(error.to_string().contains("the first line must be"), "{error}");
}

#[test]
fn a_recorded_exchange_becomes_input() {
    let exchange = concat!(
        r#"{"t":1.0,"peer":"N","dir":"c2s","msg":{"type":"node_register","node_id":"n-1","#,
        r#""language_capabilities":{"asr_languages":["zh"],"semantic_languages":["zh"],"#,
        r#""tts_languages":["en"]}}}"#,
        "\n",
        r#"{"t":2.0,"peer":"S","dir":"c2s","msg":{"type":"session_init","src_lang":"zh","#,
        r#""tgt_lang":"en"}}"#,
        "\n",
        r#"{"t":2.1,"peer":"S","dir":"s2c","msg":{"type":"session_init_ack","session_id":"s-1"}}"#,
        "\n",
        r#"{"t":3.0,"peer":"S","dir":"c2s","msg":{"type":"audio_chunk","session_id":"s-1","#,
        r#""is_final":true,"payload":"AAAA"}}"#,
        "\nnot json\n",
        r#"{"t":3.2,"peer":"N","dir":"s2c","msg":{"type":"job_assign","job_id":"j"}}"#,
        "\n",
        r#"{"t":3.7,"peer":"N","dir":"c2s","msg":{"type":"job_result","job_id":"j"}}"#,
        "\n",
    );
    let imported = import(exchange.as_bytes()).unwrap();
    assert_eq!((imported.calls, imported.nodes, imported.passed_over), (1, 1, 1));
    assert!(imported.notes[0].starts_with("line 5: "), "{:?}", imported.notes);
    assert!(imported.calls_csv.contains("2.000,s-1,zh,en,0,1"), "{}", imported.calls_csv);
    assert!(imported.nodes_csv.contains("n-1,zh,zh,en,4,,500"), "{}", imported.nodes_csv);
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("calls.csv"), &imported.calls_csv).unwrap();
    std::fs::write(dir.path().join("nodes.csv"), &imported.nodes_csv).unwrap();
    let path = dir.path().join("scenario.toml");
    std::fs::write(&path, &imported.scenario_toml).unwrap();
    let loaded = Scenario::load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(loaded.scenario.nodes.len(), 1);
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,300}") {
        let _ = text.parse::<Scenario>();
    }

    #[test]
    fn no_spoilt_file_panics(at in 0usize..400, with in "\\PC{0,6}", drop in 0usize..8) {
        let at = at.min(FINE.len());
        let end = (at + drop).min(FINE.len());
        let text = format!("{}{with}{}", &FINE[..at], &FINE[end..]);
        let _ = text.parse::<Scenario>();
    }

    #[test]
    fn no_change_panics(path in "[a-z_.0-9]{0,30}", value in "\\PC{0,30}") {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("fine.toml");
        std::fs::write(&file, FINE).unwrap();
        let _ = Scenario::load(&file, &[format!("{path}={value}")]);
    }

    #[test]
    fn no_mixed_file_panics(lines in proptest::collection::vec((0usize..24, 0usize..24), 0..8)) {
        // Values under the wrong keys reach further than broken syntax.
        let mut text: Vec<String> = FINE.lines().map(str::to_owned).collect();
        for (to, from) in lines {
            let value = text[from % text.len()].split_once('=').map(|(_, value)| value.to_owned());
            let at = to % text.len();
            let key = text[at].split_once('=').map(|(key, _)| key.to_owned());
            if let (Some(key), Some(value)) = (key, value) {
                text[at] = format!("{key}={value}");
            }
        }
        let _ = text.join("\n").parse::<Scenario>();
    }

    #[test]
    fn no_exchange_panics(text in "\\PC{0,300}") {
        let _ = import(text.as_bytes());
    }
}
