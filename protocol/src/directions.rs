//! The two directions of the two sockets.

use crate::dispatch::{self, direction};
use crate::shown::shown;
use crate::{
    AsrPartial, AudioChunk, Backpressure, ClientHeartbeat, ErrorMessage, FrameError, JobAck,
    JobAssign, JobCancel, JobResult, JobStarted, MissingResult, NodeAsrPartial, NodeControl,
    NodeError, NodeHeartbeat, NodeRegister, NodeRegisterAck, RoomCreate, RoomCreateAck, RoomError,
    RoomExpired, RoomJoin, RoomLeave, RoomMembers, RoomRawVoicePreference, ServerHeartbeat,
    SessionClose, SessionCloseAck, SessionInit, SessionInitAck, TranslationResult, TtsPlayEnded,
    TtsStarted, UiEvent, Utterance, WebrtcAnswer, WebrtcIce, WebrtcOffer,
};

direction! {
    /// What a node sends to the scheduler.
    pub enum FromNode<'a> {
        /// Who it is.
        "node_register" => Register(NodeRegister<'a>),
        /// That it lives.
        "node_heartbeat" => Heartbeat(NodeHeartbeat),
        /// It has a job.
        "job_ack" => JobAck(JobAck),
        /// It works on a job.
        "job_started" => JobStarted(JobStarted),
        /// A first text.
        "asr_partial" => AsrPartial(NodeAsrPartial),
        /// A job's end.
        "job_result" => JobResult(JobResult<'a>),
        /// A failure that belongs to no job.
        "node_error" => Error(NodeError<'a>),
    }
}

direction! {
    /// What the scheduler sends to a node.
    pub enum ToNode<'a> {
        /// The registration was taken.
        "node_register_ack" => RegisterAck(NodeRegisterAck),
        /// A job.
        "job_assign" => JobAssign(JobAssign<'a>),
        /// A job's result is no longer wanted.
        "job_cancel" => JobCancel(JobCancel),
        /// An order.
        "node_control" => Control(NodeControl),
        /// Something was not done.
        "error" => Error(ErrorMessage<'a>),
    }
}

direction! {
    /// What a client sends to the scheduler.
    pub enum FromSession<'a> {
        /// It opens a session.
        "session_init" => Init(SessionInit),
        /// A piece of speech.
        "audio_chunk" => AudioChunk(AudioChunk<'a>),
        /// A whole utterance.
        "utterance" => Utterance(Utterance<'a>),
        /// That it lives.
        "client_heartbeat" => Heartbeat(ClientHeartbeat),
        /// It ends a session.
        "session_close" => Close(SessionClose),
        /// It plays a result.
        "tts_started" => TtsStarted(TtsStarted),
        /// It has played a result.
        "tts_play_ended" => TtsPlayEnded(TtsPlayEnded),
        /// It opens a room.
        "room_create" => RoomCreate(RoomCreate),
        /// It enters a room.
        "room_join" => RoomJoin(RoomJoin),
        /// It leaves a room.
        "room_leave" => RoomLeave(RoomLeave),
        /// Whose own voice it hears.
        "room_raw_voice_preference" => RoomRawVoicePreference(RoomRawVoicePreference),
        /// An offer to another member.
        "webrtc_offer" => WebrtcOffer(WebrtcOffer<'a>),
        /// An answer to another member.
        "webrtc_answer" => WebrtcAnswer(WebrtcAnswer<'a>),
        /// A way to another member.
        "webrtc_ice" => WebrtcIce(WebrtcIce<'a>),
    }
    accepts Ignored {
        "session_init_ack",
        "translation_result",
        "asr_partial",
        "server_heartbeat",
        "session_close_ack",
        "error",
        "missing_result",
        "ui_event",
        "room_create_ack",
        "room_members",
        "room_error",
        "room_expired",
    }
}

direction! {
    /// What the scheduler sends to a client.
    pub enum ToSession<'a> {
        /// The session is open.
        "session_init_ack" => InitAck(SessionInitAck),
        /// An utterance came a step further.
        "ui_event" => UiEvent(UiEvent),
        /// A first text.
        "asr_partial" => AsrPartial(AsrPartial),
        /// The translation.
        "translation_result" => TranslationResult(TranslationResult<'a>),
        /// There is nothing to say.
        "missing_result" => MissingResult(MissingResult),
        /// Something was not done.
        "error" => Error(ErrorMessage<'a>),
        /// The answer to a heartbeat.
        "server_heartbeat" => Heartbeat(ServerHeartbeat),
        /// The session has ended.
        "session_close_ack" => CloseAck(SessionCloseAck),
        /// Send less.
        "backpressure" => Backpressure(Backpressure),
        /// The room is open.
        "room_create_ack" => RoomCreateAck(RoomCreateAck),
        /// Who is in the room.
        "room_members" => RoomMembers(RoomMembers),
        /// A room request was refused.
        "room_error" => RoomError(RoomError),
        /// The room was closed.
        "room_expired" => RoomExpired(RoomExpired),
        /// Another member's offer.
        "webrtc_offer" => WebrtcOffer(WebrtcOffer<'a>),
        /// Another member's answer.
        "webrtc_answer" => WebrtcAnswer(WebrtcAnswer<'a>),
        /// Another member's way.
        "webrtc_ice" => WebrtcIce(WebrtcIce<'a>),
    }
}
