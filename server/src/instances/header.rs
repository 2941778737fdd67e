//! What one instance tells another through its inbox: small, as JSON. Instants do not travel, only
//! ages.

use lingua_core::finalize::Reason;
use lingua_core::instance::{Answer, AnswerOutcome, Assign, JobId, Routed};
use lingua_core::{
    AffinityOutcome, Features, InstanceId, LeaseId, Micros, MissCause, ModelId, Needs, NodeNum,
    NodeRef, Pair, RegionId, RequestId, SessionId, Via,
};
use serde::{Deserialize, Serialize};

/// Longest header that is read; ours have a few hundred bytes.
const HEADER_MAX: usize = 2_048;

/// A message on its way.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    /// Counts what its sender has sent, so that one that comes twice is known.
    pub(crate) sequence: u64,
    pub(crate) from: InstanceId,
    pub(crate) to: InstanceId,
    pub(crate) routed: Routed,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    sequence_id: u64,
    dispatch_instance_id: u16,
    deliver_instance_id: u16,
    #[serde(flatten)]
    message: Message,
}

/// A job: who made it, and its place there.
pub(super) type JobName = (u16, u32, u32);
/// A node and its generation.
pub(super) type NodeName = (u32, u32);

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Message {
    Assign(Box<AssignWire>),
    Full { job: JobName, attempt: u32 },
    Answer { job: JobName, attempt: u32, node: NodeName, outcome: Outcome },
    Lost { job: JobName, attempt: u32 },
    Cancel { node: NodeName, job: JobName },
}

#[derive(Serialize, Deserialize)]
struct AssignWire {
    node: NodeName,
    job: JobName,
    attempt: u32,
    lease: u64,
    session: u64,
    index: u32,
    src: String,
    tgt: String,
    features: u64,
    model: Option<u32>,
    region: Option<u16>,
    speech_us: u64,
    bytes: u64,
    reason: Option<u8>,
    age_us: u64,
    affinity: u8,
    via: u8,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Result,
    Silence,
    ModelNotAvailable(u32),
    Error,
}

impl From<AnswerOutcome> for Outcome {
    fn from(outcome: AnswerOutcome) -> Self {
        match outcome {
            AnswerOutcome::Result => Self::Result,
            AnswerOutcome::Silence => Self::Silence,
            AnswerOutcome::ModelNotAvailable(model) => Self::ModelNotAvailable(model.0),
            AnswerOutcome::Error => Self::Error,
        }
    }
}

impl From<Outcome> for AnswerOutcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Result => Self::Result,
            Outcome::Silence => Self::Silence,
            Outcome::ModelNotAvailable(n) => Self::ModelNotAvailable(ModelId(n)),
            Outcome::Error => Self::Error,
        }
    }
}

const AFFINITIES: [AffinityOutcome; 7] = [
    AffinityOutcome::None,
    AffinityOutcome::Kept,
    AffinityOutcome::Missed(MissCause::Offline),
    AffinityOutcome::Missed(MissCause::Full),
    AffinityOutcome::Missed(MissCause::Unavailable),
    AffinityOutcome::Missed(MissCause::LeftPool),
    AffinityOutcome::Missed(MissCause::Excluded),
];
const VIAS: [Via; 4] = [Via::Affinity, Via::Preferred, Via::Candidate, Via::Scan];

fn place<T: PartialEq>(all: &[T], one: &T) -> u8 {
    let at = all.iter().position(|other| other == one);
    at.expect("every one is listed") as u8
}

pub(super) fn job_name(job: JobId) -> JobName {
    (job.origin.0, job.slot, job.version)
}

pub(super) fn job((origin, slot, version): JobName) -> JobId {
    JobId { origin: InstanceId(origin), slot, version }
}

pub(super) fn node_name(node: NodeRef) -> NodeName {
    (node.num.0, node.generation)
}

pub(super) fn node((num, generation): NodeName) -> NodeRef {
    NodeRef { num: NodeNum(num), generation }
}

impl Header {
    /// As text, at a time of the sender.
    pub(crate) fn to_text(&self, now: Micros) -> String {
        let message = match self.routed {
            Routed::Assign(assign) => Message::Assign(Box::new(wire_of(&assign, now))),
            Routed::Full(job, attempt) => Message::Full { job: job_name(job), attempt },
            Routed::Lost(job, attempt) => Message::Lost { job: job_name(job), attempt },
            Routed::Cancel(node, job) => {
                Message::Cancel { node: node_name(node), job: job_name(job) }
            }
            Routed::Answer(answer, node) => Message::Answer {
                job: job_name(answer.job),
                attempt: answer.attempt,
                node: node_name(node),
                outcome: answer.outcome.into(),
            },
        };
        let wire = Wire {
            sequence_id: self.sequence,
            dispatch_instance_id: self.from.0,
            deliver_instance_id: self.to.0,
            message,
        };
        serde_json::to_string(&wire).expect("string keys into memory")
    }

