//! The steps of the board. Each is decided by one request that ZooKeeper carries out whole or not
//! at all; what the request rests on is read before it and checked within it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use lingua_core::InstanceId;
use lingua_core::claim::{Cause, ClaimBoard, DutyId, Join, Membership, Reply, Token};
use tracing::warn;
use zookeeper_client::{Client, CreateMode, Error as ClientError, MultiWriteResult, Stat};

use super::Shared;
use super::error::ZooKeeperError;
use super::place::Dir;
use super::read::{DRAINS, Strangers, catch_up, read_dirs, read_members, read_view, token};
use super::write::{Outcome, Writer};

/// How often a step begins anew because others have changed what it rests on.
const ATTEMPTS_MAX: usize = 16;

type Stepped = Result<Reply, ZooKeeperError>;

/// The steps of one session.
#[derive(Clone, Copy)]
pub(super) struct Steps<'a> {
    pub(super) client: &'a Client,
    pub(super) shared: &'a Shared,
}

impl<'a> Steps<'a> {
    fn writer(self) -> Writer<'a> {
        Writer::new(self.client, self.shared.config.acls())
    }

    fn dir(self, dir: Dir) -> String {
        self.shared.config.place.root.dir(dir)
    }

    async fn stat(self, path: &str) -> Result<Option<Stat>, ZooKeeperError> {
        let stat = self.client.check_stat(path).await;
        stat.map_err(|error| ZooKeeperError::at(path, error))
    }

    /// Makes a child of a directory: its stat, or else why there is none. Several that come at the
    /// same moment may go beyond the most by as many.
    async fn make(
        self,
        dir: Dir,
        path: &str,
        max: usize,
        mode: CreateMode,
    ) -> Result<Result<Stat, Unmade>, ZooKeeperError> {
        let many = self.stat(&self.dir(dir)).await?.map_or(0, |stat| stat.num_children);
        if usize::try_from(many).is_ok_and(|many| many >= max) {
            let is_there = self.stat(path).await?.is_some();
            return Ok(Err(if is_there { Unmade::IsThere } else { Unmade::Full }));
        }
        let options = mode.with_acls(self.shared.config.acls());
        match self.client.create(path, b"", &options).await {
            Ok((stat, _)) => Ok(Ok(stat)),
            Err(ClientError::NodeExists) => Ok(Err(Unmade::IsThere)),
            Err(error) => Err(ZooKeeperError::at(path, error)),
        }
    }

    pub(super) async fn join(self, Join { instance, sent, .. }: Join) -> Stepped {
        let path = self.shared.config.place.root.member(instance);
        let max = ClaimBoard::INSTANCES_MAX;
        Ok(match self.make(Dir::Members, &path, max, CreateMode::Ephemeral).await? {
            Ok(stat) => Reply::Joined(Membership { instance, token: token(stat.czxid) }, sent),
            Err(Unmade::IsThere) => Reply::Duplicate,
            Err(Unmade::Full) => Reply::Full,
        })
    }

    /// Whether a membership of this session stands. A server cut off from its leader cannot say so:
    /// what is read comes after a change that changes nothing.
    pub(super) async fn stands(self, own: Membership) -> Result<bool, ZooKeeperError> {
        catch_up(self.client, &self.shared.config.place.root).await?;
        let stat = self.stat(&self.shared.config.place.root.member(own.instance)).await?;
        Ok(stat.is_some_and(|stat| token(stat.czxid) == own.token))
    }

    pub(super) async fn create(self, duty: DutyId) -> Stepped {
        let path = self.shared.config.place.root.duty(duty);
        let max = ClaimBoard::DUTIES_MAX;
        Ok(match self.make(Dir::Duties, &path, max, CreateMode::Persistent).await? {
            Ok(_) | Err(Unmade::IsThere) => Reply::Done,
            Err(Unmade::Full) => Reply::Full,
        })
    }

    /// With its holder; that there is none is checked by making and deleting one.
    pub(super) async fn remove(self, duty: DutyId) -> Stepped {
        let root = &self.shared.config.place.root;
        let (path, holder) = (root.duty(duty), root.holder(duty));
        for attempt in 0..ATTEMPTS_MAX {
            let mut writer = self.writer().delete(&path)?;
            // A removal is told by the directory's data, for releases under way.
            writer = writer.set(&self.dir(Dir::Duties), b"", None)?;
            if attempt % 2 == 1 {
                writer = writer.create(&holder, b"", CreateMode::Persistent)?;
            }
            match writer.delete(&holder)?.commit().await? {
                Outcome::Done(_) | Outcome::Unmet(0) => return Ok(Reply::Done),
                Outcome::Unmet(_) => {}
            }
        }
        Err(ZooKeeperError::Contended { path: holder })
    }

    /// The membership is one of this session, so its znode is there as long as it stands.
    pub(super) async fn claim(self, duty: DutyId, own: Membership) -> Stepped {
        let root = &self.shared.config.place.root;
        let holder = root.holder(duty);
        let instance = own.instance.0.to_string();
        let writer = self.writer().check(&root.member(own.instance))?.check(&root.duty(duty))?;
        let writer = writer.create(&holder, b"", CreateMode::Ephemeral)?;
        // What a request of many tells of a new znode is wrong in some servers, but not of new data.
        match writer.set(&holder, instance.as_bytes(), None)?.commit().await? {
            Outcome::Done(results) => match results.last() {
                Some(MultiWriteResult::SetData { stat }) => {
                    Ok(Reply::Claimed(duty, token(stat.czxid)))
                }
                _ => Err(ZooKeeperError::Unreadable { path: holder }),
            },
            Outcome::Unmet(0) => Ok(Reply::Ended(own)),
            Outcome::Unmet(_) => Ok(Reply::Taken(duty)),
        }
    }

    /// A holder's znode goes only by its own session or with its duty, and a removal of duties
    /// changes the data of their directory. So the one that is deleted is the one that was read.
    pub(super) async fn release(self, duty: DutyId, own: Token) -> Stepped {
        let (duties, holder) = (self.dir(Dir::Duties), self.shared.config.place.root.holder(duty));
        for _ in 0..ATTEMPTS_MAX {
            catch_up(self.client, &self.shared.config.place.root).await?;
            let before = self.stat(&duties).await?.map_or(0, |stat| stat.version);
            let stat = self.stat(&holder).await?.filter(|stat| token(stat.czxid) == own);
            let Some(stat) = stat else { return Ok(Reply::Released(duty, own)) };
            if stat.ephemeral_owner != self.client.session_id().0 {
                return Err(ZooKeeperError::HeldElsewhere(duty));
            }
            let writer = self.writer().check_version(&duties, before)?.delete(&holder)?;
            if let Outcome::Done(_) = writer.commit().await? {
                return Ok(Reply::Released(duty, own));
            }
        }
        Err(ZooKeeperError::Contended { path: holder })
    }

    /// Each drain changes the data of the members' directory, so that two at once meet.
    pub(super) async fn drain(self, instance: InstanceId, wish: Wish) -> Stepped {
        let root = &self.shared.config.place.root;
        let members = self.dir(Dir::Members);
        for _ in 0..ATTEMPTS_MAX {
            let listed = read_dirs(self.client, root).await?.members;
            let seats = read_members(self.client, root, &listed, &mut Strangers::default()).await?;
            let is_it = |id: InstanceId| id == instance;
            let seat = seats.iter().find(|seat| is_it(seat.member.membership.instance));
            let Some(seat) = seat else { return Ok(Reply::Unknown(instance)) };
            let draining = seats.iter().map(|seat| seat.member).filter(|seat| seat.draining);
            let other = draining.map(|seat| seat.membership.instance).find(|&id| !is_it(id));
            if let (Some(other), Wish::Drain { force: false }) = (other, wish) {
                return Ok(Reply::Draining(other));
            }
            let (drains, data) = match wish {
                Wish::Drain { .. } => (true, DRAINS),
                Wish::Stay => (false, &b""[..]),
            };
            if seat.member.draining == drains {
                return Ok(Reply::Done);
            }
            let writer = self.writer().set(&members, b"", Some(listed.stat.version))?;
            let writer = writer.set(&root.member(instance), data, Some(seat.version))?;
            if let Outcome::Done(_) = writer.commit().await? {
                return Ok(Reply::Done);
            }
        }
        Err(ZooKeeperError::Contended { path: members })
    }

    pub(super) async fn look(self, cause: Cause) -> Stepped {
        let mut strangers = Strangers::default();
        let root = &self.shared.config.place.root;
        let view = read_view(self.client, root, &mut strangers).await?;
        let Strangers { count, example } = strangers;
        if self.shared.strangers.swap(count, Ordering::Relaxed) != count && count > 0 {
            warn!(
                count,
                ?example,
                root = root.path(),
                "znodes that no board has made: delete them"
            );
        }
        Ok(Reply::View(cause, Arc::new(view)))
    }
}

/// Why a child was not made.
enum Unmade {
    IsThere,
    Full,
}

/// What is wished of a member.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wish {
    /// That it goes on the drain list.
    Drain {
        /// Also while another one drains.
        force: bool,
    },
    /// That it is taken off.
    Stay,
}
