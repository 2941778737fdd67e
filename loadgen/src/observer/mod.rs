//! The two-sided observer: it sees what clients send and hear and what nodes get and answer, on
//! one clock, and keeps the accounts.

mod affinity;
mod assigned;
mod bursts;
mod cuts;
mod fleet;
mod heard;
mod lanes;
mod latency;
mod series;
mod shards;
mod silence;
mod spans;
mod spoken;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use lingua_reports::load::{AcrossShards, Freezes};
use lingua_reports::run::{Affinity, BrokenSegments, Jobs, Sample};
use lingua_scenarios::streams::again;
use lingua_scenarios::{AffinityRule, Pair, Scenario, WhenFull};

use crate::Profile;
use crate::pacer::{NEVER, Nanos};
use crate::shard::Shard;
use affinity::Miss;
pub(crate) use assigned::Assigned;
use bursts::Bursts;
pub(crate) use fleet::NodeAccount;
pub(crate) use heard::{Ear, Hearing};
pub(crate) use lanes::Lane;
pub(crate) use latency::Latencies;
pub(crate) use series::Series;
use spoken::{Ended, Speaker};
pub(crate) use spoken::{Leaving, Segment};

/// How an utterance ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End<'a> {
    Completed,
    Failed(&'a str),
    Refused(&'a str),
    TimedOut(&'a str),
    Lost,
}

/// An utterance, or the part of one that the scheduler cut off: the unit of the accounts.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// The scheduler's number of it, once known.
    index: Option<u64>,
    life: u32,
    cut: Cut,
    // When its first chunk was begun.
    begins: Nanos,
    intended: Nanos,
    // Time from chunk to chunk.
    pace: Nanos,
    sent: Option<Nanos>,
    counted: bool,
    work: f64,
    // Zero until a node has it.
    attempt: u32,
    // When a node has answered.
    answered: Option<Nanos>,
    // Who of a room's listeners has its final message, a bit for each.
    heard_by: u64,
}

impl Unit {
    /// The number that decides how long the next node works on it. Another attempt is other work.
    fn take_work(&mut self) -> f64 {
        let work = self.work;
        if work >= 0.0 {
            self.work = again(work);
        }
        work
    }
}

/// Who ended an utterance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The client, by its last chunk.
    Manual,
    /// It was sent as a whole.
    Whole,
    /// The scheduler.
    Scheduler,
}

/// Accounts of one pair.
#[derive(Debug, Clone)]
pub(crate) struct PairCount {
    pub(crate) pair: Pair,
    pub(crate) offered: u64,
    pub(crate) refused: u64,
}

/// Where every chunk that was sent has gone.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Chunks {
    pub(crate) sent: u64,
    pub(crate) bytes: u64,
    pub(crate) in_jobs: u64,
    pub(crate) in_refused: u64,
}

/// What a judge has to say besides the accounts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Findings {
    /// Finals of another session.
    pub(crate) wrong_session: u64,
    /// Results whose text is none of ours.
    pub(crate) unknown_results: u64,
    /// Finals without audio that belong to no utterance known here, as after a late answer.
    pub(crate) unplaced_finals: u64,
    /// Jobs given to a second node, or twice to one, without a new attempt.
    pub(crate) assigned_twice: u64,
    /// Chunks that were in two jobs.
    pub(crate) chunks_twice: u64,
    /// Jobs whose audio mixes sessions or skips chunks.
    pub(crate) mixed_jobs: u64,
    /// Jobs or results in a language that nobody chose who listens there.
    pub(crate) wrong_language: u64,
    /// Rooms that could not be opened or entered.
    pub(crate) no_room: u64,
    /// Jobs of nobody's session here.
    pub(crate) foreign_jobs: u64,
    /// Frames that are no messages.
    pub(crate) malformed: u64,
    /// Utterances without any answer although no node had answered them.
    pub(crate) never_answered: u64,
    /// Results of an attempt that was over.
    pub(crate) stale_results: u64,
}

