//! Replies of scripts, parsed at the door: nothing of them goes further unless it is whole.

use std::fmt::Write;

use lingua_core::{
    AffinityOutcome, Candidates, Dispatched, Former, Grant, InstanceId, Intended, Intent, LeaseId,
    MissCause, NodeNum, NodeRef, Outcome, Pair, PairFull, Refusal, RegisterError, Released, Reply,
    Reserved, StaleGeneration, State, Target, Via,
};
use redis::Value;

use crate::StoreError;
use crate::script::{Step, file_of};

/// Longest part of a reply that an error shows.
const SHOWN_MAX: usize = 120;

/// What a script replied.
#[derive(Debug)]
pub(crate) struct Answer {
    step: Step,
    // Backwards, so that the next field is the last.
    fields: Vec<Value>,
    /// Keys that could not be read and were put aside.
    pub(crate) quarantined: Vec<String>,
}

impl Answer {
    pub(crate) fn parse(step: Step, value: Value) -> Result<Self, StoreError> {
        let mut this = Self { step, fields: Vec::new(), quarantined: Vec::new() };
        match value {
            Value::Array(fields) => this.fields = fields,
            other => {
                this.fields.push(other);
                return Err(this.wrong());
            }
        }
        this.fields.reverse();
        let count = this.int::<usize>()?;
        if count > this.fields.len() {
            return Err(this.wrong());
        }
        let keys: Vec<Value> = this.fields.drain(..count).collect();
        for key in keys {
            this.quarantined.push(text_of(&key).ok_or_else(|| this.wrong())?);
        }
        Ok(this)
    }

    /// The error of a reply that is none; it shows the fields that are not read yet.
    pub(crate) fn wrong(&self) -> StoreError {
        let mut got = String::new();
        for field in self.fields.iter().rev() {
            let _ = write!(got, "{field:?} ");
        }
        let got = got.chars().take(SHOWN_MAX).collect();
        StoreError::Reply { script: file_of(self.step), got }
    }

    fn next(&mut self) -> Result<Value, StoreError> {
        self.fields.pop().ok_or_else(|| self.wrong())
    }

    /// The next field, a whole number in range; scripts give large ones as text.
    pub(crate) fn int<T: TryFrom<u64>>(&mut self) -> Result<T, StoreError> {
        let n = match self.next()? {
            Value::Int(n) => u64::try_from(n).ok(),
            Value::BulkString(digits) => {
                std::str::from_utf8(&digits).ok().and_then(|d| d.parse().ok())
            }
            _ => None,
        };
        n.and_then(|n| T::try_from(n).ok()).ok_or_else(|| self.wrong())
    }

    /// The next field, a number in range or -1 for none.
    pub(crate) fn maybe<T: TryFrom<u64>>(&mut self) -> Result<Option<T>, StoreError> {
        if self.fields.last() == Some(&Value::Int(-1)) {
            self.fields.pop();
            return Ok(None);
        }
        self.int().map(Some)
    }

    pub(crate) fn text(&mut self) -> Result<String, StoreError> {
        let field = self.next()?;
        text_of(&field).ok_or_else(|| self.wrong())
    }

    /// The next field, keys and values in turn.
    pub(crate) fn map(&mut self) -> Result<Vec<(String, String)>, StoreError> {
        let Value::Array(items) = self.next()? else { return Err(self.wrong()) };
        let texts: Option<Vec<String>> = items.iter().map(text_of).collect();
        let texts = texts.filter(|texts| texts.len() % 2 == 0).ok_or_else(|| self.wrong())?;
        let mut texts = texts.into_iter();
        let mut map = Vec::new();
        while let (Some(key), Some(value)) = (texts.next(), texts.next()) {
            map.push((key, value));
        }
        Ok(map)
    }

