//! What comes from other instances.
//!
//! A message between instances has two parts: a header, through the receiver's inbox, and for jobs
//! and answers a parcel with the audio or the result, over the link. The instance hears of it when
//! both are there.

use lingua_core::instance::{Answer, JobId, Routed};
use lingua_core::{InstanceId, Micros, NodeRef};

use crate::hub::Hub;
use crate::hub::abroad::{Guest, LOOK, Sent};
use crate::instances::{AnswerParcel, Parcel};
use crate::wire;

/// Longest wait of a header for its parcel, and of a parcel for its header: a job is then given up,
/// an answer taken at its word.
const PARTNER: Micros = Micros::secs(2);
const PARCEL_LIFE: Micros = Micros::secs(4);
/// What is remembered of a job, at most: longer than any lives.
const JOB_LIFE: Micros = Micros::secs(180);
/// Bytes of parcels that wait for their headers.
const PARCELS_MAX: usize = 256 << 20;

impl Hub {
    pub(super) fn take_header(&mut self, routed: Routed) {
        let now = self.clock.now();
        let Some(abroad) = &mut self.abroad else { return };
        let key = match routed {
            Routed::Assign(assign) => (assign.job, assign.attempt),
            Routed::Answer(answer, node) => {
                // One that nobody waits for has no parcel.
                let current = abroad.sent.get(&answer.job).is_some_and(|sent| {
                    sent.assign.attempt == answer.attempt && sent.assign.node.num == node.num
                });
                if !current {
                    self.hear_routed(routed);
                    return;
                }
                (answer.job, answer.attempt)
            }
            _ => {
                self.hear_routed(routed);
                return;
            }
        };
        abroad.headers.insert(key, (now + PARTNER, routed));
        abroad.look_by(now);
        self.pair_up(key);
    }

    pub(super) fn take_parcel(&mut self, from: InstanceId, parcel: Parcel) {
        let now = self.clock.now();
        let Some(abroad) = &mut self.abroad else { return };
        abroad.look_by(now);
        match parcel {
            Parcel::Job { job, attempt, lease, frame } => {
                if abroad.job_bytes + frame.len() > PARCELS_MAX {
                    // Its header finds no parcel, and the job goes elsewhere.
                    return;
                }
                abroad.drop_parcel((job, attempt));
                abroad.job_bytes += frame.len();
                abroad.jobs.insert((job, attempt), (now + PARCEL_LIFE, lease, frame));
                self.pair_up((job, attempt));
            }
            Parcel::Answer(answer) => {
                let key = (answer.job, answer.attempt);
                let waits = abroad
                    .sent
                    .get(&answer.job)
                    .is_some_and(|sent| sent.to == from && sent.assign.attempt == answer.attempt);
                if !waits {
                    return;
                }
                abroad.answers.insert(key, (now + PARCEL_LIFE, answer));
                self.pair_up(key);
            }
            Parcel::Dispatched { job, attempt, node } => {
                let sent = abroad.sent.get(&job).copied();
                let current = |sent: &Sent| sent.assign.attempt == attempt && sent.to == from;
                if let Some(Sent { assign, .. }) = sent.filter(current)
                    && assign.node == node
                {
                    self.dispatched_abroad(&assign);
                }
            }
            Parcel::Room(message) => self.take_room_message(from, *message),
            Parcel::Signal(signal) => self.hand_signal(*signal),
            Parcel::Heard { room, sessions, message } => {
                for session in sessions {
                    self.hand_result(room, session, message.clone());
                }
            }
            Parcel::Partial { job, session, index, messages } => {
                let sent = abroad.sent.get(&job).filter(|sent| sent.to == from);
                if let Some(node) = sent.map(|sent| sent.assign.node.num) {
                    self.pass_on_partial(job, node, (session, index), messages);
                }
            }
        }
    }

