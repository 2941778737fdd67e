//! A node: it takes jobs and answers each after its service time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use lingua_loadgen::socket::Socket;
use tokio::time::{Instant, interval_at, sleep_until};

use crate::figures::Tally;
use crate::fleet::{Shared, text};
use crate::frames::{self, JobNames};

/// What the existing nodes keep to.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Works until the socket is gone.
pub(crate) async fn work(shared: Arc<Shared>, number: usize, socket: Socket) {
    if serve(&shared, number, socket).await.is_none() {
        shared.count.lost_socket();
    }
}

async fn serve(shared: &Shared, number: usize, mut socket: Socket) -> Option<()> {
    let service = Duration::from_millis(shared.load.service_ms);
    socket.send(frames::heartbeat(number, 0)).await.ok()?;
    let mut heartbeats = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
    let mut running: VecDeque<(Instant, String)> = VecDeque::new();
    loop {
        let done = running.front().map(|&(done, _)| done);
        tokio::select! {
            message = text(&mut socket) => {
                let message = message?;
                let frame = message.to_text().ok()?;
                let mut tally = Tally::default();
                tally.heard(frame);
                if let Some(names) = JobNames::of(frame) {
                    shared.arrived(names.session, names.index);
                    running.push_back((Instant::now() + service, names.result(number)));
                }
                shared.count.add(&tally);
            }
            () = sleep_until(done.unwrap_or_else(Instant::now)), if done.is_some() => {
                let (_, result) = running.pop_front()?;
                let mut tally = Tally::default();
                tally.said(&result);
                shared.count.add(&tally);
                socket.send(result).await.ok()?;
            }
            _ = heartbeats.tick() => {
                socket.send(frames::heartbeat(number, running.len())).await.ok()?;
            }
        }
    }
}
