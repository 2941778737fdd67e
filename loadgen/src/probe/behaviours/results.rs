//! Results that may not count.

use std::time::Duration;

use serde_json::{Value, json};

use crate::probe::client::{Client, end_in};
use crate::probe::node::{Job, Node};
use crate::probe::peer::pause;
use crate::probe::stage::Stage;
use crate::probe::verdict::{Outcome, Trouble, fail};

/// How long a forged result has to do harm.
const HARM: Duration = Duration::from_millis(400);

/// A job under way at the first of two nodes.
struct Scene {
    client: Client,
    nodes: [Node; 2],
    job: Job,
}

impl Scene {
    async fn set(stage: &Stage) -> Result<Self, Trouble> {
        let mut owner = stage.one_node(1).await?;
        let mut client = stage.client().await?;
        client.say(&[1]).await;
        let job = owner.job(stage.times.prompt).await?;
        let other = stage.node(1).await?;
        Ok(Self { client, nodes: [owner, other], job })
    }

    /// What must not count; what must; and what the session may hear.
    async fn play(mut self, stage: &Stage, from: usize, forged: Value, what: &str) -> Outcome {
        self.nodes[from].peer.say(forged).await;
        pause(HARM).await;
        self.nodes[0].answer(&self.job, "true").await;
        self.hears_only_true(stage, what).await
    }

    async fn hears_only_true(&mut self, stage: &Stage, what: &str) -> Outcome {
        let end = self.client.result(0, stage.times.prompt).await?;
        let more = self.client.peer.seek(HARM, end_in).await;
        match (end.as_str(), more) {
            ("true", None) => Ok(format!("{what} did not reach the session")),
            ("true", Some((index, end))) => {
                fail!("after its result the session heard {end} of utterance {index}")
            }
            (other, _) => fail!("{what} reached the session: `{other}`"),
        }
    }
}

pub(super) async fn stale(stage: &Stage) -> Outcome {
    let scene = Scene::set(stage).await?;
    let mut forged = scene.job.result(&scene.nodes[0].id, "forged");
    forged["attempt_id"] = json!(scene.job.attempt + 7);
    scene.play(stage, 0, forged, "the result of another attempt").await
}

pub(super) async fn foreign(stage: &Stage) -> Outcome {
    let scene = Scene::set(stage).await?;
    let forged = scene.job.result(&scene.nodes[1].id, "forged");
    scene.play(stage, 1, forged, "the result of another node").await
}

pub(super) async fn unknown(stage: &Stage) -> Outcome {
    let scene = Scene::set(stage).await?;
    let mut forged = scene.job.result(&scene.nodes[0].id, "forged");
    forged["job_id"] = json!(format!("{}-0", scene.job.id));
    scene.play(stage, 0, forged, "the result of a job that never was").await
}

pub(super) async fn repeated(stage: &Stage) -> Outcome {
    let mut scene = Scene::set(stage).await?;
    scene.nodes[0].answer(&scene.job, "true").await;
    scene.nodes[0].answer(&scene.job, "true").await;
    scene.nodes[0].answer(&scene.job, "other").await;
    scene.hears_only_true(stage, "the second result").await
}
