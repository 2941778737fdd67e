//! What goes wrong at ZooKeeper: a clear error, or nothing bad.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lingua_core::claim::{
    Cause, Change, ClaimBoard, DutyId, Join, Membership, Op, Reply, Token, View,
};
use lingua_core::{InstanceId, Micros};
use lingua_duties::Coordinator;
use lingua_duties::zookeeper::{ZooKeeper, ZooKeeperConfig, ZooKeeperError};
use lingua_testbed::{PATIENCE, ZooKeeperServer};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use zookeeper_client::{Acls, Client, CreateMode};

use crate::zookeeper::{Way, at_zookeeper, new_root, zookeeper};

const DUTY: DutyId = DutyId(7);
/// The shortest that the server of the tests allows is a session of a second.
const SHORT: Micros = Micros::secs(1);
const LONG: Micros = Micros::secs(40);

async fn step(board: &ZooKeeper, op: Op) -> Reply {
    board.apply(Micros::ZERO, op).await.unwrap()
}

fn join_as(id: u16, lease: Micros) -> Op {
    Op::Join(Join { instance: InstanceId(id), lease, sent: Micros::ZERO })
}

async fn joined(board: &ZooKeeper, id: u16, lease: Micros) -> Membership {
    match step(board, join_as(id, lease)).await {
        Reply::Joined(own, _) => own,
        other => panic!("{other:?}"),
    }
}

async fn claimed(board: &ZooKeeper, own: Membership) -> Token {
    match step(board, Op::Claim(DUTY, own)).await {
        Reply::Claimed(DUTY, token) => token,
        other => panic!("{other:?}"),
    }
}

async fn look(board: &ZooKeeper) -> Arc<View> {
    match step(board, Op::Look(Cause::Tick)).await {
        Reply::View(_, view) => view,
        other => panic!("{other:?}"),
    }
}

