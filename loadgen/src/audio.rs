//! The audio of fake clients: right in length and framing, silent in sense.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lingua_protocol::AudioFormat;
use lingua_protocol::audio::{OPUS_PACKET_BYTES, OPUS_PACKET_MS};

use crate::tag::{PCM_BYTES_PER_MS, TAG_BYTES, Tag};

/// Opus at 24 kbit/s.
const OPUS_PACKET: u16 = 60;
/// Longest chunk: a minute of PCM16.
const CHUNK_BYTES_MAX: usize = 60_000 * PCM_BYTES_PER_MS as usize;

/// How audio is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// Packets of 20 ms, each after its length; 24 kbit/s unless the scenario says otherwise.
    Opus,
    /// Samples at 16 kHz.
    Pcm16,
}

/// Makes the payloads of one group of sessions.
///
/// What follows the tag is the same in every chunk, so it is encoded once: a payload is the
/// encoded tag and a piece of a text that is there already.
#[derive(Debug)]
pub(crate) struct Voice {
    // Bytes of an Opus packet; absent for PCM16.
    packet: Option<u16>,
    body: Vec<u8>,
    encoded: String,
}

impl Voice {
    /// The voice of a group whose scenario has so many bytes per millisecond. Chunks sound at most
    /// for `longest_us`.
    pub(crate) fn new(codec: Codec, bytes_per_ms: u32, longest_us: u64) -> Self {
        let packet = match codec {
            Codec::Pcm16 => None,
            Codec::Opus if u64::from(bytes_per_ms) >= PCM_BYTES_PER_MS => Some(OPUS_PACKET),
            Codec::Opus => {
                // With its length of two bytes, and room for the tag.
                let bytes = u64::from(bytes_per_ms) * OPUS_PACKET_MS - 2;
                Some(bytes.clamp(TAG_BYTES as u64 - 2, OPUS_PACKET_BYTES as u64) as u16)
            }
        };
        let mut voice = Self { packet, body: Vec::new(), encoded: String::new() };
        let bytes = voice.bytes(longest_us).min(CHUNK_BYTES_MAX) - TAG_BYTES;
        let row = match packet {
            None => vec![0; bytes],
            Some(packet) => {
                let mut one = packet.to_le_bytes().to_vec();
                one.resize(usize::from(packet) + 2, 0);
                one.iter().copied().cycle().skip(TAG_BYTES).take(bytes).collect()
            }
        };
        voice.encoded = STANDARD.encode(&row);
        voice.body = row;
        voice
    }

    /// The codec that a scenario's bytes per millisecond stand for.
    pub(crate) fn codec_of(bytes_per_ms: u32) -> Codec {
        if u64::from(bytes_per_ms) < PCM_BYTES_PER_MS { Codec::Opus } else { Codec::Pcm16 }
    }

    pub(crate) fn format(&self) -> AudioFormat {
        if self.packet.is_some() { AudioFormat::Opus } else { AudioFormat::Pcm16 }
    }

    /// Bytes of a chunk that sounds so long, tag included.
    fn bytes(&self, audio_us: u64) -> usize {
        let bytes = match self.packet {
            Some(packet) => {
                let packets = audio_us.div_ceil(OPUS_PACKET_MS * 1_000).max(1);
                packets * (u64::from(packet) + 2)
            }
            None => audio_us * PCM_BYTES_PER_MS / 2_000 * 2,
        };
        (bytes as usize).max(TAG_BYTES)
    }

    /// Characters of base64 that a payload has at most.
    pub(crate) fn room(&self, audio_us: u64) -> usize {
        self.bytes(audio_us).div_ceil(3) * 4
    }

    /// Appends the payload of a chunk as base64; tells its bytes.
    pub(crate) fn payload(
        &self,
        run: u32,
        session: u32,
        chunk: u32,
        audio_us: u64,
        out: &mut String,
    ) -> u32 {
        let bytes = self.bytes(audio_us).min(TAG_BYTES + self.body.len());
        let tag = Tag { packet: self.packet, run, session, chunk, bytes: bytes as u32 };
        STANDARD.encode_string(tag.to_bytes(), out);
        let rest = bytes - TAG_BYTES;
        let whole = rest / 3 * 3;
        out.push_str(&self.encoded[..whole / 3 * 4]);
        STANDARD.encode_string(&self.body[whole..rest], out);
        bytes as u32
    }
}

#[cfg(test)]
mod tests {
    use lingua_protocol::SampleRate;
    use lingua_protocol::audio::{opus_us, pcm16_us};

    use super::*;
    use crate::tag::{Found, Span, chunks_of};

    fn decoded(voice: &Voice, audio_us: u64, sounds: u64) -> Vec<u8> {
        let mut payload = String::new();
        let bytes = voice.payload(9, 2, 5, audio_us, &mut payload);
        let audio = STANDARD.decode(&payload).unwrap();
        assert_eq!(audio.len(), bytes as usize);
        let span = Span { session: 2, first: 5, last: 5, audio_us: sounds };
        assert_eq!(chunks_of(&payload, 9), Found::Ours(span));
        audio
    }

    #[test]
    fn opus_is_framed_and_as_long_as_it_should_be() {
        for bytes_per_ms in [1, 3, 4, 32] {
            let voice = Voice::new(Codec::Opus, bytes_per_ms, 3_000_000);
            for (us, sounds) in [(1_000, 20_000), (20_000, 20_000), (100_000, 100_000)] {
                let audio = decoded(&voice, us, sounds);
                assert_eq!(opus_us(&audio), Ok(sounds));
            }
        }
        let nine_kb = decoded(&Voice::new(Codec::Opus, 32, 3_000_000), 3_000_000, 3_000_000);
        assert_eq!(nine_kb.len(), 150 * 62);
    }

    #[test]
    fn samples_are_no_opus_and_as_long_as_they_should_be() {
        let voice = Voice::new(Codec::Pcm16, 32, 3_000_000);
        for ms in [1_u64, 100, 101, 3_000] {
            let audio = decoded(&voice, ms * 1_000, ms * 1_000);
            assert!(opus_us(&audio).is_err());
            assert_eq!(pcm16_us(audio.len(), SampleRate::new(16_000).unwrap()), ms * 1_000);
        }
    }
}
