//! One instance with the state in its process, all nodes half full.

use std::collections::VecDeque;

use lingua_core::instance::{
    Answer, AnswerOutcome, Assign, Cx, Input, Instance, InstanceConfig, Output, Request, Store,
};
use lingua_core::*;

/// Slots of a node.
const MAX_JOBS: u32 = 10;

/// Jobs running at a node, on average.
pub(super) const JOBS: u32 = MAX_JOBS / 2;

/// Words from a counter: cheap, and the same in every run.
struct Counting(u32);

impl Draws for Counting {
    fn words(&mut self, _request: RequestId, _attempt: u32) -> Words {
        Words(std::array::from_fn(|_| {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            self.0
        }))
    }
}

pub(super) struct Deployment {
    pub(super) nodes: Vec<NodeRef>,
    instance: Instance,
    state: State,
    now: Micros,
    needs: Needs,
    draws: Counting,
    out: Vec<Output>,
    // Jobs that nodes work on, oldest first.
    running: VecDeque<Assign>,
    sessions: u64,
}

impl Deployment {
    pub(super) fn new(nodes: u32, state: StateConfig) -> Self {
        let pair = Pair { src: lang("zh"), tgt: lang("en") };
        let mut this = Self {
            nodes: Vec::new(),
            instance: Instance::new(InstanceConfig::default()),
            state: State::new(state),
            now: Micros::secs(1),
            needs: Needs::pair(pair),
            draws: Counting(1),
            out: Vec::new(),
            running: VecDeque::new(),
            sessions: 0,
        };
        for at in 0..nodes {
            this.register(at);
        }
        this
    }

    fn register(&mut self, at: u32) {
        self.handle(Input::NodeOpened(Box::new(register(at))));
        let node = self.out.iter().find_map(|output| match output {
            Output::Registered(_, result) => result.ok(),
            _ => None,
        });
        self.nodes.push(node.expect("there is room for the node"));
    }

    pub(super) fn pass(&mut self, span: Micros) {
        self.now = self.now + span;
    }

    /// Hands in one event, as a server would; what came of it stands in `out`.
    pub(super) fn handle(&mut self, input: Input) -> Micros {
        self.out.clear();
        let mut cx = Cx {
            now: self.now,
            draws: &mut self.draws,
            store: Store::Embedded(&mut self.state),
            out: &mut self.out,
        };
        self.instance.handle(&mut cx, input);
        self.instance.next_deadline()
    }

    pub(super) fn beat(&mut self, node: NodeRef) -> Micros {
        let running = self.state.lease_count(node.num);
        self.handle(Input::Heartbeat(node, Report { running, ..Report::default() }))
    }

    /// Dispatches one request and gives back the node it went to.
    pub(super) fn dispatch(&mut self) -> NodeRef {
        self.sessions += 1;
        let id =
            RequestId { session: SessionId(self.sessions), index: 0, tgt: self.needs.pair.tgt };
        let request = Request {
            id,
            needs: self.needs,
            speech: Micros::secs(3),
            bytes: 12_000,
            sent: self.now,
        };
        self.handle(Input::Request(request));
        let assign = self.out.iter().find_map(|output| match output {
            Output::Assign(assign) => Some(*assign),
            _ => None,
        });
        let assign = assign.expect("half of the slots are free");
        self.running.push_back(assign);
        assign.node
    }

    /// The oldest running job is answered.
    pub(super) fn answer_oldest(&mut self) {
        let Some(job) = self.running.pop_front() else { return };
        let outcome = AnswerOutcome::Result;
        let answer = Answer { job: job.job, attempt: job.attempt, outcome };
        self.handle(Input::Answer(job.node, answer));
    }
}

fn lang(tag: &str) -> Lang {
    tag.parse().expect("a language tag")
}

/// One in three nodes speaks two languages, one three, one six.
pub(super) fn register(at: u32) -> Register {
    const SPOKEN: [usize; 3] = [2, 3, 6];
    let langs = &["zh", "en", "ja", "ko", "de", "fr"].map(lang)[..SPOKEN[at as usize % 3]];
    let languages = Languages::new(langs, langs, langs, PoolRule::AsrXTts);
    let languages = languages.expect("each list names a language");
    let caps = Capabilities { languages, ..Capabilities::default() };
    Register { name: format!("node-{at}").into(), caps, max_jobs: MAX_JOBS, owner: InstanceId(0) }
}
