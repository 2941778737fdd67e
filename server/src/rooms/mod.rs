//! Rooms whose members are at several instances. Pure: no clock, no socket.
//!
//! Rooms are kept in shards, by their codes, and each shard is owned by one instance at a time: it
//! is a duty. The owner's [`Book`] says who is in a room. Each instance that has members in it keeps
//! a copy at its [`Desk`], by which it makes jobs and passes results on, so speech never waits for
//! an owner.
//!
//! Who is in a room is told by the instance that holds the member's socket. A new owner is told by
//! all of them before it says anything, so nobody is missed when a shard moves; whatever is lost on
//! a broken link is told anew over the next one.

mod book;
mod both;
mod desk;
mod message;
mod room;
#[cfg(test)]
mod tests;

pub(crate) use both::Rooms;
pub(crate) use desk::Told;
pub(crate) use message::{Here, Listing, RoomMessage};
pub(crate) use room::{Member, SHARDS, Wanted, home, shard, tenant_shard};

use book::Book;
use desk::Desk;
use lingua_core::InstanceId;

/// Messages and whom they go to, in order.
pub(crate) type Out = Vec<(InstanceId, RoomMessage)>;
