//! Stores that do not hold what they should: every step ends in an answer or a typed error, what
//! cannot be read is counted, nothing is oversold, and nodes that register again serve again.

mod world;

use lingua_core::*;
use redis::{Connection, cmd};

use crate::servers::Servers;
use world::{World, register};

/// What is looked at only where the same step comes again after its slot was given back.
fn is_verdict(key: &str) -> bool {
    key.contains(":verdict:")
}

/// Keys of the directory: what is lost there is not made up, the steps that need it say so.
fn is_directory(key: &str) -> bool {
    key.contains("{dir}") && !key.ends_with("expiries")
}

#[test]
fn keys_of_a_wrong_type() {
    World::both().into_iter().for_each(wrong_types);
}

fn wrong_types(mut world: World) {
    for kind in [["RPUSH", "junk", "junk"], ["SADD", "junk", "junk"], ["SET", "junk", ""]] {
        let [verb, value, more] = kind;
        let [noted, broken] = world.spoil(|connection, key| {
            cmd("DEL").arg(key).exec(connection).unwrap();
            let mut put = cmd(verb);
            put.arg(key).arg(value);
            if !more.is_empty() {
                put.arg(more);
            }
            put.exec(connection).unwrap();
        });
        let met = |key: &String| noted.contains(key) || is_verdict(key);
        let silent: Vec<String> = world.fill().into_iter().filter(|key| !met(key)).collect();
        assert_eq!(silent, [""; 0], "{verb}");
        assert!(broken.iter().all(|key| is_directory(key)), "{verb} {broken:?}");
    }
}

#[test]
fn keys_that_are_missing() {
    for mut world in World::both() {
        let harm = |connection: &mut Connection, key: &str| {
            cmd("DEL").arg(key).exec(connection).unwrap();
        };
        let [_, broken] = world.spoil(harm);
        assert!(broken.iter().all(|key| is_directory(key)), "{broken:?}");
    }
}

#[test]
fn values_that_cannot_be_read() {
    World::both().into_iter().for_each(unreadable_values);
}

fn unreadable_values(mut world: World) {
    for junk in ["", "junk", "-1", "1e309", "99999999999999999999999 1 1 1 1 1 1", "\u{0}\u{ff}"] {
        let [noted, broken] = world.spoil(|connection, key| {
            let kind: String = cmd("TYPE").arg(key).query(connection).unwrap();
            match kind.as_str() {
                "string" => cmd("SET").arg(key).arg(junk).exec(connection).unwrap(),
                "hash" => {
                    let fields: Vec<String> = cmd("HKEYS").arg(key).query(connection).unwrap();
                    for field in fields {
                        cmd("HSET").arg(key).arg(field).arg(junk).exec(connection).unwrap();
                    }
                }
                _ => cmd("ZADD").arg(key).arg(0).arg(junk).exec(connection).unwrap(),
            }
        });
        let answer = if world.is_cluster() { "intent" } else { "answer" };
        for kind in ["node", "leases", "affinity", answer, "debounce"] {
            let met = noted.iter().any(|key| key.contains(kind));
            assert!(met, "{kind} with `{junk}` was not noted: {noted:?}");
        }
        assert!(broken.iter().all(|key| is_directory(key)), "`{junk}` {broken:?}");
    }
}

#[test]
fn keys_of_others_change_nothing() {
    for mut world in World::both() {
        world.fill();
        for key in ["other", "lingua:v1:other", "lingua:v1:{n:0}:other", "lingua:v2:{n:0}:node"] {
            cmd("SET").arg(key).arg("junk").exec(world.holder(key)).unwrap();
        }
        world.exercise();
        assert_eq!(world.noted(), 0, "{:?}", world.errors);
        assert_eq!(world.keys("*other").len(), 3);
    }
}

#[test]
fn neither_a_lost_record_nor_a_lost_directory_gives_a_generation_twice() {
    let [record, _] = lingua_store::keys::node(NodeNum(0));
    for lost in [record.as_str(), lingua_store::keys::GENERATIONS] {
        for mut world in World::both() {
            world.fill();
            cmd("DEL").arg(lost).exec(world.holder(lost)).unwrap();
            comes_again(&mut world);
        }
    }
}

