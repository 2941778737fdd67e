//! One fake node: it registers, reports, works and answers, unless something befalls it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use lingua_protocol::{JobCancel, ToNode};
use lingua_scenarios::streams::{Purpose, Stream, mix};
use lingua_scenarios::{Dist, Dur, Sampler};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;

use super::messages::Identity;
use super::upsets::Upset;
use super::work::{Desk, Job};
use crate::context::{Context, Phase, closing};
use crate::ledger::{Closed, Kind};
use crate::observer::Assigned;
use crate::pacer::{Alarm, NEVER, Nanos};
use crate::socket::Socket;
use crate::tag::{Found, chunks_of};
use crate::wire;

/// First wait before connecting again, doubled up to the last.
const BACKOFF: Duration = Duration::from_secs(5);
const BACKOFF_MAX: Duration = Duration::from_secs(60);
/// Longest wait for the answer to a registration.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long work takes that a missing model makes impossible.
const NO_MODEL: Nanos = 1_000_000;

/// Why a node is without its socket.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Parting {
    /// The run is over, or the node has withdrawn from it.
    Over,
    /// The socket is gone.
    Lost,
    /// It dropped the socket itself, and is back after so long.
    Away(Duration),
}

pub(super) struct Node {
    context: Arc<Context>,
    identity: Identity,
    service: Sampler,
    stream: Stream,
    number: u32,
    alarm: Alarm,
    next_beat: Nanos,
    desk: Desk,
    /// What is still to befall it, in times of the plan.
    upsets: VecDeque<(Dur, Upset)>,
    leaves: Option<Dur>,
    silent: bool,
    slow: f64,
    lacks_model: bool,
    loses_beats: f64,
    answers_twice: f64,
    /// The answer to a job that is not of this run, after which it withdraws.
    refused: Option<String>,
}

impl Node {
    /// A node of the group at an index; `of_all`: its number among all nodes of the scenario.
    pub(super) fn new(
        context: Arc<Context>,
        identity: Identity,
        (index, of_all): (u32, u64),
        upsets: Vec<(Dur, Upset)>,
    ) -> Self {
        let group = identity.group.clone();
        let name = identity.name.clone();
        let number = context.observer().add_node(name, group.max_jobs, index);
        let mut stream = context.streams.stream(Purpose::Nodes, of_all);
        Self {
            leaves: draw(group.uptime.as_ref(), &mut stream),
            stream,
            service: group.service_time.sampler(),
            alarm: context.pacer.alarm(),
            desk: Desk::new(group.max_jobs),
            next_beat: NEVER,
            upsets: upsets.into(),
            silent: false,
            slow: 1.0,
            lacks_model: false,
            loses_beats: 0.0,
            answers_twice: 0.0,
            refused: None,
            context,
            identity,
            number,
        }
    }

    /// Connects again and again until the run is over.
    pub(super) async fn live(mut self) {
        let mut phase = self.context.phase.subscribe();
        let mut backoff = BACKOFF;
        loop {
            let mut parting = Parting::Lost;
            if let Some(mut socket) = self.join().await {
                backoff = BACKOFF;
                parting = self.serve(&mut socket, &mut phase).await;
                self.forget_jobs();
            }
            let wait = match parting {
                Parting::Over => return,
                Parting::Away(span) => span,
                Parting::Lost => {
                    // Jitter keeps a herd of reconnecting nodes apart.
                    let wait = backoff.mul_f64(0.5 + self.stream.uniform());
                    backoff = (backoff * 2).min(BACKOFF_MAX);
                    wait
                }
            };
            tokio::select! {
                () = sleep(wait) => {}
                () = closing(&mut phase) => return,
            }
        }
    }

    /// Work is gone with the socket, as a real node's is.
    fn forget_jobs(&mut self) {
        self.desk.clear();
        let now = self.context.clock.now();
        let mut observer = self.context.observer();
        let account = &mut observer.nodes[self.number as usize];
        account.disconnect(now);
    }

    /// Opens a socket and registers.
    async fn join(&mut self) -> Option<Socket> {
        let context = self.context.clone();
        let mut socket = context.open(Kind::Node, self.number).await?;
        let hello = async {
            socket.send(self.identity.registration()?).await.ok()?;
            loop {
                let Message::Text(text) = socket.next().await?.ok()? else { continue };
                if let Ok(ToNode::RegisterAck(_)) = ToNode::parse(text.as_str()) {
                    return Some(());
                }
            }
        };
        let greeted = timeout(PATIENCE, hello).await;
        let closed = match greeted {
            Ok(Some(())) => return Some(socket),
            Ok(None) => Closed::Silently,
            Err(_) => Closed::ByUs,
        };
        context.ledger.closed(Kind::Node, &closed);
        None
    }

