//! A talker's sockets, from their opening to their greeting: his own, and those of the listeners
//! of his room.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use lingua_protocol::{
    ClientHeartbeat, Language, LanguageList, Mode, RoomCode, RoomCreate, RoomJoin, SessionId,
    SessionInit, ShortText, TenantId, ToSession, TraceId,
};
use lingua_scenarios::Pair;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::{self, Message};

use crate::clock::unix_ms;
use crate::context::Context;
use crate::ledger::{Closed, Kind};
use crate::observer::{Ear, Hearing};
use crate::socket::Socket;
use crate::wire;

/// Longest wait for the answer to a greeting.
const PATIENCE: Duration = Duration::from_secs(30);

/// A socket with a session, and the scheduler's name of it.
#[derive(Debug)]
struct Line {
    socket: Socket,
    id: Box<str>,
}

/// An open session, and those who listen to it in its room.
#[derive(Debug)]
pub(super) struct Connection {
    own: Line,
    listeners: Vec<Line>,
    // Which socket is looked at first: none may keep the others waiting.
    turn: usize,
}

/// What a talker wants of his session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Greeting<'a> {
    pub(super) pair: &'a Pair,
    pub(super) two_way: bool,
    /// Languages of those who listen in his room; none: he has no room.
    pub(super) listeners: &'a [String],
}

impl Connection {
    /// Opens a socket and a session on it; with listeners, a room, and theirs. Absent: one of them
    /// did not open.
    pub(super) async fn open(
        context: &Context,
        number: u32,
        greeting: Greeting<'_>,
    ) -> Option<Self> {
        let own = Line::open(context, (number, number), greeting.pair, greeting.two_way).await?;
        let mut connection = Self { own, listeners: Vec::new(), turn: 0 };
        let gathered = connection.gather(context, number, greeting).await;
        if gathered.is_none() {
            connection.close(context).await;
            context.observer().findings.no_room += 1;
            return None;
        }
        Some(connection)
    }

    /// Opens a room, and lets its listeners in, one after the other.
    async fn gather(
        &mut self,
        context: &Context,
        number: u32,
        greeting: Greeting<'_>,
    ) -> Option<()> {
        if greeting.listeners.is_empty() {
            return Some(());
        }
        let client_ts = u64::try_from(unix_ms()).unwrap_or(0);
        let create = RoomCreate { client_ts, display_name: None, preferred_lang: None };
        let code = self.own.ask(wire::of_session(create), room_code).await?;
        for language in greeting.listeners {
            let pair = Pair { src: greeting.pair.src.clone(), tgt: language.clone() };
            // At other instances than who speaks, where there are several.
            let place = number.saturating_add(self.listeners.len() as u32 + 1);
            self.listeners.push(Line::open(context, (number, place), &pair, false).await?);
            let listener = self.listeners.last_mut()?;
            let join = RoomJoin {
                room_code: code.clone(),
                display_name: None,
                preferred_lang: Some(Language::new(language).ok()?),
            };
            listener.ask(wire::of_session(join), is_in_room).await?;
        }
        // Who speaks knows of all of them.
        let all = 1 + greeting.listeners.len();
        let told = heard(&mut self.own.socket, |message| lists(message, all));
        timeout(PATIENCE, told).await.ok().flatten()
    }

    /// The next frame of any of its sockets, and whose it is.
    pub(super) async fn next(&mut self) -> (Ear, Option<Result<Message, tungstenite::Error>>) {
        poll_fn(|context| {
            let count = 1 + self.listeners.len();
            for step in 0..count {
                let place = (self.turn + step) % count;
                let (ear, line) = match place.checked_sub(1) {
                    None => (Ear::Own, &mut self.own),
                    Some(at) => (Ear::Listener(at as u32), &mut self.listeners[at]),
                };
                if let Poll::Ready(frame) = line.socket.poll_next(context) {
                    self.turn = (place + 1) % count;
                    return Poll::Ready((ear, frame));
                }
            }
            Poll::Pending
        })
        .await
    }

    /// The name of who speaks.
    pub(super) fn id(&self) -> &str {
        &self.own.id
    }

    /// Sends a frame of who speaks.
    pub(super) async fn send(&mut self, text: String) -> Result<(), tungstenite::Error> {
        self.own.socket.send(text).await
    }

    /// All say that they live.
    pub(super) async fn beat(&mut self) -> Result<(), tungstenite::Error> {
        for line in std::iter::once(&mut self.own).chain(&mut self.listeners) {
            if let Ok(session_id) = SessionId::new(&line.id) {
                let beat = ClientHeartbeat { session_id, timestamp: unix_ms() };
                line.socket.send(wire::of_session(beat)).await?;
            }
        }
        Ok(())
    }

