use super::*;
use crate::testing::poll;
use std::pin::pin;

fn begin(all: &Operations, list_id: u32, usage: Usage) -> Result<Running, Refusal> {
    all.begin(Beginning { nexus: NexusId(1), service_action: 0, in_background: false, list_id, usage })
}

const GOOD: End = End { ending: Ending::Complete, status: Status::Good, sense: None, token: None };

#[test]
fn as_many_at_a_time_as_are_told() {
    let all = Operations::default();
    let mut running: Vec<_> =
        (0..CONCURRENT as u32).map(|id| begin(&all, id, Usage::Anonymous).unwrap()).collect();
    assert_eq!(begin(&all, 99, Usage::Hold).err(), Some(Refusal::TooMany));
    running.pop();
    let named = begin(&all, 99, Usage::Hold).unwrap();
    assert_eq!(begin(&all, 99, Usage::Discard).err(), Some(Refusal::InUse));
    named.finish(GOOD);
    assert!(all.find(NexusId(1), 99).is_some() && all.find(NexusId(2), 99).is_none());
    running.clear();
    assert_eq!(all.len(), 1);
}

#[test]
fn results_are_bounded_and_the_oldest_go() {
    let all = Operations::default();
    for id in 0..200 {
        begin(&all, id, Usage::Hold).unwrap().finish(GOOD);
    }
    assert_eq!(all.len(), HELD);
    assert!(all.find(NexusId(1), 0).is_none() && all.find(NexusId(1), 199).is_some());
    all.forget(NexusId(1));
    assert!(all.is_empty());
}

#[test]
fn a_name_is_not_known_longer_than_wanted() {
    let all = Operations::default();
    let running = begin(&all, 5, Usage::Discard).unwrap();
    assert!(all.find(NexusId(1), 5).is_some());
    running.finish(GOOD);
    let nameless = begin(&all, 0, Usage::Anonymous).unwrap();
    assert!(all.find(NexusId(1), 5).is_none() && all.find(NexusId(1), 0).is_none());
    drop(nameless);
    assert!(all.is_empty());
}

#[test]
fn dropped_it_has_ended_from_outside() {
    let all = Operations::default();
    let running = begin(&all, 5, Usage::Hold).unwrap();
    let operation = all.find(NexusId(1), 5).unwrap();
    let mut ended = pin!(operation.ended());
    assert!(poll(ended.as_mut()).is_pending());
    drop(running);
    assert!(poll(ended.as_mut()).is_ready());
    assert_eq!(operation.end().unwrap().ending, Ending::Terminated);
    let running = begin(&all, 5, Usage::Hold).unwrap();
    all.reset();
    assert!(running.is_halted() && all.is_empty());
}