    /// Works until the socket is gone.
    async fn serve(&mut self, socket: &mut Socket, phase: &mut watch::Receiver<Phase>) -> Parting {
        let context = self.context.clone();
        self.next_beat = context.clock.now();
        context.observer().nodes[self.number as usize].connect(self.next_beat);
        loop {
            if let Some(refusal) = self.refused.take() {
                // Gone either way.
                let _ = socket.send(refusal).await;
                return self.close(socket, Parting::Over).await;
            }
            self.alarm.set(self.due(phase));
            let acted = tokio::select! {
                // Who hangs does not read either, and answers no ping.
                frame = socket.next(), if !self.silent => {
                    let closed = match frame {
                        Some(Ok(Message::Text(text))) => {
                            self.take(text.as_str());
                            continue;
                        }
                        Some(Ok(Message::Close(frame))) => Closed::by_scheduler(frame),
                        Some(Ok(_)) => continue,
                        None | Some(Err(_)) => Closed::Silently,
                    };
                    context.ledger.closed(Kind::Node, &closed);
                    return Parting::Lost;
                }
                () = self.alarm.rings() => true,
                changed = phase.changed() => {
                    if changed.is_err() || *phase.borrow_and_update() == Phase::Closing {
                        return self.close(socket, Parting::Over).await;
                    }
                    false
                }
            };
            if !acted {
                continue;
            }
            if let Some(span) = self.suffer(phase) {
                // Dropped without a close frame: that is what a crash looks like.
                context.ledger.closed(Kind::Node, &Closed::ByUs);
                return Parting::Away(span);
            }
            if !self.silent && self.act(socket).await.is_none() {
                context.ledger.closed(Kind::Node, &Closed::Silently);
                return Parting::Lost;
            }
        }
    }

    async fn close(&self, socket: &mut Socket, parting: Parting) -> Parting {
        socket.close().await;
        self.context.ledger.closed(Kind::Node, &Closed::ByUs);
        parting
    }

    /// When there is something to do, or something happens.
    fn due(&self, phase: &watch::Receiver<Phase>) -> Nanos {
        // Who works stays until the work is done.
        let leaves = self.leaves.filter(|_| self.desk.held() == 0);
        let upset = self.upsets.front().map(|(at, _)| *at).into_iter().chain(leaves).min();
        let upset = match (*phase.borrow(), upset) {
            (Phase::Running(start), Some(at)) => start.saturating_add(at.nanos()),
            _ => NEVER,
        };
        let work = if self.silent { NEVER } else { self.next_beat.min(self.desk.due()) };
        upset.min(work)
    }

    /// Takes what befalls it by now; the span that it is away, if it drops its socket.
    fn suffer(&mut self, phase: &watch::Receiver<Phase>) -> Option<Duration> {
        let Phase::Running(start) = *phase.borrow() else { return None };
        let since = self.context.clock.now().saturating_sub(start);
        if self.leaves.is_some_and(|at| at.nanos() <= since) && self.desk.held() == 0 {
            let group = self.identity.group.clone();
            let away = draw(group.downtime.as_ref(), &mut self.stream);
            let away = Duration::from_nanos(away.map_or(BACKOFF.as_nanos() as u64, Dur::nanos));
            let back = Dur::from_micros((since + away.as_nanos() as u64) / 1_000);
            let stay = draw(group.uptime.as_ref(), &mut self.stream);
            self.leaves = stay.map(|stay| Dur::from_micros(back.micros() + stay.micros()));
            return Some(away);
        }
        while let Some(&(at, upset)) = self.upsets.front() {
            if at.nanos() > since {
                break;
            }
            self.upsets.pop_front();
            match upset {
                Upset::Crash(span) => return Some(Duration::from_nanos(span.nanos())),
                Upset::Drops => return Some(Duration::ZERO),
                Upset::Silent(false) if self.silent => {
                    self.silent = false;
                    return Some(Duration::ZERO);
                }
                Upset::Silent(silent) => self.silent = silent,
                Upset::Slow(factor) => self.slow = factor,
                Upset::LacksModel(lacks) => self.lacks_model = lacks,
                Upset::LosesBeats(share) => self.loses_beats = share,
                Upset::AnswersTwice(share) => self.answers_twice = share,
                Upset::MaxJobs(max_jobs) => {
                    let max_jobs = max_jobs.unwrap_or(self.identity.group.max_jobs);
                    let now = self.context.clock.now();
                    self.desk.set_slots(max_jobs, now);
                    self.context.observer().nodes[self.number as usize].limit(max_jobs, now);
                    self.next_beat = now;
                }
            }
        }
        None
    }

