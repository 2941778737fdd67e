//! Operations as calls of scripts: which one, with which keys and arguments.
//!
//! Instants of an operation are by the instance's clock, the store has its own. So only spans
//! travel: a deadline becomes what is left of it.

use lingua_core::{
    Dispatch, FOUND_MAX, Micros, Move, Needs, NodeNum, NodeRef, Op, Open, Register, Release,
    Report, RequestId, Reserve, SessionId, Target,
};

use crate::keys;
use crate::script::Step;
use crate::text::{capabilities, excluded, halves, models, or_none, span};

/// One call of a script. The time is put in front of the arguments when it is sent.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) step: Step,
    pub(crate) keys: Vec<String>,
    pub(crate) args: Vec<String>,
}

impl Call {
    fn new(step: Step, keys: impl Into<Vec<String>>, args: impl Into<Vec<String>>) -> Self {
        Self { step, keys: keys.into(), args: args.into() }
    }
}

macro_rules! args {
    ($($arg:expr),* $(,)?) => { vec![$($arg.to_string()),*] };
}

/// The script of an operation that is one call. `now` is the instance's.
///
/// # Panics
/// For operations that take several: a snapshot, and on a Cluster registrations and hints.
pub(crate) fn call(now: Micros, op: &Op) -> Call {
    match op {
        Op::Register(register) => {
            let Register { name, caps, max_jobs, owner } = &**register;
            let args = args![name, capabilities(caps), owner.0, max_jobs];
            Call::new(Step::Register, [keys::NAMES.to_owned()], args)
        }
        Op::Heartbeat(node, report) => heartbeat(*node, report),
        Op::Drain(node, draining) => at_node(Step::Drain, *node, [u8::from(*draining)]),
        Op::Remove(node) => at_node(Step::Remove, *node, [0u8; 0]),
        Op::ModelLost(node, model) => at_node(Step::ModelLost, *node, [model.0]),
        Op::Confirm(node, lease) => at_node(Step::Confirm, *node, [lease.0]),
        Op::Dispatch(d) => dispatch(now, d),
        Op::Open(open) => open_intent(now, open),
        Op::Reserve(reserve) => reserve_slot(now, reserve),
        Op::Move(m) => move_intent(m),
        Op::End(request, lease) => Call::new(Step::End, [keys::intent(*request)], args![lease.0]),
        Op::Find(find) => {
            let args = args![find.word, excluded(&find.excluded), FOUND_MAX];
            Call::new(Step::Find, [keys::free(find.class.number())], args)
        }
        Op::Release(release) => give_back(release),
        Op::RecordAffinity(record) => {
            let node = record.node;
            let only = or_none(record.only);
            let args = args![node.num.0, node.generation, span(record.life), only];
            Call::new(Step::RecordAffinity, [keys::affinity(record.session)], args)
        }
        Op::ClearAffinity(session) => clear_affinity(*session),
        Op::Debounce(model, window) => {
            Call::new(Step::Debounce, [keys::debounce(*model)], args![span(*window)])
        }
        Op::Hint(..) | Op::Snapshot => unreachable!("hints and snapshots take several calls"),
    }
}

fn at_node<T: ToString>(step: Step, node: NodeRef, more: impl IntoIterator<Item = T>) -> Call {
    let mut args = args![node.num.0, node.generation];
    args.extend(more.into_iter().map(|arg| arg.to_string()));
    Call::new(step, keys::node(node.num), args)
}

fn heartbeat(node: NodeRef, report: &Report) -> Call {
    let busiest = or_none(report.usage.iter().flatten().max().copied());
    let present = report.models.as_deref().map_or_else(|| "-".to_owned(), models);
    let max_jobs = report.max_jobs.unwrap_or(0).to_string();
    let [high, low] = report.features.map_or_else(|| ["-", "-"].map(str::to_owned), halves);
    let running = report.running.to_string();
    at_node(Step::Heartbeat, node, [running, busiest, max_jobs, present, high, low])
}

fn clear_affinity(session: SessionId) -> Call {
    Call::new(Step::ClearAffinity, [keys::affinity(session)], [])
}

