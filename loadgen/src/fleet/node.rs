//! One fake node: it registers, reports, works and answers.

use std::sync::Arc;
use std::time::Duration;

use lingua_protocol::{
    Features, Hardware, JobCancel, Language, LanguageCapabilities, LanguageList, List, MaxJobs,
    NodeHeartbeat, NodeId, NodeRegister, Real, ResourceUsage, ShortText, ToNode,
};
use lingua_scenarios::streams::{Purpose, Stream, mix};
use lingua_scenarios::{NodeGroup, Sampler};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;

use super::work::{Desk, Job};
use crate::clock::unix_ms;
use crate::context::{Context, Phase, closing};
use crate::ledger::{Closed, Kind};
use crate::observer::Assigned;
use crate::pacer::{Alarm, NEVER, Nanos};
use crate::socket::Socket;
use crate::tag::{Answer, Found, chunks_of};
use crate::wire;

/// First wait before connecting again, doubled up to the last.
const BACKOFF: Duration = Duration::from_secs(5);
const BACKOFF_MAX: Duration = Duration::from_secs(60);
/// Longest wait for the answer to a registration.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct Node {
    context: Arc<Context>,
    group: Arc<NodeGroup>,
    service: Sampler,
    stream: Stream,
    name: String,
    number: u32,
    alarm: Alarm,
    next_beat: Nanos,
    desk: Desk,
}

impl Node {
    pub(super) fn new(context: Arc<Context>, group: Arc<NodeGroup>, name: String) -> Self {
        let number = context.observer().add_node(name.clone(), group.max_jobs);
        Self {
            service: group.service_time.sampler(),
            stream: context.streams.stream(Purpose::Nodes, number.into()),
            alarm: context.pacer.alarm(),
            desk: Desk::new(group.max_jobs),
            next_beat: NEVER,
            context,
            group,
            name,
            number,
        }
    }

    /// Connects again and again until the run is over.
    pub(super) async fn live(mut self) {
        let mut phase = self.context.phase.subscribe();
        let mut backoff = BACKOFF;
        loop {
            if let Some(mut socket) = self.join().await {
                backoff = BACKOFF;
                if self.serve(&mut socket, &mut phase).await.is_none() {
                    return;
                }
            }
            // Jitter keeps a herd of reconnecting nodes apart.
            let wait = backoff.mul_f64(0.5 + self.stream.uniform());
            backoff = (backoff * 2).min(BACKOFF_MAX);
            tokio::select! {
                () = sleep(wait) => {}
                () = closing(&mut phase) => return,
            }
        }
    }

    /// Opens a socket and registers.
    async fn join(&mut self) -> Option<Socket> {
        let context = self.context.clone();
        let mut socket = context.open(Kind::Node, self.number).await.ok()?;
        let hello = async {
            socket.send(wire::of_node(self.registration()?)).await.ok()?;
            loop {
                let Message::Text(text) = socket.next().await?.ok()? else { continue };
                if let Ok(ToNode::RegisterAck(_)) = ToNode::parse(text.as_str()) {
                    return Some(());
                }
            }
        };
        match timeout(PATIENCE, hello).await {
            Ok(Some(())) => Some(socket),
            Ok(None) => {
                context.ledger.closed(Kind::Node, &Closed::Silently);
                None
            }
            Err(_) => {
                context.ledger.closed(Kind::Node, &Closed::ByUs);
                None
            }
        }
    }

