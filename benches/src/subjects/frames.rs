//! The server's pure work on the frames of a job: three seconds of Opus in chunks of 100 ms.

use std::hint::black_box;

use lingua_protocol::{
    AudioFormat, Base64, FromSession, JobAssign, JobId, Language, Pipeline, SampleRate, SessionId,
    ToNode, TraceId, audio,
};

use super::Subject;

/// Chunks of one run.
pub(super) const CHUNKS: u64 = 300;

/// Jobs of one run.
pub(super) const JOBS: u64 = 10;

/// Chunks of one job.
const UTTERANCE: usize = 30;

/// The bytes of one chunk: five packets of 20 ms at 24 kbit/s.
fn chunk() -> Vec<u8> {
    let mut bytes = Vec::new();
    for packet in 0..5 {
        audio::push_opus_packet(&[packet; 58], &mut bytes).expect("58 bytes are a packet");
    }
    bytes
}

/// A client's chunk becomes bytes and their duration.
pub(super) struct TakeChunk {
    frame: String,
    audio: Vec<u8>,
}

impl TakeChunk {
    pub(super) fn new() -> Self {
        let payload = Base64::encode(&chunk());
        let frame = format!(
            r#"{{"type":"audio_chunk","session_id":"s-0000002A","seq":7,"is_final":false,"payload":"{}"}}"#,
            payload.as_str()
        );
        Self { frame, audio: Vec::new() }
    }
}

impl Subject for TakeChunk {
    fn run(&mut self) -> u64 {
        let mut sum = 0;
        for _ in 0..CHUNKS {
            let frame = black_box(self.frame.as_str());
            let Ok(FromSession::AudioChunk(chunk)) = FromSession::parse_text(frame) else {
                unreachable!("the frame is a chunk");
            };
            self.audio.clear();
            let decoded = chunk.payload.map(|payload| payload.decode(&mut self.audio));
            assert!(matches!(decoded, Some(Ok(_))), "the payload is base64");
            sum += audio::opus_us(&self.audio).unwrap_or_default();
        }
        sum
    }
}

/// A job with the audio of an utterance becomes a frame.
pub(super) struct SendJob {
    audio: Vec<u8>,
}

impl SendJob {
    pub(super) fn new() -> Self {
        Self { audio: chunk().repeat(UTTERANCE) }
    }
}

impl Subject for SendJob {
    fn run(&mut self) -> u64 {
        (0..JOBS).map(|_| ToNode::from(job(black_box(&self.audio))).to_text().len() as u64).sum()
    }
}

fn job(audio: &[u8]) -> JobAssign<'static> {
    let language = |tag| Language::new(tag).expect("a tag");
    JobAssign {
        job_id: JobId::new("job-0-2a-7").expect("an id"),
        attempt_id: 1,
        session_id: SessionId::new("s-0000002A").expect("an id"),
        utterance_index: 3,
        src_lang: language("zh"),
        tgt_lang: language("en"),
        dialect: None,
        features: None,
        pipeline: Pipeline {
            use_asr: true,
            use_nmt: true,
            use_tts: true,
            use_semantic: false,
            use_tone: false,
        },
        audio: Base64::encode(audio),
        audio_format: AudioFormat::Opus,
        sample_rate: SampleRate::new(16_000).expect("a rate"),
        mode: None,
        lang_a: None,
        lang_b: None,
        auto_langs: None,
        enable_streaming_asr: Some(true),
        partial_update_interval_ms: Some(1_000),
        trace_id: TraceId::new("s-0000002A").expect("an id"),
        padding_ms: Some(280),
        is_manual_cut: true,
        is_timeout_triggered: false,
        is_max_duration_triggered: false,
        turn_id: None,
        group_id: None,
        part_index: None,
        context_text: None,
    }
}
