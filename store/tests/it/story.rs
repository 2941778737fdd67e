//! Choices turned into operations by what was answered before.

use lingua_core::*;

use crate::steps::{Ask, NAMES, Step, capabilities, pairs};

/// A lease that may live: node, lease, attempt, request.
type Held = (NodeRef, LeaseId, u32, RequestId);

/// What was answered so far.
#[derive(Debug)]
pub(crate) struct Story {
    rule: PoolRule,
    nodes: Vec<Option<NodeRef>>,
    held: Vec<Held>,
    asked: Vec<Dispatch>,
    intents: Vec<(RequestId, Intent, Needs)>,
    leases: u64,
    // Of the dispatch drawn last.
    needs: Option<Needs>,
}

impl Story {
    pub(crate) fn new(rule: PoolRule) -> Self {
        Self {
            rule,
            nodes: vec![None; usize::from(NAMES)],
            held: Vec::new(),
            asked: Vec::new(),
            intents: Vec::new(),
            leases: 0,
            needs: None,
        }
    }

    /// The node of a name; before it registers, one that nobody is.
    fn node(&self, name: u8, stale: bool) -> Option<NodeRef> {
        let known = *self.nodes.get(usize::from(name))?;
        let node = known.unwrap_or_else(|| NodeRef { num: self.num(name), generation: 1 });
        let generation = node.generation - u32::from(stale);
        Some(NodeRef { generation, ..node })
    }

    fn num(&self, name: u8) -> NodeNum {
        match self.nodes.get(usize::from(name)) {
            Some(Some(node)) => node.num,
            _ => NodeNum(u32::from(name)),
        }
    }

    fn excluded(&self, names: &[u8]) -> Excluded {
        let mut excluded = Excluded::default();
        for &name in names {
            excluded.push(self.num(name));
        }
        excluded
    }

    fn lease(&mut self, instance: u16) -> LeaseId {
        self.leases += 1;
        LeaseId::new(InstanceId(instance), self.leases)
    }

    fn dispatch(&mut self, now: Micros, ask: &Ask) -> Dispatch {
        let pair = pairs().nth(ask.pair).unwrap();
        let mut candidates = Candidates::default();
        for &name in &ask.candidates {
            candidates.push(self.num(name));
        }
        let session = SessionId(ask.session);
        let needs = Needs {
            pair,
            features: Features(ask.features),
            model: ask.model.map(ModelId),
            region: ask.region.map(RegionId),
        };
        self.needs = Some(needs);
        Dispatch {
            request: RequestId { session, index: ask.index, tgt: pair.tgt },
            attempt: ask.attempt,
            lease: self.lease(ask.instance),
            needs,
            affinity: ask.affinity,
            preferred: ask.preferred.map(|name| self.num(name)),
            excluded: self.excluded(&ask.excluded),
            candidates,
            scan: ask.scan,
            deadline: now + Micros(ask.deadline),
        }
    }

