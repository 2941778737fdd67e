//! The instances that share a store: their numbers, who is there, and what one of them does for all.

use std::time::Duration;

use lingua_core::InstanceId;
use redis::Value;

use crate::client::text;
use crate::{Store, StoreError, keys};

/// A script that is no step on shared state.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Script {
    Present,
    Forget,
    Settle,
    Post,
    Done,
}

impl Script {
    pub(crate) const ALL: [Self; 5] =
        [Self::Present, Self::Forget, Self::Settle, Self::Post, Self::Done];

    pub(crate) fn source(self) -> (&'static str, &'static str) {
        macro_rules! source {
            ($file:literal) => {
                (concat!("members/", $file), include_str!(concat!("../scripts/members/", $file)))
            };
        }
        match self {
            Self::Present => source!("present.lua"),
            Self::Forget => source!("forget.lua"),
            Self::Settle => source!("settle.lua"),
            Self::Post => source!("post.lua"),
            Self::Done => source!("done.lua"),
        }
    }
}

/// An instance that is a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its number.
    pub id: InstanceId,
    /// What it says of itself.
    pub about: String,
    /// Whether its presence lasts.
    pub present: bool,
}

/// What an instance learns when it says that it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roll {
    /// Since when it has been present without a break, in microseconds of the store. Another time
    /// than before: it was forgotten meanwhile, or the store has lost everything.
    pub since: u64,
    /// All members by number, itself among them.
    pub members: Vec<Member>,
}

/// What instances show each other. Never shown to anybody else.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedSecret {
    /// The one that is in the store.
    pub stands: String,
    /// Whether it was put there just now.
    pub is_new: bool,
}

impl Store {
    /// Who is there, without being there oneself.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn roll(&self) -> Result<Roll, StoreError> {
        self.present(InstanceId(0), "", Duration::ZERO).await
    }

    /// A number for a process that starts: no other that is there has it, and none had it lately.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn new_instance(&self) -> Result<InstanceId, StoreError> {
        loop {
            let mut next = redis::cmd("INCR");
            next.arg(keys::INSTANCES);
            let Value::Int(n) = self.send(&next, "INCR").await? else {
                return Err(wrong("INCR"));
            };
            // Zero is the instance without a store.
            let number = (n.max(1) - 1) % i64::from(u16::MAX) + 1;
            let mut taken = redis::cmd("ZSCORE");
            taken.arg(keys::PRESENCE).arg(number);
            if self.send(&taken, "ZSCORE").await? == Value::Nil {
                return Ok(InstanceId(number as u16));
            }
        }
    }

    /// Says that an instance is there for `life`, and what it says of itself.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn present(
        &self,
        id: InstanceId,
        about: &str,
        life: Duration,
    ) -> Result<Roll, StoreError> {
        let args = [id.0.to_string(), life.as_micros().to_string(), about.to_owned()];
        let roll =
            self.call(Script::Present, &[keys::PRESENCE, keys::ABOUT, keys::JOINED], &args).await?;
        read_roll(roll).ok_or_else(|| wrong("members/present.lua"))
    }

    /// An instance is present no more: where it `leaves` in any case, else only if its presence has
    /// ended. Tells whether it is not present now.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn forget(&self, id: InstanceId, leaves: bool) -> Result<bool, StoreError> {
        let args = [id.0.to_string(), u8::from(leaves).to_string()];
        let done = self.call(Script::Forget, &[keys::PRESENCE], &args).await?;
        Ok(done == Value::Int(1))
    }

    /// What an instance has left is cleared up: it is no member any more, unless it has come back.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn settle(&self, id: InstanceId) -> Result<(), StoreError> {
        let keys = [keys::PRESENCE, keys::ABOUT, keys::FIGURES, keys::JOINED];
        self.call(Script::Settle, &keys, &[id.0.to_string()]).await.map(drop)
    }

    /// What instances show each other; `new` where there is nothing yet. A store that holds another
    /// one than before has lost all that it held.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn secret(&self, new: &str) -> Result<SharedSecret, StoreError> {
        let mut give = redis::cmd("SET");
        give.arg(keys::SECRET).arg(new).arg("NX");
        let is_new = self.send(&give, "SET").await? != Value::Nil;
        let mut look = redis::cmd("GET");
        look.arg(keys::SECRET);
        let stands = text(self.send(&look, "GET").await?, "GET")?;
        Ok(SharedSecret { stands, is_new })
    }

    /// No number up to this one is given again, after a store has lost its count.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn skip_instances(&self, id: InstanceId) -> Result<(), StoreError> {
        let mut skip = redis::cmd("INCRBY");
        skip.arg(keys::INSTANCES).arg(id.0);
        self.send(&skip, "INCRBY").await.map(drop)
    }

    /// Tells all instances that the directory or their number has changed.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn tell_changed(&self) -> Result<(), StoreError> {
        let mut publish = redis::cmd("PUBLISH");
        publish.arg(keys::CHANGED).arg("");
        self.send(&publish, "PUBLISH").await.map(drop)
    }

    /// Calls a script that is no step on shared state.
    pub(crate) async fn call(
        &self,
        script: Script,
        keys: &[&str],
        args: &[impl AsRef<str>],
    ) -> Result<Value, StoreError> {
        let (file, source) = script.source();
        let command = |verb: &str, what: &str| {
            let mut command = redis::cmd(verb);
            command.arg(what).arg(keys.len()).arg(keys);
            for arg in args {
                command.arg(arg.as_ref());
            }
            command
        };
        let by_hash = command("EVALSHA", self.member_hash(script));
        match self.send(&by_hash, file).await {
            Err(StoreError::NoScript(_)) => {
                self.counts().count_reload();
                self.send(&command("EVAL", source), file).await
            }
            replied => replied,
        }
    }
}

fn wrong(script: &'static str) -> StoreError {
    StoreError::Reply { script, got: "something else".to_owned() }
}

fn read_roll(value: Value) -> Option<Roll> {
    let Value::Array(parts) = value else { return None };
    let [since, Value::Array(about), Value::Array(present)] = &parts[..] else { return None };
    let since = plain(since)?.parse().ok()?;
    let number =
        |value: &Value| -> Option<InstanceId> { plain(value)?.parse().ok().map(InstanceId) };
    let present: Vec<InstanceId> = present.iter().map(number).collect::<Option<_>>()?;
    let mut members = Vec::new();
    for pair in about.chunks_exact(2) {
        let id = number(&pair[0])?;
        let about = plain(&pair[1])?.to_owned();
        members.push(Member { id, about, present: present.contains(&id) });
    }
    members.sort_unstable_by_key(|member| member.id);
    Some(Roll { since, members })
}

pub(crate) fn plain(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}
