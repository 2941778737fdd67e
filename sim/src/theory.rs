//! The simulator against theory: rows of a table, each a scenario and the value it must hit.

use std::str::FromStr;

use lingua_scenarios::{Dist, Dur, Fallback, Policy, Rate, Scenario};

use crate::record::standard_error;
use crate::{Batch, Finished, SimError};

/// The table that comes with the project.
pub const TABLE: &str = include_str!("../../scenarios/theory/theory.csv");

/// One value that theory knows.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its line in the table.
    pub line: u32,
    /// Which model.
    pub model: Model,
    /// The parameters as written.
    pub params: String,
    /// The value.
    pub value: f64,
    /// Standard error of the value, where it was estimated; 0 where it is exact.
    pub value_se: f64,
    /// Whether the project's tests run it.
    pub is_test: bool,
}

/// A model of queueing theory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// Blocking of M/M/c/c.
    ErlangB,
    /// Probability of waiting in M/M/c.
    ErlangC,
    /// Mean wait in M/M/c.
    MeanWait,
    /// Blocking with d choices.
    Loss,
    /// Blocking with d choices by a stale snapshot.
    LossStale,
    /// Mean time in system, shortest of d queues.
    Supermarket,
    /// The same by a stale snapshot.
    SupermarketStale,
    /// Share of a member when shards are chosen uniformly, 1 = fair.
    TwoLevel,
}

impl Model {
    fn scenario(self) -> &'static str {
        match self {
            Self::ErlangB => include_str!("../../scenarios/theory/erlang-b.toml"),
            Self::ErlangC | Self::MeanWait => {
                include_str!("../../scenarios/theory/erlang-c.toml")
            }
            Self::Loss | Self::LossStale => {
                include_str!("../../scenarios/theory/loss-d-choices.toml")
            }
            Self::Supermarket | Self::SupermarketStale => {
                include_str!("../../scenarios/theory/supermarket.toml")
            }
            Self::TwoLevel => include_str!("../../scenarios/theory/two-level.toml"),
        }
    }

    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::ErlangB => "erlang_b",
            Self::ErlangC => "erlang_c",
            Self::MeanWait => "mmc_Wq",
            Self::Loss => "loss",
            Self::LossStale => "loss_stale",
            Self::Supermarket => "supermarket",
            Self::SupermarketStale => "supermarket_stale",
            Self::TwoLevel => "two_level",
        }
    }
}

/// A line of a table that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the theory table: {what}")]
pub struct TableError {
    line: usize,
    what: String,
}

/// Reads a table: `table,params,value,ci95,method,use`.
///
/// # Errors
/// A line with too few fields, an unknown table or a value that is no number.
pub fn rows(table: &str) -> Result<Vec<Row>, TableError> {
    let lines = table.lines().enumerate().skip(1).filter(|(_, line)| !line.is_empty());
    lines
        .map(|(at, text)| row(at, text).map_err(|what| TableError { line: at + 1, what }))
        .collect()
}

fn row(at: usize, text: &str) -> Result<Row, String> {
    let (table, rest) = text.split_once(',').ok_or("no comma")?;
    let (params, rest) = rest.split_once(',').ok_or("no value")?;
    let (value, rest) = rest.split_once(',').ok_or("no ci95")?;
    let (ci95, rest) = rest.split_once(',').ok_or("no method")?;
    let model = match table {
        "erlang_b" => Model::ErlangB,
        "erlang_c" => Model::ErlangC,
        "mmc_Wq" => Model::MeanWait,
        "loss_mc" | "loss_exact" => Model::Loss,
        "loss_stale_mc" => Model::LossStale,
        "supermarket_mc" => Model::Supermarket,
        "supermarket_stale_mc" => Model::SupermarketStale,
        "two_level_weight" => Model::TwoLevel,
        other => return Err(format!("unknown table `{other}`")),
    };
    let number = |text: &str| text.parse::<f64>().map_err(|_| format!("`{text}` is no number"));
    Ok(Row {
        line: at as u32 + 1,
        model,
        params: params.to_owned(),
        value: number(value)?,
        value_se: if ci95.is_empty() { 0.0 } else { number(ci95)? / 1.96 },
        is_test: rest.ends_with("test"),
    })
}

