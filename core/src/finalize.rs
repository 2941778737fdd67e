//! When an utterance ends: the five reasons, the hangover, and one end per utterance.
//!
//! A [`Segmenter`] follows one session. It holds no audio, only sums.

use crate::Micros;

/// A client that does not say when it has played a result is believed for so long.
const PLAY_MAX: Micros = Micros::secs(60);

/// Figures of the finalize rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinalizeConfig {
    /// Silence longer than this is a pause.
    pub pause: Micros,
    /// How a pause is noticed.
    pub pause_detect: PauseDetect,
    /// No chunk for this long ends the utterance.
    pub timeout: Micros,
    /// Audio of this length ends the utterance.
    pub max_duration: Micros,
    /// More decoded bytes than this end the utterance.
    pub max_length: u64,
    /// Hangover after a manual cut.
    pub hangover_manual: Micros,
    /// Hangover after an automatic cut.
    pub hangover_auto: Micros,
}

impl Default for FinalizeConfig {
    fn default() -> Self {
        Self {
            pause: Micros::secs(3),
            pause_detect: PauseDetect::Timer,
            timeout: Micros::secs(10),
            max_duration: Micros::secs(20),
            max_length: 512_000,
            hangover_manual: Micros::millis(200),
            hangover_auto: Micros::millis(150),
        }
    }
}

impl FinalizeConfig {
    /// The same rules where audio may be heard `late`: only more silence than that is silence.
    #[must_use]
    pub fn allowing(self, late: Micros) -> Self {
        Self { pause: self.pause + late, timeout: self.timeout + late, ..self }
    }
}

/// How a pause of the speaker is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PauseDetect {
    /// A timer closes the utterance when the pause is over.
    #[default]
    Timer,
    /// Noticed when the next chunk comes, which then opens the next utterance.
    OnChunk,
}

/// Why an utterance ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The client said so.
    IsFinal,
    /// The speaker paused.
    Pause,
    /// No chunk came for long.
    Timeout,
    /// The audio got too long.
    MaxDuration,
    /// The buffer got too large.
    MaxLength,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 5] =
        [Self::IsFinal, Self::Pause, Self::Timeout, Self::MaxDuration, Self::MaxLength];

    /// Whether the node keeps the tail of such a cut for the session's next job.
    pub fn leaves_tail(self) -> bool {
        matches!(self, Self::Timeout | Self::MaxDuration)
    }

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::IsFinal => "is_final",
            Self::Pause => "pause",
            Self::Timeout => "timeout",
            Self::MaxDuration => "max_duration",
            Self::MaxLength => "max_length",
        }
    }

    /// How long such a cut waits until its jobs are made.
    pub fn hangover(self, config: &FinalizeConfig) -> Micros {
        match self {
            Self::IsFinal => config.hangover_manual,
            Self::Pause | Self::Timeout | Self::MaxDuration => config.hangover_auto,
            Self::MaxLength => Micros::ZERO,
        }
    }
}

/// One chunk of audio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Decoded bytes; an empty chunk carries no audio.
    pub bytes: u32,
    /// Length of the audio.
    pub audio: Micros,
    /// Whether the client ends the utterance here.
    pub is_final: bool,
    /// The client's own time of sending, carried along untouched.
    pub sent: Micros,
}

/// A finished utterance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Index in the session, from zero, rising by one.
    pub index: u32,
    /// Why it ended.
    pub reason: Reason,
    /// Decoded bytes.
    pub bytes: u64,
    /// Length of the audio.
    pub audio: Micros,
    /// When its last chunk was sent, by the client's time.
    pub last_sent: Micros,
    /// End of the hangover: jobs are made then.
    pub ready: Micros,
}

/// Cuts made by one chunk: at most the utterance that a pause ended and the one it opened.
pub type Cuts = [Option<Cut>; 2];

/// Follows the audio of one session.
#[derive(Debug, Clone, Default)]
pub struct Segmenter {
    next_index: u32,
    bytes: u64,
    audio: Micros,
    // From here on silence counts: the last chunk, or the end of what the client plays.
    silent_since: Micros,
    last_sent: Micros,
    // Hangovers end in the order of the cuts.
    ready: Micros,
}

impl Segmenter {
    /// Whether an utterance is open.
    pub fn is_open(&self) -> bool {
        self.bytes > 0
    }

    /// Utterances begun so far.
    pub fn begun(&self) -> u32 {
        self.next_index + u32::from(self.is_open())
    }

    /// The client begins to play a result, and hears instead of speaking.
    pub fn play_started(&mut self, now: Micros) {
        self.silent_since = now + PLAY_MAX;
    }

    /// The client has played a result.
    pub fn play_ended(&mut self, now: Micros) {
        self.silent_since = now;
    }

