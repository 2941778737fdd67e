//! The file of a trace: Trace Event Format in JSON, written event by event.

use std::fmt::Display;
use std::io::{self, BufWriter, Write};

use lingua_core::Micros;
use serde::{Serialize, Serializer};

use super::Traced;

/// Nanoseconds of virtual time; the format wants microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Nanos(pub(super) u64);

impl From<Micros> for Nanos {
    fn from(at: Micros) -> Self {
        Self(at.0.saturating_mul(1_000))
    }
}

impl Serialize for Nanos {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(1_000) {
            to.serialize_u64(self.0 / 1_000)
        } else {
            to.serialize_f64(self.0 as f64 / 1e3)
        }
    }
}

/// A line in the viewer: a thread of a process, in the format's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Track {
    pub(super) process: u32,
    thread: u32,
}

/// One end of an arrow between two slices.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arrow {
    /// It leaves here.
    From(u64),
    /// It arrives here.
    To(u64),
}

/// A slice: something that took from one instant to another.
pub(super) struct Slice<'a, A> {
    pub(super) track: Track,
    pub(super) name: &'a dyn Display,
    pub(super) from: Nanos,
    pub(super) to: Nanos,
    pub(super) arrow: Option<Arrow>,
    pub(super) args: Option<A>,
}

/// One event of the format.
#[derive(Serialize)]
struct Event<'a, A> {
    #[serde(serialize_with = "shown")]
    name: &'a dyn Display,
    ph: &'static str,
    pid: u32,
    tid: u32,
    ts: Nanos,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<Nanos>,
    // How far an instant reaches: `g`lobal or `t`hread.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bind_id: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    flow_out: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    flow_in: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<A>,
}

fn shown<S: Serializer>(name: &&dyn Display, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(name)
}

impl<'a> Event<'a, ()> {
    fn new(ph: &'static str, track: Track, name: &'a dyn Display, ts: Nanos) -> Self {
        let (pid, tid) = (track.process, track.thread);
        let (dur, s, bind_id, args) = (None, None, None, None);
        Self { name, ph, pid, tid, ts, dur, s, bind_id, flow_out: false, flow_in: false, args }
    }

    fn with<A>(self, args: Option<A>) -> Event<'a, A> {
        let Self { name, ph, pid, tid, ts, dur, s, bind_id, flow_out, flow_in, .. } = self;
        Event { name, ph, pid, tid, ts, dur, s, bind_id, flow_out, flow_in, args }
    }
}

/// A name given to a process or thread.
#[derive(Serialize)]
struct Name<'a> {
    name: &'a str,
}

/// A place among the processes.
#[derive(Serialize)]
struct SortIndex {
    sort_index: u32,
}

/// What the whole file says of itself.
#[derive(Serialize)]
struct About<'a> {
    scenario: &'a str,
    seed: u64,
    digest: &'a str,
    tool_version: &'a str,
    events: u64,
    events_max: u64,
    events_left_out: u64,
}

/// Where events go. A failure to write is kept until the end.
pub(super) struct Sink {
    out: BufWriter<Box<dyn Write>>,
    failed: Option<io::Error>,
    begun: bool,
    last_number: u32,
    counts: Traced,
    events_max: u64,
}

impl Sink {
    /// Begins a file of at most so many events, names of tracks apart.
    pub(super) fn new(out: Box<dyn Write>, events_max: u64) -> Self {
        let mut sink = Self {
            out: BufWriter::new(out),
            failed: None,
            begun: false,
            last_number: 0,
            counts: Traced::default(),
            events_max,
        };
        sink.write(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
        sink
    }

    /// A new process with its first thread.
    pub(super) fn process(&mut self, name: &str, thread: &str) -> Track {
        self.last_number += 1;
        let process = self.last_number;
        let track = self.thread(process, thread);
        self.tell("process_name", track, Name { name });
        self.tell("process_sort_index", track, SortIndex { sort_index: process });
        track
    }

    /// A further thread of a process.
    pub(super) fn thread(&mut self, process: u32, name: &str) -> Track {
        self.last_number += 1;
        let track = Track { process, thread: self.last_number };
        self.tell("thread_name", track, Name { name });
        track
    }

    fn tell(&mut self, what: &'static str, track: Track, args: impl Serialize) {
        self.write_event(&Event::new("M", track, &what, Nanos(0)).with(Some(args)));
    }

    /// Something that took time.
    pub(super) fn slice<A: Serialize>(&mut self, slice: Slice<'_, A>) {
        let Slice { track, name, from, to, arrow, args } = slice;
        let mut event = Event::new("X", track, name, from).with(args);
        event.dur = Some(Nanos(to.0.saturating_sub(from.0)));
        if let Some(Arrow::From(id) | Arrow::To(id)) = arrow {
            event.bind_id = Some(format!("{id:#x}"));
            event.flow_out = matches!(arrow, Some(Arrow::From(_)));
            event.flow_in = !event.flow_out;
        }
        self.event(&event);
    }

    /// Something that happened on one track.
    pub(super) fn instant(&mut self, track: Track, name: &dyn Display, at: Nanos) {
        let event = Event::new("i", track, name, at);
        self.event(&Event { s: Some("t"), ..event });
    }

    /// Something that concerns all tracks.
    pub(super) fn global(&mut self, track: Track, name: &dyn Display, at: Nanos) {
        let event = Event::new("i", track, name, at);
        self.event(&Event { s: Some("g"), ..event });
    }

    /// A new value of a number that belongs to a process.
    pub(super) fn counter(&mut self, track: Track, name: &str, at: Nanos, args: impl Serialize) {
        self.event(&Event::new("C", track, &name, at).with(Some(args)));
    }

    fn event<A: Serialize>(&mut self, event: &Event<'_, A>) {
        if self.counts.events < self.events_max {
            self.counts.events += 1;
            self.write_event(event);
            return;
        }
        if self.counts.left_out == 0 {
            let track = Track { process: event.pid, thread: event.tid };
            let full = Event::new("i", track, &"the trace is full", event.ts);
            self.write_event(&Event { s: Some("g"), ..full });
        }
        self.counts.left_out += 1;
    }

    fn write_event<A: Serialize>(&mut self, event: &Event<'_, A>) {
        if std::mem::replace(&mut self.begun, true) {
            self.write(b",\n");
        }
        if self.failed.is_none() {
            let written = serde_json::to_writer(&mut self.out, event);
            self.failed = written.err().map(io::Error::from);
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(bytes).err();
        }
    }

    /// Ends the file; the first failure to write is told now.
    pub(super) fn end(
        mut self,
        scenario: &str,
        seed: u64,
        digest: &str,
    ) -> Result<Traced, io::Error> {
        let about = About {
            scenario,
            seed,
            digest,
            tool_version: env!("CARGO_PKG_VERSION"),
            events: self.counts.events,
            events_max: self.events_max,
            events_left_out: self.counts.left_out,
        };
        let about = serde_json::to_vec(&about)?;
        self.write(b"\n],\n\"otherData\":");
        self.write(&about);
        self.write(b"}\n");
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.counts),
        }
    }
}
