//! The tag in every chunk: which run, session and chunk it is.
//!
//! It travels through the scheduler within the audio, so node and client need no guess about what
//! belongs together, and no chunk disappears unseen. A node answers with the same names as text.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lingua_protocol::audio::OPUS_PACKET_MS;

/// Bytes at the beginning of each chunk.
pub(crate) const TAG_BYTES: usize = 18;

/// PCM16 of one channel at 16 kHz.
pub(crate) const PCM_BYTES_PER_MS: u64 = 32;

/// Base64 characters that surely hold a tag, wherever it begins.
const WINDOW: usize = 28;

/// Marks raw samples: as the length of an Opus packet it is too long.
const RAW: u16 = u16::MAX;

/// One chunk of audio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    /// Length of the first Opus packet; absent for PCM16.
    pub(crate) packet: Option<u16>,
    /// Which run of the load generator.
    pub(crate) run: u32,
    /// Which of its sessions, those of all shards.
    pub(crate) session: u32,
    /// The session's chunk, from 0.
    pub(crate) chunk: u32,
    /// Bytes of the chunk, tag included.
    pub(crate) bytes: u32,
}

impl Tag {
    pub(crate) fn to_bytes(self) -> [u8; TAG_BYTES] {
        let mut out = [0; TAG_BYTES];
        out[..2].copy_from_slice(&self.packet.unwrap_or(RAW).to_le_bytes());
        for (at, number) in [self.run, self.session, self.chunk, self.bytes].iter().enumerate() {
            out[2 + 4 * at..6 + 4 * at].copy_from_slice(&number.to_le_bytes());
        }
        out
    }

    /// Microseconds that the chunk sounds.
    fn audio_us(&self) -> u64 {
        let bytes = u64::from(self.bytes);
        match self.packet {
            Some(packet) => bytes / (u64::from(packet) + 2) * OPUS_PACKET_MS * 1_000,
            None => bytes * 1_000 / PCM_BYTES_PER_MS,
        }
    }

    fn from_bytes(bytes: &[u8; TAG_BYTES]) -> Self {
        let number = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let packet = u16::from_le_bytes([bytes[0], bytes[1]]);
        Self {
            packet: (packet != RAW).then_some(packet),
            run: number(2),
            session: number(6),
            chunk: number(10),
            bytes: number(14),
        }
    }

    /// The tag at a byte of base64 audio.
    fn read(base64: &str, at: usize) -> Option<Self> {
        let start = at / 3 * 4;
        let text = base64.as_bytes().get(start..)?;
        let text = &text[..text.len().min(WINDOW)];
        let mut bytes = [0; WINDOW / 4 * 3];
        let decoded = STANDARD.decode_slice(text, &mut bytes).ok()?;
        let tag = bytes[..decoded].get(at % 3..at % 3 + TAG_BYTES)?;
        tag.try_into().ok().map(Self::from_bytes)
    }
}

/// Chunks in a row of one session, as they stand in a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) session: u32,
    /// First chunk.
    pub(crate) first: u32,
    /// Last chunk.
    pub(crate) last: u32,
    /// Microseconds that they sound.
    pub(crate) audio_us: u64,
}

/// What a job's audio turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Chunks of this run.
    Ours(Span),
    /// Chunks of this run, but not one session's in a row.
    Mixed(Span),
    /// Nothing of this run.
    Foreign,
}

/// Reads which chunks a job's audio holds, decoding nothing but their tags.
pub(crate) fn chunks_of(base64: &str, run: u32) -> Found {
    let padding = base64.bytes().rev().take(2).filter(|&byte| byte == b'=').count();
    let total = (base64.len() / 4 * 3).saturating_sub(padding);
    let Some(first) = Tag::read(base64, 0).filter(|tag| tag.run == run) else {
        return Found::Foreign;
    };
    let (session, chunk, audio_us) = (first.session, first.chunk, first.audio_us());
    let mut span = Span { session, first: chunk, last: chunk, audio_us };
    let mut at = first.bytes as usize;
    while at < total {
        let next = Tag::read(base64, at).filter(|tag| tag.run == run && tag.bytes > 0);
        match next {
            Some(tag) if tag.session == span.session && tag.chunk == span.last + 1 => {
                span.last = tag.chunk;
                span.audio_us += tag.audio_us();
                at += tag.bytes as usize;
            }
            _ => return Found::Mixed(span),
        }
    }
    Found::Ours(span)
}

/// What a fake node answers: which chunks it was given, at which attempt, into which language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer<'a> {
    pub(crate) run: u32,
    pub(crate) session: u32,
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) attempt: u32,
    pub(crate) tgt: &'a str,
}

impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, session, first, last, attempt, tgt } = self;
        write!(f, "{run:08x}.{session}.{first}.{last}.{attempt}.{tgt}")
    }
}

impl<'a> Answer<'a> {
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split('.');
        let run = u32::from_str_radix(parts.next()?, 16).ok()?;
        let mut number = || parts.next()?.parse().ok();
        let (session, first, last, attempt) = (number()?, number()?, number()?, number()?);
        let tgt = parts.next()?;
        parts.next().is_none().then_some(Self { run, session, first, last, attempt, tgt })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(session: u32, chunk: u32, bytes: usize) -> Vec<u8> {
        let tag = Tag { packet: None, run: 7, session, chunk, bytes: bytes as u32 };
        let mut out = tag.to_bytes().to_vec();
        out.resize(bytes, 0xa5);
        out
    }

    #[test]
    fn a_job_tells_its_chunks_whatever_their_length() {
        for lengths in [vec![18], vec![20, 3_200, 19], vec![62; 30], vec![18, 18, 21]] {
            let audio: Vec<u8> =
                (4..).zip(&lengths).flat_map(|(n, &len)| chunk(3, n, len)).collect();
            let last = 4 + lengths.len() as u32 - 1;
            let audio_us = lengths.iter().map(|&bytes| bytes as u64 * 1_000 / 32).sum();
            let found = chunks_of(&STANDARD.encode(&audio), 7);
            assert_eq!(found, Found::Ours(Span { session: 3, first: 4, last, audio_us }));
        }
    }

    #[test]
    fn what_is_not_a_row_of_ours_is_told_so() {
        let encode = |parts: &[Vec<u8>]| STANDARD.encode(parts.concat());
        let span = Span { session: 3, first: 0, last: 0, audio_us: 1_250 };
        let skipped = encode(&[chunk(3, 0, 40), chunk(3, 2, 40)]);
        let strange = encode(&[chunk(3, 0, 40), chunk(4, 1, 40)]);
        assert_eq!(chunks_of(&skipped, 7), Found::Mixed(span));
        assert_eq!(chunks_of(&strange, 7), Found::Mixed(span));
        assert_eq!(chunks_of(&encode(&[chunk(3, 0, 40)]), 8), Found::Foreign);
        for text in ["", "AAAA", "not base64 at all, though long enough to hold a tag"] {
            assert_eq!(chunks_of(text, 7), Found::Foreign);
        }
    }

    #[test]
    fn answers_come_back() {
        let (run, session) = (0xbeef, 5);
        let answer = Answer { run, session, first: 10, last: 39, attempt: 2, tgt: "en" };
        assert_eq!(Answer::parse(&answer.to_string()), Some(answer));
        for text in ["", "hello", "1.2.3.4.5", "1.2.3.4.5.en.6", "x.1.2.3.4.en"] {
            assert_eq!(Answer::parse(text), None, "{text}");
        }
    }
}
