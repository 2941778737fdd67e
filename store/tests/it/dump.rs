//! What lies in Redis, as the lines of `State::dump`. Whatever contradicts itself panics.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::str::FromStr;

use lingua_core::*;
use redis::{Connection, cmd};

const LISTING: &str = lingua_store::keys::LISTING;

struct Looker<'a> {
    connections: &'a mut [Connection],
    // Which server holds a key.
    holders: HashMap<String, usize>,
    now: u64,
    lines: Vec<String>,
    listing: BTreeMap<String, String>,
    // Available nodes by class.
    available: BTreeMap<i64, BTreeSet<u32>>,
}

/// All that still counts at `now`.
pub(crate) fn dump(connections: &mut [Connection], now: Micros) -> Vec<String> {
    let mut holders = HashMap::new();
    for (at, connection) in connections.iter_mut().enumerate() {
        let keys: Vec<String> = cmd("KEYS").arg("*").query(connection).unwrap();
        holders.extend(keys.into_iter().map(|key| (key, at)));
    }
    let mut keys: Vec<String> = holders.keys().cloned().collect();
    keys.sort_unstable();
    let mut this = Looker {
        connections,
        holders,
        now: now.0,
        lines: Vec::new(),
        listing: BTreeMap::new(),
        available: BTreeMap::new(),
    };
    if this.holders.contains_key(LISTING) {
        this.listing = this.hash(LISTING);
    }
    for key in &keys {
        this.look(key);
    }
    for key in &keys {
        this.compare_index(key);
    }
    this.lines.sort_unstable();
    this.lines
}

fn parse<T: FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

