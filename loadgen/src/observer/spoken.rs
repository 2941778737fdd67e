//! The clients' side of the accounts: what was planned, and what was sent.

use std::collections::VecDeque;

use super::affinity::{Bound, Tail};
use super::{Cut, End, Observer, Unit};
use crate::pacer::{NEVER, Nanos};

/// Numbers of utterances that ended last, per session: enough to know a second answer.
const ENDED_MAX: usize = 32;

/// One planned utterance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    /// Its first chunk.
    pub(crate) first: u32,
    pub(crate) cut: Cut,
    /// When it was to begin.
    pub(crate) begins: Nanos,
    /// Time from chunk to chunk.
    pub(crate) pace: Nanos,
    /// The uniform number that decides how long a node works; negative: by the key of the job.
    pub(crate) work: f64,
}

impl Segment {
    /// When a chunk of it was to be sent.
    pub(super) fn intended(&self, chunk: u32) -> Nanos {
        self.begins + self.pace * u64::from(chunk - self.first + 1)
    }
}

/// Most holes that are remembered per session.
const HOLES_MAX: usize = 64;

/// An utterance that is over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) life: u32,
    pub(super) index: u64,
    pub(super) first: u32,
    pub(super) last: u32,
    /// An event told it; its final message may still come.
    pub(super) by_event: bool,
}

/// When a chunk leaves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaving {
    /// By the plan.
    pub(crate) intended: Nanos,
    /// Since when its socket could have taken it.
    pub(crate) ready: Nanos,
    pub(crate) now: Nanos,
}

/// A session as the accounts see it.
#[derive(Debug)]
pub(super) struct Speaker {
    pub(super) pair: u32,
    // Speakers that are one session, from this one on; see the lanes.
    pub(super) lanes: u32,
    pub(super) leads: bool,
    pub(super) listeners: u64,
    // Rises with each socket: the scheduler counts anew.
    pub(super) life: u32,
    /// Utterances without a final message, oldest first.
    pub(super) units: Vec<Unit>,
    pub(super) speaking: Option<Segment>,
    /// The plan is over: what it is in the middle of does not count.
    pub(super) stopped: bool,
    /// Utterances that the scheduler has yet to end: segment, last chunk, intended, sent.
    pub(super) silent: Vec<(Segment, u32, Nanos, Nanos)>,
    /// The next chunk that has been in no job.
    pub(super) covered: u32,
    /// The next chunk to be sent.
    pub(super) sent: u32,
    pub(super) last_sent: Nanos,
    pub(super) bound: Option<Bound>,
    pub(super) tail: Option<Tail>,
    /// Index of the job that a node of this shard got last.
    pub(super) last_job: Option<u64>,
    /// Highest index whose final message came.
    pub(super) heard: Option<u64>,
    /// What ended last.
    pub(super) ended: VecDeque<Ended>,
    /// First chunk of this life.
    pub(super) base: u32,
    /// Chunks before `covered` that have been in no job either.
    holes: Vec<(u32, u32)>,
}

impl Speaker {
    /// Chunks of utterances that are under way or in the middle of being spoken.
    pub(super) fn unfinished_chunks(&self, open: &[Unit]) -> u64 {
        let unseen = |unit: &&Unit| unit.attempt == 0;
        let open: u32 = open.iter().filter(unseen).map(|unit| unit.last - unit.first + 1).sum();
        let spoken = self.speaking.map_or(0, |segment| self.sent - segment.first.max(self.covered));
        u64::from(open) + u64::from(spoken)
    }

    /// Utterances that nobody had ended before this chunk became part of what it ended.
    pub(super) fn absorb_silent(&mut self, last: u32) {
        self.silent.retain(|(_, end, ..)| *end > last);
    }

    pub(super) fn note_ended(&mut self, ended: Ended) {
        if self.ended.len() >= ENDED_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back(ended);
    }

    /// Marks chunks as ended; tells how many had not been before.
    pub(super) fn cover(&mut self, first: u32, last: u32) -> u32 {
        let mut fresh = (last + 1).saturating_sub(first.max(self.covered));
        if first > self.covered && self.holes.len() < HOLES_MAX {
            self.holes.push((self.covered, first - 1));
        }
        self.covered = self.covered.max(last + 1);
        let holes = std::mem::take(&mut self.holes);
        for (from, to) in holes {
            let (low, high) = (from.max(first), to.min(last));
            if low > high {
                self.holes.push((from, to));
                continue;
            }
            fresh += high - low + 1;
            self.holes.extend((from < low).then(|| (from, low - 1)));
            self.holes.extend((high < to).then(|| (high + 1, to)));
        }
        fresh
    }
}

impl Observer {
    /// A session that is going to speak; its number.
    pub(crate) fn add_speaker(&mut self, pair: u32) -> u32 {
        self.speakers.push(Speaker {
            pair,
            lanes: 1,
            leads: true,
            listeners: 0,
            life: 0,
            units: Vec::new(),
            speaking: None,
            stopped: false,
            silent: Vec::new(),
            covered: 0,
            sent: 0,
            last_sent: 0,
            bound: None,
            tail: None,
            last_job: None,
            heard: None,
            ended: VecDeque::new(),
            base: 0,
            holes: Vec::new(),
        });
        self.speakers.len() as u32 - 1
    }

