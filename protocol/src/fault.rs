//! Errors as messages.

use serde::{Deserialize, Serialize};

use crate::{ErrorCode, Json, Note, SessionId};

/// Something that a peer asked for was not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "error")]
pub struct ErrorMessage<'a> {
    /// What failed.
    pub code: ErrorCode,
    /// In words.
    pub message: Note,
    /// Anything else.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub details: Option<Json<'a>>,
}

/// Details of the error that is an utterance's final message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefusedUtterance {
    /// The session's utterance.
    pub utterance_index: u64,
    /// Whether saying it again may help.
    pub retryable: bool,
    /// Who spoke, where the receiver is another member of the speaker's room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
}
