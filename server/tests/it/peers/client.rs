//! A client.

use lingua_protocol::{ErrorMessage, Json, SessionInitAck, ToSession};
use tokio::net::TcpSocket;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, client_async, connect_async};

use super::{Socket, audio};

/// A client, with the session that it has opened.
pub(crate) struct Client {
    socket: Socket,
    session: String,
}

impl Client {
    /// A socket without a session.
    pub(crate) async fn connect(url: &str) -> Self {
        Self::asking(format!("{url}/ws/session")).await
    }

    /// The same, by a request of one's own.
    pub(crate) async fn asking(request: impl IntoClientRequest + Unpin) -> Self {
        let socket = Socket(connect_async(request).await.unwrap().0);
        Self { socket, session: String::new() }
    }

    /// A socket between whose ends little fits.
    pub(crate) async fn with_small_buffer(url: &str) -> Self {
        let stream = TcpSocket::new_v4().unwrap();
        stream.set_recv_buffer_size(4_096).unwrap();
        let address = url.strip_prefix("ws://").unwrap().parse().unwrap();
        let stream = MaybeTlsStream::Plain(stream.connect(address).await.unwrap());
        let socket = client_async(format!("{url}/ws/session"), stream).await.unwrap().0;
        Self { socket: Socket(socket), session: String::new() }
    }

    pub(crate) async fn open(url: &str, src: &str, tgt: &str) -> Self {
        let chosen = format!(r#""src_lang":"{src}","tgt_lang":"{tgt}","trace_id":"t-1""#);
        Self::choosing(url, &chosen).await
    }

    /// A session that sends these fields besides.
    pub(crate) async fn choosing(url: &str, fields: &str) -> Self {
        let mut socket = Socket::open(url, "/ws/session").await;
        let init = r#"{"type":"session_init","client_version":"t","platform":"web","#;
        socket.send(&format!("{init}{fields}}}")).await;
        let ack = socket.hear().await.unwrap();
        let Ok(ToSession::InitAck(SessionInitAck { session_id, .. })) = ToSession::parse(&ack)
        else {
            panic!("{ack}")
        };
        Self { socket, session: session_id.as_str().to_owned() }
    }

    /// The next message of a type, its text; others on the way are passed over.
    pub(crate) async fn wait_for(&mut self, kind: &str) -> String {
        loop {
            let text = self.hear().await.expect("the socket lives");
            if ToSession::parse(&text).unwrap().type_name() == kind {
                return text;
            }
        }
    }

    /// The types of all messages up to now: up to the answer to a request that the hub refuses.
    pub(crate) async fn heard_so_far(&mut self) -> Vec<String> {
        self.send(r#"{"type":"room_leave","room_code":"nowhere"}"#).await;
        let mut types = Vec::new();
        loop {
            let text = self.hear().await.expect("the socket lives");
            match ToSession::parse(&text).unwrap().type_name() {
                "room_error" => return types,
                kind => types.push(kind.to_owned()),
            }
        }
    }

    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.socket.send(text).await;
    }

    pub(crate) async fn hear(&mut self) -> Option<String> {
        self.socket.hear().await
    }

    /// Sends without reading; tells whether the connection took it.
    pub(crate) async fn try_send(&mut self, text: &str) -> bool {
        self.socket.send_frame(Message::text(text)).await
    }

    pub(crate) async fn closed(&mut self) -> Option<u16> {
        self.socket.closed().await
    }

    /// Chunks, and then, where it is wanted, the empty one that ends the utterance.
    pub(crate) async fn speak(&mut self, chunks: usize, is_final: bool) {
        let session = self.session.clone();
        for _ in 0..chunks {
            self.chunk(&session, audio(1), false).await;
        }
        if is_final {
            self.chunk(&session, String::new(), true).await;
        }
    }

    /// One piece of so many chunks.
    pub(crate) async fn say(&mut self, chunks: usize, is_final: bool) {
        let session = self.session.clone();
        self.chunk(&session, audio(chunks), is_final).await;
    }

    pub(crate) async fn speak_as(&mut self, session: &str, chunks: usize) {
        for _ in 0..chunks {
            self.chunk(session, audio(1), true).await;
        }
    }

    /// One chunk of so many packets of 20 ms.
    pub(crate) async fn speak_long(&mut self, packets: usize) {
        let session = self.session.clone();
        self.chunk(&session, audio(packets), false).await;
    }

    async fn chunk(&mut self, session: &str, payload: String, is_final: bool) {
        let chunk = format!(
            r#"{{"type":"audio_chunk","session_id":"{session}","seq":0,"is_final":{is_final},
            "payload":"{payload}"}}"#
        );
        self.socket.send(&chunk).await;
    }

    pub(crate) async fn say_whole(&mut self, index: u32) {
        let said = format!(
            r#"{{"type":"utterance","session_id":"{}","utterance_index":{index},"manual_cut":true,
            "src_lang":"zh","tgt_lang":"en","audio":"{}","audio_format":"opus",
            "sample_rate":16000}}"#,
            self.session,
            audio(2)
        );
        self.socket.send(&said).await;
    }

    /// The next translation and its index; events on the way are passed over.
    pub(crate) async fn translation(&mut self) -> (String, u64) {
        loop {
            let text = self.hear().await.expect("the socket lives");
            match ToSession::parse(&text) {
                Ok(ToSession::TranslationResult(result)) => {
                    return (result.text_translated.to_string(), result.utterance_index);
                }
                Ok(ToSession::UiEvent(_) | ToSession::RoomMembers(_)) => {}
                other => panic!("no translation: {other:?}"),
            }
        }
    }

    /// The next first text.
    pub(crate) async fn partial(&mut self) -> String {
        loop {
            let text = self.hear().await.expect("the socket lives");
            match ToSession::parse(&text) {
                Ok(ToSession::AsrPartial(partial)) => return partial.text.to_string(),
                Ok(ToSession::UiEvent(_)) => {}
                other => panic!("no first text: {other:?}"),
            }
        }
    }

    /// The next error's code and details.
    pub(crate) async fn error(&mut self) -> (String, Option<String>) {
        loop {
            let text = self.hear().await.expect("the socket lives");
            match ToSession::parse(&text) {
                Ok(ToSession::Error(ErrorMessage { code, details, .. })) => {
                    let details = details.as_ref().map(Json::as_str).map(str::to_owned);
                    return (code.as_str().to_owned(), details);
                }
                Ok(ToSession::UiEvent(_) | ToSession::RoomMembers(_)) => {}
                other => panic!("no error: {other:?}"),
            }
        }
    }
}
