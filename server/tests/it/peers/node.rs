//! A node.

use lingua_protocol::{JobAssign, ToNode};

use super::{Socket, register};

/// A node that is registered.
pub(crate) struct Node {
    socket: Socket,
    id: String,
}

impl Node {
    /// A node that has reported once.
    pub(crate) async fn register(url: &str, id: &str, src: &str, tgt: &str, max: u16) -> Self {
        let mut socket = Socket::open(url, "/ws/node").await;
        socket.send(&register(id, src, tgt, max)).await;
        let ack = socket.hear().await.unwrap();
        assert!(matches!(ToNode::parse(&ack), Ok(ToNode::RegisterAck(_))), "{ack}");
        let mut node = Self { socket, id: id.to_owned() };
        node.beat(0, 1.0, "").await;
        // Nobody answers a heartbeat; what comes after it is answered when it has been taken.
        node.socket.send("{}").await;
        node.wait_for("error").await;
        node
    }

    pub(crate) async fn hear(&mut self) -> Option<String> {
        self.socket.hear().await
    }

    /// The next job; errors on the way are passed over.
    pub(crate) async fn job(&mut self) -> JobAssign<'static> {
        loop {
            let text = self.hear().await.expect("the socket lives");
            match ToNode::parse(&text) {
                Ok(ToNode::JobAssign(job)) => return own(job),
                Ok(ToNode::Error(_)) => {}
                other => panic!("no job: {other:?}"),
            }
        }
    }

    /// The next message of a type, its text; others on the way are passed over.
    pub(crate) async fn wait_for(&mut self, kind: &str) -> String {
        loop {
            let text = self.hear().await.expect("the socket lives");
            if ToNode::parse(&text).unwrap().type_name() == kind {
                return text;
            }
        }
    }

    pub(crate) async fn closed(&mut self) -> Option<u16> {
        self.socket.closed().await
    }

    pub(crate) async fn closed_silently(&mut self) -> Option<u16> {
        self.socket.closed_silently().await
    }

    /// A heartbeat, with what it says of its services.
    pub(crate) async fn beat(&mut self, running: u32, cpu: f32, services: &str) {
        let beat = format!(
            r#"{{"type":"node_heartbeat","node_id":"{}","timestamp":0,"resource_usage":
            {{"cpu_percent":{cpu},"mem_percent":1,"running_jobs":{running}}},
            "installed_services":[{{"service_id":"asr-1","type":"asr","device":"gpu",
            "status":"running"}}],"capability_by_type":[{services}]}}"#,
            self.id
        );
        self.socket.send(&beat).await;
    }

    pub(crate) async fn ack(&mut self, job: &JobAssign<'_>) {
        let ack = format!(
            r#"{{"type":"job_ack","job_id":"{}","attempt_id":{},"node_id":"{}","session_id":"{}",
            "trace_id":"{}"}}"#,
            job.job_id, job.attempt_id, self.id, job.session_id, job.trace_id
        );
        self.socket.send(&ack).await;
    }

    /// Says that there was no speech.
    pub(crate) async fn answer_silence(&mut self, job: &JobAssign<'_>) {
        let result = format!(
            r#"{{"type":"job_result","job_id":"{}","attempt_id":{},"node_id":"{}","session_id":"{}",
            "utterance_index":{},"success":true,"trace_id":"{}","extra":{{"reason":"ASR_EMPTY"}}}}"#,
            job.job_id, job.attempt_id, self.id, job.session_id, job.utterance_index, job.trace_id
        );
        self.socket.send(&result).await;
    }

    /// Says that it could not do a job.
    pub(crate) async fn fail(&mut self, job: &JobAssign<'_>, code: &str) {
        let result = format!(
            r#"{{"type":"job_result","job_id":"{}","attempt_id":{},"node_id":"{}","session_id":"{}",
            "utterance_index":{},"success":false,"trace_id":"{}","error":{{"code":"{code}",
            "message":"no","details":{{"service_id":"nmt-x","service_version":"1"}}}}}}"#,
            job.job_id, job.attempt_id, self.id, job.session_id, job.utterance_index, job.trace_id
        );
        self.socket.send(&result).await;
    }

    pub(crate) async fn hears_first(&mut self, job: &JobAssign<'_>, text: &str) {
        let partial = format!(
            r#"{{"type":"asr_partial","job_id":"{}","node_id":"{}","session_id":"{}",
            "utterance_index":{},"text":"{text}","is_final":false,"trace_id":"{}"}}"#,
            job.job_id, self.id, job.session_id, job.utterance_index, job.trace_id
        );
        self.socket.send(&partial).await;
    }

    pub(crate) async fn answer(&mut self, job: &JobAssign<'_>, text: &str) {
        let result = format!(
            r#"{{"type":"job_result","job_id":"{}","attempt_id":{},"node_id":"{}","session_id":"{}",
            "utterance_index":{},"success":true,"text_asr":"x","text_translated":"{text}",
            "trace_id":"{}"}}"#,
            job.job_id, job.attempt_id, self.id, job.session_id, job.utterance_index, job.trace_id
        );
        self.socket.send(&result).await;
    }
}

/// The job with nothing borrowed from its frame.
fn own(job: JobAssign<'_>) -> JobAssign<'static> {
    JobAssign {
        audio: job.audio.into_owned(),
        job_id: job.job_id,
        attempt_id: job.attempt_id,
        session_id: job.session_id,
        utterance_index: job.utterance_index,
        src_lang: job.src_lang,
        tgt_lang: job.tgt_lang,
        dialect: job.dialect,
        features: job.features,
        pipeline: job.pipeline,
        audio_format: job.audio_format,
        sample_rate: job.sample_rate,
        mode: job.mode,
        lang_a: job.lang_a,
        lang_b: job.lang_b,
        auto_langs: job.auto_langs,
        enable_streaming_asr: job.enable_streaming_asr,
        partial_update_interval_ms: job.partial_update_interval_ms,
        trace_id: job.trace_id,
        padding_ms: job.padding_ms,
        is_manual_cut: job.is_manual_cut,
        is_timeout_triggered: job.is_timeout_triggered,
        is_max_duration_triggered: job.is_max_duration_triggered,
        turn_id: job.turn_id,
        group_id: job.group_id,
        part_index: job.part_index,
        context_text: job.context_text,
    }
}
