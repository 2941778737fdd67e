//! Whether the state pages tell the truth.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::probe::peer::pause;
use crate::probe::stage::Stage;
use crate::probe::verdict::{Outcome, Trouble, fail};

/// From one look at a page to the next.
const LOOK: Duration = Duration::from_millis(250);
const NODES: i64 = 3;
const SESSIONS: i64 = 5;
const JOBS: u16 = 3;
/// Words in the names of metrics that count jobs; others rise by being looked at.
const OF_JOBS: [&str; 4] = ["job", "dispatch", "assign", "task"];

/// A page that is there.
async fn page(stage: &Stage, path: &str) -> Result<String, Trouble> {
    let page = match stage.target.get(path).await {
        Ok(page) => page,
        Err(error) => fail!("{error}"),
    };
    match page.status {
        200 => Ok(page.body),
        404 => Err(Trouble::Unsupported(format!("{path} is answered with 404"))),
        401 | 403 => {
            Err(Trouble::NotRun(format!("{path} is for the operator only: probe from there")))
        }
        status => fail!("{path} is answered with {status}"),
    }
}

pub(super) async fn health(stage: &Stage) -> Outcome {
    let body = page(stage, "/health").await?;
    match body.contains("OK") {
        true => Ok("200 OK".into()),
        false => fail!("/health says `{}`", body.chars().take(60).collect::<String>()),
    }
}

pub(super) async fn stats(stage: &Stage) -> Outcome {
    // What other behaviours opened may still be closing.
    let before = quiet(stage).await?;
    let mut nodes = Vec::new();
    let mut clients = Vec::new();
    for _ in 0..NODES {
        nodes.push(stage.node(1).await?);
    }
    for _ in 0..SESSIONS {
        clients.push(stage.client().await?);
    }
    let more = (before.0 + NODES, before.1 + SESSIONS);
    let opened = becomes(stage, more).await?;
    if opened != more {
        let (nodes, sessions) = (opened.0 - before.0, opened.1 - before.1);
        fail!("{NODES} nodes and {SESSIONS} sessions opened; it shows {nodes} and {sessions} more");
    }
    drop((nodes, clients));
    let closed = becomes(stage, before).await?;
    if closed != before {
        fail!(
            "all were closed; it shows {} nodes and {} sessions, not {} and {}",
            closed.0,
            closed.1,
            before.0,
            before.1
        );
    }
    Ok(format!("{NODES} nodes and {SESSIONS} sessions came and went on it"))
}

/// Nodes and sessions on the page.
async fn counts(stage: &Stage) -> Result<(i64, i64), Trouble> {
    let body = page(stage, "/api/v1/stats").await?;
    let Ok(stats) = serde_json::from_str::<Value>(&body) else {
        fail!("/api/v1/stats is not JSON");
    };
    let nodes = stats["nodes"]["connected_nodes"].as_i64();
    let sessions = stats["web_clients"]["active_users"].as_i64();
    match (nodes, sessions) {
        (Some(nodes), Some(sessions)) => Ok((nodes, sessions)),
        _ => fail!("/api/v1/stats lacks nodes.connected_nodes or web_clients.active_users"),
    }
}

/// The counts once they have stood still for as long as a page may be old.
async fn quiet(stage: &Stage) -> Result<(i64, i64), Trouble> {
    let until = Instant::now() + stage.times.page * 2;
    let (mut last, mut since) = (counts(stage).await?, Instant::now());
    while Instant::now() < until && since.elapsed() < stage.times.page {
        pause(LOOK).await;
        let now = counts(stage).await?;
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    Ok(last)
}

/// The counts as soon as they are as wanted, or as they are when the time is over.
async fn becomes(stage: &Stage, wanted: (i64, i64)) -> Result<(i64, i64), Trouble> {
    let until = Instant::now() + stage.times.page;
    loop {
        let now = counts(stage).await?;
        if now == wanted || Instant::now() > until {
            return Ok(now);
        }
        pause(LOOK).await;
    }
}

pub(super) async fn metrics(stage: &Stage) -> Outcome {
    let before = samples(&page(stage, "/metrics").await?)?;
    if !before.iter().any(|(name, _)| name.starts_with("scheduler_")) {
        fail!("none of its {} metrics begins with scheduler_", before.len());
    }
    let mut node = stage.one_node(JOBS).await?;
    let mut client = stage.client().await?;
    for index in 0..JOBS.into() {
        client.say(&[1]).await;
        let job = node.job(stage.times.prompt).await?;
        node.answer(&job, "counted").await;
        client.result(index, stage.times.prompt).await?;
    }
    let until = Instant::now() + stage.times.page;
    loop {
        let after = samples(&page(stage, "/metrics").await?)?;
        // A counter may appear with its first count.
        let old = |name: &str| {
            before.iter().find(|(known, _)| known == name).map_or(0.0, |(_, value)| *value)
        };
        let rose = |(name, value): &&(String, f64)| {
            let counts_jobs = OF_JOBS.iter().any(|word| name.contains(word));
            counts_jobs && value - old(name) >= f64::from(JOBS)
        };
        if let Some((name, value)) = after.iter().find(rose) {
            let (count, old) = (after.len(), old(name));
            return Ok(format!("{count} samples; with {JOBS} jobs {name} rose {old} to {value}"));
        }
        if Instant::now() > until {
            let words = OF_JOBS.join(", ");
            fail!("with {JOBS} jobs no sample named for {words} rose by {JOBS}");
        }
        pause(LOOK).await;
    }
}

/// The samples of a page of Prometheus text: name with labels, and value.
fn samples(text: &str) -> Result<Vec<(String, f64)>, Trouble> {
    let mut samples = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let value = line
            .rsplit_once(' ')
            .and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
        match value {
            Some(sample) => samples.push(sample),
            None => fail!("/metrics has a line that is no sample: `{line}`"),
        }
    }
    Ok(samples)
}
