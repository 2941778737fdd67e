//! The work that is measured, each piece in a state that any number of runs leaves as it was.

mod deployment;
mod dispatch;
mod event_queue;
mod frames;
mod heartbeat;
mod pool_update;
mod segmenter;
mod simulation;

/// Work that is measured again and again.
pub trait Subject {
    /// Undoes what the last run has done to the state. Never measured.
    fn restore(&mut self) {}

    /// The measured work; what it gives back keeps the optimiser from dropping it.
    fn run(&mut self) -> u64;
}

/// A subject by name.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its name in tables and in the baseline.
    pub name: &'static str,
    /// Operations in one run.
    pub operations: u64,
    /// Runs that the gate counts; as many come before to warm up. A multiple of ten.
    pub runs: u64,
    prepare: fn() -> Box<dyn Subject>,
}

impl Entry {
    /// Builds the subject's state.
    pub fn prepare(&self) -> Box<dyn Subject> {
        (self.prepare)()
    }
}

/// All subjects, sorted by name.
pub const ALL: [Entry; 11] = [
    Entry {
        name: "dispatch-100",
        operations: dispatch::REQUESTS,
        runs: 100,
        prepare: || Box::new(dispatch::Dispatch::new(100)),
    },
    Entry {
        name: "dispatch-1000",
        operations: dispatch::REQUESTS,
        runs: 100,
        prepare: || Box::new(dispatch::Dispatch::new(1_000)),
    },
    Entry {
        name: "dispatch-10000",
        operations: dispatch::REQUESTS,
        runs: 100,
        prepare: || Box::new(dispatch::Dispatch::new(10_000)),
    },
    Entry {
        name: "event-queue-1000",
        operations: event_queue::EVENTS,
        runs: 100,
        prepare: || Box::new(event_queue::Hold::new(1_000)),
    },
    Entry {
        name: "event-queue-100000",
        operations: event_queue::EVENTS,
        runs: 100,
        prepare: || Box::new(event_queue::Hold::new(100_000)),
    },
    Entry {
        name: "frame-chunk",
        operations: frames::CHUNKS,
        runs: 100,
        prepare: || Box::new(frames::TakeChunk::new()),
    },
    Entry {
        name: "frame-job",
        operations: frames::JOBS,
        runs: 100,
        prepare: || Box::new(frames::SendJob::new()),
    },
    Entry {
        name: "heartbeat",
        operations: heartbeat::REPORTS,
        runs: 100,
        prepare: || Box::new(heartbeat::Heartbeat::new(1_000)),
    },
    Entry {
        name: "pool-update",
        operations: pool_update::NODES,
        runs: 100,
        prepare: || Box::new(pool_update::PoolUpdate::new(1_000)),
    },
    Entry {
        name: "segmenter",
        operations: segmenter::CHUNKS,
        runs: 100,
        prepare: || Box::new(segmenter::Speech::default()),
    },
    Entry {
        name: "simulation",
        operations: 1,
        runs: 10,
        prepare: || Box::new(simulation::Simulation::new()),
    },
];

/// The subject of that name.
pub fn find(name: &str) -> Option<Entry> {
    ALL.into_iter().find(|entry| entry.name == name)
}
