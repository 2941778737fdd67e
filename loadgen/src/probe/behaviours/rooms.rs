//! Rooms and two-way sessions.

use std::time::Duration;

use serde_json::{Value, json};

use crate::probe::client::{Client, End, end_in};
use crate::probe::node::{NodeLangs, next_job};
use crate::probe::peer::Frame;
use crate::probe::stage::Stage;
use crate::probe::verdict::{Outcome, Trouble, fail};

/// How long a session listens for what it should not hear.
const HARM: Duration = Duration::from_millis(500);

pub(super) async fn room_languages(stage: &Stage) -> Outcome {
    let [src, own, first, second] = &stage.langs;
    // Nodes refuse a second job of one utterance, so there is one for each language. The pair of
    // the trial is theirs too.
    let langs = NodeLangs::new(&[src], &[own, first, second]);
    let mut nodes = [stage.node_of(&langs, 4).await?, stage.node_of(&langs, 4).await?];
    stage.warm_up(&mut nodes).await?;
    let mut speaker = stage.client().await?;
    let code = open_room(stage, &mut speaker).await?;
    let mut listeners = Vec::new();
    for lang in [first, second] {
        let client = Client::open(stage, lang, own, &Value::Null).await?;
        let join = json!({"type": "room_join", "room_code": code, "display_name": "listener",
            "preferred_lang": lang});
        client.peer.say(join).await;
        listeners.push((lang, client));
    }
    let all = |frame: &Frame| {
        let members = frame.value["members"].as_array()?.len();
        (frame.is("room_members") && members == 3).then_some(())
    };
    speaker.peer.wait("three room_members", stage.times.prompt, all).await?;
    speaker.say(&[1]).await;
    for _ in [first, second] {
        let (at, job) = next_job(&mut nodes, stage.times.prompt, |_| true).await?;
        let text = format!("in {}", job.frame["tgt_lang"].as_str().unwrap_or("?"));
        nodes[at].answer(&job, &text).await;
    }
    for (lang, listener) in &mut listeners {
        let heard = all_results(stage, listener).await?;
        if heard != [format!("in {lang}")] {
            fail!("the listener of {lang} heard {heard:?}");
        }
    }
    Ok(format!("{first} and {second}: each listener heard its own language only"))
}

async fn open_room(stage: &Stage, speaker: &mut Client) -> Result<String, Trouble> {
    let create = json!({"type": "room_create", "client_ts": 0, "display_name": "speaker"});
    speaker.peer.say(create).await;
    let told = |frame: &Frame| match frame.value["type"].as_str()? {
        "room_create_ack" => Some(Ok(frame.value["room_code"].as_str()?.to_owned())),
        "error" => Some(Err(frame.value["code"].as_str()?.to_owned())),
        _ => None,
    };
    match speaker.peer.wait("the room's ack", stage.times.prompt, told).await? {
        Ok(code) => Ok(code),
        Err(code) if code == "UNSUPPORTED_FEATURE" => {
            Err(Trouble::Unsupported("room_create is answered with UNSUPPORTED_FEATURE".into()))
        }
        Err(code) => fail!("room_create is answered with {code}"),
    }
}

/// Translations that a session hears until it hears no more.
async fn all_results(stage: &Stage, client: &mut Client) -> Result<Vec<String>, Trouble> {
    let mut heard = Vec::new();
    let what = format!("a translation at {}", client.peer.name());
    let result = |frame: &Frame| match end_in(frame)? {
        (_, End::Result(text)) => Some(text),
        _ => None,
    };
    heard.push(client.peer.wait(&what, stage.times.prompt, result).await?);
    while let Some(more) = client.peer.seek(HARM, result).await {
        heard.push(more);
    }
    Ok(heard)
}

pub(super) async fn two_way(stage: &Stage) -> Outcome {
    let [a, b, ..] = &stage.langs;
    let langs = NodeLangs::new(&[a, b], &[a, b]);
    let mut nodes = [stage.node_of(&langs, 4).await?];
    stage.warm_up(&mut nodes).await?;
    let [node] = &mut nodes;
    let extra = json!({"mode": "two_way_auto", "lang_a": a, "lang_b": b, "auto_langs": [a, b]});
    let mut client = Client::open(stage, "auto", b, &extra).await?;
    for (index, (from, to)) in [(a, b), (b, a)].into_iter().enumerate() {
        client.say(&[index as u8 + 1]).await;
        let job = node.job(stage.times.prompt).await?;
        let named = &job.frame;
        if named["mode"] != "two_way_auto" || named["lang_a"] != **a || named["lang_b"] != **b {
            fail!(
                "the job names mode {}, lang_a {}, lang_b {}: the node cannot know that {b} may be \
                 spoken",
                named["mode"],
                named["lang_a"],
                named["lang_b"]
            );
        }
        let text = format!("{from} to {to}");
        node.answer(&job, &text).await;
        let heard = client.result(index as u64, stage.times.prompt).await?;
        if heard != text {
            fail!("answered `{text}`, heard `{heard}`");
        }
    }
    Ok(format!("{a} to {b} and {b} to {a}"))
}
