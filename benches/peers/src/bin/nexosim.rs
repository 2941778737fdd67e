//! The model on NeXosim: one model that schedules its own inputs, on an executor of one thread.

use std::collections::VecDeque;
use std::process::ExitCode;
use std::time::Duration;

use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::{EventSinkReader, EventSource, Output, SinkState, event_slot};
use nexosim::simulation::{Mailbox, SimInit, SimulationError};
use nexosim::time::MonotonicTime;
use peers::{LAMBDA, MU, Run, SERVERS};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Station {
    done: Output<(u64, f64)>,
    rng: Xoshiro256PlusPlus,
    to_come: u64,
    to_leave: u64,
    free: u32,
    queue: VecDeque<MonotonicTime>,
    waited: Duration,
    events: u64,
}

impl Station {
    /// At least a nanosecond, since the engine refuses to schedule at the present instant.
    fn delay(&mut self, rate: f64) -> Duration {
        let draw: f64 = Exp1.sample(&mut self.rng);
        Duration::from_nanos(((draw * (1e9 / rate)) as u64).max(1))
    }
}

#[Model]
impl Station {
    fn open(&mut self, _: (), cx: &Context<Self>) {
        self.expect_arrival(cx);
    }

    fn expect_arrival(&mut self, cx: &Context<Self>) {
        self.to_come -= 1;
        let delay = self.delay(LAMBDA);
        cx.schedule_event(delay, schedulable!(Self::arrive), ()).expect("a later time");
    }

    fn serve(&mut self, cx: &Context<Self>) {
        let delay = self.delay(MU);
        cx.schedule_event(delay, schedulable!(Self::depart), ()).expect("a later time");
    }

    #[nexosim(schedulable)]
    fn arrive(&mut self, _: (), cx: &Context<Self>) {
        self.events += 1;
        if self.to_come > 0 {
            self.expect_arrival(cx);
        }
        if self.free > 0 {
            self.free -= 1;
            self.serve(cx);
        } else {
            self.queue.push_back(cx.time());
        }
    }

    #[nexosim(schedulable)]
    async fn depart(&mut self, _: (), cx: &Context<Self>) {
        self.events += 1;
        self.to_leave -= 1;
        if let Some(since) = self.queue.pop_front() {
            self.waited += cx.time().duration_since(since);
            self.serve(cx);
        } else {
            self.free += 1;
        }
        if self.to_leave == 0 {
            self.done.send((self.events, self.waited.as_secs_f64())).await;
        }
    }
}

fn main() -> Result<ExitCode, SimulationError> {
    let run = Run::from_args("nexosim");
    let mut station = Station {
        done: Output::default(),
        rng: Xoshiro256PlusPlus::seed_from_u64(run.seed),
        to_come: run.customers,
        to_leave: run.customers,
        free: SERVERS,
        queue: VecDeque::new(),
        waited: Duration::ZERO,
        events: 0,
    };
    let mailbox = Mailbox::new();
    let (sink, mut done) = event_slot(SinkState::Enabled);
    station.done.connect_sink(sink);
    let mut bench = SimInit::with_num_threads(1);
    let open = EventSource::new().connect(Station::open, &mailbox).register(&mut bench);
    let mut simulation = bench.add_model(station, mailbox, "station").init(MonotonicTime::EPOCH)?;
    simulation.process_event(&open, ())?;
    simulation.run()?;
    let (events, waited) = done.try_read().expect("the last departure reports");
    Ok(run.report(events, waited / run.customers as f64))
}
