use super::*;
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

fn bucket(rate: u64, burst: u64) -> Bucket {
    Bucket::new(Limit { rate, burst })
}

/// How many single tokens can be taken now.
fn drain(bucket: &mut Bucket) -> u64 {
    let mut taken = 0;
    while bucket.affords(1) {
        bucket.take(1);
        taken += 1;
    }
    taken
}

#[test]
fn a_burst_and_then_the_rate() {
    let mut bucket = bucket(1000, 300);
    assert_eq!(drain(&mut bucket), 300);
    bucket.refill(SECOND / 10);
    assert_eq!(drain(&mut bucket), 100);
    bucket.refill(SECOND * 100);
    assert_eq!(drain(&mut bucket), 300);
}

#[test]
fn what_comes_while_one_wakes_up_is_not_lost() {
    assert_eq!(drain(&mut bucket(5000, 1)), 100);
    assert_eq!(drain(&mut bucket(1, 1)), 1);
}

#[test]
fn what_is_larger_than_the_bucket_passes_and_is_owed() {
    let mut bucket = bucket(1000, 100);
    assert!(bucket.affords(2100));
    bucket.take(2100);
    assert_eq!(bucket.wait(0, 1), SECOND * 2 + SECOND / 1000);
    assert_eq!(bucket.wait(0, 5000), SECOND * 2 + SECOND / 10);
    bucket.refill(SECOND * 2);
    assert!(!bucket.affords(1));
    bucket.refill(SECOND / 1000);
    assert!(bucket.affords(1) && !bucket.affords(2100));
}

#[test]
fn a_new_limit_forgives_no_debt_and_keeps_no_more_than_it_may() {
    let mut owing = bucket(1000, 100);
    owing.take(1100);
    assert_eq!(owing.with(Limit { rate: 100, burst: 100 }).wait(0, 100), SECOND * 11);
    assert_eq!(drain(&mut bucket(1000, 1000).with(Limit { rate: 10, burst: 10 })), 10);
}

proptest! {
    /// Whatever is asked for and when: never more than the rate and one burst, and all of the rate where it is wanted.
    #[test]
    fn no_more_than_rate_and_burst(
        rate in 1..100_000_u64,
        burst in 1..100_000_u64,
        steps in prop::collection::vec((0..50_000_000_u64, 1..200_u64), 1..200),
    ) {
        let mut bucket = bucket(rate, burst);
        let allowance = i128::from(burst).max(i128::from(rate) / 50);
        let (mut nanoseconds, mut taken) = (0_i128, 0_i128);
        for (pause, tokens) in steps {
            bucket.refill(Duration::from_nanos(pause));
            nanoseconds += i128::from(pause);
            while i128::from(tokens) <= allowance && bucket.affords(tokens) {
                bucket.take(tokens);
                taken += i128::from(tokens);
            }
            let most = i128::from(rate) * nanoseconds / 1_000_000_000 + allowance + 1;
            prop_assert!(taken <= most, "{taken} > {most}");
        }
    }

    /// Who waits as long as he was told need not wait longer, and not less.
    #[test]
    fn the_wait_is_exact(rate in 1..1_000_000_u64, burst in 1..1_000_u64, owed in 0..10_000_u64, tokens in 1..2_000_u64) {
        let mut bucket = bucket(rate, burst);
        bucket.take(owed);
        let wait = bucket.wait(0, tokens);
        if let Some(early) = wait.checked_sub(Duration::from_nanos(1)) {
            let mut early_bucket = bucket;
            early_bucket.refill(early);
            prop_assert!(!early_bucket.affords(tokens));
        }
        bucket.refill(wait);
        prop_assert!(bucket.affords(tokens));
    }
}
