//! Jobs at nodes: they arrive, queue, are worked on and answered; and how full a node is.

use lingua_core::finalize::Reason;
use lingua_core::instance::{Answer, AnswerOutcome, Assign, Input};
use lingua_core::{AffinityOutcome, Micros, RequestId};

use super::{Phase, TAIL, Tail, WORKS_MAX, Work};
use crate::Broken;
use crate::fifo::take_first;
use crate::streams::{Purpose, mix, request_key};
use crate::world::mail::{Leg, Mail};
use crate::world::{Event, World};

impl World {
    pub(in crate::world) fn send_assign(&mut self, at: Micros, assign: Assign) {
        let latency = self.latency(Leg::Node);
        let Some(&node) = self.node_of_num.get(assign.node.num.index()) else { return };
        let node = &mut self.nodes[node as usize];
        let arrives = (at + latency).max(node.down_clear);
        node.down_clear = arrives;
        if arrives == self.now {
            self.node_takes(assign);
        } else {
            self.post(arrives, Mail::Assign(assign));
        }
    }

    /// A job reaches a node.
    pub(in crate::world) fn node_takes(&mut self, assign: Assign) {
        let at = self.node_of_num[assign.node.num.index()];
        let node = &mut self.nodes[at as usize];
        let current = node.socket.is_some_and(|socket| socket.node == Some(assign.node));
        if node.phase != Phase::Up || !current || node.silent {
            self.recorder.jobs_to_dead_nodes += 1;
            return;
        }
        assert!(node.queued.len() < WORKS_MAX, "a node has {WORKS_MAX} jobs");
        let open = self.open.reach(&assign.request);
        let counted = open.is_some_and(|open| open.counted);
        let first = open.is_some_and(|open| !open.reached);
        let uniform = self.work_of(&assign, open.map_or(-1.0, |open| open.work));
        self.recorder.arrived(self.now, &assign, (counted, first), &self.scheduler);
        self.digest.add(u64::from(at) << 32 ^ u64::from(assign.attempt));
        self.count_affinity(&assign, counted);
        self.meet_tail(at, &assign);
        let model = assign.needs.model;
        let node = &mut self.nodes[at as usize];
        node.jobs += u64::from(counted);
        let work = Work {
            id: node.next_work,
            job: assign.job,
            attempt: assign.attempt,
            request: assign.request,
            speech: assign.speech,
            reason: assign.reason,
            uniform,
            missing_model: model.filter(|&model| self.faults.model_is_missing(at, model)),
        };
        node.next_work = node.next_work.wrapping_add(1);
        node.queued.push_back(work);
        self.trace.job_comes(self.now, at, &assign, work.id);
        self.node_level_changed(at, counted);
        self.start_works(at);
    }

    fn count_affinity(&mut self, assign: &Assign, counted: bool) {
        if !counted {
            return;
        }
        let affinity = &mut self.recorder.affinity;
        match assign.affinity {
            AffinityOutcome::None => {}
            AffinityOutcome::Kept => {
                affinity.expected += 1;
                affinity.kept += 1;
            }
            AffinityOutcome::Missed(cause) => {
                affinity.expected += 1;
                *affinity.fallback.entry(cause.name().into()).or_default() += 1;
            }
        }
    }

    /// The tail of the session's last cut is needed now: it is here, or it is lost.
    fn meet_tail(&mut self, at: u32, assign: &Assign) {
        let key = (assign.request.session, assign.request.tgt);
        let Some(tail) = self.tails.remove(&key) else { return };
        let here = tail.node == at && tail.life == self.nodes[at as usize].life;
        if !here && self.is_counted(self.now) {
            self.recorder.broken_segments.count += 1;
            self.recorder.broken_segments.lost_speech_s += tail.speech.as_secs_f64();
        }
    }

    pub(super) fn start_works(&mut self, at: u32) {
        let node = &mut self.nodes[at as usize];
        while (node.works.len() as u32) < node.max_jobs {
            let Some(work) = take_first(&mut node.queued) else { break };
            node.works.push(work);
            self.trace.job_starts(self.now, at, work.id);
            let span = if work.missing_model.is_some() {
                Micros::millis(1)
            } else {
                let base = node.service.sample(work.uniform).micros() as f64 * node.slow;
                Micros((base + work.speech.0 as f64 * node.speech_factor) as u64)
            };
            self.queue.push(self.now + span, Event::Done(at, work.id));
        }
    }

