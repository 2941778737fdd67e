//! A scheduling instance on the store: its steps go through a handle, as in a server.

use std::time::{Duration, Instant};

use lingua_core::instance::{
    Answer, AnswerOutcome, Assign, Cx, Ending, Input, Instance, InstanceConfig, JobId, Output,
    Request, Store as Shared,
};
use lingua_core::*;
use lingua_store::{Replied, Store, StoreClock, StoreConfig, StoreHandle};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::servers::Servers;
use crate::steps::capabilities;

/// Longest wait for the next thing to happen.
const PATIENCE: Duration = Duration::from_secs(20);

struct Words;

impl Draws for Words {
    fn words(&mut self, request: RequestId, _: u32) -> lingua_core::Words {
        lingua_core::Words([request.session.0 as u32; draws::WORDS])
    }
}

/// One instance beside its store.
struct Process {
    instance: Instance,
    store: Store,
    handle: StoreHandle,
    replies: mpsc::Receiver<Replied>,
    started: Instant,
    // An instance's clock begins where it likes.
    ahead: Micros,
    out: Vec<Output>,
}

impl Process {
    async fn start(servers: &Servers, id: u16, ahead: Micros) -> Self {
        let config =
            StoreConfig { clock: StoreClock::Store, ..servers.config(&StateConfig::default()) };
        let cluster = config.layout == lingua_store::Layout::Cluster;
        let store = Store::connect(config).await.unwrap();
        let (sender, replies) = mpsc::channel(64);
        let instance = InstanceConfig { id: InstanceId(id), cluster, ..Default::default() };
        Self {
            instance: Instance::new(instance),
            handle: store.clone().drive(64, sender),
            store,
            replies,
            started: Instant::now(),
            ahead,
            out: Vec::new(),
        }
    }

    fn now(&self) -> Micros {
        self.ahead + Micros(self.started.elapsed().as_micros() as u64)
    }

    fn handle(&mut self, input: Input) {
        let now = self.now();
        let mut out = Vec::new();
        let mut cx = Cx { now, draws: &mut Words, store: Shared::Remote, out: &mut out };
        self.instance.handle(&mut cx, input);
        for output in out {
            match output {
                Output::Store(token, op) => self.handle.send(token, now, op).unwrap(),
                other => self.out.push(other),
            }
        }
    }

    /// Lets replies come until one leads to the output that is looked for.
    async fn until<T>(&mut self, wanted: impl Fn(&Output) -> Option<T>) -> T {
        loop {
            while !self.out.is_empty() {
                if let Some(found) = wanted(&self.out.remove(0)) {
                    return found;
                }
            }
            let reply = timeout(PATIENCE, self.replies.recv()).await.expect("a reply in time");
            let (token, reply) = reply.expect("the store's task runs");
            self.handle(Input::Store(token, reply.unwrap()));
        }
    }

    /// A fresh snapshot, taken by the store.
    async fn look(&mut self) {
        let reply = self.store.apply(self.now(), &Op::Snapshot).await.unwrap();
        let Reply::Snapshot(snapshot) = reply else { panic!("{reply:?}") };
        self.handle(Input::Snapshot(snapshot));
    }

    async fn open_node(&mut self, name: &str) -> NodeRef {
        self.handle(Input::NodeOpened(Box::new(Register {
            name: name.into(),
            caps: capabilities(1, PoolRule::AsrXTts),
            max_jobs: 1,
            owner: InstanceId(0),
        })));
        let registered = |output: &Output| match output {
            Output::Registered(_, result) => Some(result.unwrap()),
            _ => None,
        };
        let node = self.until(registered).await;
        self.handle(Input::Heartbeat(node, Report::default()));
        node
    }

    fn ask(&mut self, session: u64) {
        let pair = Pair { src: "zh".parse().unwrap(), tgt: "en".parse().unwrap() };
        let id = RequestId { session: SessionId(session), index: 0, tgt: pair.tgt };
        let (needs, speech) = (Needs::pair(pair), Micros::secs(1));
        self.handle(Input::Request(Request { id, needs, speech, bytes: 9_000, sent: speech }));
    }

    fn done(&mut self, node: NodeRef, job: JobId) {
        let answer = Answer { job, attempt: 1, outcome: AnswerOutcome::Result };
        self.handle(Input::Answer(node, answer));
    }
}

fn assigned(output: &Output) -> Option<Assign> {
    match output {
        Output::Assign(assign) => Some(*assign),
        _ => None,
    }
}

fn ended(output: &Output) -> Option<Ending> {
    match output {
        Output::Final(last) => Some(last.ending),
        _ => None,
    }
}

/// Jobs go to the node one after the other; each slot is given back.
async fn serve(servers: Servers) {
    let mut process = Process::start(&servers, 1, Micros::ZERO).await;
    let node = process.open_node("a").await;
    // The heartbeat goes out before the snapshot is asked for.
    while process.instance.counters().store_retries == 0 {
        process.look().await;
        process.ask(1);
        let first = |output: &Output| match output {
            Output::Assign(assign) => Some(Ok(*assign)),
            Output::Final(last) => Some(Err(last.ending)),
            _ => None,
        };
        match process.until(first).await {
            Ok(assign) => {
                process.done(node, assign.job);
                let ending = process.until(ended).await;
                assert_eq!(ending, Ending::Answered);
                return;
            }
            Err(ending) => assert!(matches!(ending, Ending::Refused(_)), "{ending:?}"),
        }
    }
}

#[tokio::test]
async fn an_instance_serves_from_one_server() {
    serve(Servers::one()).await;
}

#[tokio::test]
async fn an_instance_serves_from_a_cluster() {
    serve(Servers::cluster()).await;
}

#[tokio::test]
async fn clocks_that_differ_by_ten_minutes_make_no_difference() {
    let servers = Servers::one();
    let mut slow = Process::start(&servers, 1, Micros::ZERO).await;
    let mut fast = Process::start(&servers, 2, Micros::secs(1_200)).await;
    let node = slow.open_node("a").await;
    slow.look().await;
    fast.look().await;
    // The instance that is ahead takes the slot; the other one meets a lease that lives.
    fast.ask(1);
    let (origin, routed) = fast
        .until(|output| match output {
            Output::Route(to, message) => Some((*to, *message)),
            _ => None,
        })
        .await;
    assert_eq!(origin, InstanceId(1));
    slow.ask(2);
    let ending = slow.until(ended).await;
    assert!(matches!(ending, Ending::Refused(_)), "{ending:?}");
    slow.handle(Input::Routed(Box::new(routed)));
    assert_eq!(slow.until(assigned).await.node, node);
}
