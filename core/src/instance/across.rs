//! A dispatch on a Cluster: step by step, each at its own home.
//!
//! Open (session) → Reserve (node) → where the node refuses, Move (session) and Reserve again. The
//! candidates come first, then what the classes' free indexes hint at. Each step may be sent
//! again, and any instance that asks for the same request follows the intent that stands.

use crate::draws::pick;
use crate::instance::link::Then;
use crate::instance::slab::Key;
use crate::instance::{Cx, Instance};
use crate::{
    AffinityOutcome, Candidates, ClassId, Directory, Dispatch, Dispatched, Find, Former, Grant,
    Intended, Intent, MissCause, Move, NodeNum, NodeRef, Op, Open, Outcome, Refusal, Release,
    Released, Reply, Reserve, Reserved, Target, Via,
};

/// One dispatch under way.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    job: Key,
    dispatch: Dispatch,
    stage: Stage,
    // The slot of this instance's own attempt before: it is fenced even where the session's slot
    // has lost its intent.
    former: Option<Former>,
    // Where the intent points.
    target: Option<Target>,
    // Whether the intent was another instance's.
    followed: bool,
    // Candidates taken so far, the preferred node first.
    taken: usize,
    found: Candidates,
    found_taken: usize,
    classes_asked: usize,
    refused_by: Vec<NodeNum>,
    full: bool,
    affinity: AffinityOutcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opening,
    /// The slot of the former attempt is given back.
    Fencing,
    Reserving,
    Finding,
    Moving(Option<Target>),
}

impl Walk {
    /// The job and its attempt.
    pub(super) fn asked(&self) -> (Key, u32) {
        (self.job, self.dispatch.attempt)
    }

    /// The next node worth asking, as far as is known without another look.
    fn next_target(&mut self) -> Option<Target> {
        loop {
            let preferred = self.dispatch.preferred.map(|node| (node, Via::Preferred));
            let ahead = usize::from(preferred.is_some());
            let (node, via) = match preferred.filter(|_| self.taken == 0) {
                Some(preferred) => {
                    self.taken += 1;
                    preferred
                }
                None => match self.dispatch.candidates.as_slice().get(self.taken - ahead) {
                    Some(&node) => {
                        self.taken += 1;
                        (node, Via::Candidate)
                    }
                    None => {
                        let &node = self.found.as_slice().get(self.found_taken)?;
                        self.found_taken += 1;
                        (node, Via::Scan)
                    }
                },
            };
            if !self.refused_by.contains(&node) {
                return Some(Target { node, generation: None, via });
            }
        }
    }
}

impl Instance {
    /// Starts a dispatch.
    pub(super) fn walk(
        &mut self,
        cx: &mut Cx<'_>,
        job: Key,
        dispatch: Dispatch,
        former_grant: Option<Grant>,
    ) {
        let attempt = dispatch.attempt - 1;
        let former = |grant: Grant| Former { node: grant.node.num, lease: grant.lease, attempt };
        let mut walk = Box::new(Walk {
            former: former_grant.map(former),
            job,
            dispatch,
            stage: Stage::Opening,
            target: None,
            followed: false,
            taken: 0,
            found: Candidates::default(),
            found_taken: 0,
            classes_asked: 0,
            refused_by: Vec::new(),
            full: false,
            affinity: AffinityOutcome::None,
        });
        walk.target = walk.next_target();
        self.open_intent(cx, walk);
    }

    fn open_intent(&mut self, cx: &mut Cx<'_>, mut walk: Box<Walk>) {
        let d = &walk.dispatch;
        let open = Open {
            request: d.request,
            attempt: d.attempt,
            lease: d.lease,
            affinity: d.affinity && walk.refused_by.is_empty(),
            target: walk.target,
            deadline: d.deadline,
        };
        walk.stage = Stage::Opening;
        self.step(cx, Op::Open(open), Then::Walk(walk));
    }

