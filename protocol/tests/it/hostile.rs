//! Frames of bad will: none may panic, and what is said about them is short.

use lingua_protocol::limits::FRAME_BYTES;
use lingua_protocol::{FrameError, FromNode, FromSession, ToNode, ToSession};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{each_direction, frames};

/// Longest error: the names of a socket's messages and two values of 64 escaped characters.
const ERROR_BYTES: usize = 2_000;

/// Feeds a frame to all four parsers.
fn feed(frame: &[u8]) {
    let results = [
        FromNode::parse(frame).map(drop),
        ToNode::parse(frame).map(drop),
        FromSession::parse(frame).map(drop),
        ToSession::parse(frame).map(drop),
    ];
    for error in results.into_iter().filter_map(Result::err) {
        let text = error.to_string();
        assert!(text.len() <= ERROR_BYTES, "{} bytes: {text}", text.len());
        assert!(!text.contains(char::is_control), "{text:?}");
    }
}

/// Every place of a value, as the way to it.
fn places(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), value)];
    while let Some((at, value)) = open.pop() {
        match value {
            Value::Object(fields) => {
                open.extend(fields.iter().map(|(key, value)| (format!("{at}/{key}"), value)));
            }
            Value::Array(entries) => open
                .extend(entries.iter().enumerate().map(|(i, value)| (format!("{at}/{i}"), value))),
            _ => {}
        }
        found.push(at);
    }
    found
}

fn anything() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([[], {"": "\u{0}"}])),
        Just(Value::from("😀\u{0}:{x}\u{202e}".repeat(200))),
    ]
}

proptest! {
    #[test]
    fn any_bytes(frame: Vec<u8>) {
        feed(&frame);
    }

    #[test]
    fn any_text(frame: String) {
        feed(frame.as_bytes());
    }

    #[test]
    fn any_text_after_a_known_type(
        name in prop::sample::select([FromNode::TYPES, FromSession::TYPES].concat()),
        rest: String,
    ) {
        feed(format!("{{\"type\":\"{name}\",{rest}}}").as_bytes());
    }

    #[test]
    fn a_frame_with_one_value_replaced(pick: prop::sample::Index, at: prop::sample::Index, value in anything()) {
        each_direction!(|Direction, frames| {
            let mut frame: Value = serde_json::from_str(frames[pick.index(frames.len())].full).unwrap();
            let places = places(&frame);
            *frame.pointer_mut(&places[at.index(places.len())]).unwrap() = value.clone();
            let frame = frame.to_string();
            feed(frame.as_bytes());
            if let Ok(message) = Direction::parse(&frame) {
                let mut written = Vec::new();
                message.to_json(&mut written);
                prop_assert_eq!(Direction::parse(&written), Ok(message));
            }
        });
    }

    #[test]
    fn a_frame_with_bytes_replaced_and_cut(pick: prop::sample::Index, at: prop::sample::Index, byte: u8, end: prop::sample::Index) {
        each_direction!(|Direction, frames| {
            let mut frame = frames[pick.index(frames.len())].full.as_bytes().to_vec();
            let at = at.index(frame.len());
            frame[at] = byte;
            let _ = Direction::parse(&frame);
            frame.truncate(end.index(frame.len()));
            prop_assert!(Direction::parse(&frame).is_err());
        });
    }
}

#[test]
fn a_frame_that_is_too_long_is_not_read() {
    let frame = vec![b'['; 20 << 20];
    assert_eq!(
        FromNode::parse(&frame),
        Err(FrameError::TooLong { bytes: 20 << 20, max: FRAME_BYTES })
    );
}

#[test]
fn depth_does_not_grow_the_stack() {
    let deep = "[".repeat(1 << 20);
    let closed = format!("{deep}{}", "]".repeat(1 << 20));
    let within = |value: &str| format!(r#"{{"type":"room_leave","room_code":"1","x":{value}}}"#);
    assert!(FromSession::parse(&within(&closed)).is_ok());
    assert!(matches!(FromSession::parse(&within(&deep)), Err(FrameError::NotJson { .. })));
    assert!(matches!(FromSession::parse(&closed), Err(FrameError::NotObject { .. })));
    feed(deep.as_bytes());
    feed(format!(r#"{{"x":{closed},"type":"room_leave","room_code":"1"}}"#).as_bytes());
    feed(
        format!(r#"{{"type":"webrtc_ice","room_code":"1","to":"s","candidate":{closed}}}"#)
            .as_bytes(),
    );
    feed(format!(r#"{{"type":"room_leave","room_code":{closed}}}"#).as_bytes());
    let objects = format!("{}1{}", r#"{"room_code":"#.repeat(1 << 18), "}".repeat(1 << 18));
    feed(format!(r#"{{"type":"room_leave","room_code":{objects}}}"#).as_bytes());
}

#[test]
fn a_megabyte_in_any_place_is_said_shortly() {
    let long = Value::from("\u{1}".repeat(1 << 17));
    let frames = [frames::FROM_NODE, frames::TO_NODE, frames::FROM_SESSION, frames::TO_SESSION];
    for frame in frames.concat() {
        let frame: Value = serde_json::from_str(frame.full).unwrap();
        for place in places(&frame) {
            let mut frame = frame.clone();
            *frame.pointer_mut(&place).unwrap() = long.clone();
            feed(frame.to_string().as_bytes());
        }
    }
}
