//! What the log says. The tests' server runs on their own thread, where its lines are caught.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lingua_server::logs::{LogConfig, LogFormat, subscriber};
use serde_json::Value;
use tokio::sync::oneshot;
use tracing::subscriber::DefaultGuard;

use crate::figures::eager;
use crate::peers::{Client, Node, serve_until};

/// Twenty seconds of speech, which is an utterance's longest.
const LONGEST: usize = 1_000;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn catch(level: &str) -> (Self, DefaultGuard) {
        let lines = Self::default();
        let config = LogConfig { level: level.parse().unwrap(), format: LogFormat::Json };
        let writer = lines.clone();
        let subscriber = subscriber(&config, move || writer.clone());
        (lines, tracing::subscriber::set_default(subscriber))
    }

    /// All lines with this message so far.
    fn said(&self, message: &str) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["message"] == message).collect()
    }

    /// The first line with this message, which must come.
    async fn first(&self, message: &str) -> Value {
        for _ in 0..400 {
            if let Some(line) = self.said(message).into_iter().next() {
                return line;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("never said: {message}\n{}", String::from_utf8_lossy(&self.0.lock().unwrap()));
    }
}

#[tokio::test]
async fn rare_things_are_told_with_their_cause() {
    let (lines, _caught) = Lines::catch("info");
    let (order, ordered) = oneshot::channel::<()>();
    let url = serve_until(eager(), async move { drop(ordered.await) }).await;

    let mut first = Node::register(&url, "n1", "zh", "en", 1).await;
    let line = lines.first("node registered").await;
    assert_eq!(
        (&line["level"], &line["node"], &line["pairs"]),
        (&"INFO".into(), &"n1".into(), &"zh:en".into())
    );
    assert_eq!((&line["max_jobs"], &line["instance"]), (&1.into(), &0.into()));

    let mut lost = Client::open(&url, "zh", "de").await;
    lost.speak(1, true).await;
    let line = lines.first("no node for the pair").await;
    assert_eq!((&line["level"], &line["pair"]), (&"WARN".into(), &"zh:de".into()));
    assert_eq!(line["session"], lost.session());
    assert_eq!(line["cause"], "no_fitting_node");

    let mut client = Client::open(&url, "zh", "en").await;
    client.speak_long(LONGEST).await;
    first.job().await;
    let line = lines.first("affinity set").await;
    assert_eq!((&line["session"], &line["node"]), (&client.session().into(), &"n1".into()));
    let mut second = Node::register(&url, "n2", "zh", "en", 1).await;
    client.speak_long(LONGEST).await;
    let job = second.job().await;
    let line = lines.first("affinity node not usable: another has the job").await;
    assert_eq!((&line["cause"], &line["node"]), (&"full".into(), &"n2".into()));
    assert_eq!((&line["job"], &line["attempt"]), (&job.job_id.as_str().into(), &1.into()));
    second.answer(&job, "good").await;
    client.speak(1, true).await;
    let line = lines.first("affinity cleared").await;
    assert_eq!((&line["session"], &line["node"]), (&client.session().into(), &"n2".into()));

    drop((first, second));
    let line = lines.first("node lost").await;
    assert_eq!(line["cause"], "closed");
    let line = lines.first("pool empty").await;
    assert_eq!((&line["level"], &line["pairs"]), (&"WARN".into(), &"zh:en".into()));
    assert_eq!(lines.said("pool empty").len(), 1, "the pool had a node until the last had gone");

    order.send(()).unwrap();
    lines.first("draining: nothing new is admitted").await;
    assert!(lines.said("job dispatched").is_empty(), "lines about jobs are for debugging");
}

#[tokio::test]
async fn a_flood_of_one_kind_is_cut() {
    let (lines, _caught) = Lines::catch("info");
    let url = serve_until(eager(), std::future::pending()).await;
    let mut client = Client::open(&url, "zh", "de").await;
    for _ in 0..20 {
        client.speak(1, true).await;
        client.error().await;
    }
    let said = lines.said("no node for the pair").len();
    // Twenty hangovers take less than a window; a slow machine may see two windows begin.
    assert!((5..=15).contains(&said), "{said} lines");
}

#[tokio::test]
async fn a_job_can_be_followed_when_it_is_debugged() {
    let (lines, _caught) = Lines::catch("debug");
    let url = serve_until(eager(), std::future::pending()).await;
    let mut node = Node::register(&url, "n1", "zh", "en", 1).await;
    let mut client = Client::open(&url, "zh", "en").await;
    client.speak(1, true).await;
    let job = node.job().await;
    node.answer(&job, "done").await;
    client.translation().await;
    let line = lines.first("job dispatched").await;
    let of = |name: &str| line[name].clone();
    assert_eq!((of("session"), of("node")), (client.session().into(), "n1".into()));
    assert_eq!((of("job"), of("attempt")), (job.job_id.as_str().into(), 1.into()));
    let line = lines.first("job ended").await;
    assert_eq!(line["ending"], "Answered");
}
