use super::super::testing::{Bench, node, owned, released};
use super::super::{Class, Input};
use super::*;
use AccessState::{ActiveNonOptimized, ActiveOptimized, Transitioning, Unavailable};
use bytes::Bytes;
use std::time::Duration;

fn states(bench: &Bench) -> Vec<AccessState> {
    let member = |(name, group)| Member { incarnation: node(name), group };
    let members = [("me", 1), ("other", 2), ("third", 3)].map(member);
    let view = View { lease: &bench.lease, peers: &bench.peers };
    let states = access_states(&bench.machine, bench.now, &view, &members);
    assert_eq!(states.iter().map(|(group, _)| *group).collect::<Vec<_>>(), [1, 2, 3]);
    states.into_iter().map(|(_, state)| state).collect()
}

#[test]
fn the_owner_is_optimized() {
    let mut bench = Bench::new(true);
    assert_eq!(states(&bench), [ActiveNonOptimized; 3]);
    bench.own();
    assert_eq!(states(&bench), [ActiveOptimized, ActiveNonOptimized, ActiveNonOptimized]);
    bench.sees(owned(9, "other"));
    assert_eq!(states(&bench), [ActiveNonOptimized, ActiveOptimized, ActiveNonOptimized]);
}

#[test]
fn a_move_is_seen_by_both() {
    let mut bench = Bench::new(true);
    bench.sees(released(4, Some("third")));
    assert_eq!(states(&bench), [ActiveNonOptimized, ActiveNonOptimized, Transitioning]);
    let mut bench = Bench::new(true);
    bench.own();
    bench.input(Input::Move(node("third").node));
    assert_eq!(states(&bench)[0], Transitioning);
}

#[test]
fn dead_nodes_and_those_that_cannot_reach_the_owner_are_unavailable() {
    let mut bench = Bench::new(true);
    bench.sees(owned(9, "other"));
    bench.pass(8, &["other"]);
    assert_eq!(states(&bench), [ActiveNonOptimized, ActiveOptimized, Unavailable]);
    // The third is back, and tells that it cannot reach the owner's group.
    let beat = Beat { boot: node("third").boot, count: 1, unreachable: vec![2] };
    bench.peers.get_mut(&node("third")).unwrap().watch.read(
        bench.now,
        bench.now,
        Some(Bytes::from(beat.encode())),
    );
    assert_eq!(states(&bench), [ActiveNonOptimized, ActiveOptimized, Unavailable]);
    bench.peers.get_mut(&node("other")).unwrap().cut = Some(bench.now);
    bench.pass(5, &["other", "third"]);
    assert_eq!(states(&bench)[0], Unavailable);
    // A dead owner is nobody's any more.
    bench.pass(8, &["third"]);
    assert_eq!(states(&bench), [ActiveNonOptimized, Unavailable, ActiveNonOptimized]);
    assert_eq!(bench.route(Class::Probe), super::super::Route::Local);
    bench.now += Duration::from_secs(30);
    assert_eq!(states(&bench)[0], Unavailable, "this node itself has lapsed");
}
