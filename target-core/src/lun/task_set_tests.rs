use super::*;
use crate::testing::poll;
use proptest::prelude::*;
use std::pin::pin;
use std::task::Poll::{Pending, Ready};

fn entrant(tag: u32, attribute: TaskAttribute, claim: Claim) -> Entrant {
    Entrant { nexus: NexusId(1), tag: TaskTag(tag), attribute, claim }
}

fn simple(claim: Claim) -> Entrant {
    entrant(0, TaskAttribute::Simple, claim)
}

fn starts(task: &mut Task<'_>) -> bool {
    poll(pin!(task.started())).is_ready()
}

#[test]
fn shared_claims_do_not_meet() {
    let set = TaskSet::default();
    let mut a = set.enter(simple(Claim::Shared(0..8)));
    let mut b = set.enter(simple(Claim::Shared(4..12)));
    assert!(starts(&mut a) && starts(&mut b));
    drop((a, b));
    assert!(set.is_empty());
}

#[test]
fn exclusive_claim_waits_for_those_before_it_and_holds_up_those_after() {
    let set = TaskSet::default();
    let before = set.enter(simple(Claim::Shared(0..8)));
    let mut exclusive = set.enter(simple(Claim::Exclusive(4..6)));
    let mut after = set.enter(simple(Claim::Shared(5..6)));
    let mut elsewhere = set.enter(simple(Claim::Shared(6..9)));
    assert!(!starts(&mut exclusive));
    assert!(!starts(&mut after), "fair: a later reader does not overtake the waiting writer");
    assert!(starts(&mut elsewhere));
    drop(before);
    assert!(starts(&mut exclusive));
    assert!(!starts(&mut after));
    drop(exclusive);
    assert!(starts(&mut after));
}

#[test]
fn an_empty_range_is_in_nobodys_way() {
    let set = TaskSet::default();
    let _exclusive = set.enter(simple(Claim::Exclusive(0..8)));
    assert!(starts(&mut set.enter(simple(Claim::Exclusive(4..4)))));
    assert!(starts(&mut set.enter(simple(Claim::None))));
    assert!(!starts(&mut set.enter(simple(Claim::EVERYTHING))));
}

#[test]
fn ordered_tasks_keep_their_place() {
    let set = TaskSet::default();
    let before = set.enter(simple(Claim::None));
    let mut ordered = set.enter(entrant(0, TaskAttribute::Ordered, Claim::None));
    let mut after = set.enter(simple(Claim::None));
    assert!(!starts(&mut ordered) && !starts(&mut after));
    drop(before);
    assert!(starts(&mut ordered) && !starts(&mut after));
    drop(ordered);
    assert!(starts(&mut after));
}

#[test]
fn head_of_queue_goes_before_what_waits() {
    let set = TaskSet::default();
    let running = set.enter(simple(Claim::Shared(0..8)));
    let mut ordered = set.enter(entrant(0, TaskAttribute::Ordered, Claim::None));
    let mut waiting = set.enter(simple(Claim::Exclusive(0..8)));
    let mut head = set.enter(entrant(0, TaskAttribute::HeadOfQueue, Claim::Exclusive(0..4)));
    assert!(!starts(&mut head), "it waits for blocks that a running task holds");
    drop(running);
    assert!(starts(&mut head));
    assert!(!starts(&mut ordered) && !starts(&mut waiting));
    drop(head);
    assert!(starts(&mut ordered));
    drop(ordered);
    assert!(starts(&mut waiting));
}

#[test]
fn the_last_head_of_queue_is_the_first() {
    let set = TaskSet::default();
    let running = set.enter(simple(Claim::Exclusive(0..8)));
    let mut first = set.enter(entrant(0, TaskAttribute::HeadOfQueue, Claim::Shared(0..1)));
    let mut second = set.enter(entrant(0, TaskAttribute::HeadOfQueue, Claim::Shared(1..2)));
    assert!(!starts(&mut first) && !starts(&mut second));
    drop(running);
    assert!(!starts(&mut first));
    assert!(starts(&mut second));
    drop(second);
    assert!(starts(&mut first));
}

