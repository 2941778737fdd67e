//! Speech whose every chunk can be told apart at the node.

use lingua_protocol::audio::{self, OpusPackets};

/// Samples of a chunk are this plus its tag: high enough not to look like the length of an Opus
/// packet.
const PCM_BASE: u16 = 0x2000;
/// Bytes of an Opus packet; with its length before it, 24 kbit/s.
const PACKET: usize = 58;
/// PCM16 of one channel at 16 kHz.
const PCM_BYTES_PER_MS: usize = 32;

/// How speech is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    /// Length-prefixed packets of 20 ms.
    Opus,
    /// 16 kHz.
    Pcm16,
}

impl Codec {
    /// Its name in a job.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Opus => "opus",
            Self::Pcm16 => "pcm16",
        }
    }

    /// A chunk that sounds for `ms` (a multiple of 20), all of it `tag`.
    pub(super) fn chunk(self, tag: u8, ms: usize) -> Vec<u8> {
        match self {
            Self::Opus => {
                let mut bytes = Vec::with_capacity(ms / 20 * (PACKET + 2));
                for _ in 0..ms / 20 {
                    // A packet of this size is always allowed.
                    let _ = audio::push_opus_packet(&[tag; PACKET], &mut bytes);
                }
                bytes
            }
            Self::Pcm16 => {
                (PCM_BASE + u16::from(tag)).to_le_bytes().repeat(ms * PCM_BYTES_PER_MS / 2)
            }
        }
    }

    /// How long speech sounds, in milliseconds.
    pub(super) fn duration_ms(self, speech: &[u8]) -> usize {
        match self {
            Self::Opus => OpusPackets::new(speech).take_while(Result::is_ok).count() * 20,
            Self::Pcm16 => speech.len() / PCM_BYTES_PER_MS,
        }
    }

    /// The tags of the chunks in it, in their order.
    pub(super) fn tags(self, speech: &[u8]) -> Vec<u8> {
        let mut tags: Vec<u8> = match self {
            Self::Opus => {
                OpusPackets::new(speech).map_while(|packet| packet.ok()?.first().copied()).collect()
            }
            Self::Pcm16 => speech
                .as_chunks()
                .0
                .iter()
                .map(|sample| u16::from_le_bytes(*sample).wrapping_sub(PCM_BASE) as u8)
                .collect(),
        };
        tags.dedup();
        tags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_known_again() {
        for codec in [Codec::Opus, Codec::Pcm16] {
            let speech = [codec.chunk(7, 100), codec.chunk(8, 200), codec.chunk(7, 20)].concat();
            assert_eq!(codec.tags(&speech), [7, 8, 7]);
            assert_eq!(codec.duration_ms(&speech), 320);
        }
        for tag in 0..=u8::MAX {
            assert!(audio::opus_us(&Codec::Pcm16.chunk(tag, 100)).is_err(), "{tag}");
        }
    }
}
