//! Audio in messages: base64, and how long the bytes under it sound.

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::SampleRate;
use crate::shown::shown;

/// How long one Opus packet of a Lingua client sounds, in milliseconds.
pub const OPUS_PACKET_MS: u64 = 20;

/// Longest Opus packet in bytes (RFC 6716, section 3.4).
pub const OPUS_PACKET_BYTES: usize = 1_275;

/// Bytes as base64 text, as they stand in the frame, quotes included: so no byte of them is looked
/// at again when they leave in another frame.
///
/// Borrows from the frame, so a result can be handed on without a copy. Whether the text is
/// base64 is known when it is decoded: a scheduler may hand it on unread.
#[derive(Clone)]
pub struct Base64<'a>(Cow<'a, RawValue>);

/// A payload that is not base64.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` is not base64, {what}: send the standard alphabet with padding")]
pub struct Base64Error {
    /// The text, cut and escaped.
    pub value: String,
    /// What the decoder met.
    pub what: String,
}

impl Base64<'_> {
    /// Text that is base64 already.
    pub fn from_text(text: &str) -> Base64<'static> {
        Base64(Cow::Owned(to_raw_value(text).expect("a text is JSON")))
    }

    /// The bytes as base64.
    pub fn encode(bytes: &[u8]) -> Base64<'static> {
        let mut quoted = String::with_capacity(bytes.len().div_ceil(3) * 4 + 2);
        quoted.push('"');
        STANDARD.encode_string(bytes, &mut quoted);
        quoted.push('"');
        Base64(Cow::Owned(RawValue::from_string(quoted).expect("base64 needs no escape")))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        let quoted = self.0.get();
        &quoted[1..quoted.len() - 1]
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.as_str().is_empty()
    }

    /// Appends the bytes and returns how many. Into a buffer with room it allocates nothing.
    ///
    /// # Errors
    /// Not base64. `out` is then as it was.
    pub fn decode(&self, out: &mut Vec<u8>) -> Result<usize, Base64Error> {
        let before = out.len();
        match STANDARD.decode_vec(self.as_str(), out) {
            Ok(()) => Ok(out.len() - before),
            Err(error) => {
                out.truncate(before);
                Err(Base64Error { value: shown(self.as_str()), what: error.to_string() })
            }
        }
    }

    /// The same text in memory of its own.
    pub fn into_owned(self) -> Base64<'static> {
        Base64(Cow::Owned(self.0.into_owned()))
    }
}

impl fmt::Debug for Base64<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", shown(self.as_str()))
    }
}

impl Default for Base64<'_> {
    fn default() -> Self {
        Self::from_text("")
    }
}

impl PartialEq for Base64<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(json)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Base64<'a> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        let value = <&RawValue>::deserialize(json)?;
        if !value.get().starts_with('"') {
            return Err(D::Error::custom("expected bytes as base64 text"));
        }
        if value.get().contains('\\') {
            // Some write a slash of base64 with an escape.
            let text: String = serde_json::from_str(value.get()).map_err(D::Error::custom)?;
            return Ok(Self::from_text(&text));
        }
        Ok(Self(Cow::Borrowed(value)))
    }
}

/// How long PCM16 of one channel sounds, in microseconds. A last odd byte sounds for nothing.
pub fn pcm16_us(bytes: usize, rate: SampleRate) -> u64 {
    // 4 MiB of samples times a million stay far below 2^64.
    (bytes / 2) as u64 * 1_000_000 / u64::from(rate.get())
}

/// Audio that is not a row of length-prefixed Opus packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpusFramingError {
    /// The bytes end within a length.
    #[error("the length at byte {at} is cut off: send two bytes, little endian")]
    CutLength {
        /// Where the length begins.
        at: usize,
    },
    /// No packet is as short or as long.
    #[error("the packet at byte {at} has {length} bytes: an Opus packet has 1 to 1275")]
    Length {
        /// Where its length begins.
        at: usize,
        /// The length announced.
        length: usize,
    },
    /// The bytes end within a packet.
    #[error("the packet at byte {at} has {length} bytes, but {left} are left: send whole packets")]
    CutPacket {
        /// Where its length begins.
        at: usize,
        /// The length announced.
        length: usize,
        /// The bytes there are.
        left: usize,
    },
}

/// The packets of length-prefixed Opus audio, without their lengths.
#[derive(Debug, Clone)]
pub struct OpusPackets<'a> {
    audio: &'a [u8],
    at: usize,
}

impl<'a> OpusPackets<'a> {
    /// The packets of these bytes, each after its length of two bytes, little endian.
    pub fn new(audio: &'a [u8]) -> Self {
        Self { audio, at: 0 }
    }
}

impl<'a> Iterator for OpusPackets<'a> {
    type Item = Result<&'a [u8], OpusFramingError>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        let rest = &self.audio[at..];
        if rest.is_empty() {
            return None;
        }
        // After an error nothing that follows has a known beginning.
        self.at = self.audio.len();
        let Some((prefix, rest)) = rest.split_first_chunk::<2>() else {
            return Some(Err(OpusFramingError::CutLength { at }));
        };
        let length = usize::from(u16::from_le_bytes(*prefix));
        if !(1..=OPUS_PACKET_BYTES).contains(&length) {
            return Some(Err(OpusFramingError::Length { at, length }));
        }
        let Some(packet) = rest.get(..length) else {
            return Some(Err(OpusFramingError::CutPacket { at, length, left: rest.len() }));
        };
        self.at = at + 2 + length;
        Some(Ok(packet))
    }
}

/// How long length-prefixed Opus packets sound, in microseconds.
///
/// # Errors
/// The first packet that is not framed as one.
pub fn opus_us(audio: &[u8]) -> Result<u64, OpusFramingError> {
    OpusPackets::new(audio).try_fold(0, |us, packet| packet.map(|_| us + OPUS_PACKET_MS * 1_000))
}

/// Appends one Opus packet with its length before it.
///
/// # Errors
/// Empty or longer than [`OPUS_PACKET_BYTES`]. `out` is then as it was.
pub fn push_opus_packet(packet: &[u8], out: &mut Vec<u8>) -> Result<(), OpusFramingError> {
    let length = packet.len();
    if !(1..=OPUS_PACKET_BYTES).contains(&length) {
        return Err(OpusFramingError::Length { at: out.len(), length });
    }
    out.extend_from_slice(&(length as u16).to_le_bytes());
    out.extend_from_slice(packet);
    Ok(())
}
