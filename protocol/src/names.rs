//! Closed and open sets of names.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};

use crate::Text;
use crate::limits::NAME_BYTES;

/// Declares an enum of names. An open one also carries names that are not in it.
macro_rules! names {
    (
        $(#[$meta:meta])*
        closed $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)* }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        names!(@wire $name {
            fn of(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$variant),)*
                    _ => None,
                }
            }

            fn rule(f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one of ")?;
                f.write_str(&[$($text,)*].join(", "))
            }
        });
    };
    (
        $(#[$meta:meta])*
        open $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)* }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)*
            /// A name that a peer made up.
            Other(Text<NAME_BYTES>),
        }

        impl $name {
            /// The name on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(name) => name,
                }
            }
        }

        names!(@wire $name {
            fn of(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$variant),)*
                    _ if text.len() <= NAME_BYTES => Some(Self::Other(Text::cut(text))),
                    _ => None,
                }
            }

            fn rule(f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a name of at most {NAME_BYTES} bytes")
            }
        });
    };
    (@wire $name:ident { $($functions:item)* }) => {
        impl Name for $name {
            $($functions)*
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
                json.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
                json.deserialize_str(Named(PhantomData))
            }
        }
    };
}

trait Name: Sized {
    fn of(text: &str) -> Option<Self>;
    fn rule(f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

struct Named<N>(PhantomData<N>);

impl<N: Name> Visitor<'_> for Named<N> {
    type Value = N;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        N::rule(f)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<N, E> {
        N::of(text).ok_or_else(|| E::custom(format_args!("expected {}", Rule::<N>(PhantomData))))
    }
}

struct Rule<N>(PhantomData<N>);

impl<N: Name> fmt::Display for Rule<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        N::rule(f)
    }
}

names! {
    /// What a node's service does.
    closed ServiceType {
        /// Speech to text.
        Asr = "asr",
        /// Translation.
        Nmt = "nmt",
        /// Text to speech.
        Tts = "tts",
        /// Tone of voice.
        Tone = "tone",
        /// Repair of recognised text by its sense.
        Semantic = "semantic",
        /// Repair of recognised text by its sound.
        Phonetic = "phonetic",
        /// Punctuation.
        Punctuation = "punctuation",
    }
}

names! {
    /// Where a service computes.
    closed Device {
        /// On a graphics processor.
        Gpu = "gpu",
        /// On the processor.
        Cpu = "cpu",
    }
}

names! {
    /// Whether a service works.
    closed ServiceStatus {
        /// It answers.
        Running = "running",
        /// It was stopped.
        Stopped = "stopped",
        /// It failed.
        Error = "error",
    }
}

names! {
    /// How sure a node is of the text it heard.
    closed AsrQuality {
        /// Sure.
        Good = "good",
        /// Doubtful.
        Suspect = "suspect",
        /// Not to be trusted.
        Bad = "bad",
    }
}

names! {
    /// What a client is told of an utterance on its way.
    closed UiEventKind {
        /// Speech began.
        InputStarted = "INPUT_STARTED",
        /// Speech ended.
        InputEnded = "INPUT_ENDED",
        /// A first text.
        AsrPartial = "ASR_PARTIAL",
        /// The text.
        AsrFinal = "ASR_FINAL",
        /// A job left for a node.
        Dispatched = "DISPATCHED",
        /// The node took it.
        NodeAccepted = "NODE_ACCEPTED",
        /// The translation is there.
        NmtDone = "NMT_DONE",
        /// Playing began.
        TtsPlayStarted = "TTS_PLAY_STARTED",
        /// Playing ended.
        TtsPlayEnded = "TTS_PLAY_ENDED",
        /// There will be no translation.
        Error = "ERROR",
    }
}

names! {
    /// Whether an event is good news.
    closed UiStatus {
        /// It is.
        Ok = "ok",
        /// It is not.
        Error = "error",
    }
}

