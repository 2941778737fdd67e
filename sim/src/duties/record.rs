//! Who ran what, for how long nobody could, and what became of it.

use std::collections::BTreeMap;

use lingua_core::Micros;
use lingua_core::claim::DutyId;
use lingua_reports::duties::{DutySample, Episode, Events, Writes};

/// Rows of the time series, about.
const ROWS: u64 = 500;
/// Rows are no closer than this.
const ROW_MIN: Micros = Micros::millis(100);

/// A time in which a duty is nobody's, and the episode in which it began.
#[derive(Debug, Clone, Copy)]
struct Open {
    since: Micros,
    episode: usize,
}

/// From one disturbance to the next, and how many of its open times are still open.
#[derive(Debug)]
struct Stage {
    at: Micros,
    row: Episode,
    open: u64,
}

/// One instance.
#[derive(Debug, Clone, Default)]
pub(super) struct Holder {
    pub(super) holds: u64,
    pub(super) most: u64,
    pub(super) acquired: u64,
    pub(super) alarms: u64,
    // Sum of duties × microseconds, up to `since`.
    held_us: u128,
    since: Micros,
}

impl Holder {
    fn changes(&mut self, now: Micros, by: i64) {
        self.held_us += u128::from(self.holds) * u128::from((now - self.since).0);
        self.since = now;
        self.holds = self.holds.saturating_add_signed(by);
        self.most = self.most.max(self.holds);
    }

    /// Mean of the duties held from the start to `end`.
    pub(super) fn mean(&self, end: Micros) -> f64 {
        self.held_us as f64 / end.0.max(1) as f64
    }
}

/// What is counted.
pub(super) struct Record {
    span: Micros,
    // Who can run each duty, and who did last.
    runner: Vec<Option<u16>>,
    last: Vec<Option<u16>>,
    open: Vec<Option<Open>>,
    unheld: u64,
    stages: Vec<Stage>,
    pub(super) holders: Vec<Holder>,
    pub(super) samples: Vec<DutySample>,
    pub(super) writes: Writes,
    pub(super) events: Events,
    pub(super) claims: u64,
    pub(super) steps: u64,
    pub(super) replies_lost: u64,
    pub(super) joins: u64,
    pub(super) lapses: u64,
    pub(super) moves: u64,
    row: Micros,
    marks: BTreeMap<&'static str, u64>,
}

/// Rare paths; those that were never reached are told too.
const MARKS: [&str; 9] = [
    "claim_taken_by_another",
    "drain_of_no_member",
    "drain_undone",
    "drained",
    "former_life_still_member",
    "joined_anew_after_freeze",
    "limit_raised_by_ageing",
    "lost_event_healed_by_tick",
    "stale_write_refused",
];

impl Record {
    pub(super) fn new(duties: u32, instances: u32, end: Micros) -> Self {
        let span = Micros(end.0 / ROWS).max(ROW_MIN);
        let duties = duties as usize;
        let start = Stage {
            at: Micros::ZERO,
            row: Episode {
                what: "start".to_owned(),
                unheld_most: duties as u64,
                ..Episode::default()
            },
            open: duties as u64,
        };
        Self {
            span,
            runner: vec![None; duties],
            last: vec![None; duties],
            open: vec![Some(Open { since: Micros::ZERO, episode: 0 }); duties],
            unheld: duties as u64,
            stages: vec![start],
            holders: vec![Holder::default(); instances as usize],
            samples: Vec::new(),
            writes: Writes::default(),
            events: Events::default(),
            claims: 0,
            steps: 0,
            replies_lost: 0,
            joins: 0,
            lapses: 0,
            moves: 0,
            row: Micros::ZERO,
            marks: MARKS.into_iter().map(|name| (name, 0)).collect(),
        }
    }

    pub(super) fn mark(&mut self, name: &'static str) {
        *self.marks.entry(name).or_default() += 1;
    }

    pub(super) fn marks(&self) -> BTreeMap<String, u64> {
        self.marks.iter().map(|(name, &count)| ((*name).to_owned(), count)).collect()
    }

    pub(super) fn alarm(&mut self, i: u16) {
        self.holders[usize::from(i)].alarms += 1;
    }

    /// How many duties nobody can run.
    pub(super) fn unheld(&self) -> u64 {
        self.unheld
    }

