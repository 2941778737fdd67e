//! Rooms whose members are at several instances.

use std::time::Duration;

use lingua_protocol::{JobAssign, ToSession};
use lingua_server::operator::Operator;
use lingua_server::{Config, DutyConfig, RedisConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::figures::{eager, samples};
use crate::http::{ask, get};
use crate::peers::{Client, Node, Redis, serve_until, server, server_with};
use crate::rooms::{host, joined};

/// Longest wait for a duty to change its holder: some of its leases.
const LOOKS: u32 = 600;
const REST: Duration = Duration::from_millis(50);

/// A job of the speaker's next utterance; what is refused on the way says that a node of another
/// instance is not known yet.
pub(crate) async fn job(speaker: &mut Client, node: &mut Node) -> JobAssign<'static> {
    for _ in 0..100 {
        speaker.speak(1, true).await;
        tokio::select! {
            job = node.job() => return job,
            () = failed(speaker) => {}
        }
        tokio::time::sleep(REST).await;
    }
    panic!("the node never got a job");
}

async fn failed(speaker: &mut Client) {
    while !speaker.wait_for("ui_event").await.contains("NO_AVAILABLE_NODE") {}
}

/// Waits until a client is told of so many members.
pub(crate) async fn members(client: &mut Client, count: usize) {
    loop {
        let text = client.wait_for("room_members").await;
        let Ok(ToSession::RoomMembers(told)) = ToSession::parse(&text) else { panic!("{text}") };
        if told.members.len() == count {
            return;
        }
    }
}

/// The duty that a room belongs to.
pub(crate) fn duty(code: &str) -> String {
    format!("rooms-{}", code.parse::<u32>().unwrap() % 64)
}

/// Who holds a duty.
pub(crate) async fn holder(config: &Config, name: &str) -> String {
    let operator = Operator::new(&config.redis, Default::default()).await.unwrap();
    let duties = operator.duties().await.unwrap();
    duties.into_iter().find(|(duty, _)| duty == name).unwrap().1
}

/// Waits until another one holds a duty.
pub(crate) async fn moved(config: &Config, name: &str, from: &str) {
    for _ in 0..LOOKS {
        let now = holder(config, name).await;
        if now != from && now != "nobody" {
            return;
        }
        tokio::time::sleep(REST).await;
    }
    panic!("{name} stays with {from}");
}

