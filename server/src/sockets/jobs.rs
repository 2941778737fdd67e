//! A job's way to a node and back.

use std::borrow::Cow;

use axum::extract::ws::Utf8Bytes;
use lingua_core::SessionId;
use lingua_core::finalize::Reason;
use lingua_core::instance::{AnswerOutcome, JobId};
use lingua_protocol::{
    AsrPartial, AudioFormat, Base64, EmptyReason, ErrorCode, JobAck, JobAssign, JobResult, Json,
    NodeAsrPartial, Pipeline, ToSession, Transcript, TranslationResult, UiEvent, UiEventKind,
    UiStatus,
};

use serde::Deserialize;

use crate::event::{Event, JobForNode, NodeAnswer, NodePartial, Utterance};
use crate::models::model_id;
use crate::sockets::node::{NodePeer, error};
use crate::wire::{self, text};

/// Silence to add at the end of a job's audio.
const PADDING_MANUAL_MS: u64 = 280;
const PADDING_AUTO_MS: u64 = 220;

impl NodePeer {
    pub(super) fn partial(&self, partial: NodeAsrPartial) -> Result<Event, Utf8Bytes> {
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

    pub(super) fn ack(&self, ack: &JobAck) -> Result<Event, Utf8Bytes> {
        self.is_own(&ack.node_id)?;
        let (job, ..) = job_of(&ack.job_id, &ack.session_id, 0)?;
        Ok(Event::Acked(self.socket, job, ack.attempt_id))
    }

    fn outcome(&self, result: &JobResult<'_>, empty: bool) -> AnswerOutcome {
        let error = result.error.as_ref();
        let lacks = error.filter(|error| error.code == ErrorCode::ModelNotAvailable);
        match (result.success, lacks) {
            (true, _) if empty => AnswerOutcome::Silence,
            (true, _) => AnswerOutcome::Result,
            (false, Some(error)) => {
                let lacked = error.details.as_ref().and_then(Json::read::<Lacked<'_>>);
                let name = lacked.map(|it| format!("{}@{}", it.service_id, it.service_version));
                AnswerOutcome::ModelNotAvailable(model_id(&name.unwrap_or_default()))
            }
            (false, None) => AnswerOutcome::Error,
        }
    }

    pub(super) fn result(&self, result: JobResult<'_>) -> Result<Event, Utf8Bytes> {
        self.is_own(&result.node_id)?;
        let (job, session, index) =
            job_of(&result.job_id, &result.session_id, result.utterance_index)?;
        let reason = result.extra.as_ref().and_then(|extra| extra.reason.as_ref());
        let marked = matches!(reason, Some(EmptyReason::AsrEmpty | EmptyReason::NoTextAssigned));
        let blank = |text: &Option<Transcript>| text.as_ref().is_none_or(|text| text.is_empty());
        let silent = result.tts_audio.as_ref().is_none_or(Base64::is_empty);
        let empty = marked || blank(&result.text_asr) && blank(&result.text_translated) && silent;
        let translated = result.success && !empty;
        Ok(Event::Answer(Box::new(NodeAnswer {
            socket: self.socket,
            job,
            attempt: result.attempt_id,
            session,
            index,
            outcome: self.outcome(&result, empty),
            error: result.error.as_ref().map(|error| error.code.clone()),
            events: if translated { events(&result) } else { Vec::new() },
            translation: translated.then(|| translation(result)),
        })))
    }
}

/// Details of MODEL_NOT_AVAILABLE.
#[derive(Deserialize)]
struct Lacked<'a> {
    #[serde(borrow)]
    service_id: Cow<'a, str>,
    #[serde(borrow, default)]
    service_version: Cow<'a, str>,
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

/// Always the same outside rooms.
const PIPELINE: Pipeline =
    Pipeline { use_asr: true, use_nmt: true, use_tts: true, use_semantic: false, use_tone: false };

pub(crate) fn assign(job: &JobForNode) -> JobAssign<'static> {
    let JobForNode { assign, utterance, for_room } = job;
    let Utterance { choices, turn, audio } = &**utterance;
    let reason = assign.reason;
    let tgt_lang = match for_room {
        true => wire::language(assign.needs.pair.tgt),
        false => choices.tgt_lang.clone(),
    };
    JobAssign {
        job_id: wire::job_id(assign.job),
        attempt_id: assign.attempt,
        session_id: wire::session_id(assign.request.session),
        utterance_index: assign.request.index.into(),
        src_lang: choices.src_lang.clone(),
        tgt_lang,
        dialect: choices.dialect.clone(),
        features: choices.features.clone(),
        pipeline: choices.pipeline.clone().filter(|_| *for_room).unwrap_or(PIPELINE),
        audio: Base64::encode(&audio.bytes),
        audio_format: audio.format.clone(),
        sample_rate: audio.rate,
        mode: choices.mode.clone(),
        lang_a: choices.lang_a.clone(),
        lang_b: choices.lang_b.clone(),
        auto_langs: choices.auto_langs.clone(),
        enable_streaming_asr: Some(choices.enable_streaming_asr),
        partial_update_interval_ms: Some(choices.partial_update_interval_ms),
        trace_id: choices.trace.clone(),
        padding_ms: Some(match reason {
            Some(Reason::IsFinal) => PADDING_MANUAL_MS,
            None if choices.manual_cut => PADDING_MANUAL_MS,
            Some(Reason::MaxLength) => 0,
            _ => PADDING_AUTO_MS,
        }),
        is_manual_cut: reason.map_or(choices.manual_cut, |reason| reason == Reason::IsFinal),
        is_timeout_triggered: matches!(reason, Some(Reason::Timeout | Reason::Pause)),
        is_max_duration_triggered: reason == Some(Reason::MaxDuration),
        turn_id: Some(turn.clone()),
        group_id: None,
        part_index: None,
        context_text: None,
    }
}

/// What a result shows on the way to its translation, ready to send.
fn events(result: &JobResult<'_>) -> Vec<Utf8Bytes> {
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
    let heard = result.text_asr.is_some().then(|| event(UiEventKind::AsrFinal));
    let said = result.text_translated.is_some().then(|| event(UiEventKind::NmtDone));
    heard.into_iter().chain(said).collect()
}

/// The translation, complete but for its place in the client's group and the time it leaves.
fn translation(result: JobResult<'_>) -> String {
    let service_timings = result.extra.as_ref().and_then(|extra| extra.service_timings.clone());
    let translation = TranslationResult {
        session_id: result.session_id,
        utterance_index: result.utterance_index,
        job_id: result.job_id,
        text_asr: result.text_asr.unwrap_or_default(),
        text_translated: result.text_translated.unwrap_or_default(),
        tts_audio: result.tts_audio.unwrap_or_default(),
        tts_format: result.tts_format.unwrap_or(AudioFormat::Pcm16),
        extra: result.extra,
        trace_id: result.trace_id,
        group_id: None,
        part_index: None,
        service_timings,
        network_timings: None,
        scheduler_sent_at_ms: None,
        asr_quality_level: result.asr_quality_level,
        reason_codes: result.reason_codes,
        quality_score: result.quality_score,
        rerun_count: result.rerun_count,
        segments_meta: result.segments_meta,
    };
    ToSession::from(translation).to_text()
}
