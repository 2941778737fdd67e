//! What a node says of itself: its machine, models and services. Services may decide, the rest is
//! only shown.

use std::sync::Arc;

use lingua_core::{Features, Languages, Report};
use lingua_protocol::{
    Capability, Hardware, InstalledModel, InstalledService, ServiceStatus, ServiceType,
};

/// Models of one node that are shown.
const MODELS_MAX: usize = 64;

/// What a node said of itself when it registered.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    pub(crate) languages: Languages,
    pub(crate) cpu_cores: u32,
    pub(crate) memory_gb: u32,
    pub(crate) gpus: u32,
    pub(crate) gpu_memory_gb: u32,
    pub(crate) models: Vec<Model>,
}

/// A model on a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Model {
    pub(crate) id: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) kind: Arc<str>,
}

impl Profile {
    pub(crate) fn new<'a>(
        languages: Languages,
        hardware: &Hardware,
        models: impl IntoIterator<Item = &'a InstalledModel>,
    ) -> Self {
        let gpus = hardware.gpus.as_ref();
        let memory = gpus.into_iter().flat_map(|gpus| gpus.iter()).map(|gpu| gpu.memory_gb);
        let models = models.into_iter().filter(|model| model.enabled != Some(false));
        let models = models.take(MODELS_MAX).map(|model| Model {
            id: model.model_id.as_str().into(),
            version: (*model.version).into(),
            kind: (*model.kind).into(),
        });
        Self {
            languages,
            cpu_cores: hardware.cpu_cores,
            memory_gb: hardware.memory_gb,
            gpus: gpus.map_or(0, |gpus| gpus.len() as u32),
            gpu_memory_gb: memory.fold(0, u32::saturating_add),
            models: models.collect(),
        }
    }
}

/// A node's services by type, in the order of [`ServiceType::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Services {
    pub(crate) installed: [u16; KINDS],
    pub(crate) running: [u16; KINDS],
}

const KINDS: usize = ServiceType::ALL.len();

impl Services {
    pub(crate) fn of<'a>(services: impl IntoIterator<Item = &'a InstalledService>) -> Self {
        let mut counts = Self::default();
        for service in services {
            let at = service.kind as usize;
            counts.installed[at] += 1;
            counts.running[at] += u16::from(service.status == ServiceStatus::Running);
        }
        counts
    }
}

/// Kinds of service as features of the core.
pub(crate) fn bits(kinds: impl IntoIterator<Item = ServiceType>) -> Features {
    Features(kinds.into_iter().fold(0, |bits, kind| bits | 1 << kind as u64))
}

/// Which kinds are ready: as the node says, else where a service of the kind runs.
pub(crate) fn ready(said: &[Capability], services: &Services) -> Features {
    bits(ServiceType::ALL.iter().copied().filter(|&kind| {
        let said = said.iter().find(|capability| capability.kind == kind);
        said.map_or(services.running[kind as usize] > 0, |capability| capability.ready)
    }))
}

/// A heartbeat: what the scheduler goes by, and what is only shown.
#[derive(Debug)]
pub(crate) struct Beat {
    pub(crate) report: Report,
    pub(crate) services: Services,
}
