//! One talker at its socket: it speaks by its plan, whatever it hears.

use std::sync::Arc;
use std::time::Duration;

use lingua_scenarios::Mode;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::Message;

use super::connection::{Connection, Greeting};
use super::linger::Linger;
use crate::audio::Voice;
use crate::context::{Context, Phase};
use crate::ledger::Closed;
use crate::observer::{Cut, Ear, Lane, Leaving, Segment};
use crate::pacer::{Alarm, NEVER, Nanos};
use crate::plan::{Step, Talker};
use crate::wire;

/// How long a client waits before it connects again.
const RECONNECT: Duration = Duration::from_secs(1);
/// How often a client says that it lives.
const HEARTBEAT: Nanos = 30_000_000_000;

/// How a socket's life ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Parting {
    /// One of its sockets is gone.
    Lost(Ear, Closed),
    /// The client wants a new one.
    Reconnect,
    /// The client leaves for good.
    Leave,
    /// The run is over.
    Over,
}

/// What the talker is in the middle of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voicing {
    Silent,
    /// An utterance that goes out, and whether the client ends it.
    Speaking(bool),
    /// An utterance that cannot be sent as a whole.
    Muted,
}

pub(super) struct Session {
    context: Arc<Context>,
    voice: Arc<Voice>,
    talker: Talker,
    number: u32,
    phase: watch::Receiver<Phase>,
    start: Nanos,
    alarm: Alarm,
    next: Option<(Nanos, Step)>,
    // The time of that step in the plan, microseconds.
    next_us: u64,
    next_beat: Nanos,
    voicing: Voicing,
    // The scheduler has closed the socket, and nothing has been begun on a new one since.
    lost: bool,
    // When the utterance began.
    begun: Nanos,
    // Since when the socket has nothing to write.
    free_at: Nanos,
    chunk: u32,
    life: u32,
}

impl Session {
    pub(super) fn new(context: Arc<Context>, talker: Talker, voice: Arc<Voice>) -> Self {
        let number = context.observer().add_session(&lanes(&talker));
        let mut phase = context.phase.subscribe();
        // Who comes while the run goes on must learn that it does.
        phase.mark_changed();
        Self {
            alarm: context.pacer.alarm(),
            phase,
            context,
            voice,
            talker,
            number,
            start: NEVER,
            next: None,
            next_us: 0,
            next_beat: NEVER,
            voicing: Voicing::Silent,
            lost: false,
            begun: 0,
            free_at: 0,
            chunk: 0,
            life: 0,
        }
    }

    /// Speaks until the run is over. Who leaves is followed by another.
    pub(super) async fn live(mut self) {
        while let Some(mut connection) = self.join().await {
            match self.converse(&mut connection).await {
                Parting::Over => return connection.close(&self.context).await,
                Parting::Lost(ear, how) => {
                    connection.lose(&self.context, ear, &how).await;
                    self.lost = true;
                    self.reborn(true);
                    if self.voicing != Voicing::Silent {
                        self.voicing = Voicing::Muted;
                    }
                }
                Parting::Reconnect => {
                    let linger = Linger::new(&self.context, self.number, self.life, connection);
                    tokio::spawn(linger.live());
                    self.reborn(false);
                    self.begin();
                }
                Parting::Leave => {
                    let linger = Linger::new(&self.context, self.number, self.life, connection);
                    tokio::spawn(linger.live());
                    if self.talker.group.of.count.is_none() {
                        return;
                    }
                    self.succeed();
                }
            }
        }
    }

    fn reborn(&mut self, lost: bool) {
        let now = self.context.clock.now();
        self.life = self.context.observer().reborn(self.number, self.chunk, lost, now);
    }

    /// Another client takes the place of one that leaves, when the plan has it.
    fn succeed(&mut self) {
        let context = &self.context;
        let number = context.later_talker();
        self.talker = Talker::new(&context.streams, &self.talker.group, number, self.next_us);
        self.number = context.observer().add_session(&lanes(&self.talker));
        (self.life, self.chunk, self.voicing) = (0, 0, Voicing::Silent);
        self.next_step();
    }

    /// Opens a session, however often it takes; absent when the run is over meanwhile.
    async fn join(&mut self) -> Option<Connection> {
        let context = self.context.clone();
        loop {
            let group = self.talker.group.clone();
            let greeting = Greeting {
                pair: &group.pairs[self.talker.pair],
                two_way: group.of.mode == Mode::TwoWayAuto,
                listeners: &group.of.listeners,
            };
            let number = self.number;
            let attempt = async {
                let opened = Connection::open(&context, number, greeting).await;
                if opened.is_none() {
                    sleep(RECONNECT).await;
                }
                opened
            };
            tokio::pin!(attempt);
            loop {
                self.set_alarm();
                tokio::select! {
                    opened = &mut attempt => match opened {
                        Some(connection) => return Some(connection),
                        None => break,
                    },
                    () = self.alarm.rings() => self.pass_over(),
                    changed = self.phase.changed() => {
                        if changed.is_err() || self.phase_is_over() {
                            return None;
                        }
                    }
                }
            }
        }
    }

    /// Takes note of the run's phase.
    fn phase_is_over(&mut self) -> bool {
        let phase = *self.phase.borrow_and_update();
        match phase {
            Phase::Running(start) if self.start == NEVER => {
                self.start = start;
                self.next_step();
                // Spread, so that no burst is made by construction.
                let share = f64::from(self.number % 1_000) / 1_000.0;
                self.next_beat = start + (HEARTBEAT as f64 * share) as Nanos;
            }
            _ => {}
        }
        phase == Phase::Closing
    }