impl Looker<'_> {
    fn ask<T: redis::FromRedisValue>(&mut self, verb: &str, key: &str, more: &[&str]) -> T {
        let at = self.holders[key];
        cmd(verb).arg(key).arg(more).query(&mut self.connections[at]).unwrap()
    }

    fn hash(&mut self, key: &str) -> BTreeMap<String, String> {
        self.ask("HGETALL", key, &[])
    }

    fn look(&mut self, key: &str) {
        let (home, kind) = key.strip_prefix("lingua:v1:{").unwrap().split_once("}:").unwrap();
        let (tag, id) = home.split_once(':').unwrap_or((home, ""));
        match (tag, kind) {
            ("dir", "names") => {
                let names = self.hash(key);
                self.lines.extend(names.iter().map(|(name, num)| format!("name {name} {num}")));
            }
            ("dir", "classes") => {
                for (caps, class) in self.hash(key) {
                    self.lines.push(format!("class {class} {}", describe(&caps)));
                }
            }
            ("dir", "expiries") => {
                let due: Vec<(String, u64)> = self.ask("ZRANGE", key, &["0", "-1", "WITHSCORES"]);
                for (num, score) in due {
                    let [record, _] = lingua_store::keys::node(NodeNum(parse(&num)));
                    let first: u64 = self.ask("HGET", &record, &["first"]);
                    assert_eq!(score, first, "the expiry of node {num}");
                }
            }
            ("dir", class) if class.starts_with("class:") => {
                let of = |listing: &&String| listing.split(' ').next() == Some(&class[6..]);
                let members = self.listing.values().filter(of).count();
                let listed: usize = self.ask("HGET", key, &["listed"]);
                assert_eq!(listed, members, "members of {class}");
            }
            ("dir", index) if index.starts_with("pair:") || index.starts_with("model:") => {
                let classes: Vec<String> = self.ask("ZRANGE", key, &["0", "-1"]);
                for class in classes {
                    let listing = self.listing.values();
                    let has_nodes = |listing: &String| listing.split(' ').next() == Some(&class);
                    assert!(listing.clone().any(has_nodes), "{index}: class {class} is empty");
                }
            }
            ("dir", "listing") => {
                for (num, listing) in &self.listing {
                    let numbers: Vec<u16> = listing.split(' ').map(parse).collect();
                    let (class, shards) = numbers.split_first().unwrap();
                    self.lines.push(format!("listing {num} class {class} shards {shards:?}"));
                }
            }
            ("n", "node") => self.node(id, key),
            ("n", "leases") => self.leases(id, key),
            ("n", verdict) if verdict.starts_with("verdict:") => {
                let text: String = self.ask("GET", key, &[]);
                let (refused, until) = text.split_once(' ').unwrap();
                let causes = ["Offline", "Full", "Unavailable", "LeftPool", "Excluded"];
                let refused = match refused {
                    "g" => "None".to_owned(),
                    cause => format!("Some({})", causes[parse::<usize>(cause)]),
                };
                let lease = verdict.trim_start_matches("verdict:");
                self.push_until(until, format!("verdict {id} {lease} {refused}"));
            }
            ("c", "free") => self.free(id, key),
            ("m", "debounce") => {
                let until: String = self.ask("GET", key, &[]);
                self.push_until(&until, format!("debounce {id}"));
            }
            ("s", kind) => self.session(id, kind, key),
            _ => {}
        }
    }

    fn push_until(&mut self, until: &str, line: String) {
        if parse::<u64>(until) > self.now {
            self.lines.push(format!("{line} until {until}"));
        }
    }

    fn node(&mut self, id: &str, key: &str) {
        let record = self.hash(key);
        let named: String = self.ask("HGET", lingua_store::keys::NAMES, &[&record["name"]]);
        assert_eq!(named, id, "the number of {}", record["name"]);
        let fields: Vec<i64> = record["state"].split(' ').map(parse).collect();
        let is = |at: usize| fields[at] == 1;
        let class = fields[7];
        let available = is(0) && is(1) && !is(2) && !is(3) && class >= 0;
        if available {
            self.available.entry(class).or_default().insert(parse(id));
        }
        let listed =
            self.listing.get(id).map_or(-1, |listing| parse(listing.split(' ').next().unwrap()));
        assert_eq!(class, listed, "the class of node {id} and of its listing");
        let model = if fields[14] < 0 { None } else { Some(fields[14]) };
        self.lines.push(format!(
            "node {id} generation {} live {} owner {} max_jobs {} unleased {} {} draining {} \
             overused {} usage_known_at {} presence {} {} {} {} losses {model:?} {} {} {} \
             available {available}",
            fields[4],
            is(0),
            fields[5],
            fields[6],
            fields[9],
            fields[10],
            is(2),
            is(3),
            fields[13],
            fields[11],
            fields[12],
            is(1),
            fields[8],
            fields[15],
            fields[16],
            fields[17],
        ));
    }

    fn leases(&mut self, id: &str, key: &str) {
        let mut leases: Vec<(u64, String, Vec<String>)> = Vec::new();
        for (lease, value) in self.hash(key) {
            let fields: Vec<String> = value.split(' ').map(str::to_owned).collect();
            leases.push((parse(&fields[0]), lease, fields));
        }
        leases.sort_unstable();
        let earliest = leases.iter().map(|(.., fields)| parse::<u64>(&fields[1])).min();
        let first: Option<u64> = self.ask("HGET", &key.replace("leases", "node"), &["first"]);
        let first = first.unwrap_or(0);
        assert!(first > 0 && Some(first) <= earliest, "node {id}: {first} {earliest:?}");
        for (at, (_, lease, fields)) in leases.iter().enumerate() {
            let request = RequestId {
                session: SessionId(parse(&fields[5])),
                index: parse(&fields[6]),
                tgt: parse(&fields[7]),
            };
            let (expires, deadline, attempt, confirmed) =
                (&fields[1], &fields[2], &fields[3], fields[4] == "1");
            self.lines.push(format!(
                "lease {id} {at:04} {lease} of {request:?} attempt {attempt} confirmed \
                 {confirmed} expires {expires} deadline {deadline}"
            ));
        }
    }

    fn free(&mut self, id: &str, key: &str) {
        let free: Vec<String> = self.ask("ZRANGEBYSCORE", key, &["0", "0"]);
        let free: Vec<u32> = free.iter().map(|num| parse(num)).collect();
        if !free.is_empty() {
            let kind = if self.connections.len() == 1 { "free" } else { "hint" };
            self.lines.push(format!("{kind} {id} {free:?}"));
        }
    }

    /// On one server the free index holds just the nodes that may be given jobs, and every node
    /// with leases stands among the expiries.
    fn compare_index(&mut self, key: &str) {
        if self.connections.len() > 1 {
            return;
        }
        if let Some(class) = key.strip_prefix("lingua:v1:{c:") {
            let class: i64 = parse(class.trim_end_matches("}:free"));
            let members: Vec<String> = self.ask("ZRANGE", key, &["0", "-1"]);
            let members: BTreeSet<u32> = members.iter().map(|num| parse(num)).collect();
            let available = self.available.get(&class).cloned().unwrap_or_default();
            assert_eq!(members, available, "members of class {class}");
        }
        if let Some(num) = key.strip_suffix("}:leases") {
            let num: u32 = parse(num.trim_start_matches("lingua:v1:{n:"));
            let expiries = "lingua:v1:{dir}:expiries";
            let score: Option<u64> = self.ask("ZSCORE", expiries, &[&format!("{num:07}")]);
            let record = key.replace("leases", "node");
            let first: Option<u64> = self.ask("HGET", &record, &["first"]);
            assert_eq!(score, first, "expiry of node {num}");
        }
    }

    fn session(&mut self, id: &str, kind: &str, key: &str) {
        let text: String = self.ask("GET", key, &[]);
        let fields: Vec<&str> = text.split(' ').collect();
        let vias = [Via::Affinity, Via::Preferred, Via::Candidate, Via::Scan];
        let via = |at: usize| vias[parse::<usize>(fields[at])];
        let node = |num: &str| NodeNum(parse(num));
        if kind == "affinity" {
            let node_ref = NodeRef { num: node(fields[0]), generation: parse(fields[1]) };
            let only: Option<u32> = (fields[3] != "-1").then(|| parse(fields[3]));
            self.push_until(fields[2], format!("affinity {id} {node_ref:?} only {only:?}"));
            return;
        }
        let mut parts = kind.split(':');
        let what = parts.next().unwrap();
        let request = RequestId {
            session: SessionId(parse(id)),
            index: parse(parts.next().unwrap()),
            tgt: parse(parts.next().unwrap()),
        };
        if what == "answer" {
            let node = NodeRef { num: node(fields[1]), generation: parse(fields[2]) };
            let (owner, lease) = (InstanceId(parse(fields[3])), LeaseId(parse(fields[4])));
            let grant = Grant { node, owner, lease, via: via(5) };
            let line = format!("answer {request:?} {} {grant:?}", fields[0]);
            match fields[6] {
                "0" => self.lines.push(format!("{line} until 0")),
                until => self.push_until(until, line),
            }
            return;
        }
        assert_eq!(what, "intent");
        let generation = (fields[5] != "-1").then(|| parse(fields[5]));
        let target =
            (fields[4] != "-1").then(|| Target { node: node(fields[4]), generation, via: via(6) });
        let former = (fields[7] != "-1").then(|| Former {
            node: node(fields[7]),
            lease: LeaseId(parse(fields[8])),
            attempt: parse(fields[9]),
        });
        let intent = Intent {
            attempt: parse(fields[0]),
            lease: LeaseId(parse(fields[1])),
            target,
            former,
            ended: fields[2] == "1",
        };
        self.push_until(fields[3], format!("intent {request:?} {intent:?}"));
    }
}

/// Stored capabilities as `State::dump` describes them.
fn describe(caps: &str) -> String {
    let parts: Vec<&str> = caps.split(';').collect();
    let list = |at: usize| parts[at].trim_matches('|');
    let features = parse::<u64>(parts[3]) << 32 | parse::<u64>(parts[4]);
    let models: Vec<u32> = list(5).split('|').filter(|m| !m.is_empty()).map(parse).collect();
    let region: Option<u16> = (parts[6] != "-1").then(|| parse(parts[6]));
    let langs = [list(0), list(1), list(2)].join(" ");
    format!("{langs} features {features} models {models:?} region {region:?}")
}
