//! Clocks of instances that differ change nothing: the same run, to the microsecond.

use lingua_core::Micros;

use crate::gate::Storm;
use crate::servers::Servers;
use crate::size;
use crate::world::World;

const OPERATIONS: u64 = 12_000;
/// Ten minutes behind, right, ten minutes ahead.
const SKEWS: [Micros; 3] = [Micros::ZERO, Micros::secs(600), Micros::secs(1_200)];

/// What reached nodes and clients, in order and by when.
fn outcome(storm: &mut Storm, skews: &[Micros]) -> (u64, u64) {
    storm.world.skews = skews.to_vec();
    storm.begin(11);
    storm.rage(size::operations(OPERATIONS));
    storm.heal();
    (storm.world.seen.assigned, storm.world.seen.digest())
}

fn makes_no_difference(servers: Servers) {
    let mut storm = Storm::new(World::new(servers, 11));
    let alike = outcome(&mut storm, &SKEWS[1..2]);
    assert!(alike.0 > 1_000, "{alike:?}");
    assert_eq!(outcome(&mut storm, &SKEWS[1..2]), alike, "the same seed is the same run");
    assert_eq!(outcome(&mut storm, &SKEWS), alike, "clocks differ by ten minutes each way");
}

#[test]
fn clocks_that_differ_make_no_difference_on_one_server() {
    makes_no_difference(Servers::one());
}

#[test]
fn clocks_that_differ_make_no_difference_on_a_cluster() {
    makes_no_difference(Servers::cluster_with_replicas());
}