    fn next_step(&mut self) {
        let end = self.start.saturating_add(self.context.duration);
        let next = self.talker.next();
        self.next_us = next.map_or(0, |(us, _)| us);
        let planned = |(us, step)| (self.context.planned(self.start, us), step);
        self.next = next.map(planned).filter(|&(due, _)| due < end);
        if self.next.is_none() {
            self.context.observer().stopped(self.number);
        }
    }

    fn set_alarm(&mut self) {
        self.alarm.set(self.next.map_or(NEVER, |(due, _)| due));
    }

    /// Steps that come while there is no socket: what should be said then is never sent.
    fn pass_over(&mut self) {
        while let Some((due, step)) = self.next.filter(|&(due, _)| due <= self.context.clock.now())
        {
            match step {
                Step::Begin { .. } => self.voicing = Voicing::Muted,
                Step::Chunk { last: true, .. } => {
                    self.context.observer().never_sent(self.number, due, self.lost);
                    self.voicing = Voicing::Silent;
                }
                // Who has begun and cannot go on has not said it.
                Step::Chunk { .. } => self.voicing = Voicing::Muted,
                // Who left while there was no socket is followed all the same.
                Step::Leave if self.talker.group.of.count.is_some() => {
                    self.succeed();
                    continue;
                }
                Step::Leave => {}
            }
            self.next_step();
        }
    }

    async fn converse(&mut self, connection: &mut Connection) -> Parting {
        loop {
            self.alarm.set(self.next.map_or(NEVER, |(due, _)| due).min(self.next_beat));
            tokio::select! {
                (ear, frame) = connection.next() => match frame {
                    Some(Ok(Message::Text(text))) => {
                        connection.hear(&self.context, (self.number, self.life), ear, &text);
                    }
                    Some(Ok(Message::Close(frame))) => {
                        return Parting::Lost(ear, Closed::by_scheduler(frame));
                    }
                    Some(Ok(_)) => {}
                    None | Some(Err(_)) => return Parting::Lost(ear, Closed::Silently),
                },
                () = self.alarm.rings() => match self.act(connection).await {
                    Ok(None) => {}
                    Ok(Some(parting)) => return parting,
                    Err(_) => return Parting::Lost(Ear::Own, Closed::Silently),
                },
                changed = self.phase.changed() => {
                    if changed.is_err() || self.phase_is_over() {
                        return Parting::Over;
                    }
                }
            }
        }
    }

    /// Does what is due.
    async fn act(
        &mut self,
        connection: &mut Connection,
    ) -> Result<Option<Parting>, tokio_tungstenite::tungstenite::Error> {
        let now = self.context.clock.now();
        if self.next_beat <= now {
            self.next_beat += HEARTBEAT;
            connection.beat().await?;
        }
        let Some((due, step)) = self.next.filter(|&(due, _)| due <= now) else { return Ok(None) };
        match step {
            Step::Leave => return Ok(Some(Parting::Leave)),
            Step::Begin { manual, reconnect, switch, .. } => {
                self.voicing = Voicing::Speaking(manual);
                self.lost = false;
                self.begun = due;
                self.next_step();
                if switch {
                    let lanes = lanes(&self.talker);
                    self.context.observer().set_lanes(self.number, &lanes);
                }
                // Other languages need another session, as the deployed scheduler has it.
                if reconnect || switch {
                    return Ok(Some(Parting::Reconnect));
                }
                self.begin();
            }
            Step::Chunk { audio_us, last } => {
                self.next_step();
                self.speak(connection, due, audio_us, last).await?;
            }
        }
        Ok(None)
    }

    fn begin(&self) {
        let Voicing::Speaking(manual) = self.voicing else { return };
        let chunk = self.talker.group.of.chunk.nanos() as f64 / self.context.speed;
        let segment = Segment {
            first: self.chunk,
            cut: if manual { Cut::Manual } else { Cut::Scheduler },
            begins: self.begun,
            pace: chunk as Nanos,
            work: -1.0,
        };
        self.context.observer().begin(self.number, segment);
    }

    /// Sends the chunk that has just been spoken.
    async fn speak(
        &mut self,
        connection: &mut Connection,
        due: Nanos,
        audio_us: u64,
        last: bool,
    ) -> Result<(), tokio_tungstenite::tungstenite::Error> {
        let Voicing::Speaking(manual) = self.voicing else {
            if last && self.voicing == Voicing::Muted {
                self.context.observer().never_sent(self.number, due, self.lost);
                self.voicing = Voicing::Silent;
            }
            return Ok(());
        };
        let is_final = last && manual;
        let (run, number, chunk) = (self.context.run, self.number, self.chunk);
        let mut bytes = 0;
        let room = self.voice.room(audio_us);
        let tagged = self.context.tagged(number);
        let frame = wire::chunk(connection.id(), chunk, is_final, room, |out| {
            bytes = self.voice.payload(run, tagged, chunk, audio_us, out);
        });
        self.chunk += 1;
        {
            let mut observer = self.context.observer();
            let now = self.context.clock.now();
            let at = Leaving { intended: due, ready: self.free_at, now };
            observer.chunk_sent(number, bytes, at);
            if last {
                observer.spoken(number, chunk, due, now);
                self.voicing = Voicing::Silent;
            }
        }
        let sent = connection.send(frame).await;
        self.free_at = self.context.clock.now();
        sent
    }
}

fn lanes(talker: &Talker) -> Vec<Lane> {
    talker.group.lanes(talker.pair)
}
