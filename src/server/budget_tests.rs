use super::*;
use futures_util::task::noop_waker_ref;

fn admit(ledger: &mut Ledger, cost: usize, queued: usize) -> bool {
    ledger.poll_admit(&mut Context::from_waker(noop_waker_ref()), cost, queued).is_ready()
}

#[test]
fn a_connection_has_its_share() {
    let node = NodeBudget::new(100 << 20);
    let mut ledger = node.ledger(1 << 20);
    assert!(admit(&mut ledger, 600 << 10, 0));
    assert!(!admit(&mut ledger, 600 << 10, 0));
    ledger.ended(600 << 10);
    assert!(!admit(&mut ledger, 600 << 10, 600 << 10), "what waits to be sent counts");
    assert!(admit(&mut ledger, 600 << 10, 0));
}

#[test]
fn a_command_larger_than_the_share_runs_alone() {
    let node = NodeBudget::new(1 << 20);
    let mut ledger = node.ledger(64 << 10);
    assert!(admit(&mut ledger, 16 << 20, 0));
    assert!(!admit(&mut ledger, 1, 0));
    ledger.ended(16 << 20);
    ledger.settle(0);
    assert_eq!(node.free(), 1 << 20);
}

#[test]
fn who_waits_for_the_node_is_served_in_turn() {
    let node = NodeBudget::new(1 << 20);
    let (mut first, mut second, mut third) =
        (node.ledger(1 << 30), node.ledger(1 << 30), node.ledger(1 << 30));
    assert!(admit(&mut first, 1 << 20, 0));
    assert!(!admit(&mut second, 512 << 10, 0));
    assert!(!admit(&mut third, 64 << 10, 0));
    first.ended(1 << 20);
    first.settle(0);
    assert!(!admit(&mut first, 1 << 20, 0), "it queues behind those that came before");
    assert!(admit(&mut second, 512 << 10, 0));
    assert!(admit(&mut third, 64 << 10, 0));
    drop((second, third));
    assert!(admit(&mut first, 1 << 20, 0));
    drop(first);
    assert_eq!(node.free(), 1 << 20);
}

#[test]
fn a_busy_connection_keeps_a_little_and_an_idle_one_nothing() {
    let node = NodeBudget::new(64 << 20);
    let mut ledger = node.ledger(1 << 30);
    assert!(admit(&mut ledger, 4 << 20, 0));
    assert!(admit(&mut ledger, 4 << 10, 0));
    ledger.ended(4 << 20);
    ledger.settle(4 << 20);
    assert!(node.free() <= 60 << 20, "its data has yet to be sent");
    ledger.settle(0);
    assert_eq!(node.free(), (64 << 20) - STEP);
    ledger.ended(4 << 10);
    ledger.settle(0);
    assert_eq!(node.free(), 64 << 20);
}

#[test]
fn those_that_give_nothing_back_leave_something_for_others() {
    let node = NodeBudget::new(64 << 20);
    let mut slow: Vec<_> = (0..12).map(|_| node.ledger(16 << 20)).collect();
    for ledger in &mut slow {
        assert!(admit(ledger, 256 << 10, 0), "the first command of each runs");
        while admit(ledger, 256 << 10, 0) {}
    }
    assert!(node.free() >= 8 << 20, "{} bytes are left", node.free());
    assert!(admit(&mut node.ledger(16 << 20), 1 << 20, 0));
}