    /// A step of a dispatch is answered.
    pub(super) fn walk_on(&mut self, cx: &mut Cx<'_>, walk: Box<Walk>, reply: &Reply) {
        let (job, attempt) = walk.asked();
        let wanted = self.jobs.get(job).is_some_and(|job| job.is_dispatching(attempt));
        match (walk.stage, reply) {
            (_, Reply::Reserved(Reserved::Granted { grant, .. })) if !wanted => {
                // The job ended while its slot was asked for.
                self.give_back_late(cx, *grant, attempt, walk.dispatch.request);
            }
            _ if !wanted => {}
            (Stage::Opening, Reply::Intended(intended)) => self.opened(cx, walk, *intended),
            (Stage::Fencing, Reply::Released(_)) => self.ask_target(cx, walk),
            (Stage::Reserving, Reply::Reserved(reserved)) => self.reserved(cx, walk, *reserved),
            (Stage::Finding, Reply::Found(found)) => self.found(cx, walk, *found),
            (Stage::Moving(to), Reply::Intended(intended)) => self.moved(cx, walk, to, *intended),
            (stage, reply) => unreachable!("{stage:?} cannot be answered by {reply:?}"),
        }
    }

    fn opened(&mut self, cx: &mut Cx<'_>, mut walk: Box<Walk>, intended: Intended) {
        let Intended::Stands(intent) = intended else {
            self.walked(cx, &walk, Outcome::Superseded);
            return;
        };
        if intent.ended {
            self.follow(&mut walk, &intent);
            self.over(cx, &walk);
            return;
        }
        self.follow(&mut walk, &intent);
        let own = walk.former.take();
        let Some(former) = intent.former.or(own) else {
            self.ask_target(cx, walk);
            return;
        };
        // Two attempts of a request never hold slots at once.
        self.counters.fenced += 1;
        walk.stage = Stage::Fencing;
        let release = Release {
            node: NodeRef { num: former.node, generation: 0 },
            lease: former.lease,
            attempt: former.attempt,
            request: walk.dispatch.request,
        };
        self.step(cx, Op::Release(release), Then::Walk(walk));
    }

    /// Whatever this instance meant: the intent that stands is the answer.
    fn follow(&mut self, walk: &mut Walk, intent: &Intent) {
        if intent.lease != walk.dispatch.lease {
            self.counters.followed += 1;
            walk.followed = true;
            walk.dispatch.lease = intent.lease;
        }
        walk.target = intent.target;
    }

    fn ask_target(&mut self, cx: &mut Cx<'_>, mut walk: Box<Walk>) {
        let Some(target) = walk.target else {
            self.look_elsewhere(cx, walk);
            return;
        };
        let d = &walk.dispatch;
        let reserve = Reserve {
            target,
            request: d.request,
            attempt: d.attempt,
            lease: d.lease,
            needs: d.needs,
            excluded: d.excluded,
            deadline: d.deadline,
        };
        walk.stage = Stage::Reserving;
        self.step(cx, Op::Reserve(reserve), Then::Walk(walk));
    }

    fn reserved(&mut self, cx: &mut Cx<'_>, mut walk: Box<Walk>, reserved: Reserved) {
        let Some(target) = walk.target else { return };
        match reserved {
            Reserved::Granted { grant, filled } => {
                if filled {
                    self.hint(cx, grant.node.num, false);
                }
                self.slot_held(cx, &mut walk, grant);
            }
            Reserved::Refused(cause) => {
                if target.via == Via::Affinity {
                    walk.affinity = AffinityOutcome::Missed(cause);
                }
                if target.via == Via::Scan {
                    self.hint(cx, target.node, false);
                }
                walk.full |= cause == MissCause::Full;
                walk.refused_by.push(target.node);
                self.look_elsewhere(cx, walk);
            }
            Reserved::Over => self.over(cx, &walk),
        }
    }

    fn slot_held(&mut self, cx: &mut Cx<'_>, walk: &mut Walk, grant: Grant) {
        if grant.via == Via::Affinity {
            walk.affinity = AffinityOutcome::Kept;
        }
        let outcome =
            if walk.followed { Outcome::Repeated(grant) } else { Outcome::Granted(grant) };
        self.walked(cx, walk, outcome);
    }

    fn walked(&mut self, cx: &mut Cx<'_>, walk: &Walk, outcome: Outcome) {
        let (job, attempt) = walk.asked();
        let tried = walk.refused_by.len() as u16 + 1;
        let dispatched = Dispatched { outcome, affinity: walk.affinity, tried };
        self.dispatched(cx, job, (attempt, walk.dispatch.request), dispatched);
    }

