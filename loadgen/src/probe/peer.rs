//! One socket of the probe: its own task reads, writes and keeps the log, the behaviour asks for
//! frames.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, interval, sleep, timeout, timeout_at};
use tokio_tungstenite::tungstenite::Message;

use crate::probe::heartbeat::Heartbeat;
use crate::probe::log::{Log, Way};
use crate::probe::target::Target;
use crate::probe::verdict::{Trouble, fail};
use crate::socket::Socket;

/// Frames and orders that may wait.
const ROOM: usize = 4_096;
/// Longest wait for the answer to a close frame.
const GOODBYE: Duration = Duration::from_secs(3);

/// A frame from the scheduler.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) at: Instant,
    /// Its JSON, or its text where it is none.
    pub(super) value: Value,
}

impl Frame {
    pub(super) fn is(&self, kind: &str) -> bool {
        self.value["type"] == kind
    }
}

/// How a socket came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// With a close frame; its code, if it has one.
    Closed(Option<u16>),
    /// Without.
    Dropped,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Closed(Some(code)) => write!(f, "closed with code {code}"),
            Self::Closed(None) => f.write_str("closed without a code"),
            Self::Dropped => f.write_str("dropped without a close frame"),
        }
    }
}

/// What a peer's task is to do.
#[derive(Debug)]
pub(super) enum Order {
    /// Sends a message.
    Say(Value),
    /// Sends any frame.
    Send(Message),
    /// Sends no more heartbeats.
    StopHeartbeat,
    /// Sends a close frame and waits for the answer.
    Close,
    /// Drops the socket without a word.
    Drop,
}

#[derive(Debug)]
enum Arrived {
    Frame(Frame),
    Ended(Ended),
}

/// A socket of the probe. When it is dropped it closes.
#[derive(Debug)]
pub(super) struct Peer {
    name: String,
    orders: mpsc::Sender<Order>,
    arrivals: mpsc::Receiver<Arrived>,
    // Came and was not asked for yet.
    pending: VecDeque<Frame>,
    ended: Option<Ended>,
}

impl Peer {
    pub(super) async fn open(
        target: &Target,
        path: &str,
        name: String,
        log: &Log,
        heartbeat: Option<Heartbeat>,
    ) -> Result<Self, Trouble> {
        let socket = target.connect(path).await?;
        let (orders, to_do) = mpsc::channel(ROOM);
        let (arrived, arrivals) = mpsc::channel(ROOM);
        let task = Task { socket, name: name.clone(), log: log.clone(), arrived, heartbeat };
        tokio::spawn(task.run(to_do));
        Ok(Self { name, orders, arrivals, pending: VecDeque::new(), ended: None })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Where others may put orders for this socket.
    pub(super) fn orders(&self) -> mpsc::Sender<Order> {
        self.orders.clone()
    }

    /// Gives an order. A socket that has ended takes none; whoever waits for an effect learns it.
    pub(super) async fn order(&self, order: Order) {
        let _ = self.orders.send(order).await;
    }

    pub(super) async fn say(&self, message: Value) {
        self.order(Order::Say(message)).await;
    }

    /// The first frame in which `wanted` finds something, within `limit`; others stay.
    pub(super) async fn wait<T>(
        &mut self,
        what: &str,
        limit: Duration,
        wanted: impl FnMut(&Frame) -> Option<T>,
    ) -> Result<T, Trouble> {
        match self.seek(limit, wanted).await {
            Some(found) => Ok(found),
            None => match self.ended {
                Some(ended) => fail!("{what}: {}'s socket was {ended} before", self.name),
                None => fail!("{what}: nothing within {:.1} s", limit.as_secs_f64()),
            },
        }
    }

    /// The same, for what need not come.
    pub(super) async fn seek<T>(
        &mut self,
        limit: Duration,
        mut wanted: impl FnMut(&Frame) -> Option<T>,
    ) -> Option<T> {
        let until = Instant::now() + limit;
        let mut looked = 0;
        loop {
            while let Some(frame) = self.pending.get(looked) {
                if let Some(found) = wanted(frame) {
                    self.pending.remove(looked);
                    return Some(found);
                }
                looked += 1;
            }
            if self.ended.is_some() {
                return None;
            }
            match timeout_at(until, self.arrivals.recv()).await {
                Ok(Some(Arrived::Frame(frame))) => self.pending.push_back(frame),
                Ok(Some(Arrived::Ended(ended))) => self.ended = Some(ended),
                Ok(None) => self.ended = Some(Ended::Dropped),
                Err(_late) => return None,
            }
            if self.pending.len() > ROOM {
                self.pending.pop_front();
                looked = looked.saturating_sub(1);
            }
        }
    }

    /// How the socket ended, once it has, within `limit`.
    pub(super) async fn end(&mut self, limit: Duration) -> Option<Ended> {
        let never = |_: &Frame| None::<()>;
        self.seek(limit, never).await;
        self.ended
    }
}

struct Task {
    socket: Socket,
    name: String,
    log: Log,
    arrived: mpsc::Sender<Arrived>,
    heartbeat: Option<Heartbeat>,
}

impl Task {
    async fn run(mut self, mut to_do: mpsc::Receiver<Order>) {
        let ended = self.converse(&mut to_do).await;
        self.log.note(&self.name, Way::Socket, &Value::from(format!("socket {ended}")));
        let _ = self.arrived.send(Arrived::Ended(ended)).await;
    }