    /// The duty that has been nobody's for longest, and since when.
    pub(super) fn longest_open(&self) -> Option<(usize, Micros)> {
        let open = self.open.iter().enumerate();
        let open = open.filter_map(|(duty, open)| open.map(|open| (duty, open.since)));
        open.min_by_key(|&(_, since)| since)
    }

    /// An instance has acquired a duty.
    pub(super) fn starts(&mut self, now: Micros, duty: DutyId, i: u16) {
        self.holders[usize::from(i)].acquired += 1;
        let last = self.last[duty.0 as usize].replace(i);
        if last.is_some_and(|last| last != i) {
            self.moves += 1;
            let episode = self.open[duty.0 as usize].map(|open| open.episode);
            let episode = episode.unwrap_or(self.stages.len() - 1);
            self.stages[episode].row.moves += 1;
        }
        self.resumes(now, duty, i);
    }

    /// An instance can run a duty again that it held all the time.
    pub(super) fn resumes(&mut self, now: Micros, duty: DutyId, i: u16) {
        let d = duty.0 as usize;
        if let Some(other) = self.runner[d].replace(i) {
            self.holders[usize::from(other)].changes(now, -1);
        }
        self.holders[usize::from(i)].changes(now, 1);
        let Some(open) = self.open[d].take() else { return };
        self.unheld -= 1;
        let stage = &mut self.stages[open.episode];
        stage.open -= 1;
        let span = (now - open.since).as_secs_f64();
        stage.row.longest_unheld_s = stage.row.longest_unheld_s.max(span);
        if stage.open == 0 {
            stage.row.all_held_s = Some((now - stage.at).as_secs_f64());
        }
    }

    /// An instance can run a duty no longer.
    pub(super) fn stops(&mut self, now: Micros, duty: DutyId, i: u16) {
        let d = duty.0 as usize;
        if self.runner[d] != Some(i) {
            return;
        }
        self.runner[d] = None;
        self.holders[usize::from(i)].changes(now, -1);
        let episode = self.stages.len() - 1;
        self.open[d] = Some(Open { since: now, episode });
        self.unheld += 1;
        let stage = &mut self.stages[episode];
        stage.open += 1;
        stage.row.all_held_s = None;
        stage.row.unheld_most = stage.row.unheld_most.max(stage.open);
    }

    /// An instance can run nothing any longer.
    pub(super) fn stops_all(&mut self, now: Micros, i: u16) {
        for duty in 0..self.runner.len() as u32 {
            self.stops(now, DutyId(duty), i);
        }
    }

    /// Something begins or ends to go wrong.
    pub(super) fn disturb(&mut self, now: Micros, what: &str) {
        match self.stages.last_mut() {
            Some(stage) if stage.at == now && now > Micros::ZERO => {
                stage.row.what = format!("{}, {what}", stage.row.what);
            }
            _ => {
                let at_s = now.as_secs_f64();
                let row = Episode { at_s, what: what.to_owned(), ..Episode::default() };
                self.stages.push(Stage { at: now, row, open: 0 });
            }
        }
    }

    /// When the next row is due.
    pub(super) fn row(&self) -> Micros {
        self.row
    }

    pub(super) fn sample(&mut self, now: Micros, up: impl Iterator<Item = (usize, usize)>) {
        for (i, limit) in up {
            self.samples.push(DutySample {
                t_s: now.as_secs_f64(),
                instance: i as u32,
                held: self.holders[i].holds as u32,
                limit: limit.min(u32::MAX as usize) as u32,
            });
        }
        self.row = now + self.span;
    }

    /// The end of what is counted.
    pub(super) fn close(&mut self, end: Micros) {
        for holder in &mut self.holders {
            if holder.since < end {
                holder.changes(end, 0);
            }
        }
    }

    /// What happened from each disturbance to the next. Where nothing was nobody's, all was held
    /// again at once.
    pub(super) fn episodes(&self) -> Vec<Episode> {
        let row = |stage: &Stage| {
            let calm = stage.row.unheld_most == 0;
            let all_held_s = if calm { Some(0.0) } else { stage.row.all_held_s };
            Episode { all_held_s, ..stage.row.clone() }
        };
        self.stages.iter().map(row).collect()
    }
}
