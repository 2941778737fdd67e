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
        self.listen(keys::CHANGED, changes, |_| Some(())).await;
    }

    /// Listens at a channel until the receiver is gone. `note` makes a note of what is told, and of
    /// each time that some may have been missed, when nothing is.
    pub(crate) async fn listen<T>(
        self,
        channel_name: &str,
        changes: mpsc::Sender<T>,
        note: impl Fn(Option<&str>) -> Option<T>,
    ) {
        let mut at = 0;
        loop {
            let address = &self.config.urls[at % self.config.urls.len()];
            at += 1;
            if let Ok(client) = redis::Client::open(address.whole())
                && let Ok(Ok(mut channel)) =
                    timeout(self.config.timeout, client.get_async_pubsub()).await
                && channel.subscribe(channel_name).await.is_ok()
            {
                at -= 1;
                let mut told = channel.into_on_message();
                let mut noted = note(None);
                loop {
                    // Where there is no room, what waits there causes a look all the same.
                    if let Some(noted) = noted
                        && let Err(mpsc::error::TrySendError::Closed(_)) = changes.try_send(noted)
                    {
                        return;
                    }
                    let Some(message) = told.next().await else { break };
                    noted = note(message.get_payload::<String>().ok().as_deref());
                }
            }
            if changes.is_closed() {
                return;
            }
            sleep(REST).await;
        }
    }
}
