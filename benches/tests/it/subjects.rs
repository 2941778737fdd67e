//! Each subject does the same work every time and can go on for long.

use lingua_benches::subjects::ALL;

#[test]
fn two_of_a_kind_do_the_same() {
    for entry in ALL {
        let (mut one, mut other) = (entry.prepare(), entry.prepare());
        for _ in 0..3 {
            one.restore();
            other.restore();
            assert_eq!(one.run(), other.run(), "{}", entry.name);
        }
    }
}

#[test]
fn runs_go_on_for_as_long_as_one_likes() {
    for entry in ALL.into_iter().filter(|entry| entry.operations > 1) {
        let mut subject = entry.prepare();
        for _ in 0..2_000 {
            subject.restore();
            subject.run();
        }
    }
}

#[test]
fn a_tenth_of_the_runs_is_a_whole_number() {
    assert!(ALL.iter().all(|entry| entry.runs.is_multiple_of(10)));
}