    /// The header of a text, at a time of the receiver; absent where it is none.
    pub(crate) fn parse(text: &str, now: Micros) -> Option<Self> {
        if text.len() > HEADER_MAX {
            return None;
        }
        let wire: Wire = serde_json::from_str(text).ok()?;
        let routed = match wire.message {
            Message::Assign(assign) => Routed::Assign(assign_of(&assign, now)?),
            Message::Full { job: name, attempt } => Routed::Full(job(name), attempt),
            Message::Lost { job: name, attempt } => Routed::Lost(job(name), attempt),
            Message::Cancel { node: at, job: name } => Routed::Cancel(node(at), job(name)),
            Message::Answer { job: name, attempt, node: at, outcome } => {
                let answer = Answer { job: job(name), attempt, outcome: outcome.into() };
                Routed::Answer(answer, node(at))
            }
        };
        let (from, to) =
            (InstanceId(wire.dispatch_instance_id), InstanceId(wire.deliver_instance_id));
        Some(Self { sequence: wire.sequence_id, from, to, routed })
    }
}

fn wire_of(assign: &Assign, now: Micros) -> AssignWire {
    AssignWire {
        node: node_name(assign.node),
        job: job_name(assign.job),
        attempt: assign.attempt,
        lease: assign.lease.0,
        session: assign.request.session.0,
        index: assign.request.index,
        src: assign.needs.pair.src.to_string(),
        tgt: assign.needs.pair.tgt.to_string(),
        features: assign.needs.features.0,
        model: assign.needs.model.map(|model| model.0),
        region: assign.needs.region.map(|region| region.0),
        speech_us: assign.speech.0,
        bytes: assign.bytes,
        reason: assign.reason.map(|reason| place(&Reason::ALL, &reason)),
        age_us: (now - assign.sent).0,
        affinity: place(&AFFINITIES, &assign.affinity),
        via: place(&VIAS, &assign.via),
    }
}

fn assign_of(wire: &AssignWire, now: Micros) -> Option<Assign> {
    let pair = Pair { src: wire.src.parse().ok()?, tgt: wire.tgt.parse().ok()? };
    let reason = match wire.reason {
        None => None,
        Some(at) => Some(*Reason::ALL.get(usize::from(at))?),
    };
    Some(Assign {
        node: node(wire.node),
        job: job(wire.job),
        attempt: wire.attempt,
        lease: LeaseId(wire.lease),
        request: RequestId { session: SessionId(wire.session), index: wire.index, tgt: pair.tgt },
        needs: Needs {
            pair,
            features: Features(wire.features),
            model: wire.model.map(ModelId),
            region: wire.region.map(RegionId),
        },
        speech: Micros(wire.speech_us),
        bytes: wire.bytes,
        reason,
        sent: Micros(now.0.saturating_sub(wire.age_us)),
        affinity: *AFFINITIES.get(usize::from(wire.affinity))?,
        via: *VIAS.get(usize::from(wire.via))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: JobId = JobId { origin: InstanceId(7), slot: 3, version: 9 };
    const NODE: NodeRef = NodeRef { num: NodeNum(12), generation: 4 };

    fn there_and_back(routed: Routed) -> Routed {
        let header = Header { sequence: 5, from: InstanceId(7), to: InstanceId(8), routed };
        // The clocks of two instances have nothing in common.
        let text = header.to_text(Micros::secs(100));
        let read = Header::parse(&text, Micros::secs(7)).unwrap();
        assert_eq!((read.sequence, read.from, read.to), (5, InstanceId(7), InstanceId(8)));
        read.routed
    }

    #[test]
    fn every_message_comes_as_it_went() {
        let outcomes = [
            AnswerOutcome::Result,
            AnswerOutcome::Silence,
            AnswerOutcome::ModelNotAvailable(ModelId(77)),
            AnswerOutcome::Error,
        ];
        let answers =
            outcomes.map(|outcome| Routed::Answer(Answer { job: JOB, attempt: 2, outcome }, NODE));
        let others = [Routed::Full(JOB, 1), Routed::Lost(JOB, 3), Routed::Cancel(NODE, JOB)];
        for routed in answers.into_iter().chain(others) {
            assert_eq!(there_and_back(routed), routed);
        }
    }

    #[test]
    fn a_job_takes_its_age_along() {
        let pair = Pair { src: "zh".parse().unwrap(), tgt: "pt-BR".parse().unwrap() };
        for (at, affinity) in AFFINITIES.into_iter().enumerate() {
            let assign = Assign {
                node: NODE,
                job: JOB,
                attempt: 2,
                lease: LeaseId(u64::MAX - 1),
                request: RequestId { session: SessionId(1 << 63 | 5), index: 8, tgt: pair.tgt },
                needs: Needs { features: Features(u64::MAX), ..Needs::pair(pair) },
                speech: Micros::secs(3),
                bytes: 9_000,
                reason: Reason::ALL.get(at).copied(),
                sent: Micros::secs(98),
                affinity,
                via: VIAS[at % VIAS.len()],
            };
            let sent = Micros::secs(5);
            assert_eq!(
                there_and_back(Routed::Assign(assign)),
                Routed::Assign(Assign { sent, ..assign })
            );
        }
    }

    #[test]
    fn what_is_no_header_is_none() {
        let long = format!("{{\"kind\":\"full\"{}}}", " ".repeat(HEADER_MAX));
        for text in ["", "{}", "[]", "{\"kind\":\"full\",\"job\":[1,2]}", &long] {
            assert!(Header::parse(text, Micros::ZERO).is_none(), "{text}");
        }
    }
}
