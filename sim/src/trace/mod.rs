//! A trace of a run for Perfetto and other viewers of the Trace Event Format.
//!
//! A process per node with a track per slot, one per instance with the messages it handles, one
//! for a shared store with the steps it carries out; faults reach over all. State that lives in
//! an instance's own process has no track: its steps are part of the messages. An arrow leads
//! from the message that gave a job away (the first one, where it gave several) to the job.

mod names;
mod nodes;
mod sink;

use std::io::{self, Write};

use lingua_core::instance::{AnswerOutcome, Assign, Input, JobId, Output};
use lingua_core::{InstanceId, Micros, Op, SessionId};
use serde::Serialize;

pub(crate) use names::Message;
use nodes::NodeTracks;
use sink::{Arrow, Nanos, Sink, Slice, Track};

/// Events of a trace unless told otherwise; about 200 MB.
pub const TRACE_EVENTS_MAX: u64 = 2_000_000;

/// What a trace came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traced {
    /// Events in the file, names of tracks apart.
    pub events: u64,
    /// Events that came after the file was full.
    pub left_out: u64,
}

/// The trace of a run, or none.
#[derive(Default)]
pub(crate) struct Trace(Option<Box<Recording>>);

struct Recording {
    sink: Sink,
    world: Track,
    // One per server of a shared store.
    store: Vec<StoreTracks>,
    instances: Vec<InstanceTrack>,
    nodes: Vec<NodeTracks>,
}

struct StoreTracks {
    steps: Track,
    state: Track,
    stalled_until: Micros,
}

struct InstanceTrack {
    messages: Track,
    starts: u32,
    busy_until: Nanos,
}

#[derive(Serialize)]
struct StepArgs {
    instance: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    queued_us: Nanos,
}

#[derive(Serialize)]
struct MessageArgs {
    session: String,
}