    pub(in crate::world) fn node_done(&mut self, at: u32, id: u32) {
        let node = &mut self.nodes[at as usize];
        let Some(place) = node.works.iter().position(|work| work.id == id) else {
            return;
        };
        if node.silent {
            // Hung: it will not answer before it wakes, and then it starts anew.
            return;
        }
        let work = node.works.swap_remove(place);
        let life = node.life;
        let outcome = match work.missing_model {
            Some(model) => AnswerOutcome::ModelNotAvailable(model),
            None => AnswerOutcome::Result,
        };
        let buffered = self.keep_tail(at, life, &work);
        let outcome = (!buffered).then_some(outcome);
        self.trace.job_ends(self.now, at, id, outcome);
        self.node_level_changed(at, false);
        self.start_works(at);
        if let Some(outcome) = outcome {
            self.node_answers(at, Answer { job: work.job, attempt: work.attempt, outcome });
        }
        let node = &self.nodes[at as usize];
        if node.leaving && node.jobs_held() == 0 {
            self.node_goes(at);
        }
    }

    /// Keeps the tail of an automatic cut; tells whether that was all of it.
    fn keep_tail(&mut self, at: u32, life: u32, work: &Work) -> bool {
        if work.missing_model.is_some() || !work.reason.is_some_and(Reason::leaves_tail) {
            return false;
        }
        let speech = work.speech.min(TAIL);
        let key = (work.request.session, work.request.tgt);
        self.tails.insert(key, Tail { node: at, life, speech });
        work.speech <= TAIL
    }

    pub(super) fn node_answers(&mut self, at: u32, answer: Answer) {
        match self.nodes[at as usize].socket.and_then(|socket| socket.node) {
            Some(node_ref) => {
                self.node_sends(at, Input::Answer(node_ref, answer));
                if self.faults.answers_twice(&mut self.nodes[at as usize].stream) {
                    self.recorder.mark("answered_twice");
                    self.node_sends(at, Input::Answer(node_ref, answer));
                }
            }
            None => self.nodes[at as usize].unsent.push(answer),
        }
    }

    /// Accounts of load and overselling after a node's number of jobs has changed.
    pub(super) fn node_level_changed(&mut self, at: u32, assigned: bool) {
        let (now, warmup, end) = (self.now, self.warmup, self.end);
        let node = &mut self.nodes[at as usize];
        let level = node.jobs_held();
        let span = now.min(end) - node.busy_since.max(warmup).min(end);
        let was = std::mem::replace(&mut node.busy_since, now);
        let before = self.recorder.node_levels.get(at as usize).copied().unwrap_or(0);
        node.busy_area += span.0 * u64::from(before.min(node.max_jobs));
        let max_jobs = node.jobs_allowed();
        let excess = level.saturating_sub(max_jobs);
        let excess_before = before.saturating_sub(max_jobs);
        if excess_before > 0 {
            let span = now.min(end) - was.max(warmup).min(end);
            self.recorder.oversold_seconds += span.as_secs_f64() * f64::from(excess_before);
        }
        match (excess > 0, node.oversold_since) {
            (true, None) => node.oversold_since = Some(now),
            (false, Some(since)) => {
                node.oversold_since = None;
                self.recorder.oversold_spell(now - since);
            }
            _ => {}
        }
        self.recorder.set_level(at, level, max_jobs);
        self.trace.oversold(now, at, excess);
        if level > before && excess > 0 {
            self.recorder.oversell(at, excess, assigned);
            let message =
                format!("node {} works on {level} jobs, max_jobs is {max_jobs}", node.name);
            let broken = Broken::new("I1", self.now, message);
            self.judge(self.promises.capacity, broken);
        }
    }

    /// Busy slots of a node over the counted part, in slot-seconds.
    pub(in crate::world) fn busy_seconds(&mut self, at: u32) -> f64 {
        self.node_level_changed(at, false);
        Micros(self.nodes[at as usize].busy_area).as_secs_f64()
    }

    /// The uniform number that decides how long a job takes: it belongs to what was said.
    fn work_of(&self, assign: &Assign, planned: f64) -> f64 {
        if planned >= 0.0 {
            return planned;
        }
        let key =
            mix(assign.request.session.0) ^ request_key(RequestId { index: 0, ..assign.request });
        let n = assign.sent.0 ^ mix(u64::from(assign.attempt));
        self.streams.uniform(Purpose::Service, key, n)
    }
}
