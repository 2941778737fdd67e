//! A node's socket.

use std::sync::Arc;

use axum::extract::ws::{Message, Utf8Bytes};
use lingua_core::{Capabilities, Features, InstanceId, Lang, Languages, Register, Report};
use lingua_protocol::{
    Capability, ErrorCode, ErrorMessage, FromNode, LanguageList, NodeHeartbeat, NodeId,
    NodeRegister, Note, Real,
};

use tokio::sync::mpsc;

use crate::Shared;
use crate::event::{Event, OpenNode, Outbox, Outgoing, SocketId};
use crate::profile::{Beat, Profile, Services, ready};
use crate::sockets::Peer;
use crate::sockets::jobs::assign;
use crate::wire::{self, text};

pub(super) struct NodePeer {
    pub(super) shared: Arc<Shared>,
    pub(super) socket: SocketId,
    outbox: Outbox,
    id: Option<NodeId>,
    replies: Vec<Utf8Bytes>,
}

impl NodePeer {
    pub(super) fn new(shared: Arc<Shared>, socket: SocketId, outbox: Outbox) -> Self {
        Self { shared, socket, outbox, id: None, replies: Vec::new() }
    }

    fn register(&mut self, said: NodeRegister<'_>) -> Result<Event, Utf8Bytes> {
        if let Some(id) = &self.id {
            let message = format!("this socket is node {id}: open another for another node");
            return Err(error(ErrorCode::NodeIdConflict, &message));
        }
        let schema = said.capability_schema_version.as_deref().unwrap_or("2.0");
        if schema != "2.0" {
            let message = format!("capability_schema_version is {schema}: send 2.0");
            return Err(error(ErrorCode::InvalidCapabilitySchema, &message));
        }
        let languages = said.language_capabilities.unwrap_or_default();
        let asr = langs("asr_languages", languages.asr_languages.as_ref())?;
        let semantic = langs("semantic_languages", languages.semantic_languages.as_ref())?;
        let tts = langs("tts_languages", languages.tts_languages.as_ref())?;
        let rule = self.shared.config.state.pool_rule;
        let languages = Languages::new(&asr, &semantic, &tts, rule).map_err(|bad| {
            error(ErrorCode::InvalidCapabilitySchema, &format!("language_capabilities: {bad}"))
        })?;
        let id = said.node_id.unwrap_or_else(|| {
            NodeId::new(&format!("node-{:08X}", self.socket.0)).expect("digits are allowed")
        });
        let max_jobs = said.max_jobs.map_or(self.shared.config.max_jobs, |max| max.get());
        let services = Services::of(said.installed_services.iter().flat_map(|list| list.iter()));
        let features = self.features(&said.capability_by_type, &services);
        let register = Box::new(Register {
            name: id.as_str().into(),
            caps: Capabilities {
                languages: languages.clone(),
                features: features.unwrap_or_default(),
                ..Capabilities::default()
            },
            max_jobs: max_jobs.into(),
            owner: InstanceId(0),
        });
        self.id = Some(id);
        let profile = Profile::new(languages, &said.hardware, said.installed_models.iter());
        let outbox = self.outbox.clone();
        let socket = self.socket;
        let open = OpenNode { socket, register, profile, services, outbox };
        Ok(Event::NodeOpened(Box::new(open)))
    }

    /// Which services are ready, where that decides.
    fn features(&self, said: &[Capability], services: &Services) -> Option<Features> {
        self.shared.config.require_services.then(|| ready(said, services))
    }

    /// A node speaks for itself only.
    pub(super) fn is_own(&self, id: &NodeId) -> Result<(), Utf8Bytes> {
        match &self.id {
            Some(own) if own == id => Ok(()),
            Some(own) => {
                let message = format!("node_id is {id}, but this socket is node {own}");
                Err(error(ErrorCode::NodeIdConflict, &message))
            }
            None => {
                let message = "this socket has not registered: send node_register first";
                Err(error(ErrorCode::InvalidMessage, message))
            }
        }
    }
}

impl Peer for NodePeer {
    fn hub(shared: &Shared) -> &mpsc::Sender<Event> {
        &shared.hub
    }

    fn take(&mut self, frame: &str, events: &mut Vec<Event>) -> Result<(), Utf8Bytes> {
        let message = FromNode::parse_text(frame).map_err(|bad| {
            error(ErrorCode::InvalidMessage, &format!("Invalid message format: {bad}"))
        })?;
        match message {
            FromNode::Register(register) => events.push(self.register(register)?),
            FromNode::Heartbeat(beat) => {
                self.is_own(&beat.node_id)?;
                let services = Services::of(beat.installed_services.iter());
                let features = self.features(&beat.capability_by_type, &services);
                let beat = Beat { report: Report { features, ..report(&beat) }, services };
                events.push(Event::Heartbeat(self.socket, Box::new(beat)));
            }
            FromNode::JobResult(result) => events.push(self.result(result)?),
            FromNode::JobAck(ack) => events.push(self.ack(&ack)?),
            // What a node has begun changes nothing: its slot is taken since the job was sent.
            FromNode::JobStarted(started) => self.is_own(&started.node_id)?,
            FromNode::AsrPartial(partial) => events.push(self.partial(partial)?),
            FromNode::Error(said) => self.is_own(&said.node_id)?,
        }
        Ok(())
    }

    fn leave(&mut self, events: &mut Vec<Event>) {
        if self.id.is_some() {
            events.push(Event::NodeClosed(self.socket));
        }
    }

    fn encode(&mut self, message: Outgoing) -> Message {
        match message {
            Outgoing::Text(text) => Message::Text(text),
            Outgoing::Job(job) => Message::Text(text!(ToNode, assign(&job))),
            Outgoing::Close(_) => unreachable!("the socket's task ends at a close"),
        }
    }

    fn replies(&mut self) -> &mut Vec<Utf8Bytes> {
        &mut self.replies
    }
}

fn report(beat: &NodeHeartbeat) -> Report {
    let usage = &beat.resource_usage;
    let permille = |percent: Real| {
        let percent = percent.get();
        (percent >= 0.0).then_some((percent.min(100.0) * 10.0) as u16)
    };
    Report {
        running: usage.running_jobs,
        usage: [
            permille(usage.cpu_percent),
            usage.gpu_percent.and_then(permille),
            permille(usage.mem_percent),
        ],
        models: None,
        features: None,
        max_jobs: beat.max_jobs.map(|max| max.get().into()),
    }
}

fn langs(field: &str, list: Option<&LanguageList>) -> Result<Vec<Lang>, Utf8Bytes> {
    let of = |language: &lingua_protocol::Language| {
        wire::lang(language).ok_or_else(|| {
            let message =
                format!("language_capabilities.{field} names `{language}`, which is long");
            error(ErrorCode::InvalidCapabilitySchema, &message)
        })
    };
    list.map_or(Ok(Vec::new()), |list| list.iter().map(of).collect())
}

pub(super) fn error(code: ErrorCode, message: &str) -> Utf8Bytes {
    text!(ToNode, ErrorMessage { code, message: Note::cut(message), details: None })
}