#[tokio::test]
async fn members_of_two_instances_hear_each_other() {
    let redis = Redis::start();
    let (here, there) = (server_with(redis.config()).await, server_with(redis.config()).await);
    let mut node = Node::register(&there, "n1", "zh", "en ja", 4).await;
    let (mut host, code) = host(&here, Some("ja")).await;
    let mut guest = joined(&there, &code, "Ana", "en").await;
    members(&mut host, 2).await;
    for turn in 0..3 {
        let text = format!("from the host {turn}");
        let task = job(&mut host, &mut node).await;
        assert_eq!(task.tgt_lang.as_str(), "en");
        node.answer(&task, &text).await;
        assert_eq!(guest.translation().await.0, text);
        let task = job(&mut guest, &mut node).await;
        assert_eq!(task.tgt_lang.as_str(), "ja");
        node.answer(&task, "from the guest").await;
        assert_eq!(host.translation().await.0, "from the guest");
    }
    guest.send(&format!(r#"{{"type":"room_leave","room_code":"{code}"}}"#)).await;
    members(&mut host, 1).await;
    let mut wrong = Client::open(&there, "zh", "en").await;
    let unknown = if code == "999999" { "999998" } else { "999999" };
    wrong.send(&format!(r#"{{"type":"room_join","room_code":"{unknown}"}}"#)).await;
    assert!(wrong.wait_for("room_error").await.contains("ROOM_NOT_FOUND"));
}

#[tokio::test]
async fn a_room_moves_to_another_instance_while_it_speaks() {
    let redis = Redis::start();
    let (here, there) = (server_with(redis.config()).await, server_with(redis.config()).await);
    let mut node = Node::register(&here, "n1", "zh", "en", 4).await;
    let (mut speaker, code) = host(&here, None).await;
    let mut guest = joined(&there, &code, "Ana", "en").await;
    members(&mut speaker, 2).await;
    let first = job(&mut speaker, &mut node).await;
    node.answer(&first, "0").await;
    assert_eq!(guest.translation().await.0, "0");
    let duty = duty(&code);
    let owner = holder(&redis.config(), &duty).await;
    for url in [&here, &there] {
        // It is refused by the one that does not hold it.
        let released = ask(url, "DELETE", &format!("/api/v1/duties/{duty}")).await;
        assert_eq!(released.status, 202, "{}", released.body);
    }
    let speaking = async {
        for turn in 1..60 {
            speaker.speak(1, true).await;
            let task = node.job().await;
            assert_eq!(task.utterance_index, first.utterance_index + turn);
            node.answer(&task, &turn.to_string()).await;
            assert_eq!(guest.translation().await.0, turn.to_string(), "each once, and in order");
            tokio::time::sleep(REST).await;
        }
    };
    let config = redis.config();
    tokio::join!(speaking, moved(&config, &duty, &owner));
    let mut late = joined(&here, &code, "Bo", "en").await;
    members(&mut speaker, 3).await;
    members(&mut guest, 3).await;
    let task = job(&mut speaker, &mut node).await;
    node.answer(&task, "to both").await;
    assert_eq!(guest.translation().await.0, "to both");
    assert_eq!(late.translation().await.0, "to both");
}

#[tokio::test]
async fn a_room_outlives_the_instance_that_owned_it() {
    let redis = Redis::start();
    let (stop, stopped) = oneshot::channel::<()>();
    let here = serve_until(redis.config(), async { drop(stopped.await) }).await;
    let (_host, code) = host(&here, None).await;
    let there = server_with(redis.config()).await;
    let mut node = Node::register(&there, "n1", "zh", "en", 4).await;
    let mut guest = joined(&there, &code, "Ana", "ja").await;
    let duty = duty(&code);
    let owner = holder(&redis.config(), &duty).await;
    stop.send(()).unwrap();
    moved(&redis.config(), &duty, &owner).await;
    let mut late = joined(&there, &code, "Bo", "en").await;
    members(&mut guest, 2).await;
    let task = job(&mut guest, &mut node).await;
    node.answer(&task, "still here").await;
    assert_eq!(late.translation().await.0, "still here");
}

#[tokio::test]
async fn rooms_of_a_tenant_live_together() {
    let redis = Redis::start();
    let urls = [server_with(redis.config()).await, server_with(redis.config()).await];
    let mut shards = Vec::new();
    for url in urls.iter().cycle().take(4) {
        let chosen = r#""src_lang":"zh","tgt_lang":"en","tenant_id":"acme""#;
        let mut client = Client::choosing(url, chosen).await;
        client.send(r#"{"type":"room_create","client_ts":1}"#).await;
        let text = client.wait_for("room_create_ack").await;
        let Ok(ToSession::RoomCreateAck(ack)) = ToSession::parse(&text) else { panic!("{text}") };
        shards.push(duty(ack.room_code.as_str()));
    }
    shards.dedup();
    assert_eq!(shards.len(), 1, "{shards:?}");
}

#[tokio::test]
async fn too_many_duties_are_posted() {
    let redis = Redis::start();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let webhook = format!("http://{}/hook", listener.local_addr().unwrap());
    let duties = DutyConfig { alarm_above: 5, webhook: webhook.parse().ok(), ..Default::default() };
    let config = redis.config();
    let config = Config { redis: RedisConfig { duties, ..config.redis }, ..config };
    let url = server_with(Config { limits: eager().limits, ..config }).await;
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(b"}") {
        assert!(socket.read_buf(&mut heard).await.unwrap() > 0, "it is closed early");
    }
    socket.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
    let heard = String::from_utf8(heard).unwrap();
    assert!(heard.starts_with("POST /hook HTTP/1.1\r\n"), "{heard}");
    assert!(heard.contains(r#""alarm":"duties","instance":1"#), "{heard}");
    assert!(heard.contains(r#""alarm_above":5"#), "{heard}");
    let mut page = samples(&get(&url, "/metrics").await.body);
    while page["scheduler_duties_held"] < 66.0 {
        tokio::time::sleep(REST).await;
        page = samples(&get(&url, "/metrics").await.body);
    }
    assert_eq!(page["scheduler_duty_alarms_total"], 1.0, "not one for each duty");
}

#[tokio::test]
async fn a_wish_about_a_duty_that_cannot_be_met_is_answered() {
    let alone = server().await;
    let answer = ask(&alone, "PUT", "/api/v1/duties/sweep").await;
    assert_eq!((answer.status, answer.body.contains("no store")), (409, true));
    for name in ["rooms-64", "rooms-", "%2e%2e", "rooms-01"] {
        let answer = ask(&alone, "PUT", &format!("/api/v1/duties/{name}")).await;
        assert_eq!((answer.status, answer.body.contains("rooms-0 to rooms-63")), (404, true));
    }
}
