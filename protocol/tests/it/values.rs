//! Values on their way out.

use lingua_protocol::{
    CloseCode, JobId, Json, Language, MaxJobs, Note, Real, RefusedUtterance, ServiceType,
    ShortText, Text, ToSession,
};

#[test]
fn what_is_not_sent_is_told() {
    assert_eq!(
        JobId::new("a:b\u{7}").unwrap_err().to_string(),
        "`a:b\\u{7}` is not sent: use 1 to 128 ASCII letters, digits, `.`, `_` or `-`"
    );
    assert_eq!(
        MaxJobs::new(0).unwrap_err().to_string(),
        "`0` is not sent: use an integer from 1 to 1024"
    );
    assert!(Json::new("[1").is_err());
    assert!(Language::new(&"x".repeat(36)).is_err());
    assert_eq!(Real::new(f64::NAN), None);
    assert_eq!(Real::new(f64::INFINITY), None);
}

#[test]
fn a_text_is_cut_between_characters() {
    assert_eq!(&*Text::<4>::cut("ab你好"), "ab");
    assert_eq!(&*Text::<5>::cut("ab你好"), "ab你");
    assert_eq!(&*ShortText::cut("short"), "short");
    assert_eq!(Note::cut(&"n".repeat(5_000)).len(), 4_096);
}

#[test]
fn details_come_back() {
    let refused = RefusedUtterance { utterance_index: 4, retryable: true, session_id: None };
    let details = Json::of(&refused).unwrap();
    assert_eq!(details.as_str(), r#"{"utterance_index":4,"retryable":true}"#);
    let frame = r#"{"type":"error","code":"NO_AVAILABLE_NODE","message":"m","details":{"retryable":true,"utterance_index":4}}"#;
    let ToSession::Error(error) = ToSession::parse(frame).unwrap() else {
        panic!("another message");
    };
    assert_eq!(error.details.unwrap().read(), Some(refused));
}

#[test]
fn close_codes_come_back() {
    for code in CloseCode::ALL {
        assert_eq!(CloseCode::from_code(code.code()), Some(code));
    }
    assert_eq!(CloseCode::from_code(1006), None);
}

#[test]
fn names_come_back() {
    for service in ServiceType::ALL {
        let text = format!("\"{service}\"");
        assert_eq!(serde_json::from_str::<ServiceType>(&text).unwrap(), *service);
    }
}
