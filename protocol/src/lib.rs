//! The messages of Lingua's two sockets.
//!
//! A session socket and a node socket, each with two directions: [`FromSession`], [`ToSession`],
//! [`FromNode`], [`ToNode`]. Parsing is tolerant of unknown fields and exact about known ones;
//! null and absent mean the same. What comes out keeps the [`limits`], so a peer cannot make it
//! larger than the frame it sent.
//!
//! Messages, limits and framing, nothing else: no rule of scheduling, no input or output.

mod answer;
pub mod audio;
mod close;
mod directions;
mod dispatch;
mod error;
mod fault;
mod features;
mod ids;
mod job;
mod json;
pub mod limits;
mod list;
mod locate;
mod names;
mod node;
mod number;
mod optional;
mod room;
mod session;
mod shown;
mod text;
mod webrtc;

pub use answer::*;
pub use audio::{Base64, Base64Error};
pub use close::CloseCode;
pub use directions::{FromNode, FromSession, ToNode, ToSession};
pub use error::{FrameError, ValueError};
pub use fault::{ErrorMessage, RefusedUtterance};
pub use features::Features;
pub use ids::{
    GroupId, JobId, Language, ModelId, NodeId, ParticipantId, RoomCode, RoomId, ServiceId,
    SessionId, TenantId, TraceId, TurnId,
};
pub use job::*;
pub use json::Json;
pub use list::{LanguageList, List, Map};
pub use names::{
    AsrQuality, AudioFormat, BackpressureAction, Device, EmptyReason, ErrorCode, MissingReason,
    Mode, RoomErrorCode, ServiceStatus, ServiceType, UiEventKind, UiStatus,
};
pub use node::*;
pub use number::{Channels, MaxJobs, Real, SampleRate};
pub use room::*;
pub use session::*;
pub use text::{Note, ShortText, Text, Transcript};
pub use webrtc::*;
