//! Jobs whose session and node are held by different instances.
//!
//! A message between instances has two parts: a header, through the receiver's inbox, and for jobs
//! and answers a parcel with the audio or the result, over the link. The instance hears of it when
//! both are there.

use std::collections::BTreeMap;

use axum::extract::ws::Utf8Bytes;
use lingua_core::instance::{Answer, Assign, Input, JobId, Routed};
use lingua_core::{InstanceId, LeaseId, Micros, NodeNum, SessionId};
use lingua_store::Member;
use tokio::sync::mpsc;

use crate::event::{JobForNode, NodeAnswer, Outgoing};
use crate::hub::Hub;
use crate::hub::answers::Receivers;
use crate::instances::{About, AnswerParcel, Dialer, Parcel, Shared, ToInstance};
use crate::wire;

/// Longest wait of a header for its parcel, and of a parcel for its header.
const PARTNER: Micros = Micros::secs(2);
const PARCEL_LIFE: Micros = Micros::secs(4);
/// How often it is looked for what waits too long.
const LOOK: Micros = Micros::millis(250);
/// What is remembered of a job, at most: longer than any lives.
const JOB_LIFE: Micros = Micros::secs(180);
/// Bytes of parcels that wait for their headers.
const PARCELS_MAX: usize = 256 << 20;

/// What the hub keeps of other instances.
pub(crate) struct Abroad {
    id: InstanceId,
    dialer: Dialer,
    post: mpsc::Sender<(InstanceId, Routed)>,
    links: BTreeMap<InstanceId, Link>,
    // Jobs of this instance at nodes of others.
    sent: BTreeMap<JobId, Sent>,
    // Jobs of others at nodes of this instance.
    guests: BTreeMap<JobId, Guest>,
    // Parcels that wait for their headers, and how many bytes they have.
    jobs: BTreeMap<(JobId, u32), (Micros, LeaseId, Utf8Bytes)>,
    job_bytes: usize,
    answers: BTreeMap<(JobId, u32), (Micros, Box<AnswerParcel>)>,
    // Headers that wait for their parcels.
    headers: BTreeMap<(JobId, u32), (Micros, Routed)>,
    next_look: Micros,
}

#[derive(Debug)]
struct Link {
    to: mpsc::Sender<ToInstance>,
    // Nothing is known against it, so far.
    up: bool,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    assign: Assign,
    to: InstanceId,
    at: Micros,
}

#[derive(Debug)]
struct Guest {
    attempt: u32,
    session: SessionId,
    index: u32,
    node: NodeNum,
    // Until the node has it.
    frame: Option<Utf8Bytes>,
    at: Micros,
}

impl Abroad {
    pub(crate) fn new(
        id: InstanceId,
        dialer: Dialer,
        post: mpsc::Sender<(InstanceId, Routed)>,
    ) -> Self {
        Self {
            id,
            dialer,
            post,
            links: BTreeMap::new(),
            sent: BTreeMap::new(),
            guests: BTreeMap::new(),
            jobs: BTreeMap::new(),
            job_bytes: 0,
            answers: BTreeMap::new(),
            headers: BTreeMap::new(),
            next_look: Micros::NEVER,
        }
    }

    /// Whether a job is another instance's.
    pub(super) fn is_guest(&self, job: JobId) -> bool {
        job.origin != self.id
    }

    /// Whether a node of this instance has that job of another one, and it is about that utterance.
    pub(super) fn has_guest(
        &self,
        job: JobId,
        attempt: Option<u32>,
        node: NodeNum,
        (session, index): (SessionId, u32),
    ) -> bool {
        self.guests.get(&job).is_some_and(|guest| {
            attempt.is_none_or(|attempt| guest.attempt == attempt)
                && (guest.node, guest.session, guest.index) == (node, session, index)
        })
    }

    /// Sends a parcel; tells whether the link took it.
    pub(super) fn send(&self, to: InstanceId, parcel: ToInstance) -> bool {
        let link = self.links.get(&to).filter(|link| link.up);
        link.is_some_and(|link| link.to.try_send(parcel).is_ok())
    }

    fn look_by(&mut self, now: Micros) {
        self.next_look = self.next_look.min(now + LOOK);
    }

    fn drop_parcel(&mut self, key: (JobId, u32)) -> Option<(LeaseId, Utf8Bytes)> {
        let (_, lease, frame) = self.jobs.remove(&key)?;
        self.job_bytes -= frame.len();
        Some((lease, frame))
    }

    /// Nodes' and sessions' instances as the roll names them: links to those that are present.
    fn meet(&mut self, members: &[Member]) -> Vec<InstanceId> {
        for member in members.iter().filter(|member| member.present && member.id != self.id) {
            if !self.links.contains_key(&member.id)
                && let Ok(about) = serde_json::from_str::<About>(&member.about)
            {
                let to = self.dialer.link(member.id, &about.address);
                self.links.insert(member.id, Link { to, up: true });
            }
        }
        let present =
            |id: InstanceId| members.iter().any(|member| member.id == id && member.present);
        let gone = self.links.keys().copied().filter(|&id| !present(id)).collect();
        for id in &gone {
            self.links.remove(id);
        }
        gone
    }
}