    fn take(&mut self, frame: &str) {
        let at = self.context.clock.now();
        let is_job = match wire::leading_type(frame) {
            Some(name) => name == "job_assign",
            // Some schedulers write the type elsewhere.
            None => matches!(ToNode::parse(frame), Ok(ToNode::JobAssign(_))),
        };
        if is_job {
            match serde_json::from_str(frame) {
                Ok(assign) => self.work(&assign, at),
                Err(_) => self.context.observer().findings.malformed += 1,
            }
            return;
        }
        match ToNode::parse(frame) {
            Ok(ToNode::JobCancel(JobCancel { job_id, .. })) => {
                if self.desk.cancel(job_id.as_str(), at) {
                    self.tell_level(at);
                }
            }
            Ok(_) => {}
            Err(_) => self.context.observer().findings.malformed += 1,
        }
    }

    fn work(&mut self, assign: &wire::Assign<'_>, at: Nanos) {
        let span = match chunks_of(&assign.audio, self.context.run) {
            Found::Ours(span) => span,
            Found::Mixed(span) => {
                self.context.observer().findings.mixed_jobs += 1;
                span
            }
            Found::Foreign => {
                self.context.observer().findings.foreign_jobs += 1;
                self.refused = Some(self.identity.refusal(assign));
                return;
            }
        };
        let told = Assigned {
            span,
            tgt: &assign.tgt_lang,
            index: assign.utterance_index,
            attempt: assign.attempt_id,
            node: self.number,
            manual: assign.is_manual_cut.unwrap_or(false),
            timeout: assign.is_timeout_triggered.unwrap_or(false),
            duration: assign.is_max_duration_triggered.unwrap_or(false),
            at,
        };
        let duty = self.context.observer().assigned(&told);
        let uniform = duty.work.unwrap_or_else(|| {
            let key = mix(u64::from(span.session) << 32 | u64::from(span.first));
            let key = key.wrapping_add(u64::from(duty.lane));
            self.context.streams.uniform(Purpose::Service, key, assign.attempt_id.into())
        });
        let speech = span.audio_us as f64 * 1_000.0 * self.identity.group.speech_factor;
        let work = self.service.sample(uniform).nanos() as f64 * self.slow + speech;
        let job = Job {
            job_id: assign.job_id.as_ref().into(),
            attempt: assign.attempt_id,
            session_id: assign.session_id.as_ref().into(),
            index: assign.utterance_index,
            trace_id: assign.trace_id.as_ref().into(),
            tgt: assign.tgt_lang.as_ref().into(),
            session: span.session,
            first: span.first,
            last: span.last,
            buffered: duty.buffered,
            lacks_model: self.lacks_model,
            work: if self.lacks_model { NO_MODEL } else { work as Nanos },
        };
        self.desk.take(job, at);
        self.tell_level(at);
    }

    fn tell_level(&self, at: Nanos) {
        let held = self.desk.held();
        self.context.observer().nodes[self.number as usize].hold(held, at);
    }

    /// Answers what is done, and reports when it is time; absent when the socket is gone.
    async fn act(&mut self, socket: &mut Socket) -> Option<()> {
        let now = self.context.clock.now();
        while let Some(job) = self.desk.done(now) {
            self.tell_level(now);
            if job.buffered {
                continue;
            }
            self.context.observer().answered(job.session, &job.tgt, job.first, now);
            let result = self.identity.result(&job);
            if self.answers_twice > 0.0 && self.stream.uniform() < self.answers_twice {
                socket.send(result.clone()).await.ok()?;
            }
            socket.send(result).await.ok()?;
        }
        if self.next_beat <= now {
            let group = &self.identity.group;
            let share = group.heartbeat_jitter;
            let jitter = 1.0 - share + 2.0 * share * self.stream.uniform();
            self.next_beat = now + (group.heartbeat.nanos() as f64 * jitter) as Nanos;
            if self.loses_beats > 0.0 && self.stream.uniform() < self.loses_beats {
                return Some(());
            }
            self.context.observer().heartbeat(now);
            let beat = self.identity.heartbeat(self.desk.held(), self.desk.slots());
            socket.send(beat?).await.ok()?;
        }
        Some(())
    }
}

/// A time drawn from a distribution, if there is one.
fn draw(of: Option<&Dist>, stream: &mut Stream) -> Option<Dur> {
    of.map(|dist| dist.sample(stream.uniform()))
}
