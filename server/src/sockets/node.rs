//! A node's socket.

use std::sync::Arc;

use axum::extract::ws::{Message, Utf8Bytes};
use lingua_core::finalize::Reason;
use lingua_core::instance::JobId;
use lingua_core::{Capabilities, InstanceId, Lang, Languages, Register, Report, SessionId};
use lingua_protocol::{
    AsrPartial, Base64, EmptyReason, ErrorCode, ErrorMessage, FromNode, JobAssign, JobResult,
    LanguageList, NodeAsrPartial, NodeHeartbeat, NodeId, NodeRegister, Note, Pipeline, Real,
    Transcript, TranslationResult, UiEvent, UiEventKind, UiStatus,
};

use crate::Shared;
use crate::clock::unix_ms;
use crate::event::{
    Event, JobForNode, NodeAnswer, NodePartial, OpenNode, Outbox, Outgoing, SocketId,
};
use crate::hub::outcome_of;
use crate::profile::{Beat, Profile, Services};
use crate::sockets::Peer;
use crate::wire::{self, text};

/// Silence to add at the end of a job's audio.
const PADDING_MANUAL_MS: u64 = 280;
const PADDING_AUTO_MS: u64 = 220;

pub(super) struct NodePeer {
    shared: Arc<Shared>,
    socket: SocketId,
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
        let register = Box::new(Register {
            name: id.as_str().into(),
            caps: Capabilities { languages: languages.clone(), ..Capabilities::default() },
            max_jobs: max_jobs.into(),
            owner: InstanceId(0),
        });
        self.id = Some(id);
        let profile = Profile::new(languages, &said.hardware, said.installed_models.iter());
        let services = Services::of(said.installed_services.iter().flat_map(|list| list.iter()));
        let outbox = self.outbox.clone();
        let socket = self.socket;
        let open = OpenNode { socket, register, profile, services, outbox };
        Ok(Event::NodeOpened(Box::new(open)))
    }

    /// A node speaks for itself only.
    fn is_own(&self, id: &NodeId) -> Result<(), Utf8Bytes> {
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

    fn partial(&self, partial: NodeAsrPartial) -> Result<Event, Utf8Bytes> {
        self.is_own(&partial.node_id)?;
        let (job, session, index) =
            job_of(&partial.job_id, &partial.session_id, partial.utterance_index)?;
        let event = UiEvent {
            trace_id: partial.trace_id.clone(),
            session_id: partial.session_id.clone(),
            job_id: None,
            utterance_index: partial.utterance_index,
            event: UiEventKind::AsrPartial,
            elapsed_ms: None,
            status: UiStatus::Ok,
            error_code: None,
            hint: None,
        };
        // Clients know a first text by its utterance; the job is not told, as ever.
        let text = AsrPartial {
            session_id: partial.session_id,
            utterance_index: partial.utterance_index,
            job_id: None,
            text: partial.text,
            is_final: partial.is_final,
            trace_id: partial.trace_id,
        };
        let messages = [text!(ToSession, text), text!(ToSession, event)];
        let socket = self.socket;
        Ok(Event::Partial(Box::new(NodePartial { socket, job, session, index, messages })))
    }

    fn result(&self, result: JobResult<'_>) -> Result<Event, Utf8Bytes> {
        self.is_own(&result.node_id)?;
        let (job, session, index) =
            job_of(&result.job_id, &result.session_id, result.utterance_index)?;
        let reason = result.extra.as_ref().and_then(|extra| extra.reason.as_ref());
        let marked = matches!(reason, Some(EmptyReason::AsrEmpty | EmptyReason::NoTextAssigned));
        let blank = |text: &Option<Transcript>| text.as_ref().is_none_or(|text| text.is_empty());
        let silent = result.tts_audio.as_ref().is_none_or(Base64::is_empty);
        let empty = marked || blank(&result.text_asr) && blank(&result.text_translated) && silent;
        Ok(Event::Answer(Box::new(NodeAnswer {
            socket: self.socket,
            job,
            attempt: result.attempt_id,
            session,
            index,
            outcome: outcome_of(result.success, empty),
            error: result.error.as_ref().map(|error| error.code.clone()),
            messages: if result.success && !empty { messages(result) } else { Vec::new() },
        })))
    }
}

