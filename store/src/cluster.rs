//! Operations that touch several homes on a Cluster: one call at each, in an order in which every
//! crash in between is healed by the next heartbeat or registration.

use lingua_core::{
    Micros, NodeNum, NodeRef, PairFull, Register, RegisterError, Reply, StaleGeneration, State,
};

use crate::call::{self, Call};
use crate::{Store, StoreError};

impl Store {
    /// The directory gives number, generation and class; then the node's generation begins.
    pub(crate) async fn register(
        &self,
        now: Micros,
        register: &Register,
    ) -> Result<Reply, StoreError> {
        let mut enrolled = self.run(now, &call::enrol(register)).await?;
        let refused = match enrolled.int::<u8>()? {
            0 => None,
            1 => Some(PairFull(enrolled.pair()?)),
            2 => {
                let error = RegisterError::TooManyNodes(State::NODES_MAX);
                return Ok(Reply::Registered(Err(error)));
            }
            _ => return Err(enrolled.wrong()),
        };
        let num = enrolled.num()?;
        let listed = match refused {
            None => Some((enrolled.int()?, enrolled.int()?)),
            Some(_) => None,
        };
        let generation = self.run(now, &call::seat(num, register, listed)).await?.int()?;
        Ok(Reply::Registered(match refused {
            None => Ok(NodeRef { num, generation }),
            Some(full) => Err(full.into()),
        }))
    }

    /// A heartbeat or a lost model: where the node's models have changed, the directory lists it
    /// anew and the node is told its class.
    pub(crate) async fn relisting(
        &self,
        now: Micros,
        node: NodeRef,
        call: &Call,
    ) -> Result<Reply, StoreError> {
        let mut answer = self.run(now, call).await?;
        match answer.int::<u8>()? {
            0 => {}
            1 => return Ok(Reply::Node(Err(StaleGeneration))),
            2 => {
                let caps = answer.text()?;
                let mut listed = self.run(now, &call::list(node, &caps)).await?;
                if let Some(class) = listed.maybe()? {
                    self.run(now, &call::relisted(node, class, &caps)).await?;
                }
            }
            _ => return Err(answer.wrong()),
        }
        Ok(Reply::Node(Ok(())))
    }

    /// The node's generation ends; then the directory lists it no longer.
    pub(crate) async fn remove(
        &self,
        now: Micros,
        node: NodeRef,
        call: &Call,
    ) -> Result<Reply, StoreError> {
        let mut answer = self.run(now, call).await?;
        match answer.int::<u8>()? {
            0 => {}
            1 => return Ok(Reply::Node(Err(StaleGeneration))),
            _ => return Err(answer.wrong()),
        }
        self.run(now, &call::list(node, "")).await?;
        Ok(Reply::Node(Ok(())))
    }

    /// The node knows in which free index it stands and shall stand; the classes are told.
    pub(crate) async fn hint(
        &self,
        now: Micros,
        num: NodeNum,
        free: bool,
    ) -> Result<Reply, StoreError> {
        let mut hinted = self.run(now, &call::hinted(num, free)).await?;
        let (stood, shall_stand) = (hinted.maybe::<u32>()?, hinted.maybe::<u32>()?);
        if let Some(class) = stood.filter(|_| stood != shall_stand) {
            self.run(now, &call::hint(class, num, false)).await?;
        }
        // Said again where it stands already: the class may have lost it.
        if let Some(class) = shall_stand {
            self.run(now, &call::hint(class, num, true)).await?;
        }
        Ok(Reply::Done)
    }
}
