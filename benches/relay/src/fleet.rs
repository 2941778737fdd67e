//! The other process: nodes and clients on as many sockets, which send, answer and count.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use hdrhistogram::Histogram;
use lingua_loadgen::socket::Socket;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_tungstenite::tungstenite::Message;

use crate::Failure;
use crate::figures::{Count, Figures};
use crate::frames::{self, Row};
use crate::process::Usage;
use crate::{node, talker};

/// Handshakes under way at once.
const OPENING: usize = 64;

/// Utterances of one session whose dispatch may be awaited at once. A power of two.
const STAMPS: usize = 8;

/// What is asked of a server.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Load {
    /// Nodes, each with a socket
    #[arg(long, default_value_t = 1_000)]
    pub(crate) nodes: usize,
    /// Concurrent jobs of a node
    #[arg(long, default_value_t = 16)]
    pub(crate) max_jobs: u16,
    /// Milliseconds that a node works on a job
    #[arg(long, default_value_t = 50)]
    pub(crate) service_ms: u64,
    /// Sessions, each with a socket
    #[arg(long, default_value_t = 8_000)]
    pub(crate) sessions: usize,
    /// Milliseconds from chunk to chunk: ten times real pace
    #[arg(long, default_value_t = 10)]
    pub(crate) gap_ms: u64,
    /// Jobs per second over all sessions; absent: each session speaks again when it is answered
    #[arg(long)]
    pub(crate) rate: Option<f64>,
    /// Seconds before counting
    #[arg(long, default_value_t = 4)]
    pub(crate) warmup: u64,
    /// Seconds of counting
    #[arg(long, default_value_t = 10)]
    pub(crate) seconds: u64,
}

impl Load {
    pub(crate) fn sockets(&self) -> usize {
        self.nodes + self.sessions
    }
}

/// What the tasks of all sockets share.
pub(crate) struct Shared {
    pub(crate) load: Load,
    pub(crate) row: Row,
    pub(crate) count: Count,
    pub(crate) dispatch: Mutex<Histogram<u64>>,
    start: Instant,
    talkers: OnceLock<HashMap<u32, usize>>,
    // Per talker and utterance: when its last chunk was sent, in microseconds from the start.
    stamps: Vec<[AtomicU64; STAMPS]>,
}

impl Shared {
    /// A talker has sent the last chunk of an utterance.
    pub(crate) fn stamp(&self, talker: usize, index: u32) {
        let now = self.start.elapsed().as_micros() as u64;
        self.stamps[talker][index as usize % STAMPS].store(now, Ordering::Relaxed);
    }

    /// A node has received that utterance.
    pub(crate) fn arrived(&self, session: u32, index: u32) {
        let talker = self.talkers.get().and_then(|talkers| talkers.get(&session));
        let Some(&talker) = talker else { return };
        let sent = self.stamps[talker][index as usize % STAMPS].load(Ordering::Relaxed);
        let now = self.start.elapsed().as_micros() as u64;
        let mut dispatch = self.dispatch.lock().unwrap_or_else(PoisonError::into_inner);
        dispatch.saturating_record(now.saturating_sub(sent));
    }
}

/// Open sockets, each with its task; they end with this value.
pub(crate) struct Fleet {
    shared: Arc<Shared>,
    // Dropping it ends the tasks.
    _tasks: JoinSet<()>,
}

impl Fleet {
    /// Opens all sockets; nobody speaks before all are open. Nodes work on threads of their own, as
    /// their machines are not those of clients.
    pub(crate) async fn open(
        row: Row,
        load: Load,
        target: SocketAddr,
        nodes: &Handle,
    ) -> Result<Self, Failure> {
        let shared = Arc::new(Shared {
            load,
            row,
            count: Count::default(),
            dispatch: Mutex::new(Histogram::new_with_bounds(1, 60_000_000, 3).expect("in bounds")),
            start: Instant::now(),
            talkers: OnceLock::new(),
            stamps: (0..load.sessions).map(|_| Default::default()).collect(),
        });
        let mut tasks = JoinSet::new();
        let greeting = move |node| frames::register(node, load.max_jobs);
        let opened = nodes.spawn(open_all(target, "/ws/node", load.nodes, greeting)).await;
        for (number, socket, _) in opened.expect("opening does not panic")? {
            tasks.spawn_on(node::work(shared.clone(), number, socket), nodes);
        }
        let opened = open_all(target, "/ws/session", load.sessions, |_| frames::INIT.to_owned());
        let mut talkers = HashMap::new();
        for (number, socket, ack) in opened.await? {
            let session = frames::session_of_ack(&ack).ok_or(Failure::Greeting(ack))?;
            talkers.insert(session, number);
            tasks.spawn(talker::talk(shared.clone(), number, session, socket));
        }
        shared.talkers.get_or_init(|| talkers);
        Ok(Self { shared, _tasks: tasks })
    }

    /// Counts for a while, after a while to warm up.
    pub(crate) async fn count(
        &self,
        server: impl Fn() -> Result<Usage, Failure>,
    ) -> Result<Figures, Failure> {
        let load = self.shared.load;
        sleep(Duration::from_secs(load.warmup)).await;
        self.shared.dispatch.lock().unwrap_or_else(PoisonError::into_inner).reset();
        let before = (self.shared.count.read(), server()?, Usage::of_this_process()?);
        let started = Instant::now();
        sleep(Duration::from_secs(load.seconds)).await;
        let seconds = started.elapsed().as_secs_f64();
        let after = (self.shared.count.read(), server()?, Usage::of_this_process()?);
        let dispatch = self.shared.dispatch.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Figures {
            seconds,
            counted: after.0 - before.0,
            server_cpu: after.1.cpu - before.1.cpu,
            driver_cpu: after.2.cpu - before.2.cpu,
            server_resident: after.1.resident,
            dispatch: dispatch.clone(),
        })
    }
}

/// Opens so many sockets and greets on each; gives number, socket and answer.
async fn open_all(
    target: SocketAddr,
    path: &'static str,
    count: usize,
    greeting: impl Fn(usize) -> String,
) -> Result<Vec<(usize, Socket, String)>, Failure> {
    let url = format!("ws://{target}{path}");
    let open = |number| {
        let (url, greeting) = (&url, greeting(number));
        async move {
            let mut socket = Socket::connect(url, target, None).await?;
            let gone = |_| Failure::Gone;
            socket.send(greeting).await.map_err(gone)?;
            let answer = socket.next().await.ok_or(Failure::Gone)?.map_err(gone)?;
            let answer = answer.into_text().map_err(gone)?.as_str().to_owned();
            Ok::<_, Failure>((number, socket, answer))
        }
    };
    let mut numbers = 0..count;
    let mut opening: FuturesUnordered<_> = numbers.by_ref().take(OPENING).map(open).collect();
    let mut opened = Vec::with_capacity(count);
    while let Some(one) = opening.next().await {
        opened.push(one?);
        opening.extend(numbers.next().map(open));
    }
    Ok(opened)
}

/// The text of a frame; absent when the socket is gone.
pub(crate) async fn text(socket: &mut Socket) -> Option<Message> {
    loop {
        match socket.next().await?.ok()? {
            message @ Message::Text(_) => return Some(message),
            Message::Close(_) => return None,
            _ => {}
        }
    }
}
