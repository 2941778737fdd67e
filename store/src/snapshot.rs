//! A snapshot: the directory in one step, then each node by itself. It ranks and decides nothing,
//! so it need not be one instant of all.

use futures_util::{StreamExt, TryStreamExt, stream};
use lingua_core::{InstanceId, LookupMap, Micros, NodeNum, NodeRef, Snapshot, State, StoredNode};
use redis::Value;

use crate::text::read_capabilities;
use crate::{Store, StoreError, call, keys};

/// Nodes asked for at once.
const AT_ONCE: usize = 256;

impl Store {
    pub(crate) async fn snapshot(&self, now: Micros) -> Result<Snapshot, StoreError> {
        let mut members = self.run(now, &call::members()).await?;
        let count = members.int::<u32>()?.min(State::NODES_MAX);
        let rule = self.config.state.pool_rule;
        let mut classes = Vec::new();
        for (caps, class) in members.map()? {
            let caps = read_capabilities(&caps, rule).ok_or_else(|| members.wrong())?;
            classes.push((class.parse::<u32>().map_err(|_| members.wrong())?, caps));
        }
        classes.sort_unstable_by_key(|&(class, _)| class);
        let mut listings = LookupMap::default();
        for (num, listing) in members.map()? {
            let num: u32 = num.parse().map_err(|_| members.wrong())?;
            let numbers = listing.split(' ').map(|n| n.parse().ok());
            let numbers: Option<Vec<u16>> = numbers.collect();
            listings.insert(num, numbers.ok_or_else(|| members.wrong())?);
        }
        let asked = (0..count).map(|num| self.stored_node(NodeNum(num)));
        let nodes: Vec<Option<StoredNode>> =
            stream::iter(asked).buffered(AT_ONCE).try_collect().await?;
        let nodes = nodes.into_iter().flatten().map(|node| {
            let listing = listings.remove(&node.num.0);
            let listing = listing.and_then(|numbers| {
                let (&class, shards) = numbers.split_first()?;
                Some((u32::from(class), shards.to_vec()))
            });
            StoredNode { listing, ..node }
        });
        let caps: Vec<_> = classes.into_iter().map(|(_, caps)| caps).collect();
        Ok(Snapshot::restore(&self.config.state, &caps, nodes)?)
    }

    /// The registered nodes whose sockets an instance holds.
    ///
    /// # Errors
    /// The store did not answer as it should.
    pub async fn nodes_of(&self, owner: InstanceId) -> Result<Vec<NodeRef>, StoreError> {
        let mut count = redis::cmd("HLEN");
        count.arg(keys::NAMES);
        let Value::Int(count) = self.send(&count, "HLEN").await? else { return Ok(Vec::new()) };
        let asked = (0..count.clamp(0, State::NODES_MAX.into()) as u32)
            .map(|num| self.registered(NodeNum(num)));
        let nodes: Vec<_> = stream::iter(asked).buffered(AT_ONCE).try_collect().await?;
        let owned = nodes.into_iter().flatten().filter(|(_, at)| *at == owner);
        Ok(owned.map(|(node, _)| node).collect())
    }

    /// A node's generation and who holds its socket, where it is registered.
    pub(crate) async fn registered(
        &self,
        num: NodeNum,
    ) -> Result<Option<(NodeRef, InstanceId)>, StoreError> {
        let [record, _] = keys::node(num);
        let mut get = redis::cmd("HGET");
        get.arg(record).arg("state");
        let state = match self.send(&get, "HGET").await {
            Ok(Value::BulkString(state)) => state,
            Ok(_) | Err(StoreError::Script { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some([1, _, _, _, generation, owner, ..]) = fields(&state) else { return Ok(None) };
        let known = u32::try_from(generation).ok().zip(u16::try_from(owner).ok());
        Ok(known.map(|(generation, owner)| (NodeRef { num, generation }, InstanceId(owner))))
    }

    /// One node without its listing; absent where there is none that can be read.
    async fn stored_node(&self, num: NodeNum) -> Result<Option<StoredNode>, StoreError> {
        let [record, leases] = keys::node(num);
        let mut get = redis::cmd("HGET");
        get.arg(record).arg("state");
        let mut count = redis::cmd("HLEN");
        count.arg(leases);
        let (state, leased) = tokio::join!(self.send(&get, "HGET"), self.send(&count, "HLEN"));
        let read = match (state, leased) {
            (Ok(Value::Nil), _) => return Ok(None),
            (Ok(Value::BulkString(state)), Ok(Value::Int(leased))) => {
                read_state(num, &state, leased)
            }
            // A key of a wrong type; the next step that meets it puts it aside.
            (Err(StoreError::Script { .. }), _) | (_, Err(StoreError::Script { .. })) => None,
            (Err(error), _) | (_, Err(error)) => return Err(error),
            _ => None,
        };
        if read.is_none() {
            self.counts().count_unreadable();
        }
        Ok(read)
    }
}

fn fields(state: &[u8]) -> Option<[i64; 18]> {
    let text = std::str::from_utf8(state).ok()?;
    let fields: Option<Vec<i64>> = text.split(' ').map(|n| n.parse().ok()).collect();
    fields?.try_into().ok()
}

/// The record's text, as `scripts/lib/record.lua` has it.
fn read_state(num: NodeNum, state: &[u8], leased: i64) -> Option<StoredNode> {
    let [live, heard, draining, overused, generation, _, _, _, _, unleased, ..] = fields(state)?;
    Some(StoredNode {
        num,
        live: if live == 1 { Some(u32::try_from(generation).ok()?) } else { None },
        load: u32::try_from(leased + unleased).ok()?,
        available: [live, heard, draining, overused] == [1, 1, 0, 0],
        listing: None,
    })
}