names! {
    /// What a client should do about a scheduler under load.
    closed BackpressureAction {
        /// Send less.
        SlowDown = "SLOW_DOWN",
        /// Send nothing for a while.
        Pause = "PAUSE",
        /// Go on, but expect delay.
        Busy = "BUSY",
    }
}

names! {
    /// Why a room request was refused.
    open RoomErrorCode {
        /// No room has this code.
        RoomNotFound = "ROOM_NOT_FOUND",
        /// The session is in a room.
        AlreadyInRoom = "ALREADY_IN_ROOM",
        /// Anything else.
        InternalError = "INTERNAL_ERROR",
    }
}

names! {
    /// Who speaks which language in a session.
    open Mode {
        /// The source language is spoken, the target language is heard.
        OneWay = "one_way",
        /// Either of two languages is spoken, the other one is heard.
        TwoWayAuto = "two_way_auto",
    }
}

names! {
    /// How audio is encoded.
    open AudioFormat {
        /// Opus packets, each with its length before it.
        Opus = "opus",
        /// Signed samples of 16 bits, little endian.
        Pcm16 = "pcm16",
    }
}

names! {
    /// Why an utterance has no result.
    open MissingReason {
        /// Nobody spoke.
        SilenceDetected = "silence_detected",
        /// Its result did not come in time.
        GapTimeout = "gap_timeout",
        /// The node kept its audio and answered it with a later utterance.
        MergedIntoNext = "merged_into_next",
        /// Too many later results waited for it.
        PendingOverflowEvict = "pending_overflow_evict",
    }
}

names! {
    /// Why a node's result holds no text.
    open EmptyReason {
        /// Nothing was recognised.
        AsrEmpty = "ASR_EMPTY",
        /// The text belongs to another utterance.
        NoTextAssigned = "NO_TEXT_ASSIGNED",
    }
}

names! {
    /// What failed. Nodes have codes of their own.
    open ErrorCode {
        /// The frame is no message.
        InvalidMessage = "INVALID_MESSAGE",
        /// The message could not be served.
        InternalError = "INTERNAL_ERROR",
        /// The session is not one of this socket.
        InvalidSession = "INVALID_SESSION",
        /// The session has ended.
        SessionClosed = "SESSION_CLOSED",
        /// The node cannot be reached.
        NodeUnavailable = "NODE_UNAVAILABLE",
        /// The node has no free slot.
        NodeOverloaded = "NODE_OVERLOADED",
        /// The node has not got the model.
        ModelNotAvailable = "MODEL_NOT_AVAILABLE",
        /// The model did not load.
        ModelLoadFailed = "MODEL_LOAD_FAILED",
        /// The peer cannot do that.
        UnsupportedFeature = "UNSUPPORTED_FEATURE",
        /// Nobody issued this pairing code.
        InvalidPairingCode = "INVALID_PAIRING_CODE",
        /// No node that fits is free.
        NoAvailableNode = "NO_AVAILABLE_NODE",
        /// The socket was lost.
        WsDisconnected = "WS_DISCONNECTED",
        /// Translation took too long.
        NmtTimeout = "NMT_TIMEOUT",
        /// Speaking took too long.
        TtsTimeout = "TTS_TIMEOUT",
        /// The job took too long.
        JobTimeout = "JOB_TIMEOUT",
        /// The model's signature is wrong.
        ModelVerifyFailed = "MODEL_VERIFY_FAILED",
        /// The model's file is broken.
        ModelCorrupted = "MODEL_CORRUPTED",
        /// The node has no graphics processor.
        NoGpuAvailable = "NO_GPU_AVAILABLE",
        /// Another socket registered the same node.
        NodeIdConflict = "NODE_ID_CONFLICT",
        /// The registration contradicts itself.
        InvalidCapabilitySchema = "INVALID_CAPABILITY_SCHEMA",
        /// The scheduler's store does not answer.
        SchedulerDependencyDown = "SCHEDULER_DEPENDENCY_DOWN",
        /// The node failed at the job.
        ProcessingError = "PROCESSING_ERROR",
    }
}