    /// Takes a chunk that only adds to the open utterance, as most do; tells whether it was one.
    /// Any other is left to [`Self::chunk`].
    #[inline]
    pub fn extend(&mut self, now: Micros, chunk: &Chunk, config: &FinalizeConfig) -> bool {
        let bytes = self.bytes + u64::from(chunk.bytes);
        let audio = self.audio + chunk.audio;
        let extends = self.is_open()
            && chunk.bytes > 0
            && !chunk.is_final
            && now - self.silent_since <= config.pause
            && bytes <= config.max_length
            && audio < config.max_duration;
        if extends {
            self.bytes = bytes;
            self.audio = audio;
            self.silent_since = now.max(self.silent_since);
            self.last_sent = chunk.sent;
        }
        extends
    }

    /// Takes a chunk.
    pub fn chunk(&mut self, now: Micros, chunk: Chunk, config: &FinalizeConfig) -> Cuts {
        let mut cuts = [None; 2];
        let silent = self.is_open() && now - self.silent_since > config.pause;
        if silent && chunk.bytes > 0 {
            cuts[0] = Some(self.cut(now, Reason::Pause, config));
        }
        if chunk.bytes > 0 {
            self.bytes += u64::from(chunk.bytes);
            self.audio = self.audio + chunk.audio;
            self.silent_since = now.max(self.silent_since);
        }
        self.last_sent = chunk.sent;
        if self.is_open() {
            let reason = if self.bytes > config.max_length {
                Some(Reason::MaxLength)
            } else if chunk.is_final {
                Some(Reason::IsFinal)
            } else {
                (self.audio >= config.max_duration).then_some(Reason::MaxDuration)
            };
            cuts[1] = reason.map(|reason| self.cut(now, reason, config));
        }
        cuts
    }

    /// When silence alone will end the open utterance; none is open: never.
    pub fn deadline(&self, config: &FinalizeConfig) -> Micros {
        if !self.is_open() {
            return Micros::NEVER;
        }
        let timeout = self.silent_since + config.timeout;
        match config.pause_detect {
            PauseDetect::Timer => timeout.min(self.silent_since + config.pause + Micros(1)),
            PauseDetect::OnChunk => timeout,
        }
    }

    /// Ends the open utterance if silence has lasted long enough.
    pub fn tick(&mut self, now: Micros, config: &FinalizeConfig) -> Option<Cut> {
        if now < self.deadline(config) {
            return None;
        }
        let paused =
            config.pause_detect == PauseDetect::Timer && now < self.silent_since + config.timeout;
        let reason = if paused { Reason::Pause } else { Reason::Timeout };
        Some(self.cut(now, reason, config))
    }

