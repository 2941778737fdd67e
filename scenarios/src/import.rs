//! A recorded wire exchange as input: its calls, its nodes, and a scenario that reads both.
//!
//! One JSON object a line: `t` seconds, `socket`, `peer`, `dir`, `msg`. Lines that are none are
//! counted and named, never fatal.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::BufRead;

use serde_json::Value;

use crate::pair::is_language;

/// Notes kept.
const NOTES_MAX: usize = 20;
/// Sessions, nodes and jobs remembered, of each.
const OPEN_MAX: usize = 100_000;
/// Calls taken over.
const CALLS_MAX: u64 = 1_000_000;
/// Bytes of one line: a job with half a megabyte of audio in base64 fits.
const LINE_MAX: usize = 4 << 20;
/// Languages of a node taken over.
const LANGUAGES_MAX: usize = 128;
/// Concurrent jobs of a node that does not tell.
const MAX_JOBS_UNKNOWN: u64 = 4;
/// Bytes of a name that is remembered.
const NAME_MAX: usize = 100;
/// Bytes per millisecond of PCM16 at 16 kHz.
const PCM_BYTES_PER_MS: f64 = 32.0;

/// What an exchange came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Imported {
    /// `time,session,src,tgt,speech_ms,manual`.
    pub calls_csv: String,
    /// `name,asr,semantic,tts,max_jobs,region,service_ms`.
    pub nodes_csv: String,
    /// A scenario that reads `calls.csv` and `nodes.csv` beside it.
    pub scenario_toml: String,
    /// Calls found.
    pub calls: u64,
    /// Nodes found.
    pub nodes: u64,
    /// Lines passed over because they could not be used.
    pub passed_over: u64,
    /// What was passed over, and why; the first few.
    pub notes: Vec<String>,
}

#[derive(Default)]
struct Session {
    src: String,
    tgt: String,
    speech_ms: f64,
}

#[derive(Default)]
struct Node {
    asr: String,
    semantic: String,
    tts: String,
    max_jobs: Option<u64>,
    service_s: f64,
    answers: u64,
}

#[derive(Default)]
struct Reader {
    out: Imported,
    sessions: BTreeMap<String, Session>,
    // The session that a socket opened last, until its acknowledgement names it.
    opening: BTreeMap<String, Session>,
    nodes: BTreeMap<String, Node>,
    node_of_peer: BTreeMap<String, String>,
    jobs: BTreeMap<String, (String, f64)>,
    last: f64,
    first: Option<f64>,
}

/// Reads an exchange.
///
/// # Errors
/// Only where the reader itself fails.
pub fn import(mut reader: impl BufRead) -> std::io::Result<Imported> {
    let mut this = Reader::default();
    this.out.calls_csv.push_str("time,session,src,tgt,speech_ms,manual\n");
    this.out.nodes_csv.push_str("name,asr,semantic,tts,max_jobs,region,service_ms\n");
    let mut line = Vec::new();
    let mut at = 0u64;
    while next_line(&mut reader, &mut line)? {
        at += 1;
        let read = match std::str::from_utf8(&line) {
            _ if line.len() > LINE_MAX => Err(format!("has more than {LINE_MAX} bytes")),
            Err(_) => Err("is not UTF-8 text".to_owned()),
            Ok(text) if text.trim().is_empty() => continue,
            Ok(text) => this.line(text),
        };
        if let Err(what) = read {
            this.out.passed_over += 1;
            this.note(format!("line {at}: {what}"));
        }
    }
    Ok(this.finish())
}

/// Reads up to the next line break. Of a line above the limit only the beginning is kept.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    let mut any = false;
    loop {
        let part = reader.fill_buf()?;
        if part.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = part.iter().position(|&byte| byte == b'\n');
        let taken = end.unwrap_or(part.len());
        let kept = taken.min((LINE_MAX + 1).saturating_sub(line.len()));
        line.extend_from_slice(&part[..kept]);
        reader.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(true);
        }
    }
}

