//! Headers from instance to instance: a stream per receiver, with one consumer group. An entry stays
//! until it is dealt with, and whoever clears up after a dead instance finds all that is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lingua_core::InstanceId;
use redis::Value;

use crate::link::Link;
use crate::members::{Script, plain};
use crate::{Store, StoreError, keys};

/// The consumer group of every inbox. Each has one consumer, the instance itself.
const GROUP: &str = "scheduler";
/// Most headers that wait in one inbox.
const INBOX_MAX: u32 = 10_000;
/// Most dead letters that are kept.
const DEAD_LETTERS_MAX: u32 = 1_000;
/// Before all entries.
const FIRST: &str = "0";
/// Longest wait for a header in one call.
const WAIT: Duration = Duration::from_secs(1);
/// Most headers of one call.
const READ_MAX: usize = 256;
/// An inbox that nobody reads is rubbish after so long.
const LIFE: Duration = Duration::from_secs(3_600);

/// What became of a header that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    /// It is in the receiver's inbox.
    In,
    /// The inbox is full.
    Full,
    /// There is no such inbox: the receiver is gone.
    Gone,
}

/// A header in an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its place: later entries have later ones.
    pub id: String,
    /// The header.
    pub header: String,
}

/// The inbox of an instance. It has a connection of its own, since reading it waits.
pub struct Inbox {
    link: Link,
    acks: Acks,
    // Entries that were read before may be pending, after a start and after any error: these are
    // read first, from this one on.
    back: Option<String>,
}

/// Acknowledges headers, beside the reading of further ones.
#[derive(Clone)]
pub struct Acks {
    store: Store,
    key: String,
    // An acknowledgement has failed: what is pending is to be read again.
    failed: Arc<AtomicBool>,
}

impl Store {
    /// Opens the inbox of an instance, and makes it where it is not there.
    ///
    /// # Errors
    /// The store cannot be reached.
    pub async fn open_inbox(&self, id: InstanceId) -> Result<Inbox, StoreError> {
        let link = Link::connect(&self.config, self.config.timeout + 2 * WAIT).await?;
        let (store, key) = (self.clone(), keys::inbox(id));
        let acks = Acks { store, key, failed: Arc::new(AtomicBool::new(false)) };
        let inbox = Inbox { link, acks, back: Some(FIRST.to_owned()) };
        inbox.make().await?;
        Ok(inbox)
    }

    /// Puts a header into an instance's inbox.
    ///
    /// # Errors
    /// The store did not answer as it should; the header may be in.
    pub async fn post(&self, to: InstanceId, header: &str) -> Result<Posted, StoreError> {
        let most = INBOX_MAX.to_string();
        match self.call(Script::Post, &[&keys::inbox(to)], &[&*most, header]).await? {
            Value::Int(1) => Ok(Posted::In),
            Value::Int(0) => Ok(Posted::Full),
            _ => Ok(Posted::Gone),
        }
    }

    /// All headers that a dead instance has left, read or not.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn left_by(&self, id: InstanceId) -> Result<Vec<Entry>, StoreError> {
        let mut range = redis::cmd("XRANGE");
        range.arg(keys::inbox(id)).arg("-").arg("+").arg("COUNT").arg(INBOX_MAX);
        let Value::Array(entries) = self.send(&range, "XRANGE").await? else {
            return Err(wrong("XRANGE"));
        };
        entries.iter().map(|entry| read_entry(entry).ok_or_else(|| wrong("XRANGE"))).collect()
    }

    /// Takes a dead instance's inbox away.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn drop_inbox(&self, id: InstanceId) -> Result<(), StoreError> {
        let mut del = redis::cmd("DEL");
        del.arg(keys::inbox(id));
        self.send(&del, "DEL").await.map(drop)
    }

    /// Keeps a header that nobody can deal with, for whoever looks into it.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn keep_dead_letter(&self, header: &str, why: &str) -> Result<(), StoreError> {
        let mut add = redis::cmd("XADD");
        add.arg(keys::DEAD_LETTERS).arg("MAXLEN").arg("~").arg(DEAD_LETTERS_MAX).arg("*");
        add.arg("header").arg(header).arg("why").arg(why);
        self.send(&add, "XADD").await.map(drop)
    }
}

