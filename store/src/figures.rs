//! Figures of all instances for operators: each writes its own, one puts them together, all read.

use lingua_core::InstanceId;
use redis::Value;

use crate::members::plain;
use crate::{Store, StoreError, keys};

/// How long the page lives that nobody renews, in seconds.
const PAGE_LIFE_S: u32 = 600;

/// How much the store holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Headers that wait, by instance.
    pub inboxes: Vec<(InstanceId, u64)>,
    /// Headers that nobody could deal with.
    pub dead_letters: u64,
    /// Nodes that have ever registered.
    pub nodes: u64,
    /// Bytes of memory, where the server tells.
    pub memory: Option<u64>,
}

impl Store {
    /// Writes an instance's own figures.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn put_figures(&self, id: InstanceId, figures: &str) -> Result<(), StoreError> {
        let mut put = redis::cmd("HSET");
        put.arg(keys::FIGURES).arg(id.0).arg(figures);
        self.send(&put, "HSET").await.map(drop)
    }

    /// The figures of all instances, by number.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn all_figures(&self) -> Result<Vec<(InstanceId, String)>, StoreError> {
        let mut get = redis::cmd("HGETALL");
        get.arg(keys::FIGURES);
        let Value::Array(fields) = self.send(&get, "HGETALL").await? else {
            return Ok(Vec::new());
        };
        let read = |pair: &[Value]| {
            Some((InstanceId(plain(&pair[0])?.parse().ok()?), plain(&pair[1])?.to_owned()))
        };
        let mut all: Vec<_> = fields.chunks_exact(2).filter_map(read).collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        Ok(all)
    }

    /// Writes the page that all instances show.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn put_page(&self, page: &str) -> Result<(), StoreError> {
        let mut put = redis::cmd("SET");
        put.arg(keys::PAGE).arg(page).arg("EX").arg(PAGE_LIFE_S);
        self.send(&put, "SET").await.map(drop)
    }

    /// The page that all instances show.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn page(&self) -> Result<Option<String>, StoreError> {
        let mut get = redis::cmd("GET");
        get.arg(keys::PAGE);
        Ok(plain(&self.send(&get, "GET").await?).map(str::to_owned))
    }

    /// How much the store holds, as far as these instances are concerned.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn holdings(&self, instances: &[InstanceId]) -> Result<Holdings, StoreError> {
        let mut inboxes = Vec::new();
        for &id in instances {
            inboxes.push((id, self.count("XLEN", &keys::inbox(id)).await?));
        }
        let dead_letters = self.count("XLEN", keys::DEAD_LETTERS).await?;
        let nodes = self.count("HLEN", keys::NAMES).await?;
        let info = self.info("memory").await?;
        let memory = info.lines().find_map(|line| line.strip_prefix("used_memory:")?.parse().ok());
        Ok(Holdings { inboxes, dead_letters, nodes, memory })
    }

    async fn count(&self, verb: &'static str, key: &str) -> Result<u64, StoreError> {
        let mut ask = redis::cmd(verb);
        ask.arg(key);
        match self.send(&ask, verb).await? {
            Value::Int(count) => Ok(count.max(0) as u64),
            _ => Ok(0),
        }
    }

    /// What the server that holds the directory tells of itself, a section of INFO.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn info(&self, section: &str) -> Result<String, StoreError> {
        // Without a key a Cluster would be asked as a whole.
        let mut ask = redis::cmd("EVAL");
        ask.arg("return redis.call('INFO', ARGV[1])").arg(1).arg(keys::RULES).arg(section);
        Ok(plain(&self.send(&ask, "INFO").await?).unwrap_or_default().to_owned())
    }

    /// A node by its name, where it is registered.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn node_named(&self, name: &str) -> Result<Option<lingua_core::NodeRef>, StoreError> {
        let mut ask = redis::cmd("HGET");
        ask.arg(keys::NAMES).arg(name);
        let num = match plain(&self.send(&ask, "HGET").await?).and_then(|num| num.parse().ok()) {
            Some(num) => lingua_core::NodeNum(num),
            None => return Ok(None),
        };
        Ok(self.registered(num).await?.map(|(node, _)| node))
    }
}
