//! Small worlds for tests.

use lingua_core::instance::{Cx, Input, Instance, Output, Store};
use lingua_core::*;

/// `zh:en` and the like.
pub(crate) fn pair(text: &str) -> Pair {
    let (src, tgt) = text.split_once(':').unwrap();
    Pair { src: src.parse().unwrap(), tgt: tgt.parse().unwrap() }
}

/// A node that hears and speaks the given languages.
pub(crate) fn caps(asr: &str, tts: &str) -> Capabilities {
    let langs = |tags: &str| -> Vec<Lang> {
        tags.split_whitespace().map(|tag| tag.parse().unwrap()).collect()
    };
    let (asr, tts) = (langs(asr), langs(tts));
    let languages = Languages::new(&asr, &asr, &tts, PoolRule::AsrXTts).unwrap();
    Capabilities { languages, ..Capabilities::default() }
}

pub(crate) fn register(name: &str, caps: &Capabilities, max_jobs: u32) -> Register {
    Register { name: name.into(), caps: caps.clone(), max_jobs, owner: InstanceId(0) }
}

/// Words from a counter: any will do, as long as they differ.
pub(crate) struct Counting(pub(crate) u32);

impl Draws for Counting {
    fn words(&mut self, _request: RequestId, _attempt: u32) -> Words {
        let mut words = [0; draws::WORDS];
        for word in &mut words {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *word = self.0;
        }
        Words(words)
    }
}

/// One instance with the state in its process.
pub(crate) struct Solo {
    pub(crate) instance: Instance,
    pub(crate) state: State,
    pub(crate) now: Micros,
    draws: Counting,
}

impl Solo {
    pub(crate) fn new(config: instance::InstanceConfig, state: StateConfig) -> Self {
        Self {
            instance: Instance::new(config),
            state: State::new(state),
            now: Micros::secs(1),
            draws: Counting(1),
        }
    }

    /// Hands in one event and gives back what is to be sent, choices' costs left out.
    pub(crate) fn handle(&mut self, input: Input) -> Vec<Output> {
        let mut out = Vec::new();
        let mut cx = Cx {
            now: self.now,
            draws: &mut self.draws,
            store: Store::Embedded(&mut self.state),
            out: &mut out,
        };
        self.instance.handle(&mut cx, input);
        out.retain(|output| !matches!(output, Output::Work(_)));
        out
    }

    /// Lets time pass, deadline by deadline.
    pub(crate) fn wait(&mut self, span: Micros) -> Vec<Output> {
        let until = self.now + span;
        let mut all = Vec::new();
        loop {
            let due = self.instance.next_deadline();
            if due > until {
                self.now = until;
                return all;
            }
            self.now = self.now.max(due);
            all.extend(self.handle(Input::Tick));
        }
    }

    /// Registers a node and lets it report.
    pub(crate) fn node(&mut self, name: &str, caps: &Capabilities, max_jobs: u32) -> NodeRef {
        let out = self.handle(Input::NodeOpened(register(name, caps, max_jobs).into()));
        let registered = out.iter().find_map(|output| match output {
            Output::Registered(_, result) => Some(*result),
            _ => None,
        });
        let node = registered.unwrap().unwrap();
        self.handle(Input::Heartbeat(node, Report::default()));
        node
    }
}
