//! The model on simcore (once DSLab's core): one component that sends itself boxed events.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::process::ExitCode;
use std::rc::Rc;

use peers::{LAMBDA, MU, Run, SERVERS};
use rand_distr_04::Exp;
use serde::Serialize;
use simcore::{Event, EventHandler, Simulation, SimulationContext, cast};

#[derive(Clone, Serialize)]
struct Arrival {}

#[derive(Clone, Serialize)]
struct Departure {}

struct Station {
    ctx: SimulationContext,
    between: Exp<f64>,
    service: Exp<f64>,
    to_come: u64,
    free: u32,
    queue: VecDeque<f64>,
    waited: f64,
}

impl Station {
    fn expect_arrival(&mut self) {
        self.to_come -= 1;
        self.ctx.emit_self(Arrival {}, self.ctx.sample_from_distribution(&self.between));
    }

    fn serve(&mut self) {
        self.ctx.emit_self(Departure {}, self.ctx.sample_from_distribution(&self.service));
    }

    fn arrive(&mut self) {
        if self.to_come > 0 {
            self.expect_arrival();
        }
        if self.free > 0 {
            self.free -= 1;
            self.serve();
        } else {
            self.queue.push_back(self.ctx.time());
        }
    }

    fn depart(&mut self) {
        match self.queue.pop_front() {
            Some(since) => {
                self.waited += self.ctx.time() - since;
                self.serve();
            }
            None => self.free += 1,
        }
    }
}

impl EventHandler for Station {
    fn on(&mut self, event: Event) {
        cast!(match event.data {
            Arrival {} => {
                self.arrive();
            }
            Departure {} => {
                self.depart();
            }
        })
    }
}

fn main() -> ExitCode {
    let run = Run::from_args("simcore");
    let mut sim = Simulation::new(run.seed);
    let station = Rc::new(RefCell::new(Station {
        ctx: sim.create_context("station"),
        between: Exp::new(LAMBDA).expect("a positive rate"),
        service: Exp::new(MU).expect("a positive rate"),
        to_come: run.customers,
        free: SERVERS,
        queue: VecDeque::new(),
        waited: 0.0,
    }));
    sim.add_handler("station", station.clone());
    station.borrow_mut().expect_arrival();
    sim.step_until_no_events();
    run.report(sim.event_count(), station.borrow().waited / run.customers as f64)
}
