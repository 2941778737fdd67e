//! Bare job arrivals: Poisson, or read from a recorded trace.

use lingua_core::instance::{Input, Request};
use lingua_core::{Micros, Needs, RequestId, SessionId};
use lingua_scenarios::{ArrivalGroup, Call, Calls, Dur, Rate, Scenario};

use crate::SimError;
use crate::setup;
use crate::streams::{Purpose, Stream, choose, cumulative_zipf, words};
use crate::world::mail::{Leg, Mail};
use crate::world::{Event, OpenJob, World};

/// Sessions above this number are bare jobs: nobody talks there.
pub(super) const BARE: u64 = 1 << 63;

pub(super) struct Source {
    feed: Feed,
    // Needs by pair, and the number of each pair in the accounts.
    needs: Vec<(Needs, u32)>,
    weights: Vec<f64>,
    arrivals: Stream,
    service: Stream,
    selection: Stream,
    next: u64,
}

enum Feed {
    Poisson { rate: Rate, peak: f64 },
    Trace(Box<Trace>),
}

/// Calls read from a file, one ahead.
struct Trace {
    calls: Calls,
    next: Option<Call>,
    group: ArrivalGroup,
}

impl World {
    pub(super) fn start_sources(&mut self, scenario: &Scenario) -> Result<(), SimError> {
        for (at, group) in scenario.arrivals.iter().enumerate() {
            let mut source = self.source(scenario, group, at)?;
            let first = match &mut source.feed {
                Feed::Poisson { peak, .. } => gap(&mut source.arrivals, *peak),
                Feed::Trace(trace) => {
                    trace.next.as_ref().map_or(Micros::NEVER, |call| setup::micros(call.at))
                }
            };
            self.sources.push(source);
            if first < self.end {
                self.queue.push(first, Event::Arrival(at as u16));
            }
        }
        Ok(())
    }

    fn source(
        &mut self,
        scenario: &Scenario,
        group: &ArrivalGroup,
        at: usize,
    ) -> Result<Source, SimError> {
        let mut needs = Vec::new();
        for pair in group.pair.iter().chain(&group.pairs) {
            let pair = setup::pair(pair)?;
            let model = group.model.as_deref();
            let region = group.region.as_deref();
            let number = self.recorder.pair(pair);
            needs.push((setup::needs(&self.names, pair, &group.features, model, region), number));
        }
        let feed = match &group.trace {
            Some(path) => {
                let mut calls = Calls::open(path)?;
                let next = calls.next().transpose()?;
                Feed::Trace(Box::new(Trace { calls, next, group: group.clone() }))
            }
            None => {
                let rate = match (&group.rate, group.load) {
                    (Some(rate), _) => rate.clone(),
                    (None, load) => Rate::per_second(load.unwrap_or(0.0) * scenario.full_rate()),
                };
                let peak = rate.max();
                Feed::Poisson { rate, peak }
            }
        };
        let entity = at as u64;
        Ok(Source {
            feed,
            weights: cumulative_zipf(needs.len(), group.zipf),
            needs,
            arrivals: self.streams.stream(Purpose::Arrivals, entity),
            service: self.streams.stream(Purpose::Service, entity),
            selection: self.streams.stream(Purpose::Selection, entity),
            next: 0,
        })
    }

    /// One bare job arrives, and the next one is planned.
    pub(super) fn arrive(&mut self, at: u16) -> Result<(), SimError> {
        let source = &mut self.sources[usize::from(at)];
        let number = source.next;
        source.next += 1;
        let work = source.service.uniform();
        let words = words(&mut source.selection);
        let (next, thinned, needs, pair, speech) = match &mut source.feed {
            Feed::Poisson { rate, peak } => {
                let next = self.now + gap(&mut source.arrivals, *peak);
                // A varying rate thins the arrivals of its peak.
                let kept = rate.is_constant()
                    || source.arrivals.uniform() * *peak < rate.at(Dur::from_micros(self.now.0));
                let which = choose(&mut source.arrivals, &source.weights);
                let (needs, pair) = source.needs[which];
                (next, !kept, needs, pair, Micros::ZERO)
            }
            Feed::Trace(trace) => {
                let Some(call) = trace.next.take() else { return Ok(()) };
                trace.next = trace.calls.next().transpose()?;
                let due = trace.next.as_ref().map_or(Micros::NEVER, |call| setup::micros(call.at));
                let pair = setup::pair(&call.pair)?;
                let model = trace.group.model.as_deref();
                let region = trace.group.region.as_deref();
                let needs = setup::needs(&self.names, pair, &trace.group.features, model, region);
                (due, false, needs, self.recorder.pair(pair), setup::micros(call.speech))
            }
        };
        if next < self.end {
            self.queue.push(next.max(self.now), Event::Arrival(at));
        }
        if !thinned {
            let session = SessionId(BARE | u64::from(at) << 48 | number);
            self.plan(session.0, u64::from(pair));
            let open = OpenJob {
                offered: self.now,
                pair,
                work,
                reached: false,
                words: Some(words),
                server: 0,
                counted: self.is_counted(self.now),
                again: None,
            };
            self.send_bare(session, needs, speech, open);
        }
        Ok(())
    }

    fn send_bare(&mut self, session: SessionId, needs: Needs, speech: Micros, open: OpenJob) {
        self.recorder.offered(self.now, open.pair, open.counted);
        let id = RequestId { session, index: 0, tgt: needs.pair.tgt };
        let Some(server) = self.balance(session.0) else {
            self.recorder.ended_unsent(open.counted);
            return;
        };
        let bytes = speech.0 / 1_000 * 32;
        let request = Request { id, needs, speech, bytes, sent: self.now };
        let again = self.store.is_cluster().then_some(request);
        self.open_job(id, OpenJob { server, again, ..open });
        self.ask(server, request);
    }

    /// The client of a bare job whose instance died asks another one.
    pub(super) fn ask_again(&mut self, open: &OpenJob) -> bool {
        let Some(request) = open.again else { return false };
        let Some(server) = self.balance(request.id.session.0) else { return false };
        self.recorder.mark("asked_again");
        self.open_job(request.id, OpenJob { server, again: None, ..*open });
        self.ask(server, request);
        true
    }

    fn ask(&mut self, server: u16, request: Request) {
        let latency = self.latency(Leg::Session);
        if latency == Micros::ZERO {
            self.reach_server(server, Input::Request(request));
        } else {
            let to = self.servers[usize::from(server)].id;
            self.post(self.now + latency, Mail::Input(to, Input::Request(request)));
        }
    }
}

fn gap(stream: &mut Stream, per_second: f64) -> Micros {
    if per_second <= 0.0 {
        return Micros::NEVER;
    }
    Micros((stream.exponential() / per_second * 1e6 + 0.5) as u64)
}