    /// The attempt was answered and has ended: the next one goes to another node.
    fn over(&mut self, cx: &mut Cx<'_>, walk: &Walk) {
        let Some(job) = self.jobs.get_mut(walk.job) else { return };
        if let Some(target) = walk.target {
            job.excluded.push(target.node);
        }
        self.attempt(cx, walk.job, None);
    }

    /// The target refuses: the next one, a look into the next class, or a refusal.
    fn look_elsewhere(&mut self, cx: &mut Cx<'_>, mut walk: Box<Walk>) {
        let to = walk.next_target();
        if to.is_none()
            && let Some(word) = walk.dispatch.scan
            && let Some(class) =
                nth_class(self.view(&cx.store).directory, &walk.dispatch, word, walk.classes_asked)
        {
            walk.classes_asked += 1;
            walk.stage = Stage::Finding;
            let excluded = walk.dispatch.excluded;
            self.step(cx, Op::Find(Find { class, word, excluded }), Then::Walk(walk));
            return;
        }
        let m = Move {
            request: walk.dispatch.request,
            attempt: walk.dispatch.attempt,
            lease: walk.dispatch.lease,
            from: walk.target.map(|target| target.node),
            to,
        };
        walk.stage = Stage::Moving(to);
        self.step(cx, Op::Move(m), Then::Walk(walk));
    }

    fn found(&mut self, cx: &mut Cx<'_>, mut walk: Box<Walk>, found: Candidates) {
        walk.found = found;
        walk.found_taken = 0;
        self.look_elsewhere(cx, walk);
    }

    fn moved(
        &mut self,
        cx: &mut Cx<'_>,
        mut walk: Box<Walk>,
        to: Option<Target>,
        intended: Intended,
    ) {
        match (intended, to) {
            (Intended::Superseded, _) => self.walked(cx, &walk, Outcome::Superseded),
            (Intended::Stands(intent), _) if intent.ended => self.over(cx, &walk),
            (Intended::Stands(intent), _) if intent.target.is_some() => {
                self.counters.moved += 1;
                self.follow(&mut walk, &intent);
                self.ask_target(cx, walk);
            }
            (Intended::Gone, Some(to)) => {
                // The session's slot has lost the intent, or another instance gave it up.
                self.counters.intents_lost += 1;
                walk.target = Some(to);
                self.open_intent(cx, walk);
            }
            (Intended::Stands(_) | Intended::Gone, _) => {
                let fitting = self.view(&cx.store).directory.fitting_count(walk.dispatch.needs);
                let none = !walk.full && fitting == 0;
                let refusal = if none { Refusal::NoFittingNode } else { Refusal::Full };
                self.walked(cx, &walk, Outcome::Refused(refusal));
            }
        }
    }

    /// A slot is given back: the session learns that the answer has ended, the class that the
    /// node has room.
    pub(super) fn tell_ended(&mut self, cx: &mut Cx<'_>, release: &Release, released: Released) {
        if released == (Released::Freed { was_full: true }) {
            self.hint(cx, release.node.num, true);
        }
        self.step(cx, Op::End(release.request, release.lease), Then::Rest);
    }

    /// Tells a node's class whether it has room.
    pub(super) fn hint(&mut self, cx: &mut Cx<'_>, node: NodeNum, free: bool) {
        if self.config.cluster {
            self.step(cx, Op::Hint(node, free), Then::Rest);
        }
    }
}

/// The n-th class to look into: own region first, from a random rank of the members on.
fn nth_class(directory: &Directory, d: &Dispatch, word: u32, n: usize) -> Option<ClassId> {
    let near = |class: ClassId| directory.class(class).caps.region == d.needs.region;
    let fitting = || directory.fitting(d.needs);
    let here = fitting().filter(|&class| near(class)).count();
    let wanted = n < here;
    let group = || fitting().filter(|&class| near(class) == wanted);
    let size = |class| directory.class(class).members.len();
    let (at, total) = (if wanted { n } else { n - here }, group().map(size).sum::<u32>());
    let mut rank = if total == 0 { 0 } else { pick(word, total) };
    let first = group().position(|class| {
        let hit = rank < size(class);
        rank = rank.saturating_sub(size(class));
        hit
    });
    let count = group().count();
    if at >= count {
        return None;
    }
    group().nth((first.unwrap_or(0) + at) % count)
}
