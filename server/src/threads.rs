//! Threads apart from those that serve sessions.
//!
//! Speech comes in without end and one task a socket reads it. What ends jobs must not stand in that
//! queue, or the more is offered the less is finished: the system's scheduler gives threads that
//! want little their share at once.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

/// The threads of the hub and those of nodes' sockets and of links between instances. Dropped, they end in the background.
#[derive(Debug)]
pub(crate) struct Threads {
    hub: Apart,
    nodes: Apart,
}

impl Threads {
    /// # Errors
    /// The system gives no threads.
    pub(crate) fn start() -> io::Result<Self> {
        let mut hub = Builder::new_multi_thread();
        let mut nodes = Builder::new_multi_thread();
        hub.worker_threads(1).thread_name("hub").enable_time();
        nodes.thread_name("nodes").enable_all();
        Ok(Self { hub: Apart(Some(hub.build()?)), nodes: Apart(Some(nodes.build()?)) })
    }

    /// One thread: the hub is one task.
    pub(crate) fn hub(&self) -> &Handle {
        self.hub.handle()
    }

    /// As many as there are processors.
    pub(crate) fn nodes(&self) -> &Handle {
        self.nodes.handle()
    }
}

/// A runtime that may be dropped inside another.
#[derive(Debug)]
struct Apart(Option<Runtime>);

impl Apart {
    fn handle(&self) -> &Handle {
        self.0.as_ref().expect("there until the drop").handle()
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