    async fn converse(&mut self, to_do: &mut mpsc::Receiver<Order>) -> Ended {
        let every = self.heartbeat.as_ref().map_or(Duration::from_secs(3_600), Heartbeat::every);
        let mut beats = interval(every);
        beats.tick().await;
        loop {
            tokio::select! {
                frame = self.socket.next() => {
                    if let Some(ended) = self.take(frame).await {
                        return ended;
                    }
                }
                _ = beats.tick() => {
                    // Not evidence of anything, so not in the log. A failure is found by a read.
                    if let Some(beat) = self.heartbeat.as_ref().and_then(Heartbeat::frame) {
                        let _ = self.socket.send(beat.to_string()).await;
                    }
                }
                order = to_do.recv() => match order {
                    Some(Order::Say(message)) => self.say(&message).await,
                    Some(Order::Send(message)) => {
                        let shown = match &message {
                            Message::Text(text) => text.as_str().into(),
                            other => format!("binary frame of {} bytes", other.len()).into(),
                        };
                        self.log.note(&self.name, Way::Sent, &shown);
                        let _ = self.socket.send_frame(message).await;
                    }
                    Some(Order::StopHeartbeat) => self.heartbeat = None,
                    Some(Order::Drop) => return Ended::Dropped,
                    Some(Order::Close) | None => return self.goodbye().await,
                },
            }
        }
    }

    async fn say(&mut self, message: &Value) {
        self.log.note(&self.name, Way::Sent, message);
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.said(message);
        }
        // A socket that fails is found out by the next read.
        let _ = self.socket.send(message.to_string()).await;
    }

    async fn take(
        &mut self,
        frame: Option<Result<Message, tokio_tungstenite::tungstenite::Error>>,
    ) -> Option<Ended> {
        let at = Instant::now();
        match frame {
            Some(Ok(Message::Text(text))) => {
                let text = text.as_str();
                let value = serde_json::from_str(text).unwrap_or_else(|_| text.into());
                self.log.note(&self.name, Way::Heard, &value);
                if let Some(heartbeat) = &mut self.heartbeat {
                    heartbeat.heard(&value);
                }
                // Whoever has stopped asking has its socket closed in a moment.
                let _ = self.arrived.send(Arrived::Frame(Frame { at, value })).await;
                None
            }
            Some(Ok(Message::Close(frame))) => {
                let code = frame.map(|frame| u16::from(frame.code));
                Some(Ended::Closed(code))
            }
            Some(Ok(_)) => None,
            Some(Err(_)) | None => Some(Ended::Dropped),
        }
    }

    /// Closes as RFC 6455 has it, and waits for the answer.
    async fn goodbye(&mut self) -> Ended {
        self.log.note(&self.name, Way::Sent, &"close frame".into());
        let _ = self.socket.send_frame(Message::Close(None)).await;
        let answer = async {
            loop {
                let frame = self.socket.next().await;
                if let Some(ended) = self.take(frame).await {
                    return ended;
                }
            }
        };
        timeout(GOODBYE, answer).await.unwrap_or(Ended::Dropped)
    }
}

/// Waits without listening; what comes meanwhile stays to be asked for.
pub(super) async fn pause(wait: Duration) {
    sleep(wait).await;
}
