//! Bare jobs: whole utterances over a pool of sockets, one at a time on each.
//!
//! A free socket takes the next job of the plan and sends it when it is due. A job that finds no
//! free socket is sent late, and its response still counts from when it was due.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lingua_scenarios::Pair;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::Message;

use super::connection::{Connection, Greeting};
use crate::audio::{Codec, Voice};
use crate::context::{Context, Phase, closing};
use crate::ledger::Closed;
use crate::observer::{Cut, Ear, Leaving, Segment};
use crate::pacer::{Alarm, NEVER, Nanos};
use crate::plan::{Arrival, Arrivals};
use crate::wire;

/// How often a socket looks whether it still waits: an answer may have been given up.
const LOOK: Nanos = 5_000_000_000;
const RECONNECT: Duration = Duration::from_secs(1);
/// Longest whole utterance.
const LONGEST_US: u64 = 60_000_000;

/// What the sockets of one group share.
struct Pool {
    context: Arc<Context>,
    voice: Voice,
    plan: Mutex<Arrivals>,
    greeting: Pair,
    sockets: usize,
    /// Of these, those that the scheduler has closed and that are not open again.
    gone: AtomicUsize,
}

pub(super) fn start(context: &Arc<Context>, plan: Arrivals, codec: Codec, sockets: u32) {
    let Some(greeting) = plan.first_pair() else { return };
    let voice = Voice::new(codec, 32, LONGEST_US);
    let pool = Arc::new(Pool {
        context: context.clone(),
        voice,
        plan: Mutex::new(plan),
        greeting,
        sockets: sockets as usize,
        gone: AtomicUsize::new(0),
    });
    for _ in 0..sockets {
        tokio::spawn(WholeSession::new(pool.clone()).live());
    }
}

struct WholeSession {
    pool: Arc<Pool>,
    phase: watch::Receiver<Phase>,
    number: u32,
    life: u32,
    index: u64,
    chunk: u32,
    start: Nanos,
    alarm: Alarm,
    next: Option<(Nanos, Arrival)>,
    // When to look whether an answer is still awaited.
    patience: Nanos,
    // Since when nothing is awaited here.
    free_at: Nanos,
    // The scheduler has closed the socket.
    lost: bool,
}

impl WholeSession {
    fn new(pool: Arc<Pool>) -> Self {
        let context = &pool.context;
        let mut observer = context.observer();
        let pair = observer.pair(&pool.greeting);
        let number = observer.add_speaker(pair);
        drop(observer);
        Self {
            phase: context.phase.subscribe(),
            alarm: context.pacer.alarm(),
            number,
            life: 0,
            index: 0,
            chunk: 0,
            start: NEVER,
            next: None,
            patience: NEVER,
            free_at: 0,
            lost: false,
            pool,
        }
    }

    async fn live(mut self) {
        while let Some(mut connection) = self.join().await {
            self.pool.gone.fetch_sub(usize::from(self.lost), Ordering::Relaxed);
            self.lost = false;
            let Some(closed) = self.converse(&mut connection).await else {
                return connection.close(&self.pool.context).await;
            };
            let context = &self.pool.context;
            connection.lose(context, Ear::Own, &closed).await;
            self.pool.gone.fetch_add(1, Ordering::Relaxed);
            self.lost = true;
            let now = context.clock.now();
            self.life = context.observer().reborn(self.number, self.chunk, true, now);
            self.index = 0;
        }
        self.leave_the_rest();
    }

    async fn join(&mut self) -> Option<Connection> {
        let pool = self.pool.clone();
        loop {
            let attempt = async {
                let greeting = Greeting { pair: &pool.greeting, two_way: false, listeners: &[] };
                let opened = Connection::open(&pool.context, self.number, greeting).await;
                if opened.is_none() {
                    sleep(RECONNECT).await;
                }
                opened
            };
            tokio::select! {
                opened = attempt => {
                    if opened.is_some() {
                        return opened;
                    }
                }
                () = closing(&mut self.phase) => return None,
            }
            // What came due meanwhile goes to others, if they are there.
            if let Some((due, arrival)) = self.next.take() {
                self.mark_never_sent(due, &arrival, self.lost);
            }
        }
    }

    fn mark_never_sent(&self, due: Nanos, arrival: &Arrival, lost: bool) {
        let mut observer = self.pool.context.observer();
        let pair = observer.pair(&arrival.pair);
        observer.set_pair(self.number, pair);
        observer.never_sent(self.number, due, lost);
    }

