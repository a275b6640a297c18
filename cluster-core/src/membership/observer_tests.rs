use super::*;
use std::time::Duration;

fn at(zero: Instant, seconds: u64) -> Instant {
    zero + Duration::from_secs(seconds)
}

#[test]
fn it_is_dead_when_a_late_reading_still_sees_the_same() {
    let zero = Instant::now();
    let mut watch = Watch::new(Timing::default());
    let beat = |count: u8| Some(Bytes::from(vec![count]));
    watch.read(zero, at(zero, 1), beat(1));
    assert_eq!(watch.judgement(), Judgement::Unknown);
    watch.read(at(zero, 2), at(zero, 3), beat(2));
    assert_eq!((watch.judgement(), watch.changed()), (Judgement::Alive, Some(at(zero, 3))));
    // A reading that took long may have seen what was there when it began.
    watch.read(at(zero, 4), at(zero, 30), beat(2));
    assert_eq!(watch.judgement(), Judgement::Alive);
    watch.read(at(zero, 10), at(zero, 10), beat(2));
    assert_eq!(watch.judgement(), Judgement::Dead);
    watch.read(at(zero, 11), at(zero, 11), beat(3));
    assert_eq!(watch.judgement(), Judgement::Alive);
}

#[test]
fn one_without_a_heartbeat_is_dead_after_a_while() {
    let zero = Instant::now();
    let mut watch = Watch::new(Timing::default());
    watch.read(zero, zero, None);
    assert_eq!(watch.judgement(), Judgement::Unknown);
    watch.read(at(zero, 7), at(zero, 7), None);
    assert_eq!(watch.judgement(), Judgement::Dead);
    assert_eq!((watch.dead_as_of(), watch.alive_since()), (Some(at(zero, 7)), None));
    watch.read(at(zero, 8), at(zero, 8), Some(Bytes::from_static(b"1")));
    watch.read(at(zero, 9), at(zero, 9), Some(Bytes::from_static(b"2")));
    assert_eq!((watch.dead_as_of(), watch.alive_since()), (None, Some(at(zero, 8))));
}
