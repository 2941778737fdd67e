//! The model on DESRu: every event is a boxed closure over shared state.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::process::ExitCode;
use std::rc::Rc;

use desru::EventScheduler;
use peers::{LAMBDA, MU, Run, SERVERS};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

struct Station {
    rng: Xoshiro256PlusPlus,
    to_come: u64,
    free: u32,
    queue: VecDeque<f64>,
    waited: f64,
    events: u64,
}

type Shared = Rc<RefCell<Station>>;

impl Station {
    fn delay(&mut self, rate: f64) -> f64 {
        let draw: f64 = Exp1.sample(&mut self.rng);
        draw / rate
    }
}

fn expect_arrival(scheduler: &mut EventScheduler, shared: &Shared) {
    let delay = {
        let mut station = shared.borrow_mut();
        station.to_come -= 1;
        station.delay(LAMBDA)
    };
    let shared = Rc::clone(shared);
    let action = move |scheduler: &mut EventScheduler| {
        arrive(scheduler, &shared);
        None
    };
    scheduler.timeout(delay, Some(Box::new(action)), None);
}

fn serve(scheduler: &mut EventScheduler, shared: &Shared) {
    let delay = shared.borrow_mut().delay(MU);
    let shared = Rc::clone(shared);
    let action = move |scheduler: &mut EventScheduler| {
        depart(scheduler, &shared);
        None
    };
    scheduler.timeout(delay, Some(Box::new(action)), None);
}

fn arrive(scheduler: &mut EventScheduler, shared: &Shared) {
    shared.borrow_mut().events += 1;
    if shared.borrow().to_come > 0 {
        expect_arrival(scheduler, shared);
    }
    if shared.borrow().free > 0 {
        shared.borrow_mut().free -= 1;
        serve(scheduler, shared);
    } else {
        shared.borrow_mut().queue.push_back(scheduler.current_time);
    }
}

fn depart(scheduler: &mut EventScheduler, shared: &Shared) {
    let waiting = {
        let mut station = shared.borrow_mut();
        station.events += 1;
        station.queue.pop_front()
    };
    match waiting {
        Some(since) => {
            shared.borrow_mut().waited += scheduler.current_time - since;
            serve(scheduler, shared);
        }
        None => shared.borrow_mut().free += 1,
    }
}

fn main() -> ExitCode {
    let run = Run::from_args("desru");
    let shared = Rc::new(RefCell::new(Station {
        rng: Xoshiro256PlusPlus::seed_from_u64(run.seed),
        to_come: run.customers,
        free: SERVERS,
        queue: VecDeque::new(),
        waited: 0.0,
        events: 0,
    }));
    let mut scheduler = EventScheduler::new();
    expect_arrival(&mut scheduler, &shared);
    // It logs every event unless told not to; nobody would keep that log here.
    scheduler.run(Box::new(|_| false), Some(Box::new(|_, _| false)));
    let station = shared.borrow();
    run.report(station.events, station.waited / run.customers as f64)
}