impl Trace {
    /// A trace of a world of so many instances and these nodes.
    pub(crate) fn new<'a>(
        out: Box<dyn Write>,
        events_max: u64,
        store_servers: usize,
        instances: usize,
        nodes: impl Iterator<Item = &'a str>,
    ) -> Self {
        let mut sink = Sink::new(out, events_max);
        let world = sink.process("world", "faults");
        let store = |at| {
            let name = if store_servers == 1 { "store".into() } else { format!("store {at}") };
            let steps = sink.process(&name, "steps");
            StoreTracks {
                steps,
                state: sink.thread(steps.process, "state"),
                stalled_until: Micros::ZERO,
            }
        };
        let store = (0..store_servers).map(store).collect();
        let instance = |at| {
            let messages = sink.process(&format!("instance {at}"), "messages");
            InstanceTrack { messages, starts: 1, busy_until: Nanos(0) }
        };
        let instances = (0..instances).map(instance).collect();
        let nodes = nodes.map(|name| NodeTracks::new(&mut sink, name)).collect();
        Self(Some(Box::new(Recording { sink, world, store, instances, nodes })))
    }

    /// Whether nobody wants to know.
    pub(crate) fn is_off(&self) -> bool {
        self.0.is_none()
    }

    /// What an instance is about to handle; nothing when nobody wants to know.
    pub(crate) fn message(&self, input: &Input) -> Option<Message> {
        self.0.as_ref().map(|_| Message::of(input))
    }

    /// An instance has handled a message, which cost it so many nanoseconds.
    pub(crate) fn served(
        &mut self,
        now: Micros,
        at: u16,
        message: Option<Message>,
        cost: u64,
        out: &[Output],
    ) {
        let (Some(recording), Some(message)) = (&mut self.0, message) else { return };
        let instance = &mut recording.instances[usize::from(at)];
        let from = instance.busy_until.max(now.into());
        instance.busy_until = Nanos(from.0 + cost);
        let given = out.iter().find_map(|output| match output {
            Output::Assign(assign) => Some(Arrow::From(arrow(assign.job, assign.attempt))),
            _ => None,
        });
        recording.sink.slice(Slice {
            track: instance.messages,
            name: &message.name,
            from,
            to: instance.busy_until,
            arrow: given,
            args: message.session.map(|session| MessageArgs { session: session_number(session) }),
        });
    }

    /// An instance dies.
    pub(crate) fn instance_dies(&mut self, now: Micros, at: u16) {
        let Some(recording) = &mut self.0 else { return };
        let track = recording.instances[usize::from(at)].messages;
        recording.sink.instant(track, &"crash", now.into());
    }

    /// An instance starts again, on a track of its own: what the former one was at may overlap.
    pub(crate) fn instance_starts(&mut self, now: Micros, at: u16) {
        let Some(recording) = &mut self.0 else { return };
        let instance = &mut recording.instances[usize::from(at)];
        instance.starts += 1;
        let name = format!("messages, start {}", instance.starts);
        instance.messages = recording.sink.thread(instance.messages.process, &name);
        instance.busy_until = Nanos(0);
        recording.sink.instant(instance.messages, &"start", now.into());
    }

    /// A server of the store takes a step: it arrives, starts and ends (nanoseconds).
    pub(crate) fn step(
        &mut self,
        at: usize,
        from: InstanceId,
        op: &Op,
        arrives: Micros,
        span: [u64; 2],
    ) {
        let Some(recording) = &mut self.0 else { return };
        let store = &recording.store[at];
        let (name, session) = names::step(op);
        let [starts, ends] = span.map(Nanos);
        recording.sink.slice(Slice {
            track: store.steps,
            name: &name,
            from: starts,
            to: ends,
            arrow: None,
            args: Some(StepArgs {
                instance: from.0,
                session: session.map(session_number),
                queued_us: Nanos(starts.0.saturating_sub(Nanos::from(arrives).0)),
            }),
        });
    }

    /// A server of the store carries out nothing until then.
    pub(crate) fn store_stalls(&mut self, at: usize, now: Micros, until: Micros) {
        let Some(recording) = &mut self.0 else { return };
        let store = &mut recording.store[at];
        let from = now.max(store.stalled_until);
        if from < until {
            store.stalled_until = until;
            recording.sink.slice(Slice {
                track: store.state,
                name: &"stalled",
                from: from.into(),
                to: until.into(),
                arrow: None,
                args: None::<()>,
            });
        }
    }

    /// A server's copy takes over.
    pub(crate) fn store_fails_over(&mut self, at: usize, now: Micros) {
        let Some(recording) = &mut self.0 else { return };
        let store = &recording.store[at];
        recording.sink.instant(store.state, &"failover", now.into());
    }

    /// A fault begins or ends.
    pub(crate) fn fault(&mut self, now: Micros, name: &str, begins: bool) {
        let Some(recording) = &mut self.0 else { return };
        let name = name.trim_start_matches("fault_");
        let what = if begins { "begins" } else { "ends" };
        recording.sink.global(recording.world, &format_args!("{name} {what}"), now.into());
    }

    fn node(&mut self, at: u32) -> Option<(&mut Sink, &mut NodeTracks)> {
        let recording = self.0.as_mut()?;
        let node = recording.nodes.get_mut(at as usize)?;
        Some((&mut recording.sink, node))
    }

    /// Something happens to a node.
    pub(crate) fn node_is(&mut self, now: Micros, at: u32, what: &str) {
        if let Some((sink, node)) = self.node(at) {
            node.instant(sink, now, what);
        }
    }

    /// A job has reached its node.
    pub(crate) fn job_comes(&mut self, now: Micros, at: u32, assign: &Assign, work: u32) {
        if let Some((_, node)) = self.node(at) {
            node.job_comes(now, assign, work);
        }
    }

    /// A node begins to work on a job.
    pub(crate) fn job_starts(&mut self, now: Micros, at: u32, work: u32) {
        if let Some((sink, node)) = self.node(at) {
            node.job_starts(sink, now, work);
        }
    }

    /// A node is done with a job; without an answer it keeps the audio for the next one.
    pub(crate) fn job_ends(
        &mut self,
        now: Micros,
        at: u32,
        work: u32,
        answer: Option<AnswerOutcome>,
    ) {
        if let Some((sink, node)) = self.node(at) {
            node.job_ends(sink, now, work, names::ending(answer));
        }
    }

    /// A node loses all its jobs.
    pub(crate) fn jobs_lost(&mut self, now: Micros, at: u32) {
        if let Some((sink, node)) = self.node(at) {
            node.all_end(sink, now, "lost");
        }
    }

    /// A node has so many jobs above max_jobs.
    pub(crate) fn oversold(&mut self, now: Micros, at: u32, excess: u32) {
        if let Some((sink, node)) = self.node(at) {
            node.oversold(sink, now, excess);
        }
    }

    /// An invariant breaks, which ends the run.
    pub(crate) fn breaks(&mut self, now: Micros, invariant: &str) {
        let Some(recording) = &mut self.0 else { return };
        recording.sink.global(recording.world, &format_args!("{invariant} broken"), now.into());
    }

    /// The run is over: what still runs is cut off here.
    pub(crate) fn end(
        self,
        now: Micros,
        scenario: &str,
        seed: u64,
        digest: &str,
    ) -> Result<Traced, io::Error> {
        let Some(recording) = self.0 else { return Ok(Traced::default()) };
        let Recording { mut sink, mut nodes, .. } = *recording;
        for node in &mut nodes {
            node.all_end(&mut sink, now, "unfinished");
        }
        sink.end(scenario, seed, digest)
    }
}

/// Numbers of sessions are larger than the numbers that viewers keep exactly.
fn session_number(session: SessionId) -> String {
    session.0.to_string()
}

/// A number that belongs to one attempt of one job.
fn arrow(job: JobId, attempt: u32) -> u64 {
    let place = crate::streams::mix(u64::from(job.slot) << 32 | u64::from(job.version));
    place ^ crate::streams::mix(u64::from(job.origin.0) << 32 | u64::from(attempt)).rotate_left(1)
}
