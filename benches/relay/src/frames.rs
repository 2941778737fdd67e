//! The frames of one job: the same for the server and for the relay, and parsed by neither side
//! here. Whoever reads one knows where in it a name stands.

use lingua_protocol::Base64;
use lingua_protocol::audio::push_opus_packet;

/// How the speech of one job is cut up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Row {
    /// Three seconds of Opus at 24 kbit/s in chunks of 100 ms: 9 kB
    Opus,
    /// Three seconds of PCM16 at 16 kHz in chunks of 100 ms: 96 kB
    Pcm16,
    /// One chunk of 20 ms of Opus
    Small,
}

impl Row {
    pub(crate) const ALL: [Self; 3] = [Self::Opus, Self::Pcm16, Self::Small];

    /// Chunks of one job.
    pub(crate) fn chunks(self) -> u32 {
        match self {
            Self::Opus | Self::Pcm16 => 30,
            Self::Small => 1,
        }
    }

    /// The audio of one chunk.
    fn audio(self) -> Vec<u8> {
        let packets = match self {
            Self::Pcm16 => return (0..3_200_u32).map(|n| (n * n % 251) as u8).collect(),
            Self::Opus => 5,
            Self::Small => 1,
        };
        let mut audio = Vec::new();
        for n in 0..packets {
            push_opus_packet(&[7 + n; 58], &mut audio).expect("58 bytes are a packet");
        }
        audio
    }
}

const CHUNK: &str =
    r#"{"type":"audio_chunk","session_id":"s-00000000","seq":10000,"is_final":false,"payload":""#;
const CHUNK_END: &str = "\"}";

/// The chunks of one session, made once and sent for every job.
#[derive(Debug)]
pub(crate) struct Chunks {
    /// Every chunk but the last.
    pub(crate) middle: String,
    /// The chunk that ends the utterance.
    pub(crate) last: String,
}

impl Chunks {
    pub(crate) fn new(row: Row, session: u32) -> Self {
        let head = CHUNK.replace("00000000", &format!("{session:08X}"));
        let middle = format!("{head}{}{CHUNK_END}", Base64::encode(&row.audio()).as_str());
        // The space keeps the audio where it was.
        let last = middle.replacen("false", "true ", 1);
        Self { middle, last }
    }
}

/// The audio of a chunk, as text.
pub(crate) fn audio_of(chunk: &str) -> Option<&str> {
    chunk.get(CHUNK.len()..chunk.len().checked_sub(CHUNK_END.len())?)
}

/// A client's first message.
pub(crate) const INIT: &str = r#"{"type":"session_init","client_version":"1","platform":"api","src_lang":"qaa","tgt_lang":"qab"}"#;

/// A node's first message.
pub(crate) fn register(node: usize, max_jobs: u16) -> String {
    format!(
        r#"{{"type":"node_register","node_id":"n-{node}","version":"2","platform":"linux","hardware":{{"cpu_cores":4,"memory_gb":16}},"installed_models":[],"capability_by_type":[],"features_supported":{{}},"accept_public_jobs":true,"max_jobs":{max_jobs},"language_capabilities":{{"asr_languages":["qaa"],"semantic_languages":["qaa"],"tts_languages":["qab"]}}}}"#
    )
}

/// That a node lives and how many jobs it runs.
pub(crate) fn heartbeat(node: usize, running: usize) -> String {
    format!(
        r#"{{"type":"node_heartbeat","node_id":"n-{node}","timestamp":0,"resource_usage":{{"cpu_percent":1,"mem_percent":1,"running_jobs":{running}}},"installed_services":[],"capability_by_type":[]}}"#
    )
}

const JOB: &str = r#"{"type":"job_assign","job_id":""#;
const JOB_ATTEMPT: &str = r#"","attempt_id":1,"session_id":"s-"#;
const JOB_INDEX: &str = r#"","utterance_index":"#;
const JOB_BEFORE_AUDIO: &str = r#","src_lang":"qaa","tgt_lang":"qab","pipeline":{"use_asr":true,"use_nmt":true,"use_tts":true,"use_semantic":false,"use_tone":false},"audio":""#;
const JOB_AFTER_AUDIO: &str = r#"","audio_format":"pcm16","sample_rate":16000,"enable_streaming_asr":true,"partial_update_interval_ms":1000,"trace_id":"s-00000000","padding_ms":280,"is_manual_cut":true}"#;

/// A job as the relay sends it.
pub(crate) fn job(session: u32, index: u32, audio: &str) -> String {
    let mut job = String::with_capacity(audio.len() + 512);
    let head = format!(
        "{JOB}job-{session:08x}-{index:x}{JOB_ATTEMPT}{session:08X}{JOB_INDEX}{index}{JOB_BEFORE_AUDIO}"
    );
    job.push_str(&head);
    job.push_str(audio);
    job.push_str(JOB_AFTER_AUDIO);
    job
}

/// The names at the beginning of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobNames<'a> {
    job: &'a str,
    pub(crate) session: u32,
    pub(crate) index: u32,
}

