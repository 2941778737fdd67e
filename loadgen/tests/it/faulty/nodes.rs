//! Nodes and their jobs: who gets one, what its answer is worth, what becomes of it otherwise.

use std::collections::BTreeSet;
use std::time::Duration;

use lingua_protocol::Base64;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::hub::{Hub, Timer};
use super::sessions::{Cut, Utterance, measure};
use super::sockets::{Order, SocketId};
use super::{Fault, frames};

/// Attempts of a job in all.
const ATTEMPTS: u64 = 2;

#[derive(Debug)]
pub(super) struct Node {
    socket: SocketId,
    asr: BTreeSet<String>,
    tts: BTreeSet<String>,
    max_jobs: usize,
    running: BTreeSet<String>,
    registered: Instant,
    last_beat: Instant,
}

/// What a session speaks and hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Langs {
    src: String,
    tgt: String,
    /// Both languages of a two-way session.
    both: Option<(String, String)>,
}

impl Langs {
    pub(super) fn of_session(init: &Value) -> Self {
        let both = (init["mode"] == "two_way_auto")
            .then(|| (frames::text(init, "lang_a"), frames::text(init, "lang_b")));
        Self { src: frames::text(init, "src_lang"), tgt: frames::text(init, "tgt_lang"), both }
    }

    /// Languages that a node must hear and speak.
    fn pair(&self) -> (&str, &str) {
        match &self.both {
            Some((a, b)) => (a, b),
            None => (&self.src, &self.tgt),
        }
    }
}

#[derive(Debug)]
pub(super) struct Job {
    utterance: Utterance,
    langs: Langs,
    trace: String,
    /// Sessions that hear it in a room; empty outside.
    listeners: Vec<String>,
    attempt: u64,
    node: String,
    tried: Vec<String>,
    answered: bool,
}

impl Hub {
    pub(super) fn node_says(
        &mut self,
        socket: SocketId,
        said: &Value,
    ) -> Result<(), (&'static str, &'static str)> {
        let kind = frames::text(said, "type");
        if kind == "node_register" {
            return self.register(socket, said);
        }
        let id = frames::text(said, "node_id");
        if self.nodes.get(&id).is_none_or(|node| node.socket != socket) {
            return Err(("NODE_ID_CONFLICT", "node_id is not that of this socket"));
        }
        match kind.as_str() {
            "node_heartbeat" => {
                if let Some(node) = self.nodes.get_mut(&id) {
                    node.last_beat = Instant::now();
                }
            }
            "job_result" => self.result(&id, said),
            "asr_partial" => {
                let mut partial = said.clone();
                partial["job_id"] = json!("");
                self.deliver(&frames::text(said, "session_id"), &partial);
            }
            _ => {}
        }
        Ok(())
    }

