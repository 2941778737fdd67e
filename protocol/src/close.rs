//! Why a socket is closed.

/// The status code of a WebSocket close frame.
///
/// Codes below 4000 mean what RFC 6455 says; those from 4000 on are ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum CloseCode {
    /// The peer said goodbye.
    Normal = 1000,
    /// The scheduler stops.
    GoingAway = 1001,
    /// A frame breaks the rules of WebSockets.
    ProtocolError = 1002,
    /// A text frame is not UTF-8.
    InvalidText = 1007,
    /// The peer may not enter.
    PolicyViolation = 1008,
    /// A frame is longer than allowed.
    TooLong = 1009,
    /// The scheduler failed.
    InternalError = 1011,
    /// Too many sockets: come again later.
    TryAgainLater = 1013,
    /// Too many frames that are no messages.
    InvalidMessages = 4000,
    /// A newer socket registered the same node.
    NodeIdConflict = 4001,
    /// The peer does not read what is sent to it.
    SlowReader = 4002,
    /// Nothing came from the peer, pings unanswered.
    Idle = 4003,
    /// No first message came in time.
    HandshakeTimeout = 4004,
}

impl CloseCode {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Normal,
        Self::GoingAway,
        Self::ProtocolError,
        Self::InvalidText,
        Self::PolicyViolation,
        Self::TooLong,
        Self::InternalError,
        Self::TryAgainLater,
        Self::InvalidMessages,
        Self::NodeIdConflict,
        Self::SlowReader,
        Self::Idle,
        Self::HandshakeTimeout,
    ];

    /// The number on the wire.
    pub fn code(self) -> u16 {
        self as u16
    }

    /// The meaning of a number, where it is one of these.
    pub fn from_code(code: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.code() == code)
    }
}