/// On a Cluster: the directory has given a generation, and the instance has died before the node
/// heard of it.
#[test]
fn a_registration_that_died_halfway_is_not_undone_by_the_former_generation() {
    let mut world = World::new(Servers::cluster());
    world.fill();
    let (generations, listing) = (lingua_store::keys::GENERATIONS, lingua_store::keys::LISTING);
    cmd("HINCRBY").arg(generations).arg(0).arg(1).exec(world.holder(generations)).unwrap();
    let node = NodeRef { num: NodeNum(0), generation: 1 };
    let models = Some(vec![ModelId(3)]);
    let report = Report { models, ..Report::default() };
    for op in [Op::Heartbeat(node, report), Op::Remove(node)] {
        let reply = world.apply(&op);
        assert!(matches!(reply, Some(Reply::Node(Ok(())))), "{reply:?}");
        let listed: bool = cmd("HEXISTS").arg(listing).arg(0).query(world.holder(listing)).unwrap();
        assert!(listed, "after {op:?}");
    }
    let reply = world.apply(&register(0));
    let Some(Reply::Registered(Ok(node))) = reply else { panic!("{reply:?}") };
    assert_eq!(node.generation, 3, "the one that nobody heard of is left out");
}

/// An answer that is gone, or is another lease's, keeps no slot.
#[test]
fn a_slot_comes_back_where_its_answer_is_lost() {
    for other in [None, Some("2 0 1 0 77 2 0")] {
        let mut world = World::new(Servers::one());
        world.fill();
        let request = RequestId { session: SessionId(0), index: 0, tgt: "en".parse().unwrap() };
        let answer = lingua_store::keys::answer(request);
        let connection = world.holder(&answer);
        match other {
            None => cmd("DEL").arg(&answer).exec(connection).unwrap(),
            Some(value) => cmd("SET").arg(&answer).arg(value).exec(connection).unwrap(),
        }
        let [_, leases] = lingua_store::keys::node(NodeNum(0));
        let held: Vec<u64> = cmd("HKEYS").arg(&leases).query(world.holder(&leases)).unwrap();
        let node = NodeRef { num: NodeNum(0), generation: 1 };
        let release = Release { node, lease: LeaseId(held[0]), attempt: 1, request };
        let reply = world.apply(&Op::Release(release));
        assert!(matches!(reply, Some(Reply::Released(Released::Freed { .. }))), "{reply:?}");
        let left: Option<String> = cmd("GET").arg(&answer).query(world.holder(&answer)).unwrap();
        assert_eq!(left.as_deref(), other);
    }
}

/// The earliest expiry that a release leaves behind is too early; whoever looks puts it right.
#[test]
fn a_look_in_vain_is_the_last() {
    for mut world in World::both() {
        world.fill();
        let [record, leases] = lingua_store::keys::node(NodeNum(0));
        let held: Vec<u64> = cmd("HKEYS").arg(&leases).query(world.holder(&leases)).unwrap();
        let request = RequestId { session: SessionId(0), index: 0, tgt: "en".parse().unwrap() };
        let node = NodeRef { num: NodeNum(0), generation: 1 };
        for lease in held.into_iter().map(LeaseId) {
            world.apply(&Op::Release(Release { node, lease, attempt: 1, request }));
        }
        world.now = world.now + Micros::secs(31);
        world.apply(&Op::Heartbeat(node, Report::default()));
        let first: u64 =
            cmd("HGET").arg(&record).arg("first").query(world.holder(&record)).unwrap();
        assert!(first > world.now.0 + (1 << 50), "no lease is left: {first}");
    }
}

fn comes_again(world: &mut World) {
    let reply = world.apply(&register(0));
    let Some(Reply::Registered(Ok(node))) = reply else { panic!("{reply:?}") };
    assert_eq!(node, NodeRef { num: NodeNum(0), generation: 2 });
}

#[test]
fn strangers_in_the_indexes_are_dropped() {
    let mut world = World::new(Servers::one());
    world.fill();
    let (expiries, free) = ("lingua:v1:{dir}:expiries", "lingua:v1:{c:0}:free");
    // Nobody, a node that is not there, and one whose leases last longer.
    for (index, score) in [(expiries, 1), (free, 0)] {
        for member in ["junk", "0000099"] {
            let connection = world.holder(expiries);
            cmd("ZADD").arg(index).arg(score).arg(member).exec(connection).unwrap();
        }
    }
    let connection = world.holder(expiries);
    cmd("ZADD").arg(expiries).arg(1).arg("0000000").exec(connection).unwrap();
    let granted = (10..13).filter(|&session| world.dispatch(session) == Some(true));
    assert_eq!(granted.count(), 3);
    // The last walk goes around in vain.
    assert_eq!(world.dispatch(13), Some(false));
    for index in [expiries, free] {
        let connection = world.holder(expiries);
        let members: Vec<String> =
            cmd("ZRANGE").arg(index).arg(0).arg(-1).query(connection).unwrap();
        assert_eq!(members, ["0000000", "0000001", "0000002"], "{index}");
    }
    let connection = world.holder(expiries);
    let score: u64 = cmd("ZSCORE").arg(expiries).arg("0000000").query(connection).unwrap();
    assert_eq!(score, world.now.0 + 30_000_000);
}