    /// Goes on where both parts are there.
    fn pair_up(&mut self, key: (JobId, u32)) {
        let now = self.clock.now();
        let Some(abroad) = &mut self.abroad else { return };
        match abroad.headers.get(&key) {
            Some(&(_, Routed::Assign(assign))) => {
                let Some((lease, frame)) = abroad.drop_parcel(key) else { return };
                abroad.headers.remove(&key);
                if lease != assign.lease {
                    return;
                }
                let guest = Guest {
                    attempt: assign.attempt,
                    session: wire::plain(assign.request.session),
                    index: assign.request.index,
                    node: assign.node.num,
                    frame: Some(frame),
                    at: now,
                };
                abroad.guests.insert(assign.job, guest);
                self.hear_routed(Routed::Assign(assign));
            }
            Some(&(_, Routed::Answer(answer, node))) => {
                let Some((_, parcel)) = abroad.answers.remove(&key) else { return };
                abroad.headers.remove(&key);
                abroad.sent.remove(&answer.job);
                self.answered_abroad(*parcel, answer, node);
            }
            _ => {}
        }
    }

    fn answered_abroad(&mut self, parcel: AnswerParcel, answer: Answer, node: NodeRef) {
        let AnswerParcel { session, index, error, events, translation, .. } = parcel;
        let about = (session, index);
        if let Some(open) = self.answers.accept(answer.job, answer.attempt, node.num, about) {
            (open.events, open.translation, open.error) = (events, translation, error);
        }
        self.hear_routed(Routed::Answer(answer, node));
    }

    /// An answer's header has not come, as while the store is away: the parcel says all that is
    /// needed.
    fn answered_without_header(&mut self, parcel: AnswerParcel) {
        let AnswerParcel { job, attempt, outcome, .. } = parcel;
        let Some(abroad) = &mut self.abroad else { return };
        let sent = abroad.sent.get(&job).filter(|sent| sent.assign.attempt == attempt);
        let Some(node) = sent.map(|sent| sent.assign.node) else { return };
        abroad.sent.remove(&job);
        self.answered_abroad(parcel, Answer { job, attempt, outcome }, node);
    }

    /// When it is looked for what waits too long.
    pub(super) fn next_look_abroad(&self) -> Micros {
        self.abroad.as_ref().map_or(Micros::NEVER, |abroad| abroad.next_look)
    }

    /// A header or parcel alone is given up after a while.
    pub(super) fn look_abroad(&mut self) {
        let now = self.clock.now();
        let Some(abroad) = &mut self.abroad else { return };
        if now < abroad.next_look {
            return;
        }
        let late = abroad.headers.iter().filter(|(_, (until, _))| *until <= now);
        let late: Vec<_> = late.map(|(&key, &(_, routed))| (key, routed)).collect();
        for (key, _) in &late {
            abroad.headers.remove(key);
        }
        let parcels = abroad.jobs.iter().filter(|(_, (until, ..))| *until <= now);
        let parcels: Vec<_> = parcels.map(|(&key, _)| key).collect();
        for key in parcels {
            abroad.drop_parcel(key);
        }
        let answers = abroad.answers.extract_if(.., |_, (until, _)| *until <= now);
        let answers: Vec<_> = answers.map(|(_, (_, parcel))| parcel).collect();
        abroad.sent.retain(|_, sent| now - sent.at < JOB_LIFE);
        abroad.guests.retain(|_, guest| now - guest.at < JOB_LIFE);
        let idle = abroad.headers.is_empty()
            && abroad.jobs.is_empty()
            && abroad.answers.is_empty()
            && abroad.sent.is_empty()
            && abroad.guests.is_empty();
        abroad.next_look = if idle { Micros::NEVER } else { now + LOOK };
        for parcel in answers {
            self.answered_without_header(*parcel);
        }
        for (_, routed) in late {
            self.counts.parcels_missed += 1;
            match routed {
                // The audio is lost on the way: its origin tries elsewhere.
                Routed::Assign(assign) => {
                    self.route(assign.job.origin, Routed::Full(assign.job, assign.attempt));
                }
                // The result is lost on the way.
                Routed::Answer(answer, _) => {
                    self.hear_routed(Routed::Lost(answer.job, answer.attempt));
                }
                _ => {}
            }
        }
    }
}
