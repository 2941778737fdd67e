//! A node's registration and heartbeat, and what the scheduler tells a node about itself.

use serde::{Deserialize, Serialize};

use crate::features::Features;
use crate::limits::{MODELS, SERVICES};
use crate::list::{LanguageList, List, Map};
use crate::{
    Device, ErrorCode, Json, Language, MaxJobs, ModelId, NodeId, Note, Real, ServiceId,
    ServiceStatus, ServiceType, ShortText,
};

/// A node says what it is and can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "node_register")]
pub struct NodeRegister<'a> {
    /// Its id, where it has one; else the scheduler gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// Version of the node program.
    pub version: ShortText,
    /// Version of the shape of its capabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability_schema_version: Option<ShortText>,
    /// Its operating system.
    pub platform: ShortText,
    /// Its machine.
    pub hardware: Hardware,
    /// Its models.
    pub installed_models: List<InstalledModel, MODELS>,
    /// Its services.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed_services: Option<List<InstalledService, SERVICES>>,
    /// Which kinds of service are ready.
    pub capability_by_type: List<Capability>,
    /// What it can do besides.
    pub features_supported: Features,
    /// Handed on unread.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub advanced_features: Option<Json<'a>>,
    /// Whether it works for anybody.
    pub accept_public_jobs: bool,
    /// Its languages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language_capabilities: Option<LanguageCapabilities>,
    /// How many jobs it runs at once; else the scheduler's own figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_jobs: Option<MaxJobs>,
}

/// A node's machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hardware {
    /// Cores.
    pub cpu_cores: u32,
    /// Memory in GB.
    pub memory_gb: u32,
    /// Graphics processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<List<Gpu>>,
}

/// A graphics processor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// Its name.
    pub name: ShortText,
    /// Its memory in GB.
    pub memory_gb: u32,
}

/// A model on a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstalledModel {
    /// Its id.
    pub model_id: ModelId,
    /// What it is for.
    pub kind: ShortText,
    /// Its version.
    pub version: ShortText,
    /// Language heard, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src_lang: Option<Language>,
    /// Language spoken, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tgt_lang: Option<Language>,
    /// Dialect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<ShortText>,
    /// Whether it may be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// A service on a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstalledService {
    /// Its id.
    pub service_id: ServiceId,
    /// What it does.
    #[serde(rename = "type")]
    pub kind: ServiceType,
    /// Where it computes.
    pub device: Device,
    /// Whether it works.
    pub status: ServiceStatus,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<ShortText>,
    /// The model it uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_id: Option<ModelId>,
    /// The program that runs the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<ShortText>,
    /// Its memory in MB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mem_mb: Option<u32>,
    /// How long it took to start, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup_ms: Option<u32>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<Note>,
}

/// Whether one kind of service is ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capability {
    /// Which kind.
    #[serde(rename = "type")]
    pub kind: ServiceType,
    /// Whether it is.
    pub ready: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Note>,
    /// The services that are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_impl_ids: Option<List<ServiceId>>,
}

/// A node's languages.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LanguageCapabilities {
    /// Languages it hears.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asr_languages: Option<LanguageList>,
    /// Languages it repairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantic_languages: Option<LanguageList>,
    /// Languages it speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tts_languages: Option<LanguageList>,
    /// Whether the repair is loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantic_core_ready: Option<bool>,
}

/// A node says that it lives, and how busy it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "node_heartbeat")]
pub struct NodeHeartbeat {
    /// Which node.
    pub node_id: NodeId,
    /// Its clock, in Unix milliseconds.
    pub timestamp: i64,
    /// How busy it is.
    pub resource_usage: ResourceUsage,
    /// Its models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed_models: Option<List<InstalledModel, MODELS>>,
    /// Its services.
    pub installed_services: List<InstalledService, SERVICES>,
    /// Which kinds of service are ready.
    pub capability_by_type: List<Capability>,
    /// What came of recognising again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerun_metrics: Option<RerunMetrics>,
    /// Speed of recognition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asr_metrics: Option<AsrMetrics>,
    /// Speed of every service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processing_metrics: Option<ProcessingMetrics>,
    /// Its languages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language_capabilities: Option<LanguageCapabilities>,
    /// How many jobs it runs at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_jobs: Option<MaxJobs>,
}

/// How busy a node is. A negative percentage means unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceUsage {
    /// Processor.
    pub cpu_percent: Real,
    /// Graphics processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_percent: Option<Real>,
    /// Memory of the graphics processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_mem_percent: Option<Real>,
    /// Memory.
    pub mem_percent: Real,
    /// Jobs it works on.
    pub running_jobs: u32,
}

/// What came of recognising doubtful speech again, counted since the node started.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RerunMetrics {
    /// All.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_reruns: Option<u64>,
    /// Those that gave a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successful_reruns: Option<u64>,
    /// Those that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_reruns: Option<u64>,
    /// Those that took too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_reruns: Option<u64>,
    /// Those that gave a better text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality_improvements: Option<u64>,
}

/// Speed of recognition.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AsrMetrics {
    /// Seconds of speech per second of work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processing_efficiency: Option<Real>,
}

/// Speed of every service.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessingMetrics {
    /// Seconds of speech per second of work, by service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_efficiencies: Option<Map<ServiceId, Real>>,
}

/// A node reports a failure that belongs to no job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "node_error")]
pub struct NodeError<'a> {
    /// Which node.
    pub node_id: NodeId,
    /// What failed.
    pub code: ErrorCode,
    /// In words.
    pub message: Note,
    /// Anything else.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub details: Option<Json<'a>>,
}

/// The registration was taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "node_register_ack")]
pub struct NodeRegisterAck {
    /// The node's id from now on.
    pub node_id: NodeId,
    /// In words.
    pub message: Note,
    /// The node's state, `registering`.
    pub status: ShortText,
}

/// An order to a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "node_control")]
pub struct NodeControl {
    /// The order.
    pub command: ShortText,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Note>,
}
