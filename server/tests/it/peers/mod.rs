//! Peers that a test drives by hand.

mod client;
mod node;
pub(crate) mod proxy;
mod redis;

use std::future::Future;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use lingua_protocol::Base64;
use lingua_server::{Config, serve};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async, connect_async_with_config,
};

pub(crate) use client::Client;
pub(crate) use node::Node;
pub(crate) use redis::Redis;

/// Names where the state is: in the server, or `redis` for a Redis server of each test's own.
pub(crate) const STORE: &str = "LINGUA_TEST_STORE";

/// Longest wait for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server on a port of its own.
pub(crate) async fn server() -> String {
    server_with(Config::default()).await
}

pub(crate) async fn server_with(config: Config) -> String {
    serve_until(config, std::future::pending()).await
}

/// A server that is ordered to stop when `stop` is over.
pub(crate) async fn serve_until(
    config: Config,
    stop: impl Future<Output = ()> + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let redis = std::env::var(STORE).is_ok_and(|store| store == "redis").then(Redis::start);
    let config = match &redis {
        Some(redis) => redis.with(config),
        None => config,
    };
    tokio::spawn(async move {
        // It lives as long as the server.
        let _redis = redis;
        serve(config, listener, stop).await.unwrap();
    });
    format!("ws://{address}")
}

/// So many chunks of 20 ms of Opus, as one base64 text.
pub(crate) fn audio(chunks: usize) -> String {
    Base64::encode(&chunk().repeat(chunks)).as_str().to_owned()
}

fn chunk() -> Vec<u8> {
    let mut bytes = Vec::new();
    lingua_protocol::audio::push_opus_packet(&[9; 60], &mut bytes).unwrap();
    bytes
}

/// The registration of a node; languages are separated by spaces.
pub(crate) fn register(id: &str, src: &str, tgt: &str, max_jobs: u16) -> String {
    let list = |tags: &str| {
        let quoted: Vec<_> = tags.split(' ').map(|tag| format!("\"{tag}\"")).collect();
        quoted.join(",")
    };
    let model = format!("nmt-{src}-{tgt}").replace(' ', "-");
    let (src, tgt) = (list(src), list(tgt));
    format!(
        r#"{{"type":"node_register","node_id":"{id}","version":"2.0.0","platform":"linux",
        "hardware":{{"cpu_cores":4,"memory_gb":16}},"installed_models":[
        {{"model_id":"{model}","kind":"nmt","version":"1.0"}}],"capability_by_type":[],
        "features_supported":{{}},"accept_public_jobs":true,"max_jobs":{max_jobs},
        "language_capabilities":{{"asr_languages":[{src}],"semantic_languages":[{src}],
        "tts_languages":[{tgt}]}}}}"#
    )
}

/// The status of a refused upgrade.
pub(crate) async fn refused(url: &str) -> u16 {
    use tokio_tungstenite::tungstenite::Error;
    match connect_async(url).await {
        Err(Error::Http(response)) => response.status().as_u16(),
        other => panic!("not refused: {other:?}"),
    }
}

/// Speaks until the node has a job; what is refused on the way says that the store is away.
pub(crate) async fn speak_until_served(client: &mut Client, node: &mut Node, text: &str) {
    for _ in 0..100 {
        client.speak(1, true).await;
        let job = tokio::select! {
            job = node.job() => job,
            (code, _) = client.error() => {
                let known = ["SCHEDULER_DEPENDENCY_DOWN", "NO_AVAILABLE_NODE"];
                assert!(known.contains(&code.as_str()), "{code}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        node.answer(&job, text).await;
        assert_eq!(client.translation().await.0, text);
        return;
    }
    panic!("nothing is served any more");
}

pub(crate) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub(crate) async fn open(url: &str, path: &str) -> Self {
        // Without Nagle: a second short frame would wait for the acknowledgement of the first.
        let connected = connect_async_with_config(format!("{url}{path}"), None, true).await;
        Self(connected.unwrap().0)
    }

    async fn send(&mut self, text: &str) {
        self.0.send(Message::text(text)).await.unwrap();
    }

    /// Sends any frame; tells whether the connection took it.
    pub(crate) async fn send_frame(&mut self, frame: Message) -> bool {
        self.0.send(frame).await.is_ok()
    }

    /// Says goodbye, which is answered by the same code where nothing else ended the socket.
    pub(crate) async fn say_goodbye(&mut self) {
        let goodbye = CloseFrame { code: 1000.into(), reason: "".into() };
        self.send_frame(Message::Close(Some(goodbye))).await;
    }

    /// The stream beneath, for bytes that are no frame.
    pub(crate) fn stream(&mut self) -> &mut MaybeTlsStream<TcpStream> {
        self.0.get_mut()
    }

    /// The code with which the socket is closed, whatever comes before.
    pub(crate) async fn closed(&mut self) -> Option<u16> {
        loop {
            let frame = tokio::time::timeout(PATIENCE, self.0.next()).await.expect("nothing came");
            match frame {
                Some(Ok(Message::Close(frame))) => return frame.map(|frame| frame.code.into()),
                Some(Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// Like [`Socket::closed`], of a peer that answers no ping: where the connection is gone, to
    /// answer one would end the reading before the code.
    pub(crate) async fn closed_silently(&mut self) -> Option<u16> {
        let mut bytes = Vec::new();
        let end = self.stream().read_to_end(&mut bytes);
        tokio::time::timeout(PATIENCE, end).await.expect("no end came").unwrap();
        let mut rest = bytes.as_slice();
        // Frames of a server are not masked; 126 says that a longer length follows.
        while let &[head, len, ref tail @ ..] = rest {
            let (len, tail) = match (len, tail) {
                (126, &[high, low, ref tail @ ..]) => (u16::from_be_bytes([high, low]), tail),
                _ => (len.into(), tail),
            };
            let (payload, next) = tail.split_at_checked(len.into())?;
            if head == 0x88 {
                return payload.first_chunk().map(|&code| u16::from_be_bytes(code));
            }
            rest = next;
        }
        None
    }

    /// The next text; absent when the socket is closed.
    pub(crate) async fn hear(&mut self) -> Option<String> {
        loop {
            let frame = tokio::time::timeout(PATIENCE, self.0.next()).await.expect("nothing came");
            match frame {
                Some(Ok(Message::Text(text))) => return Some(text.as_str().to_owned()),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }
}