impl Row {
    fn param<T: FromStr>(&self, name: &str) -> Option<T> {
        self.params.split(';').find_map(|param| {
            let (key, value) = param.split_once('=')?;
            (key == name).then(|| value.parse().ok()).flatten()
        })
    }

    /// The scenario that must hit the value, with about so many jobs. Rows whose rule the
    /// scheduler does not have are `None`.
    ///
    /// Its seed is `seed` plus the row's line: rows that met the same arrivals would miss together,
    /// and the share of unusual rows would mean nothing.
    ///
    /// # Errors
    /// The model's scenario file is broken.
    pub fn scenario(&self, jobs: f64, seed: u64) -> Result<Option<Scenario>, SimError> {
        let mut scenario = Scenario::from_str(self.model.scenario())?;
        scenario.seed = seed.wrapping_add(self.line.into());
        scenario.title = format!("{} {}", self.model.name(), self.params);
        let nodes = &mut scenario.nodes[0];
        nodes.service_time = Dist::exponential(Dur::from_micros(1_000_000));
        if self.params.contains("svc=det") {
            nodes.service_time = Dist::fixed(Dur::from_micros(1_000_000));
        }
        let per_second = match self.model {
            Model::ErlangB | Model::ErlangC | Model::MeanWait => {
                nodes.count = self.param("c").unwrap_or(1);
                self.param("A").unwrap_or(1.0)
            }
            Model::Loss | Model::LossStale => {
                nodes.count = self.param("n").unwrap_or(1);
                nodes.max_jobs = self.param("C").unwrap_or(1);
                let slots = f64::from(nodes.count) * f64::from(nodes.max_jobs);
                self.param("rho").unwrap_or(1.0) * slots
            }
            Model::Supermarket | Model::SupermarketStale => {
                nodes.count = self.param("n").unwrap_or(1);
                self.param("lambda").unwrap_or(0.5) * f64::from(nodes.count)
            }
            Model::TwoLevel => {
                nodes.count = self.shards().iter().sum();
                // Only who was chosen is counted; short work keeps the small shard from queueing.
                nodes.service_time = Dist::exponential(Dur::from_micros(1_000));
                f64::from(nodes.count)
            }
        };
        scenario.scheduler.sample = self.param("d").unwrap_or(scenario.scheduler.sample);
        if self.params.contains("rule=rf") {
            scenario.scheduler.policy = Policy::SampleReserve;
        }
        if matches!(self.model, Model::LossStale | Model::SupermarketStale)
            && !self.set_stale(&mut scenario)
        {
            return Ok(None);
        }
        scenario.arrivals[0].load = None;
        scenario.arrivals[0].rate = Some(Rate::per_second(per_second));
        let warmup = self.warmup_s();
        // Batches must be longer than what links them.
        let counted = (jobs / per_second).max(self.counted_s(warmup));
        scenario.warmup = Dur::from_micros((warmup * 1e6) as u64);
        scenario.duration = Dur::from_micros(((warmup + counted) * 1e6) as u64);
        Ok(Some(scenario))
    }

    /// Mean service times until the start is forgotten: ten relaxation times of the queue, which
    /// are 1 / (√c − √A)² for M/M/c (Cohen, The Single Server Queue, for c = 1).
    fn warmup_s(&self) -> f64 {
        let (servers, erlangs) = match self.model {
            Model::ErlangC | Model::MeanWait => {
                (self.param("c").unwrap_or(1.0), self.param("A").unwrap_or(0.5))
            }
            Model::Supermarket | Model::SupermarketStale => {
                (1.0, self.param("lambda").unwrap_or(0.5))
            }
            Model::TwoLevel => return 0.0,
            Model::ErlangB | Model::Loss | Model::LossStale => return 30.0,
        };
        let gap: f64 = libm::sqrt(servers) - libm::sqrt(erlangs);
        10.0 + 10.0 / (gap * gap)
    }