    fn register(
        &mut self,
        socket: SocketId,
        said: &Value,
    ) -> Result<(), (&'static str, &'static str)> {
        let langs = |field: &str| -> BTreeSet<String> {
            let list = said["language_capabilities"][field].as_array();
            list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let (asr, semantic, tts) =
            (langs("asr_languages"), langs("semantic_languages"), langs("tts_languages"));
        if asr.is_empty() || semantic.is_empty() {
            return Err(("INVALID_CAPABILITY_SCHEMA", "asr and semantic languages are needed"));
        }
        let id = match said["node_id"].as_str() {
            Some(id) => id.to_owned(),
            None => format!("node-{:08X}", self.number()),
        };
        if let Some(old) = self.nodes.get(&id) {
            let error = frames::error("NODE_ID_CONFLICT", "a newer socket registered this node");
            self.send(old.socket, &error);
            if !self.has(Fault::OldSocketEndsNew) {
                self.order(old.socket, Order::Close);
            }
            self.remove_node(&id);
        }
        let node = Node {
            socket,
            asr,
            tts,
            max_jobs: said["max_jobs"].as_u64().unwrap_or(4) as usize,
            running: BTreeSet::new(),
            registered: Instant::now(),
            last_beat: Instant::now(),
        };
        let ack = json!({"type": "node_register_ack", "node_id": id, "message": "registered",
            "status": "registering"});
        self.nodes.insert(id, node);
        self.send(socket, &ack);
        Ok(())
    }

    pub(super) fn close_node_of(&mut self, socket: SocketId) {
        let own = self.nodes.iter().find(|(_, node)| node.socket == socket);
        if let Some(id) = own.map(|(id, _)| id.clone()) {
            self.remove_node(&id);
        } else if self.has(Fault::OldSocketEndsNew) {
            self.end_newer(socket);
        }
    }

    fn remove_node(&mut self, id: &str) {
        let Some(node) = self.nodes.remove(id) else { return };
        if self.has(Fault::OldSocketEndsNew) {
            self.former.push((node.socket, id.to_owned()));
        }
        for job in node.running {
            if self.has(Fault::LosesJobsOfDeadNodes) {
                self.jobs.remove(&job);
            } else {
                self.again(&job, "NODE_UNAVAILABLE");
            }
        }
    }

    /// The planted bug: the clean-up of a former socket knows its node by name only.
    fn end_newer(&mut self, socket: SocketId) {
        let former = self.former.iter().find(|(former, _)| *former == socket);
        if let Some(id) = former.map(|(_, id)| id.clone()) {
            self.remove_node(&id);
        }
    }

    /// Makes the jobs of an utterance: one, or one for each language of a room.
    pub(super) fn dispatch(&mut self, utterance: Utterance) {
        let Some(session) = self.sessions.get(&utterance.session) else { return };
        if session.closed && utterance.cut == Cut::Manual && self.has(Fault::LosesHangoverAtClose) {
            return;
        }
        let (langs, trace) = (session.langs.clone(), session.trace.clone());
        let mut groups = self.listeners(&utterance.session);
        if groups.is_empty() {
            groups.push((langs.tgt.clone(), Vec::new()));
        } else {
            // Listeners hear it in its stead, so its turn is over.
            self.settle(&utterance, Vec::new());
        }
        let mut used = Vec::new();
        for (tgt, listeners) in groups {
            let id = format!("job-{}", self.number());
            let job = Job {
                utterance: utterance.clone(),
                langs: Langs { tgt, ..langs.clone() },
                trace: trace.clone(),
                listeners,
                attempt: 0,
                node: String::new(),
                // A node takes only one job of an utterance.
                tried: used.clone(),
                answered: false,
            };
            self.jobs.insert(id.clone(), job);
            self.place(&id, "NO_AVAILABLE_NODE");
            used.push(self.jobs[&id].node.clone());
        }
    }

    /// Gives a job to a node, or ends it.
    fn place(&mut self, id: &str, otherwise: &'static str) {
        let Some(node_id) = self.choose(id) else {
            if self.has(Fault::CollapsesUnderLoad) {
                self.choked_until = Some(Instant::now() + Duration::from_secs(1));
            }
            return self.fail(id, otherwise);
        };
        let job = self.jobs.get_mut(id).expect("the caller has it");
        job.attempt += 1;
        job.node.clone_from(&node_id);
        job.tried.push(node_id.clone());
        let attempt = job.attempt;
        let one_way = self.has(Fault::ServesOneWay);
        let assign = assign(id, &self.jobs[id], one_way);
        let node = self.nodes.get_mut(&node_id).expect("it was chosen");
        node.running.insert(id.to_owned());
        let socket = node.socket;
        self.send(socket, &assign);
        let job = &self.jobs[id];
        let (session, cut) = (job.utterance.session.clone(), job.utterance.cut);
        let event = json!({"type": "ui_event", "trace_id": job.trace, "session_id": session,
            "job_id": id, "utterance_index": job.utterance.index, "event": "DISPATCHED",
            "status": "ok"});
        if let Some(session) = self.sessions.get_mut(&session) {
            session.affinity = matches!(cut, Cut::Pause | Cut::Duration).then(|| node_id.clone());
            session.pinned.get_or_insert(node_id);
        }
        self.deliver(&session, &event);
        self.dispatched += 1;
        self.later(self.pace.job_timeout, Timer::Unanswered(id.to_owned(), attempt));
    }

    fn choose(&mut self, id: &str) -> Option<String> {
        if self.choked_until.is_some_and(|until| until > Instant::now()) {
            return None;
        }
        let job = &self.jobs[id];
        let (src, tgt) = job.langs.pair();
        let session = self.sessions.get(&job.utterance.session);
        let affinity = session.and_then(|session| session.affinity.clone());
        let pinned = session.and_then(|session| session.pinned.clone());
        let mut fit: Vec<String> = self
            .nodes
            .iter()
            .filter(|(id, node)| {
                let lives = self.has(Fault::KeepsSilentNodes)
                    || node.last_beat.elapsed() < self.pace.presence;
                let free = self.has(Fault::Oversells) || node.running.len() < node.max_jobs;
                let grown = !self.has(Fault::DelaysNewcomers)
                    || node.registered.elapsed() > self.pace.newcomer;
                let speaks = node.asr.contains(src) && node.tts.contains(tgt);
                lives && free && grown && speaks && !job.tried.contains(id)
            })
            .map(|(id, _)| id.clone())
            .collect();
        let wanted = match (self.has(Fault::PinsSessions), self.has(Fault::IgnoresAffinity)) {
            (true, _) => pinned,
            (false, true) => None,
            (false, false) => affinity,
        };
        if let Some(wanted) = wanted.filter(|wanted| fit.contains(wanted)) {
            return Some(wanted);
        }
        if fit.is_empty() {
            return None;
        }
        let at = if self.has(Fault::PicksFirstNode) { 0 } else { self.chance(fit.len()) };
        Some(fit.swap_remove(at))
    }

    /// An attempt is over without an answer: another one, if there is one left.
    fn again(&mut self, id: &str, why: &'static str) {
        let Some(job) = self.jobs.get(id) else { return };
        if job.answered {
            return;
        }
        if job.attempt < ATTEMPTS && !self.has(Fault::NeverRetries) {
            self.place(id, why);
        } else if self.has(Fault::SkipsGapsSilently) {
            self.end(id, Vec::new());
        } else {
            self.fail(id, why);
        }
    }

    pub(super) fn unanswered(&mut self, id: &str, attempt: u64) {
        let Some(job) = self.jobs.get(id) else { return };
        if job.answered || job.attempt != attempt {
            return;
        }
        if let Some(node) = self.nodes.get(&job.node)
            && !self.has(Fault::NeverRetries)
        {
            let cancel = json!({"type": "job_cancel", "job_id": id, "reason": "job_timeout"});
            self.send(node.socket, &cancel);
        }
        self.again(id, "JOB_TIMEOUT");
    }

    fn fail(&mut self, id: &str, code: &str) {
        let job = &self.jobs[id];
        let Utterance { session, index, .. } = job.utterance.clone();
        if code == "NO_AVAILABLE_NODE" {
            self.without_node(&session);
        }
        let messages = frames::failure(&session, &self.jobs[id].trace, index, code);
        self.end(id, messages);
    }

    fn result(&mut self, node: &str, said: &Value) {
        let id = frames::text(said, "job_id");
        if let Some(node) = self.nodes.get_mut(node) {
            node.running.remove(&id);
        }
        let Some(job) = self.jobs.get(&id) else {
            if self.has(Fault::TakesUnknownResults) {
                self.deliver(&frames::text(said, "session_id"), &frames::translation(said));
            }
            return;
        };
        let current = said["attempt_id"] == job.attempt || self.has(Fault::TakesStaleResults);
        let own = job.node == node || self.has(Fault::TakesForeignResults);
        let about = said["session_id"] == *job.utterance.session
            && said["utterance_index"] == job.utterance.index;
        if !current || !own || !about {
            return;
        }
        if job.answered {
            if self.has(Fault::TakesRepeatedResults) {
                self.deliver(&frames::text(said, "session_id"), &frames::translation(said));
            }
            return;
        }
        if said["success"] == true {
            self.end(&id, vec![frames::translation(said)]);
        } else {
            let code = said["error"]["code"].as_str().unwrap_or("PROCESSING_ERROR").to_owned();
            self.fail(&id, &code);
        }
    }

    /// Nothing more comes of a job.
    fn end(&mut self, id: &str, messages: Vec<Value>) {
        let job = self.jobs.get_mut(id).expect("the caller has it");
        job.answered = true;
        let (utterance, listeners) = (job.utterance.clone(), job.listeners.clone());
        if self.has(Fault::NeverAnswers) {
            return;
        }
        if listeners.is_empty() {
            self.settle(&utterance, messages);
        } else if self.has(Fault::AnswersSpeakerOfRoom) {
            for message in messages {
                self.deliver(&utterance.session, &message);
            }
        } else {
            for listener in listeners {
                for message in &messages {
                    self.deliver(&listener, message);
                }
            }
        }
    }
}

fn assign(id: &str, job: &Job, one_way: bool) -> Value {
    let (_, format) = measure(&job.utterance.speech);
    let mut assign = json!({"type": "job_assign", "job_id": id, "attempt_id": job.attempt,
        "session_id": job.utterance.session, "utterance_index": job.utterance.index,
        "src_lang": job.langs.src, "tgt_lang": job.langs.tgt,
        "pipeline": {"use_asr": true, "use_nmt": true, "use_tts": true},
        "audio": Base64::encode(&job.utterance.speech).as_str(), "audio_format": format,
        "sample_rate": 16_000, "trace_id": job.trace});
    match job.utterance.cut {
        Cut::Manual => assign["is_manual_cut"] = json!(true),
        Cut::Pause => assign["is_timeout_triggered"] = json!(true),
        Cut::Duration => assign["is_max_duration_triggered"] = json!(true),
        Cut::Length => {}
    }
    match &job.langs.both {
        Some((a, b)) if one_way => (assign["src_lang"], assign["tgt_lang"]) = (json!(a), json!(b)),
        Some((a, b)) => {
            assign["mode"] = json!("two_way_auto");
            (assign["lang_a"], assign["lang_b"]) = (json!(a), json!(b));
            assign["auto_langs"] = json!([a, b]);
        }
        None => {}
    }
    assign
}