    fn cut(&mut self, now: Micros, reason: Reason, config: &FinalizeConfig) -> Cut {
        debug_assert!(self.is_open(), "only an open utterance ends");
        self.ready = self.ready.max(now + reason.hangover(config));
        let cut = Cut {
            index: self.next_index,
            reason,
            bytes: self.bytes,
            audio: self.audio,
            last_sent: self.last_sent,
            ready: self.ready,
        };
        self.next_index += 1;
        self.bytes = 0;
        self.audio = Micros::ZERO;
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 ms of PCM16 at 16 kHz, and of Opus at 32 kbit/s.
    const PCM: u32 = 3_200;
    const OPUS: u32 = 400;

    fn chunk(bytes: u32, is_final: bool) -> Chunk {
        let audio = Micros::millis(if bytes == 0 { 0 } else { 100 });
        Chunk { bytes, audio, is_final, sent: Micros::ZERO }
    }

    /// Feeds chunks of 100 ms at the given milliseconds and lists what was cut: index, reason,
    /// milliseconds of audio, and when it was ready.
    fn run(detect: PauseDetect, feed: &[(u64, u32, bool)], until_ms: u64) -> Vec<String> {
        let config = FinalizeConfig { pause_detect: detect, ..FinalizeConfig::default() };
        let mut segmenter = Segmenter::default();
        let mut cuts = Vec::new();
        let mut feed = feed.iter().peekable();
        for ms in 0..=until_ms {
            let now = Micros::millis(ms);
            cuts.extend(segmenter.tick(now, &config));
            while let Some(&(_, bytes, is_final)) = feed.next_if(|&&(at, ..)| at == ms) {
                let made = segmenter.chunk(now, chunk(bytes, is_final), &config);
                cuts.extend(made.into_iter().flatten());
            }
        }
        let line = |cut: &Cut| {
            let (audio, ready) = (cut.audio.0 / 1_000, cut.ready.0 / 1_000);
            format!("{} {:?} {audio} ms, ready {ready}", cut.index, cut.reason)
        };
        cuts.iter().map(line).collect()
    }

    fn speech(bytes: u32, chunks: u64) -> Vec<(u64, u32, bool)> {
        (0..chunks).map(|i| (i * 100, bytes, false)).collect()
    }

    #[test]
    fn a_manual_cut_waits_its_hangover() {
        let feed = [(0, PCM, false), (100, PCM, false), (200, 0, true)];
        assert_eq!(run(PauseDetect::Timer, &feed, 500), ["0 IsFinal 200 ms, ready 400"]);
    }

    #[test]
    fn a_pause_ends_by_the_timer_or_by_the_next_chunk() {
        let feed = [(0, PCM, false), (4_000, PCM, false)];
        let by_timer = run(PauseDetect::Timer, &feed, 7_100);
        assert_eq!(by_timer, ["0 Pause 100 ms, ready 3151", "1 Pause 100 ms, ready 7151"]);
        let by_chunk = run(PauseDetect::OnChunk, &feed, 14_000);
        assert_eq!(by_chunk, ["0 Pause 100 ms, ready 4150", "1 Timeout 100 ms, ready 14150"]);
    }

    #[test]
    fn exactly_three_seconds_are_no_pause() {
        let feed = [(0, PCM, false), (3_000, PCM, true)];
        assert_eq!(run(PauseDetect::OnChunk, &feed, 3_500), ["0 IsFinal 200 ms, ready 3200"]);
    }

    #[test]
    fn twenty_seconds_of_speech_end_by_max_duration_and_the_rest_goes_on() {
        let cuts = run(PauseDetect::Timer, &speech(OPUS, 250), 30_000);
        assert_eq!(cuts, ["0 MaxDuration 20000 ms, ready 20050", "1 Pause 5000 ms, ready 28051"]);
    }

    #[test]
    fn uncompressed_audio_meets_the_size_guard_before_the_longest_duration() {
        let cuts = run(PauseDetect::Timer, &speech(PCM, 200), 25_000);
        assert_eq!(cuts, ["0 MaxLength 16100 ms, ready 16000", "1 Pause 3900 ms, ready 23051"]);
    }

    #[test]
    fn the_largest_reason_wins() {
        let config = FinalizeConfig::default();
        let mut segmenter = Segmenter::default();
        let huge =
            Chunk { bytes: 512_001, audio: Micros::secs(30), is_final: true, sent: Micros::ZERO };
        let [_, cut] = segmenter.chunk(Micros::secs(1), huge, &config);
        assert_eq!(
            cut.map(|cut| (cut.reason, cut.ready)),
            Some((Reason::MaxLength, Micros::secs(1)))
        );
        let [_, cut] = segmenter.chunk(Micros::secs(1), Chunk { bytes: 512_000, ..huge }, &config);
        assert_eq!(cut.map(|cut| cut.reason), Some(Reason::IsFinal));
    }

    #[test]
    fn an_empty_final_chunk_after_a_pause_ends_the_utterance_by_hand() {
        let feed = [(0, PCM, false), (4_000, 0, true)];
        assert_eq!(run(PauseDetect::OnChunk, &feed, 4_500), ["0 IsFinal 100 ms, ready 4200"]);
    }

    #[test]
    fn no_silence_counts_while_a_result_is_played() {
        let config = FinalizeConfig::default();
        let mut segmenter = Segmenter::default();
        segmenter.chunk(Micros::ZERO, chunk(PCM, false), &config);
        segmenter.play_started(Micros::secs(1));
        assert_eq!(segmenter.tick(Micros::secs(50), &config), None);
        let [before, _] = segmenter.chunk(Micros::secs(50), chunk(PCM, false), &config);
        assert_eq!(before, None, "the chunk goes on with the utterance");
        segmenter.play_ended(Micros::secs(51));
        assert_eq!(segmenter.tick(Micros::secs(54), &config), None);
        let cut = segmenter.tick(Micros::secs(54) + Micros(1), &config);
        assert_eq!(cut.map(|cut| cut.reason), Some(Reason::Pause));
        segmenter.chunk(Micros::secs(60), chunk(PCM, false), &config);
        segmenter.play_started(Micros::secs(60));
        assert!(segmenter.tick(Micros::secs(124), &config).is_some(), "but not for ever");
    }

    #[test]
    fn nothing_spoken_is_nothing_cut() {
        assert!(run(PauseDetect::Timer, &[(0, 0, true), (50, 0, false)], 20_000).is_empty());
    }

    #[test]
    fn hangovers_end_in_order() {
        let config = FinalizeConfig::default();
        let mut segmenter = Segmenter::default();
        let [_, first] = segmenter.chunk(Micros::ZERO, chunk(PCM, true), &config);
        let huge = Chunk { bytes: 600_000, ..chunk(PCM, false) };
        let [_, second] = segmenter.chunk(Micros(1), huge, &config);
        assert!(second.map(|cut| cut.ready) >= first.map(|cut| cut.ready));
    }
}