#[test]
fn aborted_while_waiting_ends_at_once() {
    let set = TaskSet::default();
    let running = set.enter(simple(Claim::Exclusive(0..8)));
    let mut waiting = set.enter(entrant(7, TaskAttribute::Simple, Claim::Exclusive(0..8)));
    let mut last = set.enter(simple(Claim::Shared(0..1)));
    assert!(!starts(&mut waiting));
    let aborted = set.abort(|_, tag| (tag == TaskTag(7)).then_some(Abort::TaskAborted));
    assert_eq!(aborted.len(), 1);
    let mut gone = pin!(set.gone(aborted));
    assert_eq!(poll(gone.as_mut()), Pending);
    assert!(starts(&mut waiting) && waiting.is_aborted());
    assert!(!running.is_aborted());
    assert_eq!(waiting.finish(), Some(Abort::TaskAborted));
    assert_eq!(poll(gone.as_mut()), Ready(()));
    assert!(!starts(&mut last));
    assert_eq!(running.finish(), None);
    assert!(starts(&mut last));
}

#[test]
fn the_first_abort_decides() {
    let set = TaskSet::default();
    let task = set.enter(simple(Claim::None));
    set.abort(|_, _| Some(Abort::Silent));
    set.abort(|_, _| Some(Abort::TaskAborted));
    assert_eq!(task.finish(), Some(Abort::Silent));
}

#[test]
fn a_place_that_is_used_again_is_not_the_same_task() {
    let set = TaskSet::default();
    let first = set.enter(simple(Claim::None));
    let aborted = set.abort(|_, _| Some(Abort::Silent));
    drop(first);
    let second = set.enter(simple(Claim::None));
    assert!(!second.is_aborted());
    assert_eq!(poll(pin!(set.gone(aborted))), Ready(()));
}

#[derive(Clone, Debug)]
enum Step {
    Enter(TaskAttribute, Claim),
    Poll(usize),
    Leave(usize),
    Abort(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let attribute = prop_oneof![
        6 => Just(TaskAttribute::Simple),
        1 => Just(TaskAttribute::Ordered),
        1 => Just(TaskAttribute::HeadOfQueue),
    ];
    let claim = (0..3_u8, 0..16_u64, 0..8_u64).prop_map(|(kind, start, len)| match kind {
        0 => Claim::None,
        1 => Claim::Shared(start..start + len),
        _ => Claim::Exclusive(start..start + len),
    });
    prop_oneof![
        3 => (attribute, claim).prop_map(|(attribute, claim)| Step::Enter(attribute, claim)),
        4 => (0..32_usize).prop_map(Step::Poll),
        2 => (0..32_usize).prop_map(Step::Leave),
        1 => (0..32_u32).prop_map(Step::Abort),
    ]
}

proptest! {
    /// Whatever comes in whatever order: running tasks never conflict, and once no more tasks arrive all come to run.
    #[test]
    fn no_conflict_and_no_starvation(steps in prop::collection::vec(step(), 1..80)) {
        let set = TaskSet::default();
        let mut tasks: Vec<(Task<'_>, TaskAttribute, Claim, bool, bool)> = Vec::new();
        let mut tag = 0;
        for step in steps {
            match step {
                Step::Enter(attribute, claim) => {
                    tag += 1;
                    let task = set.enter(entrant(tag, attribute, claim.clone()));
                    tasks.push((task, attribute, claim, false, false));
                }
                Step::Poll(at) if !tasks.is_empty() => {
                    let at = at % tasks.len();
                    let started = starts(&mut tasks[at].0);
                    let aborted = tasks[at].0.is_aborted();
                    tasks[at].3 = started && !aborted;
                }
                Step::Leave(at) if !tasks.is_empty() => {
                    let at = at % tasks.len();
                    drop(tasks.remove(at));
                }
                Step::Abort(which) => {
                    set.abort(|_, own| (own == TaskTag(which)).then_some(Abort::Silent));
                }
                Step::Poll(_) | Step::Leave(_) => {}
            }
            let running: Vec<_> = tasks.iter().filter(|task| task.3).collect();
            for (at, a) in running.iter().enumerate() {
                for b in &running[at + 1..] {
                    prop_assert!(!a.2.conflicts(&b.2), "{:?} and {:?} run together", a.2, b.2);
                }
            }
        }
        while !tasks.is_empty() {
            let before = tasks.len();
            tasks.retain_mut(|(task, ..)| !starts(task));
            prop_assert!(tasks.len() < before, "{} tasks wait for each other", before);
        }
        prop_assert!(set.is_empty());
    }
}
