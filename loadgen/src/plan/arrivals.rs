//! Bare jobs: Poisson, or read from a recorded trace.

use lingua_scenarios::streams::{Purpose, Stream, Streams, choose, cumulative_zipf};
use lingua_scenarios::{ArrivalGroup, Call, Calls, Dur, Error, Pair, Rate, Scenario};

use crate::private::Disguise;
use crate::shard::Shard;

/// One bare job.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arrival {
    /// Microseconds from the start of the plan.
    pub(crate) at: u64,
    pub(crate) pair: Pair,
    /// Speech in it; zero: as little as can be sent.
    pub(crate) speech_us: u64,
    /// The uniform number that decides how long a node works.
    pub(crate) work: f64,
    /// Its number among all that were drawn.
    pub(crate) number: u64,
}

/// The bare jobs of one group, in order.
pub(crate) struct Arrivals {
    feed: Feed,
    pairs: Vec<Pair>,
    weights: Vec<f64>,
    arrivals: Stream,
    service: Stream,
    shard: Shard,
    disguise: Option<Disguise>,
    count: u64,
    drawn: u64,
    // When the next one comes, and after which none does.
    next: u64,
    end: u64,
}

enum Feed {
    Poisson { rate: Rate, peak: f64 },
    // The calls, one read ahead.
    Trace(Box<(Calls, Option<Call>)>),
}

impl Arrivals {
    /// The plan of the group at an index.
    ///
    /// # Errors
    /// Its trace cannot be read.
    pub(crate) fn new(
        streams: &Streams,
        scenario: &Scenario,
        group: &ArrivalGroup,
        index: usize,
    ) -> Result<Self, Error> {
        let feed = match &group.trace {
            Some(path) => {
                let mut calls = Calls::open(path)?;
                let next = calls.next().transpose()?;
                Feed::Trace(Box::new((calls, next)))
            }
            None => {
                let rate = rate_of(scenario, group);
                let peak = rate.max();
                Feed::Poisson { rate, peak }
            }
        };
        let pairs: Vec<Pair> = group.pair.iter().chain(&group.pairs).cloned().collect();
        let entity = index as u64;
        let mut plan = Self {
            feed,
            weights: cumulative_zipf(pairs.len(), group.zipf),
            pairs,
            arrivals: streams.stream(Purpose::Arrivals, entity),
            service: streams.stream(Purpose::Service, entity),
            shard: Shard::default(),
            disguise: None,
            count: 0,
            drawn: 0,
            next: 0,
            end: scenario.duration.micros(),
        };
        plan.draw_gap();
        Ok(plan)
    }

    /// Gives only the jobs of a shard from now on, in disguise where there is one.
    pub(crate) fn take_part(&mut self, shard: Shard, disguise: Option<Disguise>) {
        (self.shard, self.disguise) = (shard, disguise);
    }

    /// A pair to greet with.
    pub(crate) fn first_pair(&self) -> Option<Pair> {
        match &self.feed {
            Feed::Trace(trace) => trace.1.as_ref().map(|call| self.disguised(&call.pair)),
            Feed::Poisson { .. } => self.pairs.first().cloned(),
        }
    }

    fn draw_gap(&mut self) {
        if let Feed::Poisson { peak, .. } = self.feed {
            let gap = if peak > 0.0 {
                (self.arrivals.exponential() / peak * 1e6 + 0.5) as u64
            } else {
                u64::MAX
            };
            self.next = self.next.saturating_add(gap);
        }
    }

    /// A recorded pair as it is spoken here; those of the scenario are in disguise already.
    fn disguised(&self, pair: &Pair) -> Pair {
        let mut pair = pair.clone();
        if let Some(disguise) = &self.disguise {
            disguise.pair(&mut pair);
        }
        pair
    }

    /// The next job of this shard.
    ///
    /// # Errors
    /// A row of the trace is wrong.
    pub(crate) fn next(&mut self) -> Result<Option<Arrival>, Error> {
        loop {
            let arrival = self.next_of_all()?;
            let number = self.count;
            self.count += 1;
            if arrival.is_none() || self.shard.has(number) {
                return Ok(arrival);
            }
        }
    }

    fn next_of_all(&mut self) -> Result<Option<Arrival>, Error> {
        if let Feed::Trace(trace) = &mut self.feed {
            let (calls, next) = &mut **trace;
            let Some(call) = next.take() else { return Ok(None) };
            *next = calls.next().transpose()?;
            let arrival = Arrival {
                at: call.at.micros(),
                pair: call.pair,
                speech_us: call.speech.micros(),
                work: self.service.uniform(),
                number: self.drawn,
            };
            self.drawn += 1;
            let arrival = Arrival { pair: self.disguised(&arrival.pair), ..arrival };
            return Ok((arrival.at < self.end).then_some(arrival));
        }
        while self.next < self.end {
            let at = self.next;
            let work = self.service.uniform();
            let number = self.drawn;
            self.drawn += 1;
            self.draw_gap();
            let kept = self.is_kept(at);
            let which = choose(&mut self.arrivals, &self.weights);
            if kept {
                let pair = self.pairs[which].clone();
                return Ok(Some(Arrival { at, pair, speech_us: 0, work, number }));
            }
        }
        Ok(None)
    }

    /// A varying rate thins the arrivals of its peak.
    fn is_kept(&mut self, at: u64) -> bool {
        let Feed::Poisson { rate, peak } = &self.feed else { return true };
        rate.is_constant() || self.arrivals.uniform() * peak < rate.at(Dur::from_micros(at))
    }
}

/// Jobs per second of a group.
pub(crate) fn rate_of(scenario: &Scenario, group: &ArrivalGroup) -> Rate {
    match (&group.rate, group.load) {
        (Some(rate), _) => rate.clone(),
        (None, load) => Rate::per_second(load.unwrap_or(0.0) * scenario.full_rate()),
    }
}
