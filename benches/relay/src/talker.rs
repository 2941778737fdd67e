//! A client: it speaks in chunks and listens for the translation.

use std::sync::Arc;
use std::time::Duration;

use lingua_loadgen::socket::Socket;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use crate::figures::Tally;
use crate::fleet::{Shared, text};
use crate::frames::{Chunks, Heard};

/// Over how long sessions without a rate begin to speak.
const SPREAD: Duration = Duration::from_millis(500);

/// Chunks after which the others speak, and nodes answer, whoever is behind.
const TURN: u32 = 8;

/// Speaks until the socket is gone.
pub(crate) async fn talk(shared: Arc<Shared>, number: usize, session: u32, socket: Socket) {
    if converse(&shared, number, session, socket).await.is_none() {
        shared.count.lost_socket();
    }
}

async fn converse(shared: &Shared, number: usize, session: u32, mut socket: Socket) -> Option<()> {
    let load = shared.load;
    let chunks = Chunks::new(shared.row, session);
    let gap = Duration::from_millis(load.gap_ms);
    let between = load.rate.map(|rate| Duration::from_secs_f64(load.sessions as f64 / rate));
    let place = (number + 1) as f64 / load.sessions as f64;
    let mut begun = Instant::now() + between.unwrap_or(SPREAD).mul_f64(place);
    let mut due = Some(begun);
    let (mut index, mut sent, mut in_a_row) = (0, 0, 0);
    let mut tally = Tally::default();
    loop {
        tokio::select! {
            message = text(&mut socket) => {
                let message = message?;
                let frame = message.to_text().ok()?;
                tally.heard(frame);
                let heard = Heard::of(frame);
                if heard != Heard::Progress {
                    tally.ended(heard);
                    shared.count.add(&std::mem::take(&mut tally));
                    due = due.or_else(|| Some(Instant::now()));
                }
            }
            () = sleep_until(due.unwrap_or(begun)), if due.is_some() => {
                sent += 1;
                let is_last = sent == shared.row.chunks();
                let chunk = if is_last { &chunks.last } else { &chunks.middle };
                tally.said(chunk);
                due = due.map(|due| due + gap);
                if is_last {
                    tally.offered();
                    shared.stamp(number, index);
                    (index, sent) = (index + 1, 0);
                    due = between.map(|between| {
                        begun += between;
                        begun
                    });
                }
                socket.send(chunk.clone()).await.ok()?;
                in_a_row += 1;
                if in_a_row == TURN {
                    in_a_row = 0;
                    yield_now().await;
                }
            }
        }
    }
}