impl Inbox {
    /// The next headers, in order; none where none came for a while.
    ///
    /// # Errors
    /// The store did not answer. Headers that were on their way come with a later call.
    pub async fn read(&mut self) -> Result<Vec<Entry>, StoreError> {
        if self.acks.failed.swap(false, Ordering::Relaxed) {
            self.back = Some(FIRST.to_owned());
        }
        let Acks { store, key, .. } = &self.acks;
        let mut read = redis::cmd("XREADGROUP");
        read.arg("GROUP").arg(GROUP).arg("self").arg("COUNT").arg(READ_MAX);
        if self.back.is_none() {
            read.arg("BLOCK").arg(WAIT.as_millis() as u64);
        }
        read.arg("STREAMS").arg(key).arg(self.back.as_deref().unwrap_or(">"));
        let replied = store.send_over(&self.link, &read, "XREADGROUP").await;
        let entries = match replied {
            Ok(Value::Nil) => Vec::new(),
            Ok(streams) => read_stream(&streams).ok_or_else(|| wrong("XREADGROUP"))?,
            Err(error) => {
                self.back = Some(FIRST.to_owned());
                if matches!(&error, StoreError::Script { why, .. } if why.contains("NOGROUP")) {
                    self.make().await?;
                    return Ok(Vec::new());
                }
                return Err(error);
            }
        };
        if entries.is_empty() && self.back.is_none() {
            let mut keep = redis::cmd("PEXPIRE");
            keep.arg(key).arg(LIFE.as_millis() as u64);
            store.send(&keep, "PEXPIRE").await?;
        }
        if self.back.is_some() {
            self.back = entries.last().map(|entry| entry.id.clone());
        }
        Ok(entries)
    }

    /// What acknowledges the headers of this inbox.
    pub fn acks(&self) -> Acks {
        self.acks.clone()
    }

    async fn make(&self) -> Result<(), StoreError> {
        let Acks { store, key, .. } = &self.acks;
        let mut create = redis::cmd("XGROUP");
        create.arg("CREATE").arg(key).arg(GROUP).arg("0").arg("MKSTREAM");
        match store.send(&create, "XGROUP").await {
            Err(StoreError::Script { why, .. }) if why.contains("BUSYGROUP") => Ok(()),
            made => made.map(drop),
        }
    }
}

impl Acks {
    /// These headers are dealt with.
    ///
    /// # Errors
    /// The store did not answer as it should: they come again.
    pub async fn done(&self, ids: &[String]) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let args: Vec<&str> = std::iter::once(GROUP).chain(ids.iter().map(|id| &**id)).collect();
        let done = self.store.call(Script::Done, &[&self.key], &args).await;
        if done.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        done.map(drop)
    }
}

/// One stream's entries of a reply.
fn read_stream(streams: &Value) -> Option<Vec<Entry>> {
    let Value::Array(streams) = streams else { return None };
    let [Value::Array(stream)] = &streams[..] else { return None };
    let [_, Value::Array(entries)] = &stream[..] else { return None };
    entries.iter().map(read_entry).collect()
}

/// An entry; one that has been deleted is still listed as pending, without a header.
fn read_entry(entry: &Value) -> Option<Entry> {
    let Value::Array(parts) = entry else { return None };
    let id = plain(parts.first()?)?.to_owned();
    let header = match parts.get(1) {
        Some(Value::Array(fields)) => fields.get(1).and_then(plain).unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    Some(Entry { id, header })
}

fn wrong(script: &'static str) -> StoreError {
    StoreError::Reply { script, got: "something else".to_owned() }
}
