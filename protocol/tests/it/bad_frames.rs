//! Bad frames and exactly what is said about them.

use lingua_protocol::{FromNode, FromSession, ToSession};

fn register(max_jobs: &str) -> String {
    format!(
        r#"{{"type":"node_register","version":"1","platform":"p","hardware":{{"cpu_cores":1,"memory_gb":1}},"installed_models":[],"capability_by_type":[],"features_supported":{{}},"accept_public_jobs":true,"max_jobs":{max_jobs}}}"#
    )
}

fn node(frame: &str) -> String {
    FromNode::parse(frame).unwrap_err().to_string()
}

fn session(frame: &str) -> String {
    FromSession::parse(frame).unwrap_err().to_string()
}

#[test]
fn max_jobs_is_an_integer_from_1_to_1024() {
    for good in ["1", "1024", "null"] {
        FromNode::parse(&register(good)).unwrap();
    }
    for bad in [
        "-1",
        "0",
        "1025",
        "2.5",
        "4.0",
        "\"4\"",
        "1e9",
        "true",
        "[4]",
        "{}",
        "99999999999999999999",
    ] {
        assert_eq!(
            node(&register(bad)),
            format!("`node_register.max_jobs` is `{bad}`: send an integer from 1 to 1024")
        );
    }
}

#[test]
fn ids_hold_few_characters() {
    let leave = |code: &str| format!(r#"{{"type":"room_leave","room_code":{code}}}"#);
    let rule = "send 1 to 128 ASCII letters, digits, `.`, `_` or `-`";
    for good in ["\"123456\"", "\"a.b_c-D\"", &format!("\"{}\"", "x".repeat(128))] {
        FromSession::parse(&leave(good)).unwrap();
    }
    for bad in [
        "\"\"",
        "\":\"",
        "\"{x}\"",
        "\"😀\"",
        "\"a b\"",
        "\"a\\nb\"",
        "\"\\u0000\"",
        "7",
        "null",
        "[]",
    ] {
        assert_eq!(session(&leave(bad)), format!("`room_leave.room_code` is `{bad}`: {rule}"));
    }
    let long = "y".repeat(1 << 20);
    let start = "y".repeat(63);
    assert_eq!(
        session(&leave(&format!("\"{long}\""))),
        format!("`room_leave.room_code` is `\"{start}…`: {rule}")
    );
}

#[test]
fn each_fault_is_told_with_its_place() {
    let mut text = String::new();
    let mut add = |frame: &str, error: String| text += &format!("{frame}\n  {error}\n");
    for frame in [
        "",
        "{",
        "nul",
        "[1,2]",
        "\"session_init\"",
        "{}",
        r#"{"type":null}"#,
        r#"{"type":7}"#,
        r#"{"type":"bo\u0000gus"}"#,
        r#"{"a":1,"type":"x","type":"y"}"#,
        r#"{"type":"room_leave"}"#,
        r#"{"type":"room_leave","room_code":"1",}"#,
        r#"{"type":"room_leave","room_code":"1"} {}"#,
        r#"{"type":"room_leave","room_code":"1","room_code":"2"}"#,
        r#"{"type":"audio_chunk","session_id":"s","seq":-1,"is_final":true}"#,
        r#"{"type":"audio_chunk","session_id":"s","seq":1,"is_final":"yes"}"#,
        r#"{"type":"audio_chunk","session_id":"s","seq":1,"is_final":true,"payload":[1]}"#,
        r#"{"type":"session_init","client_version":"1","platform":"web","src_lang":"a, expected b","tgt_lang":"en"}"#,
        r#"{"type":"session_init","client_version":"1","platform":"web","src_lang":"zh","tgt_lang":"en","features":[]}"#,
        r#"{"type":"session_init","client_version":"1","platform":"web","src_lang":"zh","tgt_lang":"en","auto_langs":["zh","e:n"]}"#,
        r#"{"type":"utterance","session_id":"s","utterance_index":0,"manual_cut":true,"src_lang":"zh","tgt_lang":"en","audio":"","audio_format":"pcm16","sample_rate":0}"#,
        r#"{"type":"utterance","session_id":"s","utterance_index":0,"manual_cut":true,"src_lang":"zh","tgt_lang":"en","audio":"","audio_format":"pcm16","sample_rate":16000,"pipeline":{"use_asr":true}}"#,
    ] {
        add(frame, session(frame));
    }
    for frame in [
        r#"{"type":"node_register","version":"1","platform":"p","hardware":{"cpu_cores":1,"memory_gb":15.6}}"#,
        r#"{"type":"node_register","version":"1","platform":"p","hardware":{"cpu_cores":1,"memory_gb":1},"installed_models":[],"installed_services":[{"service_id":"a","type":"asr","device":"cuda","status":"running"}]}"#,
        r#"{"type":"node_register","version":"1","platform":"p","hardware":{"cpu_cores":1,"memory_gb":1},"installed_models":[],"capability_by_type":[{"type":"vad","ready":true}]}"#,
        r#"{"type":"node_register","version":"1","platform":"p","hardware":7}"#,
        r#"{"type":"node_heartbeat","node_id":"n","timestamp":1,"resource_usage":{"cpu_percent":1e300,"mem_percent":1,"running_jobs":0}}"#,
        r#"{"type":"node_heartbeat","node_id":"n","timestamp":1.5}"#,
        r#"{"type":"node_heartbeat","node_id":"n","timestamp":1,"resource_usage":{"cpu_percent":1}}"#,
        r#"{"type":"job_ack","job_id":"j","attempt_id":4294967296}"#,
        r#"{"type":"job_result","job_id":"j","attempt_id":1,"node_id":"n","session_id":"s","utterance_index":0,"success":true,"trace_id":"t","extra":{"language_probabilities":{"zh":"high"}}}"#,
        r#"{"type":"session_init"}"#,
    ] {
        add(frame, node(frame));
    }
    let frame = r#"{"type":"backpressure","action":"STOP"}"#;
    add(frame, ToSession::parse(frame).unwrap_err().to_string());
    insta::assert_snapshot!(text);
}

#[test]
fn bytes_that_are_no_text_are_named() {
    assert_eq!(
        FromNode::parse(b"{\"type\":\"\xff\"}").unwrap_err().to_string(),
        "the frame is not UTF-8 from byte 9 on: send JSON as UTF-8 text"
    );
}

#[test]
fn lists_and_handed_on_json_have_an_end() {
    let init = |langs: usize| {
        let list = vec!["\"en\""; langs].join(",");
        format!(
            r#"{{"type":"session_init","client_version":"1","platform":"web","src_lang":"zh","tgt_lang":"en","auto_langs":[{list}]}}"#
        )
    };
    FromSession::parse(&init(256)).unwrap();
    let error = session(&init(257));
    assert!(error.ends_with("send a list of at most 256 entries"), "{error}");

    let ice = |candidate: &str| {
        format!(r#"{{"type":"webrtc_ice","room_code":"1","to":"s","candidate":{candidate}}}"#)
    };
    let nested = |depth: usize| ice(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
    let mend = "send JSON of at most 65536 bytes, nested at most 32 deep";
    FromSession::parse(&nested(32)).unwrap();
    assert!(session(&nested(33)).ends_with(mend));
    FromSession::parse(&ice(r#""[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"[[""#)).unwrap();
    FromSession::parse(&ice(&format!("\"{}\"", "x".repeat(65_534)))).unwrap();
    assert!(session(&ice(&format!("\"{}\"", "x".repeat(65_535)))).ends_with(mend));
}