    /// Tells the accounts what one of its sockets has got.
    pub(super) fn hear(&self, context: &Context, of: (u32, u32), ear: Ear, frame: &str) {
        let at = context.clock.now();
        let mut observer = context.observer();
        match serde_json::from_str::<wire::Heard<'_>>(frame) {
            Ok(heard) => {
                let ((session, life), id, run) = (of, self.id(), context.run);
                observer.heard(Hearing { session, ear, life, id, run, at }, &heard);
            }
            Err(_) => observer.findings.malformed += 1,
        }
    }

    /// Closes all its sockets.
    pub(super) async fn close(self, context: &Context) {
        for mut line in std::iter::once(self.own).chain(self.listeners) {
            line.socket.close().await;
            context.ledger.closed(Kind::Session, &Closed::ByUs);
        }
    }

    /// One of its sockets is gone; the others leave with it, so that all begin anew together.
    pub(super) async fn lose(self, context: &Context, gone: Ear, how: &Closed) {
        context.ledger.closed(Kind::Session, how);
        let lines = std::iter::once((Ear::Own, self.own));
        let listeners = (0..).map(Ear::Listener).zip(self.listeners);
        for (ear, mut line) in lines.chain(listeners) {
            if ear != gone {
                line.socket.close().await;
                context.ledger.closed(Kind::Session, &Closed::ByUs);
            }
        }
    }
}

impl Line {
    /// Opens a socket and a session on it: of the talker with this number, at the instance that has
    /// the peer with that one.
    async fn open(
        context: &Context,
        (number, place): (u32, u32),
        pair: &Pair,
        two_way: bool,
    ) -> Option<Self> {
        let mut socket = context.open(Kind::Session, place).await?;
        let closed = match init(context, number, pair, two_way) {
            None => Closed::ByUs,
            Some(init) => match ask(&mut socket, wire::of_session(init), session_id).await {
                Ok(Some(id)) => return Some(Self { socket, id }),
                Ok(None) => Closed::Silently,
                Err(_) => Closed::ByUs,
            },
        };
        context.ledger.closed(Kind::Session, &closed);
        None
    }

    /// Sends a request and waits for what answers it.
    async fn ask<T>(
        &mut self,
        request: String,
        mut answer: impl FnMut(ToSession<'_>) -> Option<T>,
    ) -> Option<T> {
        ask(&mut self.socket, request, &mut answer).await.ok().flatten()
    }
}

/// Sends a request and waits for what answers it; absent where the socket closes before, an error
/// where nothing comes.
async fn ask<T>(
    socket: &mut Socket,
    request: String,
    mut answer: impl FnMut(ToSession<'_>) -> Option<T>,
) -> Result<Option<T>, tokio::time::error::Elapsed> {
    let asked = async {
        socket.send(request).await.ok()?;
        heard(socket, &mut answer).await
    };
    timeout(PATIENCE, asked).await
}

/// Waits for what answers something; absent where the socket closes before.
async fn heard<T>(
    socket: &mut Socket,
    mut answer: impl FnMut(ToSession<'_>) -> Option<T>,
) -> Option<T> {
    loop {
        let Message::Text(text) = socket.next().await?.ok()? else { continue };
        if let Some(answer) = ToSession::parse(text.as_str()).ok().and_then(&mut answer) {
            return Some(answer);
        }
    }
}

fn session_id(message: ToSession<'_>) -> Option<Box<str>> {
    match message {
        ToSession::InitAck(ack) => Some(ack.session_id.as_str().into()),
        _ => None,
    }
}

fn room_code(message: ToSession<'_>) -> Option<RoomCode> {
    match message {
        ToSession::RoomCreateAck(ack) => Some(ack.room_code),
        _ => None,
    }
}

fn lists(message: ToSession<'_>, members: usize) -> Option<()> {
    matches!(message, ToSession::RoomMembers(told) if told.members.len() >= members).then_some(())
}

fn is_in_room(message: ToSession<'_>) -> Option<()> {
    matches!(message, ToSession::RoomMembers(_)).then_some(())
}

fn init(context: &Context, number: u32, pair: &Pair, two_way: bool) -> Option<SessionInit> {
    let language = |tag: &str| Language::new(tag).ok();
    let (a, b) = (language(&pair.src)?, language(&pair.tgt)?);
    let both = two_way.then(|| LanguageList::new(vec![a.clone(), b.clone()]).ok()).flatten();
    Some(SessionInit {
        client_version: ShortText::cut("web-client-v1.0"),
        platform: ShortText::cut("web"),
        src_lang: if two_way { language("auto")? } else { a.clone() },
        tgt_lang: b.clone(),
        dialect: None,
        features: None,
        pairing_code: None,
        tenant_id: None::<TenantId>,
        mode: Some(if two_way { Mode::TwoWayAuto } else { Mode::OneWay }),
        lang_a: two_way.then_some(a),
        lang_b: two_way.then_some(b),
        auto_langs: both,
        enable_streaming_asr: None,
        partial_update_interval_ms: None,
        trace_id: TraceId::new(&format!("load-{:08x}-{}", context.run, context.tagged(number)))
            .ok(),
    })
}
