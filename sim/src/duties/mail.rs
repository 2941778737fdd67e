//! Letters between instances and their coordinator: late, lost, overtaken.

use lingua_core::Micros;
use lingua_core::claim::{Cause, DutyId, Event as Told, Input, Op, Reply, Token};
use lingua_scenarios::{Duties, Sampler};

use super::{Event, World, belief};
use crate::setup;

/// What is under way. The first number is the instance's, the second that of its life.
#[derive(Debug)]
pub(super) enum Letter {
    /// A step for the coordinator.
    Step(u16, u32, Op),
    /// What a run has done, under its token.
    Write(DutyId, Token),
    /// The answer to a step, and how many recounts had been answered by then.
    Reply(u16, u32, Reply, u32),
    /// Something has changed.
    Event(u16, u32, Told),
}

/// How long letters travel.
pub(super) struct Legs {
    steps: Sampler,
    events: Sampler,
    event_loss: f64,
}

impl Legs {
    pub(super) fn new(duties: &Duties) -> Self {
        Self {
            steps: duties.delay.sampler(),
            events: duties.event_delay.as_ref().unwrap_or(&duties.delay).sampler(),
            event_loss: duties.event_loss,
        }
    }
}

fn later(span: Micros, factor: f64) -> Micros {
    Micros((span.0 as f64 * factor) as u64)
}

impl World {
    /// To the coordinator, after all that was sent before.
    pub(super) fn send_up(&mut self, i: u16, letter: Letter) {
        let factor = self.faults.delay_factor();
        let process = &mut self.processes[usize::from(i)];
        if process.cut.up {
            self.record.writes.lost += u64::from(matches!(letter, Letter::Write(..)));
            return;
        }
        let span = setup::micros(self.legs.steps.sample(process.steps.uniform()));
        process.up_until = process.up_until.max(self.now + later(span, factor));
        let at = process.up_until;
        let letter = self.letters.insert(letter);
        self.queue.push(at, Event::Letter(letter));
    }

    fn send_reply(&mut self, i: u16, life: u32, reply: Reply) {
        let (factor, loss) = (self.faults.delay_factor(), self.faults.reply_loss());
        let process = &mut self.processes[usize::from(i)];
        if process.cut.down || (loss > 0.0 && process.losses.uniform() < loss) {
            self.record.replies_lost += 1;
            return;
        }
        let span = setup::micros(self.legs.steps.sample(process.steps.uniform()));
        process.down_until = process.down_until.max(self.now + later(span, factor));
        let (at, recounts) = (process.down_until, process.belief.recounts());
        let letter = self.letters.insert(Letter::Reply(i, life, reply, recounts));
        self.queue.push(at, Event::Letter(letter));
    }

    /// To one instance; events overtake each other.
    pub(super) fn send_event(&mut self, i: u16, event: Told) {
        let (factor, loss) = (self.faults.delay_factor(), self.faults.event_loss());
        let loss = loss.max(self.legs.event_loss);
        let process = &mut self.processes[usize::from(i)];
        if !process.up {
            return;
        }
        self.record.events.sent += 1;
        if process.cut.down || (loss > 0.0 && process.losses.uniform() < loss) {
            self.record.events.lost += 1;
            process.missed = true;
            return;
        }
        let span = setup::micros(self.legs.events.sample(process.events.uniform()));
        let more = self.faults.event_delay(&mut process.losses);
        let letter = self.letters.insert(Letter::Event(i, process.life, event));
        self.queue.push(self.now + later(span, factor) + more, Event::Letter(letter));
    }

    pub(super) fn open(&mut self, letter: u32) {
        match self.letters.remove(letter) {
            Some(Letter::Step(i, life, op)) => self.step(i, life, &op),
            Some(Letter::Write(duty, token)) => self.write(duty, token),
            Some(letter @ (Letter::Reply(i, life, ..) | Letter::Event(i, life, _))) => {
                let process = self.process(i);
                if !process.up || process.life != life {
                    return;
                }
                if process.frozen {
                    process.inbox.push(letter);
                } else {
                    self.read(letter);
                }
            }
            None => {}
        }
    }

    /// A step is carried out and answered.
    fn step(&mut self, i: u16, life: u32, op: &Op) {
        self.record.steps += 1;
        let reply = self.apply(op);
        self.record.joins += u64::from(matches!(reply, Reply::Joined(..)));
        if *op == Op::Look(Cause::Tick) && self.process(i).life == life {
            let acquiring = belief::acquiring(&self.board.view());
            self.process(i).belief.looked(acquiring);
        }
        let own = self.process(i).id();
        if let Some(reply) = self.planted.on_reply(own, reply) {
            self.send_reply(i, life, reply);
        }
    }

    /// An instance reads a letter to it.
    pub(super) fn read(&mut self, letter: Letter) {
        match letter {
            Letter::Reply(i, _, reply, recounts) => self.read_reply(i, reply, recounts),
            Letter::Event(i, _, event) => {
                let process = self.process(i);
                let overtaken = event.version < process.heard;
                process.heard = process.heard.max(event.version);
                self.record.events.overtaken += u64::from(overtaken);
                self.tell(i, Input::Event(event));
            }
            Letter::Step(..) | Letter::Write(..) => {}
        }
    }

    fn read_reply(&mut self, i: u16, reply: Reply, recounts: u32) {
        let mut healed = false;
        match &reply {
            Reply::Joined(..) => {
                let process = self.process(i);
                process.belief.joined();
                if process.has_slept {
                    self.record.mark("joined_anew_after_freeze");
                }
            }
            Reply::View(Cause::Tick, view) => {
                let process = self.process(i);
                process.belief.recounted(recounts, view, process.patience());
                healed = std::mem::take(&mut process.missed);
            }
            Reply::Taken(_) => self.record.mark("claim_taken_by_another"),
            Reply::Duplicate => self.record.mark("former_life_still_member"),
            _ => {}
        }
        let claims = self.record.claims;
        self.tell(i, Input::Reply(reply));
        if healed && self.record.claims > claims {
            self.record.mark("lost_event_healed_by_tick");
        }
    }
}
