//! Instances that share a store: numbers, presence, inboxes.

use std::time::Duration;

use lingua_core::{InstanceId, StateConfig};
use lingua_store::{Posted, Store};
use redis::cmd;

use crate::servers::Servers;

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(1);

async fn on_both(test: impl AsyncFn(&mut Servers, Store)) {
    for mut servers in [Servers::one(), Servers::cluster()] {
        let store = servers.store(&StateConfig::default()).await;
        test(&mut servers, store).await;
    }
}

fn ids(store: &lingua_store::Roll) -> Vec<(u16, bool)> {
    store.members.iter().map(|member| (member.id.0, member.present)).collect()
}

#[tokio::test]
async fn numbers_are_given_once_and_again_only_when_all_are_used() {
    on_both(async |servers, store| {
        assert_eq!(store.new_instance().await.unwrap(), InstanceId(1));
        assert_eq!(store.new_instance().await.unwrap(), InstanceId(2));
        let connection = &mut servers.connections;
        for connection in connection.iter_mut() {
            // Only the server that has the slot takes it.
            let _ = cmd("SET").arg(lingua_store::keys::INSTANCES).arg(u16::MAX).exec(connection);
        }
        store.present(InstanceId(1), "", LONG).await.unwrap();
        assert_eq!(store.new_instance().await.unwrap(), InstanceId(2), "1 is taken, 0 is none");
    })
    .await;
}

#[tokio::test]
async fn whoever_says_nothing_is_gone_and_may_come_back() {
    on_both(async |_, store| {
        let [one, two] = [InstanceId(1), InstanceId(2)];
        let since = store.present(one, "a", LONG).await.unwrap().since;
        assert_eq!(store.present(one, "b", LONG).await.unwrap().since, since);
        let roll = store.present(two, "c", SHORT).await.unwrap();
        assert_eq!(roll.members[0].about, "b");
        let first = roll.since;
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(ids(&store.roll().await.unwrap()), [(1, true), (2, false)]);
        assert!(!store.forget(one, false).await.unwrap(), "it is there");
        assert!(store.forget(two, false).await.unwrap());
        // It comes back while another one clears up after it.
        let back = store.present(two, "d", LONG).await.unwrap().since;
        assert_ne!(back, first);
        store.settle(two).await.unwrap();
        assert_eq!(ids(&store.roll().await.unwrap()), [(1, true), (2, true)]);
        let again = store.present(two, "d", LONG).await.unwrap().since;
        assert_eq!(again, back, "whoever has not heard it hears it again");
        assert!(store.forget(two, true).await.unwrap());
        store.settle(two).await.unwrap();
        assert_eq!(ids(&store.roll().await.unwrap()), [(1, true)]);
    })
    .await;
}

#[tokio::test]
async fn a_secret_tells_a_store_that_has_lost_everything() {
    on_both(async |servers, store| {
        let first = store.secret("a").await.unwrap();
        assert!(first.is_new && first.stands == "a");
        let second = store.secret("b").await.unwrap();
        assert!(!second.is_new && second.stands == "a");
        servers.flush();
        assert!(store.secret("b").await.unwrap().is_new);
    })
    .await;
}

#[tokio::test]
async fn headers_stay_until_they_are_dealt_with() {
    on_both(async |_, store| {
        let to = InstanceId(7);
        assert_eq!(store.post(to, "early").await.unwrap(), Posted::Gone);
        let mut inbox = store.open_inbox(to).await.unwrap();
        for header in ["a", "b", "c"] {
            assert_eq!(store.post(to, header).await.unwrap(), Posted::In);
        }
        assert!(inbox.read().await.unwrap().is_empty(), "none was read before");
        let entries = inbox.read().await.unwrap();
        let headers: Vec<_> = entries.iter().map(|entry| &*entry.header).collect();
        assert_eq!(headers, ["a", "b", "c"]);
        inbox.acks().done(&[entries[0].id.clone()]).await.unwrap();
        // Whoever opens it anew meets what is not dealt with, and then what comes.
        store.post(to, "d").await.unwrap();
        let mut inbox = store.open_inbox(to).await.unwrap();
        let pending = inbox.read().await.unwrap();
        assert_eq!(pending, entries[1..]);
        let pending: Vec<_> = pending.into_iter().map(|entry| entry.id).collect();
        inbox.acks().done(&pending).await.unwrap();
        assert!(inbox.read().await.unwrap().is_empty());
        assert_eq!(inbox.read().await.unwrap()[0].header, "d");
        // It dies now: another one finds what is left, read or not.
        store.post(to, "e").await.unwrap();
        let left: Vec<_> =
            store.left_by(to).await.unwrap().into_iter().map(|entry| entry.header).collect();
        assert_eq!(left, ["d", "e"]);
        store.drop_inbox(to).await.unwrap();
        assert_eq!(store.post(to, "late").await.unwrap(), Posted::Gone);
        // It lives after all.
        assert!(inbox.read().await.unwrap().is_empty());
        store.post(to, "f").await.unwrap();
        let mut read = Vec::new();
        while read.is_empty() {
            read = inbox.read().await.unwrap();
        }
        assert_eq!(read[0].header, "f");
    })
    .await;
}

#[tokio::test]
async fn what_was_not_acknowledged_comes_again() {
    on_both(async |servers, store| {
        let to = InstanceId(7);
        let mut inbox = store.open_inbox(to).await.unwrap();
        for header in ["a", "b"] {
            store.post(to, header).await.unwrap();
        }
        assert!(inbox.read().await.unwrap().is_empty(), "none was read before");
        let entries = inbox.read().await.unwrap();
        let read: Vec<_> = entries.iter().map(|entry| entry.id.clone()).collect();
        let mut writable = |replicas: &str| {
            for connection in &mut servers.connections {
                let mut set = cmd("CONFIG");
                set.arg("SET").arg("min-replicas-to-write").arg(replicas);
                set.exec(connection).unwrap();
            }
        };
        writable("9");
        inbox.acks().done(&read).await.unwrap_err();
        writable("0");
        assert_eq!(inbox.read().await.unwrap(), entries);
        inbox.acks().done(&read).await.unwrap();
        assert!(inbox.read().await.unwrap().is_empty(), "these are dealt with");
        assert!(store.left_by(to).await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_full_inbox_drops_nothing() {
    on_both(async |_, store| {
        let to = InstanceId(7);
        let _inbox = store.open_inbox(to).await.unwrap();
        let mut taken = 0;
        while store.post(to, "x").await.unwrap() == Posted::In {
            taken += 1;
        }
        assert_eq!(taken, 10_000);
        assert_eq!(store.post(to, "x").await.unwrap(), Posted::Full);
        assert_eq!(store.left_by(to).await.unwrap().len(), 10_000);
    })
    .await;
}

#[tokio::test]
async fn changes_are_heard_by_all() {
    on_both(async |_, store| {
        let (sender, mut changes) = tokio::sync::mpsc::channel(1);
        let hearing = tokio::spawn(store.clone().hear_changes(sender));
        changes.recv().await.expect("a first note, since some may have been missed");
        store.tell_changed().await.unwrap();
        changes.recv().await.expect("the change");
        hearing.abort();
    })
    .await;
}
