use super::*;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn it_lasts_from_the_beginning_of_the_write() {
    let zero = Instant::now();
    let mut lease = Lease::new(Timing::default(), zero);
    assert_eq!(lease.term(zero), None);
    assert_eq!(lease.beat(zero), Some(1));
    assert_eq!(lease.beat(zero + SECOND), None, "one at a time");
    lease.written(zero + 2 * SECOND, true);
    assert_eq!(lease.term(zero + 2 * SECOND), Some(Term(1)));
    assert_eq!(lease.until(), Some(zero + 4 * SECOND));
    assert_eq!(lease.term(zero + 4 * SECOND), None);
}

#[test]
fn a_lapse_ends_the_term() {
    let zero = Instant::now();
    let mut lease = Lease::new(Timing::default(), zero);
    lease.beat(zero).unwrap();
    lease.written(zero, true);
    lease.beat(zero + SECOND).unwrap();
    lease.written(zero + SECOND, true);
    assert_eq!(lease.term(zero + SECOND), Some(Term(1)));
    lease.beat(zero + 2 * SECOND).unwrap();
    lease.written(zero + 4 * SECOND, false);
    assert_eq!(lease.until(), Some(zero + 5 * SECOND), "what failed counts for nothing");
    // Stopped in the middle of a write: what it brings is long over when it is heard of.
    lease.beat(zero + 4 * SECOND).unwrap();
    lease.written(zero + 60 * SECOND, true);
    assert_eq!(lease.term(zero + 60 * SECOND), None);
    lease.beat(zero + 60 * SECOND).unwrap();
    lease.written(zero + 60 * SECOND, true);
    assert!(lease.term(zero + 60 * SECOND) > Some(Term(1)));
}