/// All that is counted.
#[derive(Debug)]
pub(crate) struct Observer {
    speakers: Vec<Speaker>,
    pub(crate) nodes: Vec<NodeAccount>,
    pub(crate) jobs: Jobs,
    pub(crate) refused_by_cause: BTreeMap<String, u64>,
    pub(crate) failed_by_cause: BTreeMap<String, u64>,
    pub(crate) timed_out_by_cause: BTreeMap<String, u64>,
    pub(crate) pairs: Vec<PairCount>,
    pub(crate) affinity: Affinity,
    pub(crate) broken_segments: BrokenSegments,
    pub(crate) latencies: Latencies,
    pub(crate) series: Series,
    pub(crate) chunks: Chunks,
    pub(crate) findings: Findings,
    /// Utterances whose final message is awaited.
    pub(crate) open: u64,
    /// Chunks that nobody had ended when the run stopped.
    pub(crate) open_chunks: u64,
    /// Utterances never sent because the scheduler had closed their socket.
    pub(crate) unsent_by_close: u64,
    pub(crate) heartbeats: u64,
    pub(crate) bursts: Bursts,
    pub(crate) freezes: Freezes,
    pub(crate) across: AcrossShards,
    shard: Shard,
    // When a node of this shard got a job of another's session last.
    hosted_at: Nanos,
    misses: VecDeque<Miss>,
    last_came: Nanos,
    last_awake: Nanos,
    /// Utterances that end within are counted.
    window: (Nanos, Nanos),
    /// An utterance without an answer after so long has none.
    deadline: Nanos,
    hangover: Nanos,
    // What the scenario says of the scheduler's rules.
    affinity_rule: AffinityRule,
    affinity_life: Nanos,
    timeout: Nanos,
    pause: Nanos,
    may_wait: bool,
    // The speaker hears what is meant for the listeners of the room.
    tells_speaker: bool,
}

impl Observer {
    /// The accounts of a shard's peers.
    pub(crate) fn new(
        scenario: &Scenario,
        deadline: Nanos,
        shard: Shard,
        profile: Profile,
    ) -> Self {
        Self {
            speakers: Vec::new(),
            nodes: Vec::new(),
            jobs: Jobs::default(),
            refused_by_cause: BTreeMap::new(),
            failed_by_cause: BTreeMap::new(),
            timed_out_by_cause: BTreeMap::new(),
            pairs: Vec::new(),
            affinity: Affinity::default(),
            broken_segments: BrokenSegments::default(),
            latencies: Latencies::new(),
            series: Series::new(scenario.duration.nanos()),
            chunks: Chunks::default(),
            findings: Findings::default(),
            open: 0,
            open_chunks: 0,
            unsent_by_close: 0,
            heartbeats: 0,
            bursts: Bursts::new(),
            freezes: Freezes::default(),
            across: AcrossShards::default(),
            shard,
            hosted_at: 0,
            misses: VecDeque::new(),
            last_came: 0,
            last_awake: 0,
            window: (NEVER, NEVER),
            deadline,
            hangover: scenario.scheduler.hangover_manual.nanos(),
            affinity_rule: scenario.scheduler.affinity_rule,
            affinity_life: scenario.scheduler.affinity_life.nanos(),
            timeout: scenario.scheduler.timeout.nanos(),
            pause: scenario.scheduler.pause.nanos(),
            may_wait: scenario.scheduler.when_full == WhenFull::Wait,
            tells_speaker: profile.tells_speaker(),
        }
    }

    /// The plan begins: from here on rows are made, and the counted part is known.
    pub(crate) fn start(&mut self, start: Nanos, warmup: Nanos, duration: Nanos) {
        self.window = (start + warmup, start + duration);
        for node in &mut self.nodes {
            node.start(self.window);
        }
        self.series.start(start);
        self.last_came = start;
        self.last_awake = start;
    }

    /// Length of the counted part.
    pub(crate) fn counted_span(&self) -> Nanos {
        self.window.1 - self.window.0
    }

    fn is_counted(&self, at: Nanos) -> bool {
        (self.window.0..self.window.1).contains(&at)
    }

