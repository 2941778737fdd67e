//! One instance as a process: it lives, freezes, dies, and runs what it holds.

use std::collections::BTreeMap;

use lingua_core::claim::{ClaimConfig, Claimer, DutyId, Token, Tolerance};
use lingua_core::{InstanceId, Micros};
use lingua_scenarios::{Duties, Sampler};

use super::belief::Belief;
use super::mail::Letter;
use crate::setup;
use crate::streams::{Purpose, Stream, Streams};

/// Streams of one instance, apart by what is drawn.
const KINDS: u64 = 8;

/// A run of a duty.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) number: u32,
    pub(super) token: Token,
}

/// Ways that are cut.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cut {
    pub(super) up: bool,
    pub(super) down: bool,
}

/// One instance.
pub(super) struct Process {
    config: ClaimConfig,
    pub(super) claimer: Claimer,
    /// Which of its lives; letters to a former one are nobody's.
    pub(super) life: u32,
    pub(super) up: bool,
    pub(super) frozen: bool,
    /// It has been frozen in this life.
    pub(super) has_slept: bool,
    pub(super) cut: Cut,
    /// When the last letter of each way arrives: none overtakes it.
    pub(super) up_until: Micros,
    pub(super) down_until: Micros,
    /// What has come while it was frozen, in order.
    pub(super) inbox: Vec<Letter>,
    pub(super) runs: BTreeMap<DutyId, Run>,
    runs_begun: u32,
    /// Runs that came to their end while it was frozen, about to write.
    pub(super) overslept: Vec<DutyId>,
    /// When its next tick is scheduled.
    pub(super) tick_at: Micros,
    pub(super) belief: Belief,
    /// The latest event heard, and whether one was lost since the last recount.
    pub(super) heard: Token,
    pub(super) missed: bool,
    pub(super) words: Stream,
    pub(super) steps: Stream,
    pub(super) events: Stream,
    pub(super) losses: Stream,
    work: Stream,
    run: Sampler,
    pause: Sampler,
}

impl Process {
    /// An instance that is not there yet.
    pub(super) fn new(duties: &Duties, i: u16, streams: &Streams) -> Self {
        let tolerance = Tolerance::new(duties.tolerance_of(i.into()));
        let config = ClaimConfig {
            tolerance: tolerance.unwrap_or(Tolerance::ONE),
            alarm_above: duties.alarm_above.map_or(usize::MAX, |above| above as usize),
            lease: setup::micros(duties.lease),
            tick: setup::micros(duties.tick),
            patience: duties.patience,
            claims_per_view: duties.claims_per_view as usize,
            ..ClaimConfig::new(InstanceId(i))
        };
        let stream = |purpose, kind| streams.stream(purpose, u64::from(i) * KINDS + kind);
        Self {
            claimer: Claimer::new(config.clone()),
            config,
            life: 0,
            up: false,
            frozen: false,
            has_slept: false,
            cut: Cut::default(),
            up_until: Micros::ZERO,
            down_until: Micros::ZERO,
            inbox: Vec::new(),
            runs: BTreeMap::new(),
            runs_begun: 0,
            overslept: Vec::new(),
            tick_at: Micros::NEVER,
            belief: Belief::default(),
            heard: Token::default(),
            missed: false,
            words: stream(Purpose::Selection, 0),
            steps: stream(Purpose::Network, 0),
            events: stream(Purpose::Network, 1),
            losses: stream(Purpose::Network, 2),
            work: stream(Purpose::Service, 0),
            run: duties.run.sampler(),
            pause: duties.pause.sampler(),
        }
    }

    pub(super) fn tolerance(&self) -> Tolerance {
        self.config.tolerance
    }

    pub(super) fn patience(&self) -> u32 {
        self.config.patience
    }

    pub(super) fn id(&self) -> InstanceId {
        self.config.instance
    }

    /// Whether it does anything at present.
    pub(super) fn is_awake(&self) -> bool {
        self.up && !self.frozen
    }

    /// A new life, which knows nothing of the former.
    pub(super) fn begin(&mut self) {
        self.claimer = Claimer::new(self.config.clone());
        self.life += 1;
        self.up = true;
        self.has_slept = false;
        self.tick_at = Micros::NEVER;
        self.belief = Belief::default();
        self.heard = Token::default();
        self.missed = false;
    }

    /// The end of a life, with all that it was about to do.
    pub(super) fn end(&mut self) {
        self.up = false;
        self.frozen = false;
        self.inbox.clear();
        self.runs.clear();
        self.overslept.clear();
    }

    /// Begins a run; gives its number and its length.
    pub(super) fn begin_run(&mut self, duty: DutyId, token: Token) -> (u32, Micros) {
        self.runs_begun += 1;
        self.runs.insert(duty, Run { number: self.runs_begun, token });
        (self.runs_begun, setup::micros(self.run.sample(self.work.uniform())))
    }

    /// The time until the next run.
    pub(super) fn pause(&mut self) -> Micros {
        setup::micros(self.pause.sample(self.work.uniform()))
    }
}