impl Hub {
    /// A message of the instance for another one.
    pub(super) fn route(&mut self, to: InstanceId, routed: Routed) {
        let now = self.clock.now();
        let Some(abroad) = &mut self.abroad else { unreachable!("the only instance is this one") };
        abroad.look_by(now);
        let mut goes = true;
        match routed {
            Routed::Assign(assign) => {
                goes = false;
                if let Some(open) = self.answers.assigned(&assign) {
                    let for_room = open.receivers != Receivers::Speaker;
                    let utterance = open.utterance.clone();
                    let job = JobForNode { assign, utterance, for_room };
                    goes = abroad.send(to, ToInstance::Job(Box::new(job)));
                }
                abroad.sent.insert(assign.job, Sent { assign, to, at: now });
            }
            Routed::Full(job, _) | Routed::Lost(job, _) => drop(abroad.guests.remove(&job)),
            Routed::Answer(..) | Routed::Cancel(..) => {}
        }
        if !goes || abroad.post.try_send((to, routed)).is_err() {
            self.not_posted(routed);
        }
    }

    /// A message could not be sent. A job is then as good as refused; the rest is given up.
    fn not_posted(&mut self, routed: Routed) {
        self.counts.not_posted += 1;
        if let Routed::Assign(assign) = routed {
            self.hear_routed(Routed::Full(assign.job, assign.attempt));
        }
    }

    fn hear_routed(&mut self, routed: Routed) {
        if let Some(abroad) = &mut self.abroad
            && let Routed::Full(job, _) | Routed::Lost(job, _) = routed
        {
            abroad.sent.remove(&job);
        }
        self.handle(Input::Routed(Box::new(routed)));
    }

    pub(super) fn take_shared(&mut self, shared: Shared) {
        match shared {
            Shared::Snapshot(snapshot) => self.handle(Input::Snapshot(snapshot)),
            Shared::Rejoined { until, lost } => self.rejoin(until, lost),
            Shared::Members(members) => {
                let gone = self.abroad.as_mut().map(|abroad| abroad.meet(&members));
                for id in gone.unwrap_or_default() {
                    self.lose_jobs_at(id);
                }
            }
            Shared::Link { to, up } => {
                let link = self.abroad.as_mut().and_then(|abroad| abroad.links.get_mut(&to));
                if let Some(link) = link {
                    link.up = up;
                }
                if !up {
                    self.lose_jobs_at(to);
                }
            }
            Shared::Header(routed) => self.take_header(*routed),
            Shared::Parcel { from, parcel } => self.take_parcel(from, *parcel),
            Shared::NotPosted(routed) => self.not_posted(*routed),
        }
    }

    /// Another instance is gone, or cannot be reached: whatever its nodes do is not heard of here.
    fn lose_jobs_at(&mut self, gone: InstanceId) {
        let Some(abroad) = &self.abroad else { return };
        let lost = abroad.sent.values().filter(|sent| sent.to == gone);
        let lost: Vec<_> = lost.map(|sent| (sent.assign.job, sent.assign.attempt)).collect();
        for (job, attempt) in lost {
            self.hear_routed(Routed::Lost(job, attempt));
        }
    }

    fn take_header(&mut self, routed: Routed) {
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

    fn take_parcel(&mut self, from: InstanceId, parcel: Parcel) {
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
                let AnswerParcel { session, index, error, events, translation, .. } = *parcel;
                let about = (session, index);
                if let Some(open) = self.answers.accept(answer.job, answer.attempt, node.num, about)
                {
                    (open.events, open.translation, open.error) = (events, translation, error);
                }
                self.hear_routed(Routed::Answer(answer, node));
            }
            _ => {}
        }
    }

    /// A node of another instance has a job of this one.
    fn dispatched_abroad(&mut self, assign: &Assign) {
        let Some(trace) = self.answers.trace(&assign.request) else { return };
        self.tell_dispatched(assign, &trace);
        self.log.dispatched(self.clock.now(), assign, "");
        self.count_dispatched(assign);
    }

    /// A job of another instance goes to a node of this one.
    pub(super) fn assign_guest(&mut self, assign: &Assign) {
        let Some(abroad) = &mut self.abroad else { return };
        let guest = abroad.guests.get_mut(&assign.job);
        let guest = guest.filter(|guest| guest.attempt == assign.attempt);
        let Some(frame) = guest.and_then(|guest| guest.frame.take()) else { return };
        let Assign { job, attempt, node, .. } = *assign;
        abroad.send(job.origin, ToInstance::Parcel(Parcel::Dispatched { job, attempt, node }));
        self.log.dispatched(self.clock.now(), assign, self.nodes.name(node));
        self.nodes.send(node, Outgoing::Text(frame));
    }

    /// A node has answered a job of another instance: the result goes there, and the instance says
    /// so.
    pub(super) fn take_guest_answer(&mut self, answer: NodeAnswer) {
        let Some(node) = self.nodes.of_socket(answer.socket) else { return };
        let NodeAnswer {
            job, attempt, outcome, session, index, events, translation, error, ..
        } = answer;
        let Some(abroad) = &mut self.abroad else { return };
        if abroad.has_guest(job, Some(attempt), node.num, (session, index)) {
            abroad.guests.remove(&job);
            let parcel = AnswerParcel { job, attempt, session, index, error, events, translation };
            abroad.send(job.origin, ToInstance::Parcel(Parcel::Answer(Box::new(parcel))));
        } else {
            self.refuse_result(node, job, attempt);
        }
        self.handle(Input::Answer(node, Answer { job, attempt, outcome }));
        self.heard_outcome(node, outcome);
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
        abroad.answers.retain(|_, (until, _)| *until > now);
        abroad.sent.retain(|_, sent| now - sent.at < JOB_LIFE);
        abroad.guests.retain(|_, guest| now - guest.at < JOB_LIFE);
        let idle = abroad.headers.is_empty()
            && abroad.jobs.is_empty()
            && abroad.answers.is_empty()
            && abroad.sent.is_empty()
            && abroad.guests.is_empty();
        abroad.next_look = if idle { Micros::NEVER } else { now + LOOK };
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