impl Reader {
    fn note(&mut self, note: String) {
        if self.out.notes.len() < NOTES_MAX {
            self.out.notes.push(note);
        }
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let time = value["t"].as_f64().filter(|t| t.is_finite() && *t >= 0.0);
        let time = time.ok_or("`t` is no time in seconds")?;
        let peer = name(&value["peer"]).unwrap_or_default();
        let msg = &value["msg"];
        let Some(kind) = msg["type"].as_str() else { return Ok(()) };
        let first = *self.first.get_or_insert(time);
        let time = (time - first).max(self.last);
        match kind {
            "node_register" | "node_heartbeat" => self.node(&peer, msg)?,
            "node_register_ack" => {
                if let Some(id) = name(&msg["node_id"]) {
                    limited(&mut self.node_of_peer, peer, id)?;
                }
            }
            "session_init" => self.session_init(peer, msg)?,
            "session_init_ack" => {
                let session = self.opening.remove(&peer);
                if let (Some(id), Some(session)) = (name(&msg["session_id"]), session) {
                    limited(&mut self.sessions, id, session)?;
                }
            }
            "session_close" => {
                if let Some(id) = msg["session_id"].as_str() {
                    self.sessions.remove(id);
                }
            }
            "audio_chunk" => self.audio_chunk(time, msg)?,
            "utterance" => self.utterance(time, msg)?,
            "job_assign" => {
                if let Some(job) = name(&msg["job_id"]) {
                    limited(&mut self.jobs, job, (peer, time))?;
                }
            }
            "job_result" => self.job_result(time, msg),
            _ => {}
        }
        Ok(())
    }

    /// A registration or a heartbeat: either may name the languages.
    fn node(&mut self, peer: &str, msg: &Value) -> Result<(), String> {
        let id = name(&msg["node_id"]).unwrap_or_else(|| peer.to_owned());
        let languages = &msg["language_capabilities"];
        let list = |key: &str| {
            let tags = languages[key].as_array().into_iter().flatten();
            let tags = tags.filter_map(Value::as_str).filter(|tag| is_language(tag));
            tags.take(LANGUAGES_MAX).collect::<Vec<_>>().join("+")
        };
        if !self.nodes.contains_key(&id) {
            limited(&mut self.nodes, id.clone(), Node::default())?;
        }
        let Some(node) = self.nodes.get_mut(&id) else { return Ok(()) };
        let lists = [
            (&mut node.asr, list("asr_languages")),
            (&mut node.semantic, list("semantic_languages")),
            (&mut node.tts, list("tts_languages")),
        ];
        for (known, told) in lists {
            if !told.is_empty() {
                *known = told;
            }
        }
        if let Some(max) = msg["max_jobs"].as_u64().filter(|max| (1..=1_024).contains(max)) {
            node.max_jobs = Some(max);
        }
        limited(&mut self.node_of_peer, peer.to_owned(), id)
    }

    fn session_init(&mut self, peer: String, msg: &Value) -> Result<(), String> {
        let text = |key: &str| name(&msg[key]).unwrap_or_default();
        let (mut src, tgt) = (text("src_lang"), text("tgt_lang"));
        if src == "auto" {
            src = text("lang_a");
        }
        limited(&mut self.opening, peer, Session { src, tgt, speech_ms: 0.0 })
    }

    fn audio_chunk(&mut self, time: f64, msg: &Value) -> Result<(), String> {
        let id = msg["session_id"].as_str().ok_or("audio_chunk without session_id")?;
        let bytes = decoded_bytes(msg["payload"].as_str().unwrap_or(""));
        let Some(session) = self.sessions.get_mut(id) else { return Ok(()) };
        session.speech_ms += bytes / PCM_BYTES_PER_MS;
        if msg["is_final"].as_bool() == Some(true) && session.speech_ms > 0.0 {
            let speech_ms = std::mem::take(&mut session.speech_ms);
            let (src, tgt) = (session.src.clone(), session.tgt.clone());
            self.call(time, id, &src, &tgt, speech_ms)?;
        }
        Ok(())
    }

