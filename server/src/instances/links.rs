//! Connections from instance to instance: each opens one to every other, and only sends on it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message as Frame, WebSocket};
use futures_util::{SinkExt, StreamExt};
use lingua_core::InstanceId;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Message, protocol::WebSocketConfig};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};
use tracing::{info, warn};

use crate::HostPort;
use crate::event::Event;
use crate::instances::parcel::{Parcel, ToInstance};
use crate::instances::{Passphrase, Shared};

/// Parcels that wait for one link.
const LINK_MAX: usize = 1_024;
/// Longest wait for a connection, or for one write.
const CONNECT: Duration = Duration::from_secs(2);
const WRITE: Duration = Duration::from_secs(5);
/// Rest before the next attempt.
const REST: Duration = Duration::from_millis(200);
/// A link that is not there for so long is down: what was given to it is lost.
const DOWN: Duration = Duration::from_secs(1);
/// Largest frame: what a node may send, and what is put before it.
pub(crate) const FRAME_BYTES: usize = lingua_protocol::limits::FRAME_BYTES + (64 << 10);

type Stream = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Opens links.
#[derive(Clone)]
pub(crate) struct Dialer {
    pub(super) id: InstanceId,
    // Where this instance is reached: whoever it links to links back.
    pub(super) address: Arc<str>,
    pub(super) passphrase: Passphrase,
    pub(super) hub: mpsc::WeakSender<Event>,
    // Where the tasks of links run.
    pub(super) threads: Handle,
}

impl Dialer {
    /// Keeps a link to an instance until what is returned is dropped.
    pub(crate) fn link(&self, to: InstanceId, address: &str) -> mpsc::Sender<ToInstance> {
        let (sender, parcels) = mpsc::channel(LINK_MAX);
        self.threads.spawn(keep(self.clone(), to, address.into(), parcels));
        sender
    }

    async fn tell(&self, shared: Shared) {
        if let Some(hub) = self.hub.upgrade() {
            let _ = hub.send(Event::Shared(shared)).await;
        }
    }

    async fn connect(&self, address: &str) -> Option<Stream> {
        let own = &self.address;
        let url = format!("ws://{address}/ws/instance?instance={}&address={own}", self.id.0);
        let mut request = url.into_client_request().ok()?;
        let shown = format!("Bearer {}", self.passphrase.get().text());
        request.headers_mut().insert("Authorization", HeaderValue::from_str(&shown).ok()?);
        let config = WebSocketConfig::default()
            .max_message_size(Some(1 << 10))
            .max_frame_size(Some(1 << 10));
        let connected = timeout(CONNECT, connect_async_with_config(request, Some(config), true));
        connected.await.ok()?.ok().map(|(stream, _)| stream)
    }
}

async fn keep(
    dialer: Dialer,
    to: InstanceId,
    address: Arc<str>,
    mut parcels: mpsc::Receiver<ToInstance>,
) {
    let (from, mut up) = (dialer.id.0, false);
    let mut since = Instant::now();
    let mut told = false;
    loop {
        if let Some(mut stream) = dialer.connect(&address).await {
            if !up {
                info!(instance = from, to = to.0, "linked to an instance");
            }
            // Also where it was gone too shortly to be called down: what was under way may be lost.
            dialer.tell(Shared::Link { to, up: true }).await;
            (up, told) = (true, false);
            if forward(&mut stream, &mut parcels).await {
                let _ = timeout(WRITE, stream.close(None)).await;
                return;
            }
            since = Instant::now();
        }
        if parcels.is_closed() {
            return;
        }
        if !told && since.elapsed() >= DOWN {
            (up, told) = (false, true);
            warn!(instance = from, to = to.0, "the link to an instance is down");
            dialer.tell(Shared::Link { to, up: false }).await;
        }
        if told {
            // The hub gives it none until it is up again.
            while parcels.try_recv().is_ok() {}
        }
        sleep(REST).await;
    }
}

/// Sends until the link breaks, or nothing more comes: then it is over.
async fn forward(stream: &mut Stream, parcels: &mut mpsc::Receiver<ToInstance>) -> bool {
    loop {
        tokio::select! {
            parcel = parcels.recv() => {
                let Some(parcel) = parcel else { return true };
                let frame = Message::Binary(parcel.encode());
                match timeout(WRITE, stream.send(frame)).await {
                    Ok(Ok(())) => {}
                    _ => return false,
                }
            }
            // Nothing is said here but that it is over; a ping is answered on the way.
            said = stream.next() => match said {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return false,
                Some(Ok(_)) => {}
            },
        }
    }
}

/// Who links to this instance.
#[derive(Debug)]
pub(crate) struct Caller {
    id: InstanceId,
    address: String,
}

impl Caller {
    /// What it says of itself in the query; absent where it says nothing of the kind.
    pub(crate) fn of(query: Option<&str>) -> Option<Self> {
        let (id, address) = query?.strip_prefix("instance=")?.split_once("&address=")?;
        let address: HostPort = address.parse().ok()?;
        Some(Self { id: InstanceId(id.parse().ok()?), address: address.as_str().to_owned() })
    }
}

/// Takes what another instance sends.
pub(crate) async fn receive(hub: mpsc::Sender<Event>, caller: Caller, mut socket: WebSocket) {
    let Caller { id: from, address } = caller;
    // Before any job of it: the answers need a link back.
    if hub.send(Event::Shared(Shared::Met { id: from, address })).await.is_err() {
        return;
    }
    loop {
        let frame = tokio::select! {
            frame = socket.recv() => frame,
            // The hub is gone: nothing is heard here any more.
            () = hub.closed() => return,
        };
        let bytes = match frame {
            Some(Ok(Frame::Binary(bytes))) => bytes,
            Some(Ok(_)) => continue,
            Some(Err(_)) | None => return,
        };
        let Some(parcel) = Parcel::parse(bytes) else {
            warn!(from = from.0, "an instance sent what is no parcel: its link is closed");
            return;
        };
        let parcel = Box::new(parcel);
        if hub.send(Event::Shared(Shared::Parcel { from, parcel })).await.is_err() {
            return;
        }
    }
}
