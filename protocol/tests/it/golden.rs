//! What each frame is read as, and that it is written as it came.

use std::fmt::Write as _;

use crate::each_direction;

#[test]
fn every_type_of_every_direction_has_a_frame() {
    each_direction!(|Direction, frames| {
        let types: Vec<_> =
            frames.iter().map(|f| Direction::parse(f.full).unwrap().type_name()).collect();
        assert_eq!(types, Direction::TYPES);
    });
}

#[test]
fn every_frame_is_written_as_it_came() {
    let mut out = Vec::new();
    each_direction!(|Direction, frames| {
        for frame in frames.iter().flat_map(|f| [f.smallest, f.full]) {
            out.clear();
            Direction::parse(frame).unwrap().to_json(&mut out);
            assert_eq!(std::str::from_utf8(&out).unwrap(), frame);
        }
    });
}

#[test]
fn frames_are_read_as() {
    let mut text = String::new();
    each_direction!(|Direction, frames| {
        for frame in frames {
            writeln!(text, "{:?}", Direction::parse(frame.full).unwrap()).unwrap();
        }
    });
    insta::assert_snapshot!(text);
}

#[test]
fn a_message_of_the_other_direction_is_ignored_on_the_session_socket() {
    use lingua_protocol::FromSession;
    let frame = r#"{"type":"ui_event","anything":[1]}"#;
    let message = FromSession::parse(frame).unwrap();
    assert_eq!(message, FromSession::Ignored("ui_event"));
    let mut out = Vec::new();
    message.to_json(&mut out);
    assert_eq!(out, br#"{"type":"ui_event"}"#);
    assert!(FromSession::parse(r#"{"type":"ui_event","anything":[1}"#).is_err());
}

#[test]
fn the_type_may_stand_anywhere_and_be_escaped() {
    use lingua_protocol::FromSession;
    let plain = FromSession::parse(r#"{"type":"room_leave","room_code":"1"}"#).unwrap();
    for frame in [
        r#"{"room_code":"1","type":"room_leave"}"#,
        " \r\n{ \"type\" : \"room_leave\" ,\t\"room_code\":\"1\" } ",
        r#"{"type":"room\u005fleave","room_code":"1"}"#,
        r#"{"typ\u0065":"room_leave","room_code":"1"}"#,
        r#"{"x":{"type":"bogus"},"type":"room_leave","room_code":"1","later":{"type":3}}"#,
    ] {
        assert_eq!(FromSession::parse(frame).unwrap(), plain, "{frame}");
        assert_eq!(FromSession::parse(frame.as_bytes()).unwrap(), plain, "{frame}");
    }
}
