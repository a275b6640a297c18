use super::*;
use crate::testing::poll;
use std::pin::pin;

#[test]
fn permits_go_round_in_order() {
    let permits = Permits::new(1);
    let first = crate::testing::finish(permits.acquire());
    let mut second = pin!(permits.acquire());
    let mut third = pin!(permits.acquire());
    assert!(poll(second.as_mut()).is_pending());
    assert!(poll(third.as_mut()).is_pending());
    drop(first);
    assert!(poll(third.as_mut()).is_pending());
    let Poll::Ready(second) = poll(second.as_mut()) else { panic!("it is its turn") };
    drop(second);
    assert!(poll(third.as_mut()).is_ready());
}

#[test]
fn who_gives_up_costs_no_permit() {
    let permits = Permits::new(1);
    let first = crate::testing::finish(permits.acquire());
    let mut gone = Box::pin(permits.acquire());
    assert!(poll(gone.as_mut()).is_pending());
    let mut granted = Box::pin(permits.acquire());
    assert!(poll(granted.as_mut()).is_pending());
    drop(gone);
    drop(first);
    // Granted, but never looked at.
    drop(granted);
    let again = crate::testing::finish(permits.acquire());
    assert!(poll(pin!(permits.acquire())).is_pending());
    drop(again);
}