    /// Mean service times to count at least: queues forget slowly.
    fn counted_s(&self, warmup: f64) -> f64 {
        match self.model {
            Model::ErlangC | Model::MeanWait => 10.0 * warmup,
            Model::Supermarket if self.param("d") == Some(1) => 4.0 * warmup,
            Model::Supermarket => 300.0,
            _ => 0.0,
        }
    }

    fn set_stale(&self, scenario: &mut Scenario) -> bool {
        let rule: String = self.param("rule").unwrap_or_default();
        let scheduler = &mut scenario.scheduler;
        scheduler.fallback = Fallback::Refuse;
        scheduler.store = lingua_scenarios::StoreKind::Redis;
        scheduler.snapshot_incremental = false;
        let age: f64 = self.param("T").unwrap_or(1.0);
        scheduler.snapshot_age = Dur::from_micros((age * 1e6) as u64);
        match rule.as_str() {
            "ordered_all" => scheduler.policy = Policy::PowerOfD,
            "random_all" => scheduler.policy = Policy::SampleReserve,
            "global_min1" => scheduler.policy = Policy::LeastConnections,
            "random1" => {
                scheduler.policy = Policy::SampleReserve;
                scheduler.sample = 1;
            }
            _ => return false,
        }
        true
    }

    fn shards(&self) -> Vec<u32> {
        let shards: String = self.param("shards").unwrap_or_default();
        shards.split('/').filter_map(|size| size.parse().ok()).collect()
    }

    /// What a run found for this row, and its standard error.
    pub fn found(&self, run: &Finished) -> (f64, f64) {
        let batches = &run.batches;
        let mean_of = |ratio: fn(&Batch) -> (f64, f64)| {
            let ratios = batches.ratios(ratio);
            let (above, below) =
                batches.all().iter().map(ratio).fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
            (above / below, standard_error(&ratios))
        };
        match self.model {
            Model::ErlangB | Model::Loss | Model::LossStale => {
                let (found, se) = mean_of(|batch| (batch.refused as f64, batch.offered as f64));
                // Where refusals are rare the batches say too little: never less than binomial.
                let jobs: u64 = batches.all().iter().map(|batch| batch.offered).sum();
                let rare = libm::sqrt(self.value * (1.0 - self.value) / jobs as f64);
                (found, se.max(rare))
            }
            Model::ErlangC => mean_of(|batch| (batch.waited as f64, batch.answered as f64)),
            Model::MeanWait => mean_of(|batch| (batch.wait_s, batch.answered as f64)),
            Model::Supermarket | Model::SupermarketStale => {
                mean_of(|batch| (batch.response_s, batch.answered as f64))
            }
            Model::TwoLevel => self.found_share(run),
        }
    }

    /// Share of a shard's members over the fair one.
    fn found_share(&self, run: &Finished) -> (f64, f64) {
        let shards = self.shards();
        let which: String = self.param("shard").unwrap_or_default();
        let index: usize = which.rsplit('#').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        let first: u32 = shards[..index].iter().sum();
        let nodes = &run.artifacts.node_jobs;
        let members = &nodes[first as usize..(first + shards[index]) as usize];
        let here: u64 = members.iter().map(|&(.., jobs)| jobs).sum();
        let all: u64 = nodes.iter().map(|&(.., jobs)| jobs).sum();
        let share = here as f64 / all as f64;
        let fair = f64::from(shards[index]) / nodes.len() as f64;
        let se = libm::sqrt(share * (1.0 - share) / all as f64);
        (share / fair, se / fair)
    }

    /// The difference between what was found and the value, in standard errors.
    pub fn z(&self, found: (f64, f64)) -> f64 {
        let se = libm::sqrt(found.1 * found.1 + self.value_se * self.value_se);
        if se == 0.0 { 0.0 } else { (found.0 - self.value) / se }
    }
}