impl<'a> JobNames<'a> {
    /// Absent where the frame is no job, or not a first attempt.
    pub(crate) fn of(frame: &'a str) -> Option<Self> {
        let rest = frame.strip_prefix(JOB)?;
        let (job, rest) = rest.split_at_checked(rest.find('"')?)?;
        let rest = rest.strip_prefix(JOB_ATTEMPT)?;
        let (session, rest) = rest.split_at_checked(8)?;
        let rest = rest.strip_prefix(JOB_INDEX)?;
        let (index, _) = rest.split_at_checked(rest.find(',')?)?;
        let session = u32::from_str_radix(session, 16).ok()?;
        Some(Self { job, session, index: index.parse().ok()? })
    }

    /// The node's answer.
    pub(crate) fn result(&self, node: usize) -> String {
        let Self { job, session, index } = self;
        format!(
            r#"{RESULT}{job}","attempt_id":1,"node_id":"n-{node}","session_id":"s-{session:08X}","utterance_index":{index},"success":true,"text_asr":"three seconds of speech, written down","text_translated":"the same in another language","processing_time_ms":50,"trace_id":"s-{session:08X}"}}"#
        )
    }
}

const RESULT: &str = r#"{"type":"job_result","job_id":""#;

/// The session of a result of a job that the relay named.
pub(crate) fn session_of_result(frame: &str) -> Option<u32> {
    let digits = frame.strip_prefix(RESULT)?.strip_prefix("job-")?.get(..8)?;
    u32::from_str_radix(digits, 16).ok()
}

/// What a client hears when its job was sent.
pub(crate) const DISPATCHED: &str = r#"{"type":"ui_event","trace_id":"s-00000000","session_id":"s-00000000","job_id":"job-0-00000-0","utterance_index":10,"event":"DISPATCHED","elapsed_ms":0,"status":"ok"}"#;

/// What a client hears of a result.
pub(crate) const ANSWER: [&str; 3] = [
    r#"{"type":"ui_event","trace_id":"s-00000000","session_id":"s-00000000","job_id":"job-0-00000-0","utterance_index":10,"event":"ASR_FINAL","elapsed_ms":50,"status":"ok"}"#,
    r#"{"type":"ui_event","trace_id":"s-00000000","session_id":"s-00000000","job_id":"job-0-00000-0","utterance_index":10,"event":"NMT_DONE","elapsed_ms":50,"status":"ok"}"#,
    r#"{"type":"translation_result","session_id":"s-00000000","utterance_index":10,"job_id":"job-0-00000-0","text_asr":"three seconds of speech, written down","text_translated":"the same in another language","tts_audio":"","tts_format":"pcm16","trace_id":"s-00000000","scheduler_sent_at_ms":1700000000000}"#,
];

/// The relay's answer to a client's first message.
pub(crate) fn ack(session: u32) -> String {
    format!(r#"{{"type":"session_init_ack","session_id":"s-{session:08X}"}}"#)
}

/// The session of an answer to a client's first message.
pub(crate) fn session_of_ack(ack: &str) -> Option<u32> {
    let (_, rest) = ack.split_once(r#""session_id":"s-"#)?;
    u32::from_str_radix(rest.get(..8)?, 16).ok()
}

/// What a frame says of a client's job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It goes on.
    Progress,
    /// It is translated.
    Translated,
    /// It ended in another way.
    Refused,
}

impl Heard {
    pub(crate) fn of(frame: &str) -> Self {
        let kind = frame.strip_prefix(r#"{"type":""#).unwrap_or_default();
        if kind.starts_with("translation_result") {
            Self::Translated
        } else if kind.starts_with("error") || kind.starts_with("missing_result") {
            Self::Refused
        } else {
            Self::Progress
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_relay_writes_the_driver_reads() {
        let chunks = Chunks::new(Row::Opus, 0xab);
        let audio = audio_of(&chunks.last).unwrap();
        assert_eq!(audio.len(), 400);
        let job = job(0xab, 12, audio);
        let names = JobNames::of(&job).unwrap();
        assert_eq!((names.session, names.index), (0xab, 12));
        assert_eq!(session_of_result(&names.result(3)), Some(0xab));
        assert_eq!(session_of_ack(&ack(0xab)), Some(0xab));
        assert_eq!(Heard::of(ANSWER[2]), Heard::Translated);
        assert_eq!(Heard::of(DISPATCHED), Heard::Progress);
    }

    #[test]
    fn the_server_accepts_what_the_driver_writes() {
        use lingua_protocol::{FromNode, FromSession};
        let chunks = Chunks::new(Row::Small, 1);
        for frame in [INIT, &chunks.middle, &chunks.last] {
            FromSession::parse(frame).unwrap();
        }
        let job = job(1, 0, "");
        let result = JobNames::of(&job).unwrap().result(0);
        for frame in [register(0, 4), heartbeat(0, 1), result] {
            FromNode::parse(&frame).unwrap();
        }
    }
}