    fn utterance(&mut self, time: f64, msg: &Value) -> Result<(), String> {
        let text = |key: &str| msg[key].as_str().unwrap_or("");
        let speech_ms = decoded_bytes(text("audio")) / PCM_BYTES_PER_MS;
        let (mut src, tgt) = (text("src_lang"), text("tgt_lang"));
        let session = self.sessions.get(text("session_id"));
        let spoken = session.map(|session| session.src.clone()).unwrap_or_default();
        if src == "auto" {
            src = &spoken;
        }
        self.call(time, text("session_id"), src, tgt, speech_ms)
    }

    fn call(
        &mut self,
        time: f64,
        session: &str,
        src: &str,
        tgt: &str,
        speech_ms: f64,
    ) -> Result<(), String> {
        if !is_language(src) || !is_language(tgt) {
            return Err(format!(
                "session {} has no pair of languages: `{}`, `{}`",
                plain(session),
                plain(src),
                plain(tgt)
            ));
        }
        if self.out.calls >= CALLS_MAX {
            return Err(format!("more than {CALLS_MAX} calls"));
        }
        self.last = time;
        self.out.calls += 1;
        let session = plain(session);
        let line = writeln!(self.out.calls_csv, "{time:.3},{session},{src},{tgt},{speech_ms:.0},1");
        line.map_err(|error| error.to_string())
    }

    fn job_result(&mut self, time: f64, msg: &Value) {
        let Some(job) = msg["job_id"].as_str() else { return };
        let Some((peer, assigned)) = self.jobs.remove(job) else { return };
        let Some(name) = self.node_of_peer.get(&peer) else { return };
        if let Some(node) = self.nodes.get_mut(name) {
            node.service_s += (time - assigned).max(0.0);
            node.answers += 1;
        }
    }

    fn finish(mut self) -> Imported {
        let answers: u64 = self.nodes.values().map(|node| node.answers).sum();
        let service: f64 = self.nodes.values().map(|node| node.service_s).sum();
        let mean = if answers == 0 { 1.0 } else { (service / answers as f64).max(0.001) };
        let mut nameless = 0u64;
        for (name, node) in &self.nodes {
            if node.asr.is_empty() || node.tts.is_empty() {
                nameless += 1;
                continue;
            }
            let own = node.service_s / node.answers.max(1) as f64;
            let ms = 1e3 * if node.answers == 0 { mean } else { own.max(0.001) };
            let name = plain(name);
            let line = writeln!(
                self.out.nodes_csv,
                "{name},{},{},{},{},,{ms:.0}",
                node.asr,
                node.semantic,
                node.tts,
                node.max_jobs.unwrap_or(MAX_JOBS_UNKNOWN)
            );
            self.out.nodes += u64::from(line.is_ok());
        }
        if nameless > 0 {
            self.out.notes.push(format!("{nameless} nodes name no languages and are left out"));
        }
        if self.out.passed_over > 0 {
            let note = format!("{} lines could not be used", self.out.passed_over);
            self.out.notes.push(note);
        }
        let seconds = (self.last + 10.0).ceil() as u64;
        self.out.scenario_toml = format!(
            "# Imported from a recorded exchange: its calls at their times, its nodes at their \
             mean speed.\n# Run it with: lingua sim scenario.toml\n\
             title = \"imported exchange\"\nduration = \"{seconds}s\"\nwarmup = \"0s\"\n\n\
             [[nodes]]\nfrom = \"nodes.csv\"\n\n[[arrivals]]\ntrace = \"calls.csv\"\n"
        );
        self.out
    }
}

/// A name that is not too long to be remembered.
fn name(value: &Value) -> Option<String> {
    value.as_str().filter(|name| name.len() <= NAME_MAX).map(str::to_owned)
}

/// The letters, digits and hyphens of a name: nothing that a CSV could take for its own.
fn plain(name: &str) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
    name.chars().filter(fits).take(NAME_MAX).collect()
}

/// Bytes that base64 text decodes to.
fn decoded_bytes(base64: &str) -> f64 {
    let digits = base64.trim_end_matches('=').len();
    (digits * 3 / 4) as f64
}

fn limited<V>(map: &mut BTreeMap<String, V>, key: String, value: V) -> Result<(), String> {
    if map.len() >= OPEN_MAX && !map.contains_key(&key) {
        return Err(format!("more than {OPEN_MAX} open at once"));
    }
    map.insert(key, value);
    Ok(())
}
