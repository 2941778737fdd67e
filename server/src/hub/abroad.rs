//! Jobs whose session and node are held by different instances.
//!
//! What goes to other instances, and what is remembered of it; what comes is in [`super::parcels`].

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::ws::Utf8Bytes;
use lingua_core::instance::{Answer, Assign, Input, JobId, Routed};
use lingua_core::{InstanceId, LeaseId, Micros, NodeNum, SessionId};
use lingua_store::Member;
use tokio::sync::mpsc;

use crate::event::{JobForNode, NodeAnswer, Outgoing};
use crate::hub::Hub;
use crate::hub::answers::Receivers;
use crate::instances::{About, AnswerParcel, Dialer, DutyFigures, Parcel, Shared, ToInstance};

/// How often it is looked for what waits too long.
pub(super) const LOOK: Micros = Micros::millis(250);

/// A roll is not older than this.
const ROLL: Micros = Micros::secs(4);

/// What the hub keeps of other instances.
pub(crate) struct Abroad {
    id: InstanceId,
    dialer: Dialer,
    post: mpsc::Sender<(InstanceId, Routed)>,
    links: BTreeMap<InstanceId, Link>,
    // Jobs of this instance at nodes of others.
    pub(super) sent: BTreeMap<JobId, Sent>,
    // Jobs of others at nodes of this instance.
    pub(super) guests: BTreeMap<JobId, Guest>,
    // Parcels that wait for their headers, and how many bytes they have.
    pub(super) jobs: BTreeMap<(JobId, u32), (Micros, LeaseId, Utf8Bytes)>,
    pub(super) job_bytes: usize,
    pub(super) answers: BTreeMap<(JobId, u32), (Micros, Box<AnswerParcel>)>,
    // Headers that wait for their parcels.
    pub(super) headers: BTreeMap<(JobId, u32), (Micros, Routed)>,
    pub(super) next_look: Micros,
    pub(super) duties: DutyFigures,
}

#[derive(Debug)]
struct Link {
    to: mpsc::Sender<ToInstance>,
    // Nothing is known against it, so far.
    up: bool,
    // From then on it is gone where the roll does not name it: at once, where one has.
    since: Micros,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) assign: Assign,
    pub(super) to: InstanceId,
    pub(super) at: Micros,
}

#[derive(Debug)]
pub(super) struct Guest {
    pub(super) attempt: u32,
    pub(super) session: SessionId,
    pub(super) index: u32,
    pub(super) node: NodeNum,
    // Until the node has it.
    pub(super) frame: Option<Utf8Bytes>,
    pub(super) at: Micros,
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
            duties: DutyFigures::default(),
        }
    }

    /// Jobs of others at nodes of this instance.
    pub(super) fn guests(&self) -> usize {
        self.guests.len()
    }

    /// Whether there are others to serve this instance's nodes.
    pub(super) fn is_alone(&self) -> bool {
        self.links.is_empty()
    }

    /// The other instances, as far as they can be reached.
    pub(super) fn linked(&self) -> BTreeSet<InstanceId> {
        self.links.iter().filter(|(_, link)| link.up).map(|(&id, _)| id).collect()
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

    pub(super) fn look_by(&mut self, now: Micros) {
        self.next_look = self.next_look.min(now + LOOK);
    }

    pub(super) fn drop_parcel(&mut self, key: (JobId, u32)) -> Option<(LeaseId, Utf8Bytes)> {
        let (_, lease, frame) = self.jobs.remove(&key)?;
        self.job_bytes -= frame.len();
        Some((lease, frame))
    }

    /// Links to an instance; a roll that was called before it came may follow.
    fn link(&mut self, now: Micros, id: InstanceId, address: &str) {
        if id != self.id && !self.links.contains_key(&id) {
            let to = self.dialer.link(id, address);
            self.links.insert(id, Link { to, up: true, since: now + ROLL });
        }
    }

    /// Links to those that are present; those that are not are gone, and are named, where that is
    /// judged.
    fn meet(&mut self, now: Micros, members: &[Member], judges: bool) -> Vec<InstanceId> {
        for member in members.iter().filter(|member| member.present) {
            if let Ok(about) = serde_json::from_str::<About>(&member.about) {
                self.link(now, member.id, &about.address);
                if let Some(link) = self.links.get_mut(&member.id) {
                    link.since = Micros::ZERO;
                }
            }
        }
        let present =
            |id: InstanceId| members.iter().any(|member| member.id == id && member.present);
        let gone =
            self.links.iter().filter(|(id, link)| judges && !present(**id) && link.since < now);
        let gone = gone.map(|(&id, _)| id).collect();
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
            Routed::Full(job, attempt) | Routed::Lost(job, attempt) => {
                // A later attempt may be at another node of this instance.
                if abroad.guests.get(&job).is_some_and(|guest| guest.attempt == attempt) {
                    abroad.guests.remove(&job);
                }
            }
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

    pub(super) fn hear_routed(&mut self, routed: Routed) {
        if let Some(abroad) = &mut self.abroad
            && let Routed::Full(job, attempt) | Routed::Lost(job, attempt) = routed
            && abroad.sent.get(&job).is_some_and(|sent| sent.assign.attempt == attempt)
        {
            abroad.sent.remove(&job);
        }
        self.handle(Input::Routed(Box::new(routed)));
    }

    pub(super) fn take_shared(&mut self, shared: Shared) {
        match shared {
            Shared::Snapshot(snapshot) => self.handle(Input::Snapshot(snapshot)),
            Shared::Rejoined { until, lost } => self.rejoin(until, lost),
            Shared::Met { id, address } => {
                let now = self.clock.now();
                if let Some(abroad) = &mut self.abroad {
                    abroad.link(now, id, &address);
                }
            }
            Shared::Members { members, judges } => {
                let now = self.clock.now();
                let gone = self.abroad.as_mut().map(|abroad| abroad.meet(now, &members, judges));
                for id in gone.unwrap_or_default() {
                    self.lose_jobs_at(id);
                    self.lose_members_of(id);
                }
            }
            Shared::Link { to, up } => {
                let link = self.abroad.as_mut().and_then(|abroad| abroad.links.get_mut(&to));
                if let Some(link) = link {
                    link.up = up;
                }
                if up {
                    self.tell_rooms_again(to);
                } else {
                    self.lose_jobs_at(to);
                }
            }
            Shared::Header(routed) => self.take_header(*routed),
            Shared::Parcel { from, parcel } => self.take_parcel(from, *parcel),
            Shared::Duties { figures, shards, until } => {
                if let Some(abroad) = &mut self.abroad {
                    abroad.duties = figures;
                }
                self.hold_shards(&shards, until);
            }
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

    /// A node of another instance has a job of this one.
    pub(super) fn dispatched_abroad(&mut self, assign: &Assign) {
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
            let parcel =
                AnswerParcel { job, attempt, outcome, session, index, error, events, translation };
            abroad.send(job.origin, ToInstance::Parcel(Parcel::Answer(Box::new(parcel))));
        } else {
            self.refuse_result(node, job, attempt);
        }
        self.handle(Input::Answer(node, Answer { job, attempt, outcome }));
        self.heard_outcome(node, outcome);
    }
}
