//! Names of things, as small numbers.

use crate::Lang;

/// A node's small number, given at registration and reused after its removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeNum(pub u32);

impl NodeNum {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One registration of a node: a new socket for the same name gets the next generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeRef {
    /// Which node.
    pub num: NodeNum,
    /// Which of its sockets.
    pub generation: u32,
}

/// A client's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// One scheduler process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(pub u16);

/// What a job answers: an utterance of a session in one target language.
///
/// The same id asked again gets the same answer, whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId {
    /// The speaker's session.
    pub session: SessionId,
    /// Index of the utterance, from zero.
    pub index: u32,
    /// Target language.
    pub tgt: Lang,
}

/// A reservation of one slot. Unique over all instances: the upper 16 bits are the instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub u64);

impl LeaseId {
    /// The `n`-th lease of an instance.
    pub fn new(instance: InstanceId, n: u64) -> Self {
        assert!(n < 1 << 48, "2^48 leases per instance");
        Self(u64::from(instance.0) << 48 | n)
    }

    /// The instance that made it.
    pub fn instance(self) -> InstanceId {
        InstanceId((self.0 >> 48) as u16)
    }
}

/// A model and version, interned by whoever parses its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelId(pub u32);

/// A region, interned by whoever parses its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId(pub u16);
