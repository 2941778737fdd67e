//! What the log says. One subscriber catches the lines of all tests; each looks for its own, by
//! languages that no other test speaks.

use std::io::{self, Write};
use std::sync::{Mutex, Once};
use std::time::Duration;

use lingua_server::logs::{LogConfig, LogFormat, subscriber};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::figures::eager;
use crate::peers::{Client, Node, serve_until};

/// Twenty seconds of speech, which is an utterance's longest.
const LONGEST: usize = 1_000;

static LINES: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Lines;

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        LINES.lock().unwrap().write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn catch_lines() {
    static CAUGHT: Once = Once::new();
    CAUGHT.call_once(|| {
        let level = "info,lingua_server=debug".parse().unwrap();
        let config = LogConfig { level, format: LogFormat::Json };
        tracing::subscriber::set_global_default(subscriber(&config, || Lines)).unwrap();
    });
}

/// The lines with this message in which a field has this value.
fn said(message: &str, field: &str, value: &str) -> Vec<Value> {
    let text = String::from_utf8(LINES.lock().unwrap().clone()).unwrap();
    let about = text.lines().filter(|line| line.contains(message));
    let lines = about.map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["message"] == message && line[field] == value).collect()
}

/// The first such line, which must come, and must be of this level.
async fn first(level: &str, message: &str, field: &str, value: &str) -> Value {
    for _ in 0..400 {
        if let Some(line) = said(message, field, value).into_iter().next() {
            assert_eq!(line["level"], level, "{line}");
            return line;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("never said with {field}={value}: {message}");
}

#[tokio::test]
async fn rare_things_are_told_with_their_cause() {
    catch_lines();
    let url = serve_until(eager(), std::future::pending()).await;
    let mut one = Node::register(&url, "log-1", "qba", "qbb", 1).await;
    let line = first("INFO", "node registered", "node", "log-1").await;
    assert_eq!((&line["pairs"], &line["max_jobs"]), (&"qba:qbb".into(), &1.into()));
    assert_eq!(line["instance"], 0);

    let mut lost = Client::open(&url, "qba", "qbc").await;
    lost.speak(1, true).await;
    let line = first("WARN", "no node for the pair", "pair", "qba:qbc").await;
    assert_eq!(
        (&line["cause"], &line["session"]),
        (&"no_fitting_node".into(), &lost.session().into())
    );

    let mut client = Client::open(&url, "qba", "qbb").await;
    client.speak_long(LONGEST).await;
    one.job().await;
    let line = first("INFO", "affinity set", "node", "log-1").await;
    assert_eq!(line["session"], client.session());
    let mut two = Node::register(&url, "log-2", "qba", "qbb", 1).await;
    client.speak_long(LONGEST).await;
    let job = two.job().await;
    let missed = "affinity node not usable: another has the job";
    let line = first("WARN", missed, "job", job.job_id.as_str()).await;
    assert_eq!((&line["cause"], &line["node"]), (&"full".into(), &"log-2".into()));
    assert_eq!((&line["session"], &line["attempt"]), (&client.session().into(), &1.into()));
    two.answer(&job, "good").await;
    client.speak(1, true).await;
    let line = first("INFO", "affinity cleared", "node", "log-2").await;
    assert_eq!(line["session"], client.session());

    drop((one, two));
    let line = first("INFO", "node lost", "node", "log-1").await;
    assert_eq!(line["cause"], "closed");
    first("WARN", "pool empty", "pairs", "qba:qbb").await;
    let empty = said("pool empty", "pairs", "qba:qbb").len();
    assert_eq!(empty, 1, "the pool had a node until the last had gone");
}

#[tokio::test]
async fn a_drain_is_told() {
    catch_lines();
    let (order, ordered) = oneshot::channel::<()>();
    let mut config = eager();
    // By this this server is known: no other one drains so long.
    config.limits.drain = Duration::from_secs(77);
    let url = serve_until(config, async move { drop(ordered.await) }).await;
    Node::register(&url, "log-3", "qbd", "qbe", 1).await;
    order.send(()).unwrap();
    let limit = || {
        let text = String::from_utf8(LINES.lock().unwrap().clone()).unwrap();
        let drains = text.lines().filter(|line| line.contains("draining: nothing new"));
        drains.filter(|line| line.contains("\"limit_s\":77")).count()
    };
    for _ in 0..400 {
        if limit() == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the drain was never told");
}

#[tokio::test]
async fn a_flood_of_one_kind_is_cut() {
    catch_lines();
    let url = serve_until(eager(), std::future::pending()).await;
    let mut client = Client::open(&url, "qbf", "qbg").await;
    for _ in 0..20 {
        client.speak(1, true).await;
        client.error().await;
    }
    let said = said("no node for the pair", "pair", "qbf:qbg").len();
    // Twenty hangovers take less than a window; a slow machine may see a second and a third begin.
    assert!((5..=15).contains(&said), "{said} lines");
}

#[tokio::test]
async fn a_job_can_be_followed_when_it_is_debugged() {
    catch_lines();
    let url = serve_until(eager(), std::future::pending()).await;
    let mut node = Node::register(&url, "log-4", "qbh", "qbi", 1).await;
    let mut client = Client::open(&url, "qbh", "qbi").await;
    client.speak(1, true).await;
    let job = node.job().await;
    node.answer(&job, "done").await;
    client.translation().await;
    let line = first("DEBUG", "job dispatched", "node", "log-4").await;
    assert_eq!((&line["session"], &line["attempt"]), (&client.session().into(), &1.into()));
    assert_eq!(line["job"], job.job_id.as_str());
    let line = first("DEBUG", "job ended", "session", client.session()).await;
    assert_eq!((&line["ending"], &line["job"]), (&"Answered".into(), &job.job_id.as_str().into()));
}