    /// A node reports.
    pub(crate) fn heartbeat(&mut self, at: Nanos) {
        self.heartbeats += u64::from(self.is_counted(at));
    }

    /// The number of a pair, given at its first mention.
    pub(crate) fn pair(&mut self, pair: &Pair) -> u32 {
        let known = self.pairs.iter().position(|count| count.pair == *pair);
        known.unwrap_or_else(|| {
            self.pairs.push(PairCount { pair: pair.clone(), offered: 0, refused: 0 });
            self.pairs.len() - 1
        }) as u32
    }

    fn offer(&mut self, pair: u32, counted: bool) {
        self.series.row.offered += 1;
        self.open += 1;
        if counted {
            self.jobs.offered += 1;
            self.pairs[pair as usize].offered += 1;
        }
    }

    /// An utterance's end: it leaves the open ones.
    fn close(&mut self, unit: &Unit, pair: u32, end: End<'_>, at: Nanos) {
        self.open -= 1;
        self.series.ended(end);
        if !unit.counted {
            return;
        }
        let count = |causes: &mut BTreeMap<String, u64>, cause: &str| match causes.get_mut(cause) {
            Some(count) => *count += 1,
            None => {
                causes.insert(cause.to_owned(), 1);
            }
        };
        match end {
            End::Completed => {
                self.jobs.completed += 1;
                self.latencies.answered(unit.intended, unit.sent, at);
            }
            End::Failed(cause) => {
                self.jobs.failed += 1;
                count(&mut self.failed_by_cause, cause);
            }
            End::Refused(cause) => {
                self.jobs.refused += 1;
                self.pairs[pair as usize].refused += 1;
                count(&mut self.refused_by_cause, cause);
            }
            End::TimedOut(cause) => {
                self.jobs.timed_out += 1;
                count(&mut self.timed_out_by_cause, cause);
            }
            End::Lost => self.jobs.lost += 1,
        }
    }

    /// Whether the scheduler has yet to end an utterance.
    pub(crate) fn awaits_cuts(&self) -> bool {
        self.speakers.iter().any(|speaker| !speaker.silent.is_empty())
    }

    /// A row of the time series is over.
    pub(crate) fn close_row(&mut self, sessions: u64) {
        let mut levels = Sample::default();
        self.fill_levels(&mut levels);
        self.series.close_row(|row| {
            *row = Sample {
                nodes: levels.nodes,
                running: levels.running,
                oversold: levels.oversold,
                utilisation: levels.utilisation,
                sessions,
                ..*row
            };
        });
    }

    /// Gives up on what has waited too long.
    pub(crate) fn expire(&mut self, now: Nanos) {
        let Some(since) = now.checked_sub(self.deadline) else { return };
        for session in 0..self.speakers.len() {
            self.open_silent(session, since);
            loop {
                let speaker = &mut self.speakers[session];
                let old = speaker.units.iter().position(|unit| unit.intended <= since);
                let Some(at) = old else { break };
                let unit = speaker.units.remove(at);
                let pair = speaker.pair;
                if let Some(index) = unit.index {
                    // Should its answer come after all, it is late and no second one.
                    let Unit { life, first, last, .. } = unit;
                    speaker.note_ended(Ended { life, index, first, last, by_event: true });
                }
                if unit.answered.is_some() {
                    self.close(&unit, pair, End::Lost, now);
                } else {
                    self.findings.never_answered += u64::from(unit.counted);
                    self.close(&unit, pair, End::TimedOut("no answer"), now);
                }
            }
        }
    }

    /// The end: what is open now stays open.
    pub(crate) fn finish(&mut self) {
        self.judge_misses(NEVER);
        for session in 0..self.speakers.len() {
            self.open_silent(session, NEVER);
            let speaker = &mut self.speakers[session];
            let units = std::mem::take(&mut speaker.units);
            if speaker.leads {
                self.open_chunks += speaker.unfinished_chunks(&units);
            }
            self.jobs.in_flight += units.iter().filter(|unit| unit.counted).count() as u64;
        }
    }
}
