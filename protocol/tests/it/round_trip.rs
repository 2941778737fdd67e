//! What is read, written and read again is the same, whichever optional fields stand.

use lingua_protocol::{
    AudioChunk, Base64, FromNode, FromSession, JobId, NodeAsrPartial, NodeId, SessionId, TraceId,
    Transcript,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::each_direction;

/// What happens to one optional field.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Kept,
    Absent,
    Null,
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    prop::collection::vec(prop::sample::select(vec![Fate::Kept, Fate::Absent, Fate::Null]), 32)
}

fn object(frame: &str) -> Map<String, Value> {
    serde_json::from_str(frame).unwrap()
}

proptest! {
    #[test]
    fn any_choice_of_optional_fields_is_a_message(fates in fates(), unknown in ".{0,20}") {
        each_direction!(|Direction, frames| {
            for frame in frames {
                let required = object(frame.smallest);
                let mut absent = object(frame.full);
                let mut null = absent.clone();
                let optional: Vec<_> =
                    absent.keys().filter(|key| !required.contains_key(*key)).cloned().collect();
                for (key, fate) in optional.iter().zip(&fates) {
                    match fate {
                        Fate::Kept => {}
                        Fate::Absent => drop((absent.shift_remove(key), null.shift_remove(key))),
                        Fate::Null => {
                            absent.shift_remove(key);
                            null.insert(key.clone(), Value::Null);
                        }
                    }
                }
                null.insert(format!("~{unknown}"), json!({"type": [unknown]}));
                let (absent, null) = (Value::from(absent).to_string(), Value::from(null).to_string());
                let message = Direction::parse(&null).map_err(|e| TestCaseError::fail(e.to_string()))?;
                let mut written = Vec::new();
                message.to_json(&mut written);
                prop_assert_eq!(std::str::from_utf8(&written).unwrap(), absent);
                prop_assert_eq!(&Direction::parse(&written).unwrap(), &message);
            }
        });
    }

    #[test]
    fn chunks_come_back(
        session in "[A-Za-z0-9._-]{1,128}",
        seq: u64,
        is_final: bool,
        bytes: Option<Vec<u8>>,
        client_timestamp_ms: Option<i64>,
    ) {
        let payload = bytes.as_deref().map(Base64::encode);
        let session_id = SessionId::new(&session).unwrap();
        let chunk = AudioChunk { session_id, seq, is_final, payload, client_timestamp_ms };
        let message = FromSession::from(chunk);
        let mut written = Vec::new();
        message.to_json(&mut written);
        prop_assert_eq!(FromSession::parse(&written), Ok(message));
    }

    #[test]
    fn texts_come_back(text: String, trace in "[!-~]{1,128}", utterance_index: u64) {
        let message = FromNode::from(NodeAsrPartial {
            job_id: JobId::new("j").unwrap(),
            node_id: NodeId::new("n").unwrap(),
            session_id: SessionId::new("s").unwrap(),
            utterance_index,
            text: Transcript::cut(&text),
            is_final: false,
            trace_id: TraceId::new(&trace).unwrap(),
        });
        let mut written = Vec::new();
        message.to_json(&mut written);
        prop_assert_eq!(FromNode::parse(&written), Ok(message));
    }
}