fn dispatch(now: Micros, d: &Dispatch) -> Call {
    let RequestId { session, index, tgt } = d.request;
    let Needs { pair, features, model, region } = d.needs;
    let [high, low] = halves(features);
    let mut args = args![
        session.0,
        index,
        pair.src,
        tgt,
        d.attempt,
        d.lease.0,
        d.lease.instance().0,
        high,
        low,
        or_none(model.map(|model| model.0)),
        or_none(region.map(|region| region.0)),
        u8::from(d.affinity),
        or_none(d.preferred.map(|node| node.0)),
        or_none(d.scan),
        span(d.deadline - now),
        excluded(&d.excluded),
    ];
    args.extend(d.candidates.as_slice().iter().map(|node| node.0.to_string()));
    Call::new(Step::Dispatch, [keys::answer(d.request), keys::affinity(session)], args)
}

fn target(target: Option<Target>) -> [String; 3] {
    let generation = or_none(target.and_then(|target| target.generation));
    let via = target.map_or(0, |target| target.via as u8);
    [or_none(target.map(|target| target.node.0)), generation, via.to_string()]
}

fn open_intent(now: Micros, open: &Open) -> Call {
    let [node, generation, via] = target(open.target);
    let args = args![
        open.request.index,
        open.attempt,
        open.lease.0,
        u8::from(open.affinity),
        node,
        generation,
        via,
        span(open.deadline - now),
    ];
    let keys = [keys::intent(open.request), keys::affinity(open.request.session)];
    Call::new(Step::Open, keys, args)
}

fn move_intent(m: &Move) -> Call {
    let [node, generation, via] = target(m.to);
    let from = or_none(m.from.map(|node| node.0));
    let args = args![m.attempt, m.lease.0, from, node, generation, via];
    Call::new(Step::Move, [keys::intent(m.request)], args)
}

fn reserve_slot(now: Micros, r: &Reserve) -> Call {
    let RequestId { session, index, tgt } = r.request;
    let [high, low] = halves(r.needs.features);
    let num = r.target.node;
    let args = args![
        num.0,
        or_none(r.target.generation),
        session.0,
        index,
        r.needs.pair.src,
        tgt,
        r.attempt,
        r.lease.0,
        r.lease.instance().0,
        high,
        low,
        or_none(r.needs.model.map(|model| model.0)),
        span(r.deadline - now),
        excluded(&r.excluded),
    ];
    let [node, leases] = keys::node(num);
    Call::new(Step::Reserve, [node, leases, keys::verdict(num, r.lease.0)], args)
}

fn give_back(r: &Release) -> Call {
    let RequestId { session, index, tgt } = r.request;
    let args = args![r.node.num.0, r.lease.0, r.attempt, session.0, index, tgt];
    Call::new(Step::Release, keys::node(r.node.num), args)
}

/// A registration's first half on a Cluster.
pub(crate) fn enrol(register: &Register) -> Call {
    let args = args![register.name, capabilities(&register.caps)];
    Call::new(Step::Enrol, [keys::NAMES.to_owned()], args)
}

/// A registration's second half on a Cluster: generation and class, or that a pair had no room.
pub(crate) fn seat(num: NodeNum, register: &Register, listed: Option<(u32, u32)>) -> Call {
    let (generation, class) = listed.unwrap_or((0, 0));
    let Register { name, caps, max_jobs, owner } = register;
    let args = args![num.0, name, capabilities(caps), owner.0, max_jobs, generation, class];
    Call::new(Step::Seat, keys::node(num), args)
}

/// Lists a node with other capabilities on a Cluster, or takes it out of the directory.
pub(crate) fn list(node: NodeRef, caps: &str) -> Call {
    let args = args![node.num.0, node.generation, caps];
    Call::new(Step::List, [keys::GENERATIONS.to_owned()], args)
}

/// Tells a node its new class on a Cluster.
pub(crate) fn relisted(node: NodeRef, class: u32, caps: &str) -> Call {
    at_node(Step::Relisted, node, [class.to_string(), caps.to_owned()])
}

/// Asks a node in which free index it stands and shall stand on a Cluster.
pub(crate) fn hinted(num: NodeNum, free: bool) -> Call {
    Call::new(Step::Hinted, keys::node(num), args![num.0, u8::from(free)])
}

/// Puts a node into a free index on a Cluster, or takes it out.
pub(crate) fn hint(class: u32, num: NodeNum, free: bool) -> Call {
    Call::new(Step::Hint, [keys::free(class)], args![num.0, u8::from(free)])
}

/// Reads the directory.
pub(crate) fn members() -> Call {
    let keys = [keys::NAMES, keys::CLASSES, keys::LISTING].map(str::to_owned);
    Call::new(Step::Members, keys, [])
}
