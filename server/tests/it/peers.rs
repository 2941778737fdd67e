//! Peers that a test drives by hand.

use std::future::Future;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use lingua_protocol::{Base64, ErrorMessage, JobAssign, Json, SessionInitAck};
use lingua_protocol::{ToNode, ToSession};
use lingua_server::{Config, serve};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, client_async, connect_async};

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
    tokio::spawn(async move {
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

pub(crate) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub(crate) async fn open(url: &str, path: &str) -> Self {
        Self(connect_async(format!("{url}{path}")).await.unwrap().0)
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

pub(crate) struct Node {
    socket: Socket,
    id: String,
}

impl Node {
    /// A node that has reported once.
    pub(crate) async fn register(url: &str, id: &str, src: &str, tgt: &str, max: u16) -> Self {
        let mut socket = Socket::open(url, "/ws/node").await;
        socket.send(&register(id, src, tgt, max)).await;
        let ack = socket.hear().await.unwrap();
        assert!(matches!(ToNode::parse(&ack), Ok(ToNode::RegisterAck(_))), "{ack}");
        let mut node = Self { socket, id: id.to_owned() };
        node.beat(0, 1.0, "").await;
        node
    }

    pub(crate) async fn hear(&mut self) -> Option<String> {
        self.socket.hear().await
    }

    /// The next job; errors on the way are passed over.
    pub(crate) async fn job(&mut self) -> JobAssign<'static> {
        loop {
            let text = self.hear().await.expect("the socket lives");
            match ToNode::parse(&text) {
                Ok(ToNode::JobAssign(job)) => return own(job),
                Ok(ToNode::Error(_)) => {}
                other => panic!("no job: {other:?}"),
            }
        }
    }

    /// The next message of a type, its text; others on the way are passed over.
    pub(crate) async fn wait_for(&mut self, kind: &str) -> String {
        loop {
            let text = self.hear().await.expect("the socket lives");
            if ToNode::parse(&text).unwrap().type_name() == kind {
                return text;
            }
        }
    }

    pub(crate) async fn closed(&mut self) -> Option<u16> {
        self.socket.closed().await
    }

    /// A heartbeat, with what it says of its services.
    pub(crate) async fn beat(&mut self, running: u32, cpu: f32, services: &str) {
        let beat = format!(
            r#"{{"type":"node_heartbeat","node_id":"{}","timestamp":0,"resource_usage":
            {{"cpu_percent":{cpu},"mem_percent":1,"running_jobs":{running}}},
            "installed_services":[{{"service_id":"asr-1","type":"asr","device":"gpu",
            "status":"running"}}],"capability_by_type":[{services}]}}"#,
            self.id
        );
        self.socket.send(&beat).await;
    }

    pub(crate) async fn ack(&mut self, job: &JobAssign<'_>) {
        let ack = format!(
            r#"{{"type":"job_ack","job_id":"{}","attempt_id":{},"node_id":"{}","session_id":"{}",
            "trace_id":"{}"}}"#,
            job.job_id, job.attempt_id, self.id, job.session_id, job.trace_id
        );
        self.socket.send(&ack).await;
    }

    /// Says that there was no speech.
    pub(crate) async fn answer_silence(&mut self, job: &JobAssign<'_>) {
        let result = format!(
            r#"{{"type":"job_result","job_id":"{}","attempt_id":{},"node_id":"{}","session_id":"{}",
            "utterance_index":{},"success":true,"trace_id":"{}","extra":{{"reason":"ASR_EMPTY"}}}}"#,
            job.job_id, job.attempt_id, self.id, job.session_id, job.utterance_index, job.trace_id
        );
        self.socket.send(&result).await;
    }

    /// Says that it could not do a job.
    pub(crate) async fn fail(&mut self, job: &JobAssign<'_>, code: &str) {
        let result = format!(
            r#"{{"type":"job_result","job_id":"{}","attempt_id":{},"node_id":"{}","session_id":"{}",
            "utterance_index":{},"success":false,"trace_id":"{}","error":{{"code":"{code}",
            "message":"no","details":{{"service_id":"nmt-x","service_version":"1"}}}}}}"#,
            job.job_id, job.attempt_id, self.id, job.session_id, job.utterance_index, job.trace_id
        );
        self.socket.send(&result).await;
    }

    pub(crate) async fn hears_first(&mut self, job: &JobAssign<'_>, text: &str) {
        let partial = format!(
            r#"{{"type":"asr_partial","job_id":"{}","node_id":"{}","session_id":"{}",
            "utterance_index":{},"text":"{text}","is_final":false,"trace_id":"{}"}}"#,
            job.job_id, self.id, job.session_id, job.utterance_index, job.trace_id
        );
        self.socket.send(&partial).await;
    }

    pub(crate) async fn answer(&mut self, job: &JobAssign<'_>, text: &str) {
        let result = format!(
            r#"{{"type":"job_result","job_id":"{}","attempt_id":{},"node_id":"{}","session_id":"{}",
            "utterance_index":{},"success":true,"text_asr":"x","text_translated":"{text}",
            "trace_id":"{}"}}"#,
            job.job_id, job.attempt_id, self.id, job.session_id, job.utterance_index, job.trace_id
        );
        self.socket.send(&result).await;
    }
}

/// The job with nothing borrowed from its frame.
fn own(job: JobAssign<'_>) -> JobAssign<'static> {
    JobAssign {
        audio: job.audio.into_owned(),
        job_id: job.job_id,
        attempt_id: job.attempt_id,
        session_id: job.session_id,
        utterance_index: job.utterance_index,
        src_lang: job.src_lang,
        tgt_lang: job.tgt_lang,
        dialect: job.dialect,
        features: job.features,
        pipeline: job.pipeline,
        audio_format: job.audio_format,
        sample_rate: job.sample_rate,
        mode: job.mode,
        lang_a: job.lang_a,
        lang_b: job.lang_b,
        auto_langs: job.auto_langs,
        enable_streaming_asr: job.enable_streaming_asr,
        partial_update_interval_ms: job.partial_update_interval_ms,
        trace_id: job.trace_id,
        padding_ms: job.padding_ms,
        is_manual_cut: job.is_manual_cut,
        is_timeout_triggered: job.is_timeout_triggered,
        is_max_duration_triggered: job.is_max_duration_triggered,
        turn_id: job.turn_id,
        group_id: job.group_id,
        part_index: job.part_index,
        context_text: job.context_text,
    }
}

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