    pub(crate) fn set_pair(&mut self, session: u32, pair: u32) {
        self.speakers[session as usize].pair = pair;
    }

    /// A new socket: the scheduler counts anew; the number of this life. What is still open on the
    /// former one may be answered there, unless that is lost, too.
    pub(crate) fn reborn(&mut self, session: u32, chunk: u32, lost: bool, now: Nanos) -> u32 {
        for lane in self.lanes(session) {
            self.reborn_in(lane, chunk, lost, now);
        }
        self.speakers[session as usize].life
    }

    fn reborn_in(&mut self, lane: usize, chunk: u32, lost: bool, now: Nanos) {
        self.open_silent(lane, NEVER);
        let speaker = &mut self.speakers[lane];
        speaker.life += 1;
        speaker.heard = None;
        speaker.speaking = None;
        speaker.bound = None;
        speaker.tail = None;
        speaker.base = chunk;
        let life = speaker.life;
        if lost {
            // What no node has by now fails with its socket.
            let before = speaker.covered.min(chunk);
            let holes: u32 = speaker.holes.drain(..).map(|(from, to)| to - from + 1).sum();
            if speaker.leads {
                self.chunks.in_refused += u64::from(chunk - before + holes);
            }
            speaker.covered = chunk;
            self.fail_units(lane, life - 1, now);
        }
    }

    /// A former socket is gone before all that it owed had come.
    pub(crate) fn lose(&mut self, session: u32, life: u32, now: Nanos) {
        for lane in self.lanes(session) {
            if self.speakers[lane].life == life {
                self.open_silent(lane, NEVER);
            }
            self.fail_units(lane, life, now);
        }
    }

    /// The utterances of a socket that is gone have failed, and what no node has of them.
    fn fail_units(&mut self, lane: usize, life: u32, now: Nanos) {
        let speaker = &mut self.speakers[lane];
        let (pair, leads) = (speaker.pair, speaker.leads);
        let (gone, kept) = std::mem::take(&mut speaker.units)
            .into_iter()
            .partition::<Vec<_>, _>(|unit| unit.life == life);
        speaker.units = kept;
        for unit in gone {
            let fresh = self.speakers[lane].cover(unit.first, unit.last);
            if leads {
                self.chunks.in_refused += u64::from(fresh);
            }
            self.close(&unit, pair, End::Failed("socket closed"), now);
        }
    }

    /// Whether a socket of a session has nothing to wait for.
    pub(crate) fn is_quiet(&self, session: u32, life: u32) -> bool {
        self.speakers[self.lanes(session)].iter().all(|speaker| {
            let silent = speaker.life == life && !speaker.silent.is_empty();
            !silent && speaker.units.iter().all(|unit| unit.life != life)
        })
    }

    /// The first chunk of an utterance is about to be sent.
    pub(crate) fn begin(&mut self, session: u32, segment: Segment) {
        for lane in self.lanes(session) {
            self.speakers[lane].speaking = Some(segment);
        }
    }

    /// A chunk is being sent. `ready`: since when the socket could have taken it.
    pub(crate) fn chunk_sent(&mut self, session: u32, bytes: u32, at: Leaving) {
        let Leaving { intended, ready, now } = at;
        for lane in self.lanes(session) {
            self.speakers[lane].sent += 1;
            self.speakers[lane].last_sent = now;
        }
        self.chunks.sent += 1;
        self.chunks.bytes += u64::from(bytes);
        if self.is_counted(intended) {
            self.latencies.sent(intended, intended.max(ready), now);
            self.bursts.add(now);
        }
    }

    /// The last chunk of the utterance is being sent.
    pub(crate) fn spoken(&mut self, session: u32, last: u32, intended: Nanos, now: Nanos) {
        for lane in self.lanes(session) {
            self.spoken_in(lane, last, intended, now);
        }
    }

    fn spoken_in(&mut self, lane: usize, last: u32, intended: Nanos, now: Nanos) {
        let counted = self.is_counted(intended);
        let speaker = &mut self.speakers[lane];
        let Some(segment) = speaker.speaking.take() else { return };
        if segment.cut == Cut::Scheduler {
            speaker.silent.push((segment, last, intended, now));
            return;
        }
        let unit = Unit {
            first: segment.first.max(speaker.covered),
            last,
            index: None,
            life: speaker.life,
            cut: segment.cut,
            begins: segment.begins,
            intended,
            pace: segment.pace,
            sent: Some(now),
            counted,
            work: segment.work,
            attempt: 0,
            answered: None,
            heard_by: 0,
        };
        speaker.units.push(unit);
        let pair = speaker.pair;
        self.offer(pair, counted);
    }

    /// The plan of a session is over.
    pub(crate) fn stopped(&mut self, session: u32) {
        for lane in self.lanes(session) {
            self.speakers[lane].stopped = true;
        }
    }

    /// An utterance of the plan that could not be sent. `lost`: the scheduler had closed its socket.
    pub(crate) fn never_sent(&mut self, session: u32, intended: Nanos, lost: bool) {
        for lane in self.lanes(session) {
            self.series.row.offered += 1;
            if self.is_counted(intended) {
                let pair = self.speakers[lane].pair;
                self.jobs.offered += 1;
                self.jobs.never_sent += 1;
                self.unsent_by_close += u64::from(lost);
                self.pairs[pair as usize].offered += 1;
            }
            self.speakers[lane].speaking = None;
        }
    }
}
