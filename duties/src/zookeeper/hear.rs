//! Changes at the board, as ZooKeeper's watches tell them.

use std::time::Duration;

use lingua_core::InstanceId;
use lingua_core::claim::{Change, DutyId, Event, Token};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tracing::{info, warn};
use zookeeper_client::{AddWatchMode, EventType};

use super::ZooKeeperConfig;
use super::error::ZooKeeperError;
use super::place::{Dir, Root, number};
use super::session::Session;

/// Between two attempts to listen.
const AGAIN: Duration = Duration::from_secs(1);

/// Tells of changes for good, by a session of its own: that of the membership comes and goes.
pub(super) async fn hear(config: &ZooKeeperConfig, events: &mpsc::Sender<Event>) {
    let mut up = true;
    loop {
        match listen(config, events).await {
            Ok(()) => up = true,
            Err(error) if up => {
                warn!(%error, "changes are not heard; a tick finds them");
                up = false;
            }
            Err(_) => {}
        }
        sleep(AGAIN).await;
    }
}

/// Until the session is over.
async fn listen(
    config: &ZooKeeperConfig,
    events: &mpsc::Sender<Event>,
) -> Result<(), ZooKeeperError> {
    let root = &config.place.root;
    let session = Session::plain(config).await?;
    let watched = session.client.watch(root.path(), AddWatchMode::PersistentRecursive).await;
    let mut watcher = watched.map_err(|error| ZooKeeperError::at(root.path(), error))?;
    info!("changes are heard");
    loop {
        let event = watcher.changed().await;
        if event.event_type == EventType::Session && event.session_state.is_terminated() {
            return Ok(());
        }
        if let Some(change) = change(root, event.event_type, &event.path) {
            // Older servers do not number what they tell. Without a number it causes a look and
            // nothing else. Where there is no room, what waits there causes one all the same.
            let _ = events.try_send(Event { version: Token::default(), change });
        }
    }
}

/// What has changed; absent where nobody needs to know. Data do not come with the event, so that
/// a drain and its end are told alike.
fn change(root: &Root, what: EventType, path: &str) -> Option<Change> {
    let (dir, name) = path.strip_prefix(root.path())?.strip_prefix('/')?.split_once('/')?;
    let dir = Dir::ALL.into_iter().find(|known| known.name() == dir)?;
    let instance = || number(name).map(InstanceId);
    let duty = || number(name).map(DutyId);
    match (dir, what) {
        (Dir::Members, EventType::NodeCreated) => Some(Change::Joined(instance()?)),
        (Dir::Members, EventType::NodeDeleted) => Some(Change::Left(instance()?)),
        (Dir::Members, EventType::NodeDataChanged) => Some(Change::Drain(instance()?)),
        (Dir::Duties, EventType::NodeCreated) => Some(Change::Created(duty()?)),
        (Dir::Duties, EventType::NodeDeleted) => Some(Change::Removed(duty()?)),
        (Dir::Holders, EventType::NodeDeleted) => Some(Change::Released(duty()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_by_the_path() {
        let root = Root::parse("/a/b").unwrap();
        let told = |what, path| change(&root, what, path);
        let (made, gone, set) =
            (EventType::NodeCreated, EventType::NodeDeleted, EventType::NodeDataChanged);
        assert_eq!(told(made, "/a/b/members/3"), Some(Change::Joined(InstanceId(3))));
        assert_eq!(told(gone, "/a/b/members/3"), Some(Change::Left(InstanceId(3))));
        assert_eq!(told(set, "/a/b/members/3"), Some(Change::Drain(InstanceId(3))));
        assert_eq!(told(made, "/a/b/duties/70000"), Some(Change::Created(DutyId(70_000))));
        assert_eq!(told(gone, "/a/b/duties/0"), Some(Change::Removed(DutyId(0))));
        assert_eq!(told(gone, "/a/b/holders/7"), Some(Change::Released(DutyId(7))));
        for path in [
            "",
            "/",
            "/a/b",
            "/a/b/members",
            "/a/b/members/",
            "/a/b/members/70000",
            "/a/b/x/3",
            "/a/bb/members/3",
            "/a/b/members/3/4",
            "/a/b/duties/x",
        ] {
            assert_eq!(told(gone, path), None, "{path}");
        }
        assert_eq!(told(made, "/a/b/holders/7"), None, "a claim frees nothing");
    }
}
