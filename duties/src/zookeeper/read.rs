//! Reading the board.
//!
//! The directories are read in one snapshot, their children after it, so a view is at least as new
//! as its version. What changes in between is newer than that, as it may be by the time of a claim
//! in any case: the claim decides.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use lingua_core::InstanceId;
use lingua_core::claim::{DutyId, Holder, Member, Membership, Token, View};
use zookeeper_client::Error as ClientError;
use zookeeper_client::{Client, MultiReadResult, Stat};

use super::error::ZooKeeperError;
use super::place::{Dir, Root, number, shown};

/// Most znodes of one request, which ZooKeeper limits to a mebibyte.
const READS_MAX: usize = 1_000;
/// Data of the znode of a member on the drain list.
pub(super) const DRAINS: &[u8] = b"drains";

/// A directory and the names in it.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) stat: Stat,
    names: Vec<String>,
}

impl Listed {
    /// The children that are named as the board names them, sorted.
    fn numbers<N: FromStr + Display + Ord>(&self, strangers: &mut Strangers) -> Vec<N> {
        let name = |name: &String| {
            let number = number(name);
            if number.is_none() {
                strangers.note(name);
            }
            number
        };
        let mut numbers: Vec<N> = self.names.iter().filter_map(name).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// Znodes in the directories that no board has made. They are nobody's and are left alone.
#[derive(Debug, Default)]
pub(super) struct Strangers {
    pub(super) count: usize,
    /// The first of them.
    pub(super) example: String,
}

impl Strangers {
    fn note(&mut self, name: &str) {
        self.count += 1;
        if self.count == 1 {
            self.example = shown(name);
        }
    }
}

/// All directories, at one instant.
#[derive(Debug)]
pub(super) struct Dirs {
    pub(super) members: Listed,
    duties: Listed,
    holders: Listed,
}

impl Dirs {
    /// The latest change. Each one makes or removes a child, or sets the data of a directory.
    fn version(&self) -> Token {
        let stats = [self.members.stat, self.duties.stat, self.holders.stat];
        let latest = stats.iter().flat_map(|stat| [stat.pzxid, stat.mzxid]).max();
        token(latest.unwrap_or_default())
    }
}

/// ZooKeeper numbers all its changes upwards from 1.
pub(super) fn token(zxid: i64) -> Token {
    Token(zxid.try_into().unwrap_or_default())
}

/// A member and the version of its data.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) member: Member,
    pub(super) version: i32,
}

/// Lets what this session reads next be as new as what others have written at other servers: a change
/// that changes nothing comes after theirs. ZooKeeper's own `sync` does not wait at the leader.
pub(super) async fn catch_up(client: &Client, root: &Root) -> Result<(), ZooKeeperError> {
    let failed = |error| ZooKeeperError::at(root.path(), error);
    let check = client.new_check_writer(root.path(), None).map_err(failed)?;
    check.commit().await.map_err(|error| failed(error.into()))?;
    Ok(())
}

pub(super) async fn read_dirs(client: &Client, root: &Root) -> Result<Dirs, ZooKeeperError> {
    let failed = |error| ZooKeeperError::at(root.path(), error);
    let mut reader = client.new_multi_reader();
    for dir in Dir::ALL {
        reader.add_get_data(&root.dir(dir)).map_err(failed)?;
        reader.add_get_children(&root.dir(dir)).map_err(failed)?;
    }
    catch_up(client, root).await?;
    let mut answers = reader.commit().await.map_err(failed)?.into_iter();
    let mut listed = |dir: Dir| match (answers.next(), answers.next()) {
        (
            Some(MultiReadResult::Data { stat, .. }),
            Some(MultiReadResult::Children { children: names }),
        ) => Ok(Listed { stat, names }),
        (Some(MultiReadResult::Error { err }), _) | (_, Some(MultiReadResult::Error { err })) => {
            Err(ZooKeeperError::at(&root.dir(dir), err))
        }
        _ => Err(ZooKeeperError::Unreadable { path: root.dir(dir) }),
    };
    let (members, duties) = (listed(Dir::Members)?, listed(Dir::Duties)?);
    Ok(Dirs { members, duties, holders: listed(Dir::Holders)? })
}

/// Data of many znodes; absent where one is gone.
async fn read_each(
    client: &Client,
    paths: &[String],
) -> Result<Vec<Option<(Vec<u8>, Stat)>>, ZooKeeperError> {
    let mut all = Vec::with_capacity(paths.len());
    for paths in paths.chunks(READS_MAX) {
        let failed = |error| ZooKeeperError::at(&paths[0], error);
        let mut reader = client.new_multi_reader();
        paths.iter().try_for_each(|path| reader.add_get_data(path)).map_err(failed)?;
        for (path, answer) in paths.iter().zip(reader.commit().await.map_err(failed)?) {
            all.push(match answer {
                MultiReadResult::Data { data, stat } => Some((data, stat)),
                MultiReadResult::Error { err: ClientError::NoNode } => None,
                MultiReadResult::Error { err } => return Err(ZooKeeperError::at(path, err)),
                _ => return Err(ZooKeeperError::Unreadable { path: path.clone() }),
            });
        }
    }
    Ok(all)
}

/// The members, sorted.
pub(super) async fn read_members(
    client: &Client,
    root: &Root,
    members: &Listed,
    strangers: &mut Strangers,
) -> Result<Vec<Seat>, ZooKeeperError> {
    let instances = members.numbers(strangers).into_iter().map(InstanceId);
    let paths: Vec<String> = instances.clone().map(|instance| root.member(instance)).collect();
    let read = read_each(client, &paths).await?;
    let mut seats = Vec::with_capacity(paths.len());
    for ((instance, path), read) in instances.zip(&paths).zip(read) {
        let Some((data, stat)) = read else { continue };
        if stat.ephemeral_owner == 0 {
            strangers.note(path);
            continue;
        }
        let membership = Membership { instance, token: token(stat.czxid) };
        let member = Member { membership, draining: data == DRAINS };
        seats.push(Seat { member, version: stat.version });
    }
    Ok(seats)
}

/// Who holds a duty by its znode, which lives as long as the holder's session.
fn holder(data: &[u8], stat: &Stat) -> Option<Holder> {
    let instance = InstanceId(number(std::str::from_utf8(data).ok()?)?);
    (stat.ephemeral_owner != 0).then_some(Holder { instance, token: token(stat.czxid) })
}

/// All that there is.
pub(super) async fn read_view(
    client: &Client,
    root: &Root,
    strangers: &mut Strangers,
) -> Result<View, ZooKeeperError> {
    let dirs = read_dirs(client, root).await?;
    let members = read_members(client, root, &dirs.members, strangers).await?;
    let held = dirs.holders.numbers(strangers).into_iter().map(DutyId);
    let paths: Vec<String> = held.clone().map(|duty| root.holder(duty)).collect();
    let mut holders = HashMap::new();
    for ((duty, path), read) in held.zip(&paths).zip(read_each(client, &paths).await?) {
        let Some((data, stat)) = read else { continue };
        match holder(&data, &stat) {
            Some(holder) => drop(holders.insert(duty, holder)),
            None => strangers.note(path),
        }
    }
    let duties = dirs.duties.numbers(strangers).into_iter().map(DutyId);
    Ok(View {
        version: dirs.version(),
        duties: duties.map(|duty| (duty, holders.get(&duty).copied())).collect(),
        members: members.into_iter().map(|seat| seat.member).collect(),
    })
}