    /// Talks until the socket is gone; absent when the run is over.
    async fn converse(&mut self, connection: &mut Connection) -> Option<Closed> {
        self.claim();
        loop {
            self.alarm.set(self.next.as_ref().map_or(self.patience, |(due, _)| *due));
            tokio::select! {
                (ear, frame) = connection.next() => match frame {
                    Some(Ok(Message::Text(text))) => {
                        let of = (self.number, self.life);
                        connection.hear(&self.pool.context, of, ear, &text);
                        self.claim();
                    }
                    Some(Ok(Message::Close(frame))) => return Some(Closed::by_scheduler(frame)),
                    Some(Ok(_)) => {}
                    None | Some(Err(_)) => return Some(Closed::Silently),
                },
                () = self.alarm.rings() => {
                    if self.next.is_none() {
                        self.claim();
                    } else if self.say(connection).await.is_none() {
                        return Some(Closed::Silently);
                    }
                }
                changed = self.phase.changed() => {
                    let phase = *self.phase.borrow_and_update();
                    match phase {
                        Phase::Running(start) => {
                            self.start = start;
                            self.claim();
                        }
                        Phase::Closing => {
                            self.leave_the_rest();
                            return None;
                        }
                        Phase::Connecting if changed.is_err() => return None,
                        Phase::Connecting => {}
                    }
                }
            }
        }
    }

    /// The run is over: what nobody has claimed by now is never sent. Sockets that are gone would
    /// have taken their share of it.
    fn leave_the_rest(&mut self) {
        if let Some((due, arrival)) = self.next.take() {
            self.mark_never_sent(due, &arrival, self.lost);
        }
        if self.start == NEVER {
            return;
        }
        let pool = self.pool.clone();
        let gone = pool.gone.load(Ordering::Relaxed);
        let mut plan = pool.plan.lock().unwrap_or_else(PoisonError::into_inner);
        for nth in 0.. {
            let Ok(Some(arrival)) = plan.next() else { return };
            let due = self.start.saturating_add(arrival.at * 1_000);
            self.mark_never_sent(due, &arrival, nth % pool.sockets < gone);
        }
    }

    /// Takes the next job of the plan, if this socket is free.
    fn claim(&mut self) {
        let context = &self.pool.context;
        let free = self.next.is_none() && context.observer().is_quiet(self.number, self.life);
        let now = context.clock.now();
        if self.start == NEVER || !free {
            self.patience = now.saturating_add(LOOK);
            return;
        }
        self.patience = NEVER;
        if now >= self.start.saturating_add(context.duration) {
            return;
        }
        let mut plan = self.pool.plan.lock().unwrap_or_else(PoisonError::into_inner);
        // A trace that goes wrong in the middle has been checked before the run.
        if let Ok(Some(arrival)) = plan.next() {
            self.next = Some((self.start + arrival.at * 1_000, arrival));
            self.free_at = now;
        }
    }

    async fn say(&mut self, connection: &mut Connection) -> Option<()> {
        let (due, arrival) = self.next.take()?;
        let pool = self.pool.clone();
        let context = &pool.context;
        let (run, number, chunk) = (context.run, self.number, self.chunk);
        let format = pool.voice.format();
        let of = wire::Whole {
            session: connection.id(),
            index: self.index,
            src: &arrival.pair.src,
            tgt: &arrival.pair.tgt,
            format: format.as_str(),
        };
        let mut bytes = 0;
        let tagged = context.tagged(number);
        let frame = wire::whole(of, pool.voice.room(arrival.speech_us), |out| {
            bytes = pool.voice.payload(run, tagged, chunk, arrival.speech_us, out);
        });
        self.chunk += 1;
        self.index += 1;
        {
            let mut observer = context.observer();
            let pair = observer.pair(&arrival.pair);
            observer.set_pair(number, pair);
            let (cut, work) = (Cut::Whole, arrival.work);
            observer.begin(number, Segment { first: chunk, cut, begins: due, pace: 0, work });
            let now = context.clock.now();
            let at = Leaving { intended: due, ready: self.free_at, now };
            observer.chunk_sent(number, bytes, at);
            observer.spoken(number, chunk, due, now);
        }
        connection.send(frame).await.ok()
    }
}
