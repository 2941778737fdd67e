//! The shared state as lines of text, to compare two executions of the same steps.

use std::fmt::Write;

use crate::state::State;
use crate::state::nodes::may_take;
use crate::{Capabilities, Lang, Micros, NodeNum};

impl State {
    /// All that still counts at `now`, one sorted line per thing. Times are in microseconds.
    pub fn dump(&self, now: Micros) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, num) in self.number_of.sorted() {
            lines.push(format!("name {name} {}", num.0));
        }
        for class in 0..self.directory.class_count() {
            let class = crate::ClassId(class as u32);
            let caps = describe(&self.directory.class(class).caps);
            lines.push(format!("class {} {caps}", class.0));
        }
        for num in 0..self.nodes.len() as u32 {
            self.dump_node(NodeNum(num), &mut lines);
        }
        for (kind, sets) in [("free", &self.free), ("hint", self.hints.free())] {
            for (class, set) in sets.iter().enumerate().filter(|(_, set)| !set.is_empty()) {
                lines.push(format!("{kind} {class} {:?}", set.iter().collect::<Vec<_>>()));
            }
        }
        self.dump_sessions(now, &mut lines);
        for ((num, lease), verdict) in self.verdicts.given.sorted() {
            if verdict.until > now {
                let until = verdict.until.0;
                let refused = verdict.refused;
                lines.push(format!("verdict {} {} {refused:?} until {until}", num.0, lease.0));
            }
        }
        for (model, until) in self.debounces.sorted() {
            if *until > now {
                lines.push(format!("debounce {} until {}", model.0, until.0));
            }
        }
        lines.sort_unstable();
        lines
    }

    fn dump_node(&self, num: NodeNum, lines: &mut Vec<String>) {
        let node = &self.nodes[num.index()];
        lines.push(format!(
            "node {} generation {} live {} owner {} max_jobs {} unleased {} {} draining {} \
             overused {} usage_known_at {} presence {} losses {} available {}",
            num.0,
            node.generation,
            node.live,
            node.owner.0,
            node.max_jobs,
            node.unleased,
            node.unleased_before,
            node.draining,
            node.overused,
            node.usage_known_at.0,
            node.presence.describe(),
            node.model_losses.describe(),
            may_take(node) && self.directory.class_of_node(num).is_some(),
        ));
        if let Some((class, shards)) = self.directory.listing(num) {
            lines.push(format!("listing {} class {} shards {shards:?}", num.0, class.0));
        }
        for (at, l) in node.leases.iter().enumerate() {
            let (id, expires, deadline) = (l.id.0, l.expires.0, l.deadline.0);
            lines.push(format!(
                "lease {} {at:04} {id} of {:?} attempt {} confirmed {} expires {expires} \
                 deadline {deadline}",
                num.0, l.request, l.attempt, l.confirmed,
            ));
        }
    }

    fn dump_sessions(&self, now: Micros, lines: &mut Vec<String>) {
        for (request, answer) in self.requests.sorted() {
            if answer.until > now {
                let until = if answer.has_ended() { answer.until.0 } else { 0 };
                let (attempt, grant) = (answer.attempt, answer.grant);
                lines.push(format!("answer {request:?} {attempt} {grant:?} until {until}"));
            }
        }
        for (request, kept) in self.intents.by_request.sorted() {
            if kept.until > now {
                let (intent, until) = (kept.intent, kept.until.0);
                lines.push(format!("intent {request:?} {intent:?} until {until}"));
            }
        }
        for (session, affinity) in self.affinities.sorted() {
            if affinity.until > now {
                let (node, only, until) = (affinity.node, affinity.only, affinity.until.0);
                lines.push(format!("affinity {} {node:?} only {only:?} until {until}", session.0));
            }
        }
    }
}

/// Capabilities on one line.
fn describe(caps: &Capabilities) -> String {
    let mut line = String::new();
    let lists = [caps.languages.asr(), caps.languages.semantic(), caps.languages.tts()];
    for list in lists {
        let tags: Vec<&str> = list.iter().map(Lang::as_str).collect();
        let _ = write!(line, "{} ", tags.join("|"));
    }
    let models: Vec<u32> = caps.models.iter().map(|model| model.0).collect();
    let region = caps.region.map(|region| region.0);
    let _ = write!(line, "features {} models {models:?} region {region:?}", caps.features.0);
    line
}