impl Peer for NodePeer {
    fn take(&mut self, frame: &str, events: &mut Vec<Event>) -> Result<(), Utf8Bytes> {
        let message = FromNode::parse(frame).map_err(|bad| {
            error(ErrorCode::InvalidMessage, &format!("Invalid message format: {bad}"))
        })?;
        match message {
            FromNode::Register(register) => events.push(self.register(register)?),
            FromNode::Heartbeat(beat) => {
                self.is_own(&beat.node_id)?;
                let services = Services::of(beat.installed_services.iter());
                let beat = Beat { report: report(&beat), services };
                events.push(Event::Heartbeat(self.socket, Box::new(beat)));
            }
            FromNode::JobResult(result) => events.push(self.result(result)?),
            // What a node has begun changes nothing: its slot is taken since the job was sent.
            FromNode::JobAck(ack) => self.is_own(&ack.node_id)?,
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

/// The core's names of a job, its session and utterance.
fn job_of(
    job: &lingua_protocol::JobId,
    session: &lingua_protocol::SessionId,
    index: u64,
) -> Result<(JobId, SessionId, u32), Utf8Bytes> {
    let unknown = |field: &str, value: &dyn std::fmt::Display| {
        let message = format!("{field} is {value}: send that of the job_assign");
        error(ErrorCode::InvalidMessage, &message)
    };
    Ok((
        wire::parse_job_id(job).ok_or_else(|| unknown("job_id", job))?,
        wire::parse_session_id(session).ok_or_else(|| unknown("session_id", session))?,
        u32::try_from(index).map_err(|_| unknown("utterance_index", &index))?,
    ))
}

fn assign(job: &JobForNode) -> JobAssign<'static> {
    let JobForNode { assign, trace, audio } = job;
    let reason = assign.reason;
    JobAssign {
        job_id: wire::job_id(assign.job),
        attempt_id: assign.attempt,
        session_id: wire::session_id(assign.request.session),
        utterance_index: assign.request.index.into(),
        src_lang: wire::language(assign.needs.pair.src),
        tgt_lang: wire::language(assign.needs.pair.tgt),
        dialect: None,
        features: None,
        pipeline: Pipeline {
            use_asr: true,
            use_nmt: true,
            use_tts: true,
            use_semantic: false,
            use_tone: false,
        },
        audio: Base64::encode(&audio.bytes),
        audio_format: audio.format.clone(),
        sample_rate: audio.rate,
        mode: None,
        lang_a: None,
        lang_b: None,
        auto_langs: None,
        enable_streaming_asr: Some(true),
        partial_update_interval_ms: Some(1_000),
        trace_id: trace.clone(),
        padding_ms: Some(match reason {
            Some(Reason::IsFinal) => PADDING_MANUAL_MS,
            Some(Reason::MaxLength) => 0,
            _ => PADDING_AUTO_MS,
        }),
        is_manual_cut: reason == Some(Reason::IsFinal),
        is_timeout_triggered: matches!(reason, Some(Reason::Timeout | Reason::Pause)),
        is_max_duration_triggered: reason == Some(Reason::MaxDuration),
        turn_id: None,
        group_id: None,
        part_index: None,
        context_text: None,
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
        max_jobs: beat.max_jobs.map(|max| max.get().into()),
    }
}

/// What the client hears of a result, ready to send.
fn messages(result: JobResult<'_>) -> Vec<Utf8Bytes> {
    let event = |kind| {
        let event = UiEvent {
            trace_id: result.trace_id.clone(),
            session_id: result.session_id.clone(),
            job_id: Some(result.job_id.clone()),
            utterance_index: result.utterance_index,
            event: kind,
            elapsed_ms: result.processing_time_ms,
            status: UiStatus::Ok,
            error_code: None,
            hint: None,
        };
        text!(ToSession, event)
    };
    let mut messages = Vec::with_capacity(3);
    if result.text_asr.is_some() {
        messages.push(event(UiEventKind::AsrFinal));
    }
    if result.text_translated.is_some() {
        messages.push(event(UiEventKind::NmtDone));
    }
    let service_timings = result.extra.as_ref().and_then(|extra| extra.service_timings.clone());
    let translation = TranslationResult {
        session_id: result.session_id,
        utterance_index: result.utterance_index,
        job_id: result.job_id,
        text_asr: result.text_asr.unwrap_or_default(),
        text_translated: result.text_translated.unwrap_or_default(),
        tts_audio: result.tts_audio.unwrap_or_default(),
        tts_format: result.tts_format.unwrap_or(lingua_protocol::AudioFormat::Pcm16),
        extra: result.extra,
        trace_id: result.trace_id,
        group_id: result.group_id,
        part_index: result.part_index,
        service_timings,
        network_timings: None,
        scheduler_sent_at_ms: Some(unix_ms()),
        asr_quality_level: result.asr_quality_level,
        reason_codes: result.reason_codes,
        quality_score: result.quality_score,
        rerun_count: result.rerun_count,
        segments_meta: result.segments_meta,
    };
    messages.push(text!(ToSession, translation));
    messages
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

fn error(code: ErrorCode, message: &str) -> Utf8Bytes {
    text!(ToNode, ErrorMessage { code, message: Note::cut(message), details: None })
}
