//! What a fake node says of itself.

use std::sync::Arc;

use lingua_protocol::{
    Features, Hardware, Language, LanguageCapabilities, LanguageList, List, MaxJobs, NodeHeartbeat,
    NodeId, NodeRegister, Real, ResourceUsage, ShortText,
};
use lingua_scenarios::NodeGroup;

use super::work::Job;
use crate::clock::unix_ms;
use crate::tag::Answer;
use crate::wire;

/// Who a node is.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) group: Arc<NodeGroup>,
    pub(super) name: String,
    /// Whether it tells its maximum.
    pub(super) tells_max_jobs: bool,
    /// Which run it belongs to.
    pub(super) run: u32,
}

impl Identity {
    fn languages(&self) -> Option<LanguageCapabilities> {
        let list = |tags: &[String]| -> Option<LanguageList> {
            let tags = tags.iter().map(|tag| Language::new(tag).ok()).collect::<Option<_>>()?;
            LanguageList::new(tags).ok()
        };
        let group = &self.group;
        Some(LanguageCapabilities {
            asr_languages: Some(list(&group.asr)?),
            semantic_languages: Some(list(group.semantic.as_ref().unwrap_or(&group.asr))?),
            tts_languages: Some(list(&group.tts)?),
            semantic_core_ready: Some(true),
        })
    }

    fn max_jobs(&self, max_jobs: u32) -> Option<MaxJobs> {
        let told = u16::try_from(max_jobs).ok().filter(|_| self.tells_max_jobs)?;
        MaxJobs::new(told).ok()
    }

    pub(super) fn registration(&self) -> Option<String> {
        Some(wire::of_node(NodeRegister {
            node_id: Some(NodeId::new(&self.name).ok()?),
            version: ShortText::cut("2.0.0"),
            capability_schema_version: Some(ShortText::cut("2.0")),
            platform: ShortText::cut("linux"),
            hardware: Hardware { cpu_cores: 4, memory_gb: 16, gpus: None },
            installed_models: List::default(),
            installed_services: None,
            capability_by_type: List::default(),
            features_supported: Features::default(),
            advanced_features: None,
            accept_public_jobs: true,
            language_capabilities: Some(self.languages()?),
            max_jobs: self.max_jobs(self.group.max_jobs),
        }))
    }

    pub(super) fn heartbeat(&self, running: u32, max_jobs: u32) -> Option<String> {
        let unknown = Real::new(-1.0)?;
        Some(wire::of_node(NodeHeartbeat {
            node_id: NodeId::new(&self.name).ok()?,
            timestamp: unix_ms(),
            resource_usage: ResourceUsage {
                cpu_percent: self.group.cpu.and_then(Real::new).unwrap_or(unknown),
                gpu_percent: None,
                gpu_mem_percent: None,
                mem_percent: unknown,
                running_jobs: running,
            },
            installed_models: None,
            installed_services: List::default(),
            capability_by_type: List::default(),
            rerun_metrics: None,
            asr_metrics: None,
            processing_metrics: None,
            language_capabilities: Some(self.languages()?),
            max_jobs: self.max_jobs(max_jobs),
        }))
    }

    pub(super) fn result(&self, job: &Job) -> String {
        let about = wire::JobResult {
            job_id: &job.job_id,
            attempt_id: job.attempt,
            node_id: &self.name,
            session_id: &job.session_id,
            utterance_index: job.index,
            trace_id: &job.trace_id,
            ..wire::JobResult::success()
        };
        if job.lacks_model {
            let message = "the model is not loaded";
            return about.failed("MODEL_NOT_AVAILABLE", message).to_json();
        }
        let Job { session, first, last, attempt, ref tgt, .. } = *job;
        let text = Answer { run: self.run, session, first, last, attempt, tgt }.to_string();
        wire::JobResult {
            text_asr: Some(&text),
            text_translated: Some(&text),
            processing_time_ms: Some(job.work / 1_000_000),
            ..about
        }
        .to_json()
    }

    /// The answer to a job that is not of this run.
    pub(super) fn refusal(&self, assign: &wire::Assign<'_>) -> String {
        wire::JobResult {
            job_id: &assign.job_id,
            attempt_id: assign.attempt_id,
            node_id: &self.name,
            session_id: &assign.session_id,
            utterance_index: assign.utterance_index,
            trace_id: &assign.trace_id,
            ..wire::JobResult::success()
        }
        .failed("PROCESSING_ERROR", "this is a load generator's node, it withdraws")
        .to_json()
    }
}
