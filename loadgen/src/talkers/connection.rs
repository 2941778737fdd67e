//! A session's socket, from its opening to its greeting.

use std::time::Duration;

use lingua_protocol::{
    Language, LanguageList, Mode, SessionInit, ShortText, TenantId, ToSession, TraceId,
};
use lingua_scenarios::Pair;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use crate::context::Context;
use crate::ledger::{Closed, Kind};
use crate::socket::Socket;
use crate::wire;

/// Longest wait for the answer to `session_init`.
const PATIENCE: Duration = Duration::from_secs(30);

/// An open session: its socket and the scheduler's name of it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: Socket,
    pub(super) id: Box<str>,
}

/// Opens a socket and a session on it.
pub(super) async fn connect(
    context: &Context,
    number: u32,
    pair: &Pair,
    two_way: bool,
) -> Option<Connection> {
    let mut socket = context.open(Kind::Session, number).await?;
    let hello = async {
        let init = init(context, number, pair, two_way)?;
        socket.send(wire::of_session(init)).await.ok()?;
        loop {
            let Message::Text(text) = socket.next().await?.ok()? else { continue };
            if let Ok(ToSession::InitAck(ack)) = ToSession::parse(text.as_str()) {
                return Some(ack.session_id.as_str().into());
            }
        }
    };
    match timeout(PATIENCE, hello).await {
        Ok(Some(id)) => Some(Connection { socket, id }),
        Ok(None) => {
            context.ledger.closed(Kind::Session, &Closed::Silently);
            None
        }
        Err(_) => {
            context.ledger.closed(Kind::Session, &Closed::ByUs);
            None
        }
    }
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
