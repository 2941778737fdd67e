//! What is told to all instances at once.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::{Store, keys};

/// Rest before the next attempt to listen.
const REST: Duration = Duration::from_secs(1);

impl Store {
    /// Listens for changes of the directory for good, and puts a note into `changes` for each, and
    /// for each time that some may have been missed. Where a note waits already no other is put in.
    pub async fn hear_changes(self, changes: mpsc::Sender<()>) {
        let mut at = 0;
        loop {
            let address = &self.config.urls[at % self.config.urls.len()];
            at += 1;
            if let Ok(client) = redis::Client::open(address.whole())
                && let Ok(Ok(mut channel)) =
                    timeout(self.config.timeout, client.get_async_pubsub()).await
                && channel.subscribe(keys::CHANGED).await.is_ok()
            {
                at -= 1;
                let mut told = channel.into_on_message();
                loop {
                    let full =
                        matches!(changes.try_send(()), Err(mpsc::error::TrySendError::Full(())));
                    if !full && changes.is_closed() {
                        return;
                    }
                    if told.next().await.is_none() {
                        break;
                    }
                }
            }
            if changes.is_closed() {
                return;
            }
            sleep(REST).await;
        }
    }
}