/// Waits until nobody is a member any more.
async fn until_deserted(board: &ZooKeeper) -> Arc<View> {
    let since = Instant::now();
    loop {
        let view = look(board).await;
        if view.members.is_empty() {
            return view;
        }
        assert!(since.elapsed() < PATIENCE, "{view:?}");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_session_that_has_expired_is_never_used_again() {
    let (server, root) = (ZooKeeperServer::shared(), new_root());
    let way = Way::to(server.port()).await;
    let (first, second) =
        (zookeeper(&way.address(), &root).await, zookeeper(&server.address(), &root).await);
    step(&second, Op::Create(DUTY)).await;
    let own = joined(&first, 1, SHORT).await;
    let token = claimed(&first, own).await;
    way.set_cut(true);
    let view = until_deserted(&second).await;
    assert_eq!(view.duties, [(DUTY, None)], "what it held goes with it");
    let other = joined(&second, 2, LONG).await;
    let later = claimed(&second, other).await;
    assert!(later > token, "{later:?} {token:?}");

    way.set_cut(false);
    let since = Instant::now();
    loop {
        match first.apply(Micros::ZERO, Op::Renew(own, Micros::ZERO)).await {
            Ok(Reply::Ended(ended)) if ended == own => break,
            Ok(other) => panic!("{other:?}"),
            Err(error) => assert!(since.elapsed() < PATIENCE, "{error}"),
        }
    }
    assert_eq!(step(&first, Op::Claim(DUTY, own)).await, Reply::Ended(own));
    assert_eq!(step(&first, Op::Release(DUTY, token)).await, Reply::Released(DUTY, token));
    let holder = look(&first).await.holder(DUTY).unwrap();
    assert_eq!((holder.instance, holder.token), (InstanceId(2), later));
    let anew = joined(&first, 1, LONG).await;
    assert!(anew.token > later, "{anew:?} {later:?}");
}

#[tokio::test]
async fn a_membership_that_nobody_renews_ends() {
    let (server, root) = (ZooKeeperServer::shared(), new_root());
    let (first, second) =
        (zookeeper(&server.address(), &root).await, zookeeper(&server.address(), &root).await);
    step(&second, Op::Create(DUTY)).await;
    let own = joined(&first, 1, SHORT).await;
    claimed(&first, own).await;
    // The connection stands all the time.
    assert_eq!(until_deserted(&second).await.duties, [(DUTY, None)]);
    assert_eq!(step(&first, Op::Renew(own, Micros::ZERO)).await, Reply::Ended(own));
    joined(&first, 1, SHORT).await;
}

#[tokio::test]
async fn an_instance_of_the_same_name_waits_until_the_first_has_gone() {
    let (server, root) = (ZooKeeperServer::shared(), new_root());
    let (first, second) =
        (zookeeper(&server.address(), &root).await, zookeeper(&server.address(), &root).await);
    let own = joined(&first, 1, LONG).await;
    assert_eq!(step(&second, join_as(1, LONG)).await, Reply::Duplicate);
    assert_eq!(step(&first, join_as(1, LONG)).await, Reply::Duplicate);
    assert_eq!(step(&second, Op::Renew(own, Micros::ZERO)).await, Reply::Ended(own));
    assert_eq!(step(&first, Op::Renew(own, Micros::ZERO)).await, Reply::Renewed(own, Micros::ZERO));
    step(&first, Op::Leave(own)).await;
    let anew = joined(&second, 1, LONG).await;
    assert!(anew.token > own.token, "{anew:?} {own:?}");
    let occupied = second.apply(Micros::ZERO, join_as(2, LONG)).await;
    assert!(matches!(occupied, Err(ZooKeeperError::Occupied(InstanceId(1)))), "{occupied:?}");
}

#[tokio::test]
async fn only_its_own_session_releases_a_duty() {
    let (server, root) = (ZooKeeperServer::shared(), new_root());
    let (first, second) =
        (zookeeper(&server.address(), &root).await, zookeeper(&server.address(), &root).await);
    step(&first, Op::Create(DUTY)).await;
    let own = joined(&first, 1, LONG).await;
    let token = claimed(&first, own).await;
    let refused = second.apply(Micros::ZERO, Op::Release(DUTY, token)).await;
    assert!(matches!(refused, Err(ZooKeeperError::HeldElsewhere(DUTY))), "{refused:?}");
    assert!(look(&second).await.holder(DUTY).is_some());
    step(&first, Op::Release(DUTY, token)).await;
    assert_eq!(look(&second).await.holder(DUTY), None);
}

#[tokio::test]
async fn without_authority_nothing_begins() {
    let server = ZooKeeperServer::shared();
    let (address, root) = (server.address(), new_root());
    let come = async |root: &str, credentials| {
        ZooKeeper::connect(at_zookeeper(&address, root, credentials)).await
    };
    come(&root, Some("lingua:secret")).await.unwrap();
    for credentials in [None, Some("lingua:wrong")] {
        let error = come(&root, credentials).await.unwrap_err();
        let told = error.to_string();
        assert!(matches!(error, ZooKeeperError::Denied { .. }), "{told}");
        assert!(told.contains(&format!("{root}/members")) && told.contains("ACL"), "{told}");
    }
    come(&root, Some("lingua:secret")).await.unwrap();

    // Each right on its own: a root where nothing can be made, and a board that can only be read.
    let raw = Client::connect(&address).await.unwrap();
    let read_only = CreateMode::Persistent.with_acls(Acls::anyone_read());
    let all = CreateMode::Persistent.with_acls(Acls::anyone_all());
    let (bare, shown) = (new_root(), new_root());
    raw.mkdir(bare.rsplit_once('/').unwrap().0, &all).await.unwrap();
    raw.create(&bare, b"", &read_only).await.unwrap();
    raw.mkdir(&shown, &all).await.unwrap();
    for (dir, options) in [("members", &all), ("duties", &all), ("holders", &read_only)] {
        raw.create(&format!("{shown}/{dir}"), b"", options).await.unwrap();
    }
    for (root, dir) in [(bare, "members"), (shown, "holders")] {
        match come(&root, None).await {
            Err(ZooKeeperError::Denied { path }) => assert_eq!(path, format!("{root}/{dir}")),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_lease_that_the_server_does_not_give_is_no_membership() {
    let (server, root) = (ZooKeeperServer::shared(), new_root());
    let board = zookeeper(&server.address(), &root).await;
    for lease in [Micros::ZERO, Micros::millis(100), Micros::secs(1_000)] {
        let error = board.apply(Micros::ZERO, join_as(1, lease)).await.unwrap_err();
        assert!(matches!(error, ZooKeeperError::SessionTime { .. }), "{error}");
        assert!(error.to_string().contains("minSessionTimeout"), "{error}");
        let config = at_zookeeper(&server.address(), &root, None);
        let error = ZooKeeper::connect_for(lease, config).await.unwrap_err();
        assert!(matches!(error, ZooKeeperError::SessionTime { .. }), "{error}");
    }
    ZooKeeper::connect_for(LONG, at_zookeeper(&server.address(), &root, None)).await.unwrap();
    assert!(look(&board).await.members.is_empty());
}

#[tokio::test]
async fn a_server_that_is_away_is_told_and_one_that_is_back_is_found() {
    let absent = ZooKeeper::connect(at_zookeeper("127.0.0.1:1", "/lingua", None)).await;
    let told = absent.unwrap_err().to_string();
    assert!(told.contains("127.0.0.1:1"), "{told}");

    let (mut server, root) = (ZooKeeperServer::start(), new_root());
    let timeout = Duration::from_secs(2);
    let config = ZooKeeperConfig { timeout, ..at_zookeeper(&server.address(), &root, None) };
    let board = ZooKeeper::connect(config).await.unwrap();
    step(&board, Op::Create(DUTY)).await;
    let own = joined(&board, 1, LONG).await;
    let token = claimed(&board, own).await;
    server.away();
    let renew = Op::Renew(own, Micros::ZERO);
    board.apply(Micros::ZERO, renew.clone()).await.unwrap_err();
    server.back();
    let since = Instant::now();
    loop {
        match board.apply(Micros::ZERO, renew.clone()).await {
            Ok(reply) => break assert_eq!(reply, Reply::Renewed(own, Micros::ZERO)),
            Err(error) => assert!(since.elapsed() < PATIENCE, "{error}"),
        }
    }
    assert_eq!(look(&board).await.holder(DUTY).map(|holder| holder.token), Some(token));
}

#[tokio::test]
async fn what_no_board_has_made_is_left_alone() {
    let (server, root) = (ZooKeeperServer::shared(), new_root());
    let board = zookeeper(&server.address(), &root).await;
    step(&board, Op::Create(DUTY)).await;
    let raw = Client::connect(&server.address()).await.unwrap();
    let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
    for name in ["members/9", "members/x", "members/007", "duties/-1", "duties/x", "holders/7"] {
        raw.create(&format!("{root}/{name}"), b"1", &options).await.unwrap();
    }
    let other = DutyId(8);
    step(&board, Op::Create(other)).await;
    let options = CreateMode::Ephemeral.with_acls(Acls::anyone_all());
    raw.create(&format!("{root}/holders/8"), b"\xff", &options).await.unwrap();
    let own = joined(&board, 1, LONG).await;
    let view = look(&board).await;
    assert_eq!(view.duties, [(DUTY, None), (other, None)]);
    assert_eq!(view.members.len(), 1, "{view:?}");
    assert_eq!(step(&board, Op::Claim(DUTY, own)).await, Reply::Taken(DUTY));
    raw.delete(&format!("{root}/holders/7"), None).await.unwrap();
    claimed(&board, own).await;
}

#[tokio::test]
async fn a_membership_that_somebody_has_deleted_is_over() {
    let (server, root) = (ZooKeeperServer::shared(), new_root());
    let (first, second) =
        (zookeeper(&server.address(), &root).await, zookeeper(&server.address(), &root).await);
    let raw = Client::connect(&server.address()).await.unwrap();
    step(&first, Op::Create(DUTY)).await;
    let own = joined(&first, 1, LONG).await;
    raw.delete(&format!("{root}/members/1"), None).await.unwrap();
    assert_eq!(step(&first, Op::Claim(DUTY, own)).await, Reply::Ended(own));
    // Also where another has come in its place.
    let other = joined(&second, 1, LONG).await;
    assert_eq!(step(&first, Op::Renew(own, Micros::ZERO)).await, Reply::Ended(own));
    let stays = step(&second, Op::Renew(other, Micros::ZERO)).await;
    assert_eq!(stays, Reply::Renewed(other, Micros::ZERO));
}

#[tokio::test]
async fn there_are_no_more_than_there_may_be() {
    let (server, root) = (ZooKeeperServer::shared(), new_root());
    let board = zookeeper(&server.address(), &root).await;
    let raw = Client::connect(&server.address()).await.unwrap();
    let many = [
        ("members", CreateMode::Ephemeral, ClaimBoard::INSTANCES_MAX),
        ("duties", CreateMode::Persistent, ClaimBoard::DUTIES_MAX),
    ];
    for (dir, mode, max) in many {
        let numbers: Vec<usize> = (0..max).collect();
        for numbers in numbers.chunks(4_096) {
            let mut writer = raw.new_multi_writer();
            for number in numbers {
                let options = mode.with_acls(Acls::anyone_all());
                writer.add_create(&format!("{root}/{dir}/{number}"), b"", &options).unwrap();
            }
            writer.commit().await.unwrap();
        }
    }
    assert_eq!(step(&board, join_as(60_000, LONG)).await, Reply::Full);
    assert_eq!(step(&board, join_as(5, LONG)).await, Reply::Duplicate);
    assert_eq!(step(&board, Op::Create(DutyId(70_000))).await, Reply::Full);
    assert_eq!(step(&board, Op::Create(DutyId(5))).await, Reply::Done);
    let view = look(&board).await;
    assert_eq!(view.duties.len(), ClaimBoard::DUTIES_MAX);
    assert_eq!(view.members.len(), ClaimBoard::INSTANCES_MAX);
}

#[tokio::test]
async fn of_those_who_come_at_once_one_succeeds() {
    let (server, root) = (ZooKeeperServer::shared(), new_root());
    let (first, second) =
        (zookeeper(&server.address(), &root).await, zookeeper(&server.address(), &root).await);
    step(&first, Op::Create(DUTY)).await;
    let (one, two) = (joined(&first, 1, LONG).await, joined(&second, 2, LONG).await);
    let mut last = Token::default();
    for round in 0..50 {
        let claim = |own| Op::Claim(DUTY, own);
        let (here, there) = tokio::join!(step(&first, claim(one)), step(&second, claim(two)));
        let (board, token) = match (&here, &there) {
            (Reply::Claimed(_, token), Reply::Taken(_)) => (&first, *token),
            (Reply::Taken(_), Reply::Claimed(_, token)) => (&second, *token),
            both => panic!("round {round}: {both:?}"),
        };
        assert!(token > last, "round {round}: {token:?} after {last:?}");
        last = token;
        step(board, Op::Release(DUTY, token)).await;

        let drain = |id| Op::Drain { instance: InstanceId(id), force: false };
        let (here, there) = tokio::join!(step(&first, drain(1)), step(&second, drain(2)));
        let drained = match (&here, &there) {
            (Reply::Done, Reply::Draining(InstanceId(1))) => 1,
            (Reply::Draining(InstanceId(2)), Reply::Done) => 2,
            both => panic!("round {round}: {both:?}"),
        };
        step(&first, Op::EndDrain(InstanceId(drained))).await;
    }
}

#[tokio::test]
async fn changes_are_told_to_whoever_listens() {
    let (server, root) = (ZooKeeperServer::shared(), new_root());
    let board = zookeeper(&server.address(), &root).await;
    let (events, mut heard) = mpsc::channel(64);
    let hears = tokio::spawn(board.clone().hear(events));
    let told = async {
        loop {
            // Who listens may come late: a change that is made again and again is heard.
            for op in [Op::Create(DUTY), Op::Remove(DUTY)] {
                step(&board, op).await;
            }
            if let Ok(event) = heard.try_recv() {
                return event.change;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    let change = timeout(PATIENCE, told).await.unwrap();
    assert!(matches!(change, Change::Created(DUTY) | Change::Removed(DUTY)), "{change:?}");
    drop(heard);
    timeout(PATIENCE, hears).await.unwrap().unwrap();
}
