//! One talker: utterances in chunks, gaps, changes of mind, the end of the session.

use std::sync::Arc;

use lingua_scenarios::streams::{Purpose, Stream, Streams, choose, cumulative_zipf};
use lingua_scenarios::{Dur, Pair, Rate, Sampler, SessionGroup};

use crate::observer::Lane;

/// Sessions of a scenario's group.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) of: SessionGroup,
    /// Its pairs, in the order of their weights.
    pub(crate) pairs: Vec<Pair>,
    weights: Vec<f64>,
    utterance: Sampler,
    gap: Sampler,
    /// Mean time from one utterance to the next, seconds.
    cycle: f64,
}

impl Group {
    pub(crate) fn new(of: &SessionGroup) -> Self {
        let pairs: Vec<Pair> = of.pair.iter().chain(&of.pairs).cloned().collect();
        Self {
            weights: cumulative_zipf(pairs.len(), of.zipf),
            pairs,
            utterance: of.utterance.sampler(),
            gap: of.gap.sampler(),
            cycle: of.utterance.mean() + of.gap.mean(),
            of: of.clone(),
        }
    }

    /// The languages that a session of this pair is heard in: those of its listeners, in the
    /// order of their entry, else its own.
    pub(crate) fn lanes(&self, pair: usize) -> Vec<Lane> {
        let own = &self.pairs[pair];
        let mut lanes: Vec<Lane> = Vec::new();
        for (place, tgt) in self.of.listeners.iter().enumerate() {
            let pair = Pair { src: own.src.clone(), tgt: tgt.clone() };
            match lanes.iter_mut().find(|lane| lane.pair == pair) {
                Some(lane) => lane.listeners |= 1 << place,
                None => lanes.push(Lane { pair, listeners: 1 << place }),
            }
        }
        if lanes.is_empty() {
            lanes.push(Lane { pair: own.clone(), listeners: 0 });
        }
        lanes
    }
}

/// One step of a talker's plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// An utterance begins.
    Begin {
        /// How long it is.
        speech_us: u64,
        /// Whether the client ends it itself.
        manual: bool,
        /// A new socket, and so a new session, first.
        reconnect: bool,
        /// Other languages from here on.
        switch: bool,
    },
    /// A chunk has been spoken.
    Chunk {
        /// How long it sounds.
        audio_us: u64,
        /// Whether the utterance is over.
        last: bool,
    },
    /// The client leaves for good.
    Leave,
}

#[derive(Debug, Clone, Copy)]
enum Doing {
    Gap,
    // Speech left.
    Speaking(u64),
    Gone,
}

/// A talker and where its plan stands. Times are microseconds from the start of the plan.
#[derive(Debug)]
pub(crate) struct Talker {
    pub(crate) group: Arc<Group>,
    /// Index into the group's pairs.
    pub(crate) pair: usize,
    // Apart, because it is large.
    stream: Box<Stream>,
    at: u64,
    doing: Doing,
    leaves: u64,
}

impl Talker {
    /// The talker of this number, who comes at `at`.
    pub(crate) fn new(streams: &Streams, group: &Arc<Group>, number: u32, at: u64) -> Self {
        let mut stream = Box::new(streams.stream(Purpose::Arrivals, 1 << 33 | u64::from(number)));
        let stay = group.of.stay.as_ref().map(|stay| stay.sample(stream.uniform()).micros());
        let pair = choose(&mut stream, &group.weights);
        // A session that is there from the start is somewhere within a gap.
        let gap = group.gap.sample(stream.uniform()).micros() as f64;
        let first = (gap * stream.uniform()) as u64;
        Self {
            group: group.clone(),
            pair,
            stream,
            at: at + first,
            doing: Doing::Gap,
            leaves: stay.map_or(u64::MAX, |stay| at.saturating_add(stay)),
        }
    }

    /// The next step and when it is due; nothing comes after [`Step::Leave`].
    pub(crate) fn next(&mut self) -> Option<(u64, Step)> {
        let at = self.at;
        let step = match self.doing {
            Doing::Gone => return None,
            Doing::Gap if at >= self.leaves => {
                self.doing = Doing::Gone;
                Step::Leave
            }
            Doing::Gap => self.begin(),
            Doing::Speaking(left) => self.speak(left),
        };
        Some((at, step))
    }

    fn begin(&mut self) -> Step {
        let (reconnect, switch) = self.change_of_mind();
        let of = &self.group.of;
        let speech_us = self.group.utterance.sample(self.stream.uniform()).micros().max(1_000);
        let manual = self.stream.uniform() < of.manual_cut;
        self.doing = Doing::Speaking(speech_us);
        self.at += of.chunk.micros().min(speech_us);
        Step::Begin { speech_us, manual, reconnect, switch }
    }

    /// Between utterances a client may reconnect or change its languages.
    fn change_of_mind(&mut self) -> (bool, bool) {
        let of = &self.group.of;
        let now = Dur::from_micros(self.at);
        let cycle = self.group.cycle;
        let chance = |rate: &Option<Rate>| rate.as_ref().map_or(0.0, |rate| rate.at(now) * cycle);
        let (reconnect, switch) = (chance(&of.reconnect), chance(&of.switch_language));
        let reconnect = reconnect > 0.0 && self.stream.uniform() < reconnect;
        let switch = switch > 0.0 && self.stream.uniform() < switch;
        if switch {
            self.pair = choose(&mut self.stream, &self.group.weights);
        }
        (reconnect, switch)
    }

    fn speak(&mut self, left: u64) -> Step {
        let chunk = self.group.of.chunk.micros().max(1);
        let audio_us = chunk.min(left);
        let left = left - audio_us;
        let last = left == 0;
        if last {
            self.doing = Doing::Gap;
            self.at += self.group.gap.sample(self.stream.uniform()).micros();
        } else {
            self.doing = Doing::Speaking(left);
            self.at += chunk.min(left);
        }
        Step::Chunk { audio_us, last }
    }
}

#[cfg(test)]
mod tests {
    use lingua_scenarios::Dist;

    use super::*;

    fn talker(manual_cut: f64) -> Talker {
        let of = SessionGroup {
            pair: "zh:en".parse().ok(),
            utterance: Dist::fixed(Dur::from_millis(250)),
            gap: Dist::fixed(Dur::from_secs(2)),
            stay: Some(Dist::fixed(Dur::from_secs(5))),
            manual_cut,
            ..SessionGroup::default()
        };
        Talker::new(&Streams::new(1), &Arc::new(Group::new(&of)), 0, 0)
    }

    #[test]
    fn an_utterance_is_its_chunks_and_then_silence() {
        let mut talker = talker(1.0);
        let (start, begin) = talker.next().unwrap();
        assert!(start <= 2_000_000);
        assert!(matches!(begin, Step::Begin { speech_us: 250_000, manual: true, .. }));
        let chunks: Vec<_> = std::iter::from_fn(|| talker.next()).take(3).collect();
        let chunk = |audio_us, last| Step::Chunk { audio_us, last };
        assert_eq!(
            chunks,
            [
                (start + 100_000, chunk(100_000, false)),
                (start + 200_000, chunk(100_000, false)),
                (start + 250_000, chunk(50_000, true)),
            ]
        );
        assert_eq!(talker.next().unwrap().0, start + 2_250_000);
    }

    #[test]
    fn who_leaves_says_nothing_more() {
        let mut talker = talker(0.0);
        let steps: Vec<_> = std::iter::from_fn(|| talker.next()).collect();
        let (at, last) = steps[steps.len() - 1];
        assert!(last == Step::Leave && (5_000_000..8_000_000).contains(&at), "{at}");
    }
}