    /// Works until the socket is gone; absent when the run is over.
    async fn serve(
        &mut self,
        socket: &mut Socket,
        phase: &mut watch::Receiver<Phase>,
    ) -> Option<Closed> {
        let context = self.context.clone();
        context.observer().nodes[self.number as usize].connected = true;
        self.next_beat = context.clock.now();
        let closed = loop {
            self.alarm.set(self.next_beat.min(self.desk.due()));
            tokio::select! {
                frame = socket.next() => match frame {
                    Some(Ok(Message::Text(text))) => self.take(text.as_str()),
                    Some(Ok(Message::Close(frame))) => break Closed::by_scheduler(frame),
                    Some(Ok(_)) => {}
                    None | Some(Err(_)) => break Closed::Silently,
                },
                () = self.alarm.rings() => {
                    if self.act(socket).await.is_none() {
                        break Closed::Silently;
                    }
                }
                () = closing(phase) => {
                    socket.close().await;
                    context.ledger.closed(Kind::Node, &Closed::ByUs);
                    return None;
                }
            }
        };
        context.ledger.closed(Kind::Node, &closed);
        // Its jobs are not answered: a real node's work is gone with its socket, too.
        self.desk.clear();
        let mut observer = context.observer();
        let node = &mut observer.nodes[self.number as usize];
        node.connected = false;
        node.hold(0, context.clock.now());
        Some(closed)
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
                return;
            }
        };
        let told = Assigned {
            span,
            index: assign.utterance_index,
            attempt: assign.attempt_id,
            manual: assign.is_manual_cut.unwrap_or(false),
            at,
        };
        let planned = self.context.observer().assigned(&told);
        let uniform = if planned >= 0.0 {
            planned
        } else {
            let key = mix(u64::from(span.session) << 32 | u64::from(span.first));
            self.context.streams.uniform(Purpose::Service, key, assign.attempt_id.into())
        };
        let speech = span.audio_us as f64 * 1_000.0;
        let work = self.service.sample(uniform).nanos() as f64 + speech * self.group.speech_factor;
        let job = Job {
            job_id: assign.job_id.as_ref().into(),
            attempt: assign.attempt_id,
            session_id: assign.session_id.as_ref().into(),
            index: assign.utterance_index,
            trace_id: assign.trace_id.as_ref().into(),
            session: span.session,
            first: span.first,
            last: span.last,
            work: work as Nanos,
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
            {
                let mut observer = self.context.observer();
                observer.answered(job.session, job.first);
                observer.nodes[self.number as usize].hold(self.desk.held(), now);
            }
            socket.send(self.result(&job)).await.ok()?;
        }
        if self.next_beat <= now {
            let share = self.group.heartbeat_jitter;
            let jitter = 1.0 - share + 2.0 * share * self.stream.uniform();
            self.next_beat = now + (self.group.heartbeat.nanos() as f64 * jitter) as Nanos;
            let beat = self.heartbeat()?;
            self.context.observer().heartbeats += 1;
            socket.send(beat).await.ok()?;
        }
        Some(())
    }

    fn result(&self, job: &Job) -> String {
        let answer = Answer {
            run: self.context.run,
            session: job.session,
            first: job.first,
            last: job.last,
            attempt: job.attempt,
        };
        let text = answer.to_string();
        wire::JobResult {
            kind: "job_result",
            job_id: &job.job_id,
            attempt_id: job.attempt,
            node_id: &self.name,
            session_id: &job.session_id,
            utterance_index: job.index,
            success: true,
            text_asr: &text,
            text_translated: &text,
            processing_time_ms: job.work / 1_000_000,
            trace_id: &job.trace_id,
        }
        .to_json()
    }

    fn languages(&self) -> Option<LanguageCapabilities> {
        let list = |tags: &[String]| -> Option<LanguageList> {
            let tags: Vec<Language> =
                tags.iter().map(|tag| Language::new(tag)).collect::<Result<_, _>>().ok()?;
            LanguageList::new(tags).ok()
        };
        Some(LanguageCapabilities {
            asr_languages: Some(list(&self.group.asr)?),
            semantic_languages: Some(list(
                self.group.semantic.as_ref().unwrap_or(&self.group.asr),
            )?),
            tts_languages: Some(list(&self.group.tts)?),
            semantic_core_ready: Some(true),
        })
    }

    fn max_jobs(&self) -> Option<MaxJobs> {
        let told = self.context.profile.tells_max_jobs();
        told.then(|| MaxJobs::new(self.group.max_jobs as u16).ok()).flatten()
    }

    fn registration(&self) -> Option<NodeRegister<'static>> {
        Some(NodeRegister {
            node_id: NodeId::new(&self.name).ok(),
            version: ShortText::cut("2.0.0"),
            capability_schema_version: Some(ShortText::cut("2.0")),
            platform: ShortText::cut("linux"),
            hardware: Hardware { cpu_cores: 4, memory_gb: 16, gpus: None },
            installed_models: List::default(),
            installed_services: None,
            capability_by_type: List::default(),
            features_supported: Features::default(),
            advanced_features: None,
            accept_public_jobs: true,
            language_capabilities: Some(self.languages()?),
            max_jobs: self.max_jobs(),
        })
    }

    fn heartbeat(&self) -> Option<String> {
        Some(wire::of_node(NodeHeartbeat {
            node_id: NodeId::new(&self.name).ok()?,
            timestamp: unix_ms(),
            resource_usage: ResourceUsage {
                cpu_percent: Real::new(self.group.cpu.unwrap_or(-1.0))?,
                gpu_percent: None,
                gpu_mem_percent: None,
                mem_percent: Real::new(-1.0)?,
                running_jobs: self.desk.held(),
            },
            installed_models: None,
            installed_services: List::default(),
            capability_by_type: List::default(),
            rerun_metrics: None,
            asr_metrics: None,
            processing_metrics: None,
            language_capabilities: Some(self.languages()?),
            max_jobs: self.max_jobs(),
        }))
    }
}