    /// The operation of a step; none where it needs an answer that was not given yet.
    pub(crate) fn op(&mut self, now: Micros, step: &Step) -> Option<Op> {
        Some(match *step {
            Step::Wait(_) => return None,
            Step::Register { name, kind, max_jobs, owner } => Op::Register(Box::new(Register {
                name: format!("node-{name}").into(),
                caps: capabilities(kind, self.rule),
                max_jobs,
                owner: InstanceId(owner),
            })),
            Step::Heartbeat { node, stale, ref report } => {
                Op::Heartbeat(self.node(node, stale)?, report.clone())
            }
            Step::Drain { node, stale, on } => Op::Drain(self.node(node, stale)?, on),
            Step::Remove { node, stale } => Op::Remove(self.node(node, stale)?),
            Step::ModelLost { node, stale, model } => {
                Op::ModelLost(self.node(node, stale)?, ModelId(model))
            }
            Step::Dispatch(ref ask) => Op::Dispatch(self.dispatch(now, ask)),
            Step::Again(which) => {
                let again = recent(&self.asked, which).filter(|d| d.deadline >= now)?;
                Op::Dispatch(again.clone())
            }
            Step::Open(ref ask) => Op::Open(self.open(now, ask)),
            Step::Reserve { which, ref ask, elsewhere } => {
                Op::Reserve(self.reserve(now, which, ask, elsewhere)?)
            }
            Step::Move { which, seen, same, to, generation } => {
                let &(request, intent, _) = recent(&self.intents, which)?;
                let pointed = intent.target.map(|target| target.node);
                let target = |name| Target { node: self.num(name), generation, via: Via::Scan };
                Op::Move(Move {
                    request,
                    attempt: intent.attempt,
                    lease: if same { intent.lease } else { LeaseId(7) },
                    from: if seen { pointed } else { Some(NodeNum(99)) },
                    to: to.map(target),
                })
            }
            Step::End { which, same } => {
                let &(request, intent, _) = recent(&self.intents, which)?;
                Op::End(request, if same { intent.lease } else { LeaseId(7) })
            }
            Step::Find { class, word, ref excluded } => {
                let excluded = self.excluded(excluded);
                Op::Find(Find { class: ClassId::new(class), word, excluded })
            }
            Step::Hint { node, free } => Op::Hint(self.num(node), free),
            Step::Confirm { which, stale } => {
                let &(node, lease, ..) = recent(&self.held, which)?;
                let generation = node.generation - u32::from(stale);
                Op::Confirm(NodeRef { generation, ..node }, lease)
            }
            Step::Release { which, stale } => {
                let &(node, lease, attempt, request) = recent(&self.held, which)?;
                let attempt = attempt + u32::from(stale);
                Op::Release(Release { node, lease, attempt, request })
            }
            Step::RecordAffinity { session, node, stale, life, only } => {
                let (session, node) = (SessionId(session), self.node(node, stale)?);
                Op::RecordAffinity(RecordAffinity { session, node, life: Micros(life), only })
            }
            Step::ClearAffinity(session) => Op::ClearAffinity(SessionId(session)),
            Step::Debounce { model, window } => Op::Debounce(ModelId(model), Micros(window)),
            Step::Snapshot => Op::Snapshot,
        })
    }

    fn open(&mut self, now: Micros, ask: &Ask) -> Open {
        let d = self.dispatch(now, ask);
        let first = d.candidates.as_slice().first();
        let target = first.map(|&node| Target { node, generation: None, via: Via::Candidate });
        Open {
            request: d.request,
            attempt: d.attempt,
            lease: d.lease,
            affinity: d.affinity,
            target,
            deadline: d.deadline,
        }
    }

    fn reserve(&mut self, now: Micros, which: u8, ask: &Ask, to: Option<u8>) -> Option<Reserve> {
        let d = self.dispatch(now, ask);
        let &(request, intent, needs) = recent(&self.intents, which)?;
        let other = Needs { pair: needs.pair, ..d.needs };
        let elsewhere =
            to.map(|name| Target { node: self.num(name), generation: None, via: Via::Preferred });
        Some(Reserve {
            target: elsewhere.or(intent.target)?,
            request,
            attempt: intent.attempt,
            lease: intent.lease,
            needs: if which % 4 == 3 { other } else { needs },
            excluded: d.excluded,
            deadline: d.deadline,
        })
    }

    /// Remembers what was answered.
    pub(crate) fn hear(&mut self, op: &Op, reply: &Reply) {
        match (op, reply) {
            (Op::Register(register), Reply::Registered(Ok(node))) => {
                let name: usize = register.name.trim_start_matches("node-").parse().unwrap();
                self.nodes[name] = Some(*node);
            }
            (Op::Dispatch(d), Reply::Dispatched(dispatched)) => {
                self.asked.push(d.clone());
                if let Outcome::Granted(grant) = dispatched.outcome {
                    self.held.push((grant.node, grant.lease, d.attempt, d.request));
                }
            }
            (Op::Open(open), Reply::Intended(Intended::Stands(intent))) => {
                let needs = self.needs.filter(|needs| needs.pair.tgt == open.request.tgt);
                let needs = needs.expect("a dispatch was drawn for it");
                self.intents.push((open.request, *intent, needs));
            }
            (Op::Move(m), Reply::Intended(Intended::Stands(intent))) => {
                let known = self.intents.iter_mut().filter(|(request, ..)| *request == m.request);
                known.for_each(|(_, known, _)| *known = *intent);
            }
            (Op::Reserve(r), Reply::Reserved(Reserved::Granted { grant, .. })) => {
                self.held.push((grant.node, grant.lease, r.attempt, r.request));
            }
            _ => {}
        }
    }
}

/// One of the latest few.
fn recent<T>(all: &[T], which: u8) -> Option<&T> {
    let back = usize::from(which) % all.len().clamp(1, 8);
    all.len().checked_sub(back + 1).map(|at| &all[at])
}
