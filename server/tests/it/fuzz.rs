//! Frames that no honest peer sends.

use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

/// Ids that break a parser, a key or a log line.
pub(crate) const IDS: [&str; 8] = ["", ":", "{x}", "\u{1f389}", "\\u0000", "a b", "../x", "%s%n"];

/// Values that are no count of jobs.
pub(crate) const COUNTS: [&str; 7] = ["-1", "0", "2.5", "\"4\"", "1e9", "1025", "[]"];

/// Texts that are no message of either socket.
pub(crate) const NONSENSE: [&str; 14] = [
    "",
    " ",
    "{",
    "null",
    "[]",
    "\"x\"",
    "1e999",
    "{\"type\":1}",
    "{\"type\":\"\"}",
    "{\"type\":\"nobody_knows\"}",
    "{\"type\":\"session_init\"}",
    "{\"type\":\"audio_chunk\",\"session_id\":7,\"seq\":-1,\"is_final\":\"no\"}",
    "{\"type\":\"job_result\",\"job_id\":{},\"attempt_id\":null}",
    "{\"type\":\"node_heartbeat\",\"resource_usage\":[[[[]]]]}",
];

/// Deep nesting in a field that is handed on unread.
pub(crate) fn nested(depth: usize) -> String {
    let (open, close) = ("[".repeat(depth), "]".repeat(depth));
    format!(r#"{{"type":"webrtc_ice","room_code":"1","to":"x","candidate":{open}{close}}}"#)
}

/// The same frames for the same seed.
pub(crate) struct Fuzz(u64);

impl Fuzz {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % n
    }

    /// A frame: nonsense, or one of the honest ones with something wrong.
    pub(crate) fn frame(&mut self, honest: &[String]) -> Message {
        let frame = honest[self.below(honest.len())].clone();
        match self.below(16) {
            0 => Message::text(NONSENSE[self.below(NONSENSE.len())]),
            1 => Message::text(nested(1 + self.below(2_000))),
            2 => Message::binary(frame.into_bytes()),
            3 => Message::Ping(frame.into_bytes().into_iter().take(100).collect::<Vec<_>>().into()),
            4 => Message::text(frame[..self.cut(&frame)].to_owned()),
            5 => Message::text(frame.replace(':', ":\"x\",:")),
            6 => Message::text(frame.replace("\":\"", "\":\"\\u0000")),
            7 => {
                let id = IDS[self.below(IDS.len())];
                Message::text(frame.replace("-1\"", &format!("{id}\"")))
            }
            8 => Message::text(format!("{}{frame}", "[".repeat(self.below(3_000)))),
            9 => Message::text(frame.replace("\"type\"", &format!("\"{}\"", "y".repeat(50_000)))),
            _ => {
                let mut bytes = frame.into_bytes();
                for _ in 0..=self.below(6) {
                    let at = self.below(bytes.len());
                    bytes[at] = 0x20 + self.below(0x5f) as u8;
                }
                Message::text(String::from_utf8_lossy(&bytes).into_owned())
            }
        }
    }

    fn cut(&mut self, text: &str) -> usize {
        let at = self.below(text.len());
        text.floor_char_boundary(at)
    }
}

/// A text frame whose bytes are no text.
pub(crate) fn no_text() -> Message {
    let bytes = vec![b'{', 0xff, 0xfe, 0xc3, 0x28, b'}'];
    Message::Frame(Frame::message(bytes, OpCode::Data(Data::Text), true))
}

/// What honest clients and nodes send.
pub(crate) fn honest() -> [Vec<String>; 2] {
    let clients = [
        r#"{"type":"session_init","client_version":"t","platform":"web","src_lang":"qaa",
        "tgt_lang":"qab","trace_id":"t-1"}"#,
        r#"{"type":"audio_chunk","session_id":"s-1","seq":0,"is_final":true,"payload":"AAAA"}"#,
        r#"{"type":"utterance","session_id":"s-1","utterance_index":0,"manual_cut":true,
        "src_lang":"qaa","tgt_lang":"qab","audio":"AAAA","audio_format":"pcm16",
        "sample_rate":16000}"#,
        r#"{"type":"client_heartbeat","session_id":"s-1","timestamp":0,"extra":"a long one here"}"#,
        r#"{"type":"room_join","room_code":"123456","display_name":"x","preferred_lang":"qab-1"}"#,
        r#"{"type":"webrtc_offer","room_code":"123456","to":"s-1","sdp":{"a":[1,2,{"b":null}]}}"#,
        r#"{"type":"tts_play_ended","session_id":"s-1","trace_id":"t-1","group_id":"g-1",
        "ts_end_ms":1}"#,
    ];
    let nodes = [
        r#"{"type":"node_register","node_id":"fuzz-1","version":"2.0.0","platform":"linux",
        "hardware":{"cpu_cores":4,"memory_gb":16},"installed_models":[],"capability_by_type":[],
        "features_supported":{},"accept_public_jobs":true,"max_jobs":4,"language_capabilities":
        {"asr_languages":["qaa"],"semantic_languages":["qaa"],"tts_languages":["qab"]}}"#,
        r#"{"type":"node_heartbeat","node_id":"fuzz-1","timestamp":0,"resource_usage":
        {"cpu_percent":1,"mem_percent":1,"running_jobs":0},"installed_services":[],
        "capability_by_type":[]}"#,
        r#"{"type":"job_result","job_id":"job-0-0-1","attempt_id":1,"node_id":"fuzz-1",
        "session_id":"s-1","utterance_index":0,"success":true,"text_asr":"x","trace_id":"t-1"}"#,
        r#"{"type":"job_ack","job_id":"job-0-0-1","attempt_id":1,"node_id":"fuzz-1",
        "session_id":"s-1","trace_id":"t-1"}"#,
    ];
    [clients.map(str::to_owned).to_vec(), nodes.map(str::to_owned).to_vec()]
}