    fn flag(&mut self) -> Result<bool, StoreError> {
        match self.int::<u8>()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.wrong()),
        }
    }

    pub(crate) fn num(&mut self) -> Result<NodeNum, StoreError> {
        let num = self.int()?;
        if num < State::NODES_MAX { Ok(NodeNum(num)) } else { Err(self.wrong()) }
    }

    fn maybe_num(&mut self) -> Result<Option<NodeNum>, StoreError> {
        let num = self.maybe::<u32>()?.map(NodeNum);
        if num.is_none_or(|num| num.0 < State::NODES_MAX) { Ok(num) } else { Err(self.wrong()) }
    }

    fn node(&mut self) -> Result<NodeRef, StoreError> {
        Ok(NodeRef { num: self.num()?, generation: self.int()? })
    }

    fn via(&mut self) -> Result<Via, StoreError> {
        let vias = [Via::Affinity, Via::Preferred, Via::Candidate, Via::Scan];
        let via = vias.get(self.int::<usize>()?);
        via.copied().ok_or_else(|| self.wrong())
    }

    fn cause(&mut self, number: usize) -> Result<MissCause, StoreError> {
        let causes = [
            MissCause::Offline,
            MissCause::Full,
            MissCause::Unavailable,
            MissCause::LeftPool,
            MissCause::Excluded,
        ];
        causes.get(number).copied().ok_or_else(|| self.wrong())
    }

    pub(crate) fn pair(&mut self) -> Result<Pair, StoreError> {
        let text = self.text()?;
        let pair = text
            .split_once(':')
            .and_then(|(src, tgt)| Some(Pair { src: src.parse().ok()?, tgt: tgt.parse().ok()? }));
        pair.ok_or_else(|| self.wrong())
    }

    /// The answer to an operation that is one call. `via` is what a reserve asked for.
    pub(crate) fn reply(mut self, asked: Asked) -> Result<Reply, StoreError> {
        let reply = match self.step {
            Step::Register => Reply::Registered(self.registered()?),
            Step::Heartbeat | Step::Drain | Step::Remove | Step::ModelLost => {
                Reply::Node(self.current()?)
            }
            Step::Dispatch => Reply::Dispatched(self.dispatched()?),
            Step::Open | Step::Move => Reply::Intended(self.intended()?),
            Step::Reserve => Reply::Reserved(self.reserved(asked)?),
            Step::Find => Reply::Found(self.found()?),
            Step::Confirm => Reply::Confirmed(self.flag()?),
            Step::Release => Reply::Released(self.released()?),
            Step::Debounce => Reply::First(self.flag()?),
            Step::End | Step::RecordAffinity | Step::ClearAffinity => match self.int::<u8>()? {
                0 => Reply::Done,
                _ => return Err(self.wrong()),
            },
            Step::Enrol
            | Step::Seat
            | Step::List
            | Step::Relisted
            | Step::Hinted
            | Step::Hint
            | Step::Members
            | Step::Duties
            | Step::Work => return Err(self.wrong()),
        };
        self.end()?;
        Ok(reply)
    }

    /// Nothing may be left.
    pub(crate) fn end(&self) -> Result<(), StoreError> {
        if self.fields.is_empty() { Ok(()) } else { Err(self.wrong()) }
    }

    fn registered(&mut self) -> Result<Result<NodeRef, RegisterError>, StoreError> {
        Ok(match self.int::<u8>()? {
            0 => Ok(self.node()?),
            1 => Err(PairFull(self.pair()?).into()),
            2 => Err(RegisterError::TooManyNodes(State::NODES_MAX)),
            _ => return Err(self.wrong()),
        })
    }

    fn current(&mut self) -> Result<Result<(), StaleGeneration>, StoreError> {
        Ok(if self.flag()? { Err(StaleGeneration) } else { Ok(()) })
    }

    fn dispatched(&mut self) -> Result<Dispatched, StoreError> {
        let outcome = self.int::<u8>()?;
        let affinity = match self.int::<usize>()? {
            0 => AffinityOutcome::None,
            1 => AffinityOutcome::Kept,
            missed => AffinityOutcome::Missed(self.cause(missed - 2)?),
        };
        let tried = self.int()?;
        let outcome = match outcome {
            0 => Outcome::Granted(self.grant()?),
            1 => Outcome::Repeated(self.grant()?),
            2 => Outcome::Superseded,
            3 => Outcome::Refused(Refusal::NoFittingNode),
            4 => Outcome::Refused(Refusal::Full),
            _ => return Err(self.wrong()),
        };
        Ok(Dispatched { outcome, affinity, tried })
    }

    fn grant(&mut self) -> Result<Grant, StoreError> {
        let node = self.node()?;
        let owner = InstanceId(self.int()?);
        let lease = LeaseId(self.int()?);
        Ok(Grant { node, owner, lease, via: self.via()? })
    }

    fn intended(&mut self) -> Result<Intended, StoreError> {
        match self.int::<u8>()? {
            0 => Ok(Intended::Stands(self.intent()?)),
            1 => Ok(Intended::Superseded),
            2 => Ok(Intended::Gone),
            _ => Err(self.wrong()),
        }
    }

    fn intent(&mut self) -> Result<Intent, StoreError> {
        let (attempt, lease, ended) = (self.int()?, LeaseId(self.int()?), self.flag()?);
        let (node, generation, via) = (self.maybe_num()?, self.maybe()?, self.via()?);
        let target = node.map(|node| Target { node, generation, via });
        let former = self.maybe_num()?;
        let (former_lease, former_attempt) = (LeaseId(self.int()?), self.int()?);
        let former =
            former.map(|node| Former { node, lease: former_lease, attempt: former_attempt });
        Ok(Intent { attempt, lease, target, former, ended })
    }

    fn reserved(&mut self, asked: Asked) -> Result<Reserved, StoreError> {
        match self.int::<u8>()? {
            0 => {
                let filled = self.flag()?;
                let node = self.node()?;
                let owner = InstanceId(self.int()?);
                let Asked::Slot(lease, via) = asked else { return Err(self.wrong()) };
                Ok(Reserved::Granted { grant: Grant { node, owner, lease, via }, filled })
            }
            1 => {
                let number = self.int()?;
                Ok(Reserved::Refused(self.cause(number)?))
            }
            2 => Ok(Reserved::Over),
            _ => Err(self.wrong()),
        }
    }

    fn found(&mut self) -> Result<Candidates, StoreError> {
        let mut found = Candidates::default();
        while !self.fields.is_empty() {
            let num = self.num()?;
            if !found.push(num) {
                return Err(self.wrong());
            }
        }
        Ok(found)
    }

    fn released(&mut self) -> Result<Released, StoreError> {
        match self.int::<u8>()? {
            0 => Ok(Released::Freed { was_full: self.flag()? }),
            1 => Ok(Released::NoLease),
            2 => Ok(Released::StaleAttempt),
            _ => Err(self.wrong()),
        }
    }
}

/// What of the operation its reply repeats.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asked {
    Slot(LeaseId, Via),
    Other,
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::SimpleString(text) => Some(text.clone()),
        _ => None,
    }
}
