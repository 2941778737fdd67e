//! Names on the wire and in the core.

use axum::extract::ws::Utf8Bytes;
use lingua_core::instance::JobId;
use lingua_core::{InstanceId, Lang, Micros, SessionId};
use lingua_protocol::{self as protocol, AudioFormat, SampleRate, audio};

/// Marks the utterances that a client cuts itself: they have a count of their own.
const WHOLE: u64 = 1 << 63;

/// The session under which a client's whole utterances run.
pub(crate) fn whole(session: SessionId) -> SessionId {
    SessionId(session.0 | WHOLE)
}

/// The client's session, whichever way its audio came.
pub(crate) fn plain(session: SessionId) -> SessionId {
    SessionId(session.0 & !WHOLE)
}

/// `s-` and eight hexadecimal digits.
pub(crate) fn session_id(session: SessionId) -> protocol::SessionId {
    let text = format!("s-{:08X}", plain(session).0);
    protocol::SessionId::new(&text).expect("hexadecimal digits are allowed")
}

/// The session of a name that [`session_id`] gave.
pub(crate) fn parse_session_id(id: &protocol::SessionId) -> Option<SessionId> {
    let digits = id.as_str().strip_prefix("s-")?;
    u64::from_str_radix(digits, 16).ok().map(SessionId)
}

/// The lowest room code, and how many there are: six digits.
pub(crate) const ROOM_CODES: (u32, u32) = (100_000, 900_000);

/// Six digits.
pub(crate) fn room_code(code: u32) -> protocol::RoomCode {
    protocol::RoomCode::new(&code.to_string()).expect("digits are allowed")
}

/// The code that six digits give.
pub(crate) fn parse_room_code(code: &protocol::RoomCode) -> Option<u32> {
    let (lowest, count) = ROOM_CODES;
    let code = code.as_str().parse().ok()?;
    (lowest..lowest + count).contains(&code).then_some(code)
}

/// A UUID of random bytes.
pub(crate) fn uuid(random: [u8; 16]) -> String {
    uuid::Builder::from_random_bytes(random).into_uuid().to_string()
}

/// The job's name.
pub(crate) fn job_id(job: JobId) -> protocol::JobId {
    let text = format!("job-{:x}-{:x}-{:x}", job.origin.0, job.slot, job.version);
    protocol::JobId::new(&text).expect("hexadecimal digits are allowed")
}

/// The job of a name that [`job_id`] gave.
pub(crate) fn parse_job_id(id: &protocol::JobId) -> Option<JobId> {
    let mut parts = id.as_str().strip_prefix("job-")?.split('-');
    let mut number = || u32::from_str_radix(parts.next()?, 16).ok();
    let (origin, slot, version) = (number()?, number()?, number()?);
    let job = JobId { origin: InstanceId(origin.try_into().ok()?), slot, version };
    parts.next().is_none().then_some(job)
}

/// A language of the core, where its tag is short enough.
pub(crate) fn lang(language: &protocol::Language) -> Option<Lang> {
    language.as_str().parse().ok()
}

/// A language on the wire.
pub(crate) fn language(lang: Lang) -> protocol::Language {
    protocol::Language::new(lang.as_str()).expect("a core language is shorter and simpler")
}

/// How audio is encoded, by its first bytes: PCM16 hardly ever is a row of Opus packets.
pub(crate) fn audio_format(bytes: &[u8]) -> AudioFormat {
    match audio::opus_us(bytes) {
        Ok(us) if us > 0 => AudioFormat::Opus,
        _ => AudioFormat::Pcm16,
    }
}

/// How long audio sounds. What is not framed as it should be sounds for nothing.
pub(crate) fn duration(bytes: &[u8], format: &AudioFormat, rate: SampleRate) -> Micros {
    match format {
        AudioFormat::Opus => Micros(audio::opus_us(bytes).unwrap_or(0)),
        _ => Micros(audio::pcm16_us(bytes.len(), rate)),
    }
}

/// What the clients of today send: 16 kHz.
pub(crate) fn sample_rate() -> SampleRate {
    SampleRate::new(16_000).expect("16 kHz is allowed")
}

/// A message as text.
macro_rules! text {
    ($direction:ident, $message:expr) => {
        axum::extract::ws::Utf8Bytes::from(lingua_protocol::$direction::from($message).to_text())
    };
}
pub(crate) use text;

/// An encoded message with the fields of `tail`, of which there is at least one.
pub(crate) fn extended(mut json: String, tail: &impl serde::Serialize) -> Utf8Bytes {
    let tail = serde_json::to_string(tail).expect("string keys into memory");
    json.pop();
    json.push(',');
    json.push_str(&tail[1..]);
    json.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let job = JobId { origin: InstanceId(3), slot: 0xabc, version: 7 };
        assert_eq!(parse_job_id(&job_id(job)), Some(job));
        assert_eq!(parse_session_id(&session_id(SessionId(77))), Some(SessionId(77)));
        assert_eq!(plain(whole(SessionId(5))), SessionId(5));
        for bad in ["job-1-2", "job-1-2-3-4", "job-x-2-3", "nobody"] {
            assert_eq!(parse_job_id(&protocol::JobId::new(bad).unwrap()), None, "{bad}");
        }
    }

    #[test]
    fn a_message_takes_more_fields() {
        let tail = std::collections::BTreeMap::from([("b", 2), ("c", 3)]);
        let text = extended(r#"{"a":1}"#.to_owned(), &tail);
        assert_eq!(text.as_str(), r#"{"a":1,"b":2,"c":3}"#);
    }

    #[test]
    fn audio_is_known_by_its_framing() {
        let mut opus = Vec::new();
        for _ in 0..5 {
            audio::push_opus_packet(&[7; 60], &mut opus).unwrap();
        }
        assert_eq!(audio_format(&opus), AudioFormat::Opus);
        assert_eq!(duration(&opus, &AudioFormat::Opus, sample_rate()), Micros::millis(100));
        for pcm in [vec![0; 3_200], (0..3_200).map(|n| (n % 251) as u8).collect()] {
            assert_eq!(audio_format(&pcm), AudioFormat::Pcm16);
            assert_eq!(duration(&pcm, &AudioFormat::Pcm16, sample_rate()), Micros::millis(100));
        }
    }
}
