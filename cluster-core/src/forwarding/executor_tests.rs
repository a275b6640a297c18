use super::*;
use crate::membership::{BootId, NodeId};
use std::time::Duration;

fn origin(boot: u64) -> Incarnation {
    Incarnation { node: NodeId::new("n1").unwrap(), boot: BootId(boot) }
}

fn request(sequence: u64, epoch: u64) -> Request {
    Request { sequence, epoch: Epoch(epoch), stamp: Stamp(1000), floor: 0 }
}

fn serving(epoch: u64) -> Executor<&'static str> {
    let mut executor = Executor::new(Freshness { age: Duration::from_secs(3), drift: 10 });
    executor.serve(Some(Epoch(epoch)));
    executor
}

#[test]
fn what_was_begun_is_not_begun_again() {
    let mut executor = serving(5);
    assert_eq!(executor.offer(Stamp(1000), true, &origin(1), &request(7, 5)), Verdict::Begin);
    assert_eq!(executor.offer(Stamp(1000), true, &origin(1), &request(7, 5)), Verdict::UnderWay);
    executor.done(Epoch(5), &origin(1), 7, "good");
    // However late.
    assert_eq!(executor.offer(Stamp(90_000), true, &origin(1), &request(7, 5)), Verdict::Again("good"));
    assert_eq!(
        executor.offer(Stamp(1000), true, &origin(2), &request(7, 5)),
        Verdict::Begin,
        "another start of the node"
    );
    // What has been answered is forgotten, and not begun when a copy of it turns up.
    let later = Request { floor: 8, ..request(8, 5) };
    assert_eq!(executor.offer(Stamp(1000), true, &origin(1), &later), Verdict::Begin);
    assert_eq!(executor.offer(Stamp(1000), true, &origin(1), &request(7, 5)), Verdict::Ignore);
}

#[test]
fn what_is_old_or_for_another_epoch_is_refused() {
    let mut executor = serving(5);
    assert_eq!(executor.offer(Stamp(4000), true, &origin(1), &request(1, 5)), Verdict::Begin);
    assert_eq!(executor.offer(Stamp(4001), true, &origin(1), &request(2, 5)), Verdict::Refuse(Refusal::Old));
    assert_eq!(
        executor.offer(Stamp(1000), true, &origin(1), &request(3, 4)),
        Verdict::Refuse(Refusal::NotOwner)
    );
    executor.serve(Some(Epoch(6)));
    executor.done(Epoch(5), &origin(1), 1, "too late");
    assert_eq!(
        executor.offer(Stamp(1000), true, &origin(1), &request(1, 5)),
        Verdict::Refuse(Refusal::NotOwner)
    );
    executor.serve(None);
    assert_eq!(
        executor.offer(Stamp(1000), true, &origin(1), &request(1, 6)),
        Verdict::Refuse(Refusal::NotOwner)
    );
}

#[test]
fn who_is_about_to_let_go_begins_nothing_new() {
    let mut executor = serving(5);
    assert_eq!(executor.offer(Stamp(1000), true, &origin(1), &request(1, 5)), Verdict::Begin);
    assert_eq!(executor.offer(Stamp(1000), false, &origin(1), &request(1, 5)), Verdict::UnderWay);
    assert_eq!(
        executor.offer(Stamp(1000), false, &origin(1), &request(2, 5)),
        Verdict::Refuse(Refusal::NotOwner)
    );
}

#[test]
fn what_was_withdrawn_may_begin_again() {
    let mut executor = serving(5);
    assert_eq!(executor.offer(Stamp(1000), true, &origin(1), &request(1, 5)), Verdict::Begin);
    executor.withdrawn(Epoch(5), &origin(1), 1);
    assert_eq!(executor.offer(Stamp(1000), true, &origin(1), &request(1, 5)), Verdict::Begin);
}

#[test]
fn what_is_kept_is_bounded() {
    let mut executor = serving(5);
    for sequence in 0..MOST_KEPT as u64 {
        assert_eq!(executor.offer(Stamp(1000), true, &origin(1), &request(sequence, 5)), Verdict::Begin);
    }
    assert_eq!(
        executor.offer(Stamp(1000), true, &origin(1), &request(9999, 5)),
        Verdict::Refuse(Refusal::Busy)
    );
}
