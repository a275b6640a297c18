use super::*;
use futures_util::task::noop_waker_ref;
use std::future::poll_fn;
use tokio::sync::oneshot;

fn next<F: Future, N>(tasks: &mut Tasks<F, N>) -> Poll<(N, Result<F::Output, Panicked>)> {
    tasks.poll_next(&mut Context::from_waker(noop_waker_ref()))
}

async fn answer(receiver: Option<oneshot::Receiver<u32>>) -> u32 {
    match receiver {
        Some(receiver) => match receiver.await.unwrap() {
            13 => panic!("as the test wants it"),
            number => number,
        },
        None => 0,
    }
}

#[test]
fn what_is_ready_at_once_never_waits() {
    let mut tasks = Tasks::new();
    assert_eq!(tasks.start(answer(None), 'a'), Some(('a', Ok(0))));
    assert_eq!(tasks.len(), 0);
    assert_eq!(tasks.slots.len(), 1);
    tasks.start(answer(None), 'b');
    assert_eq!(tasks.slots.len(), 1, "the slot is used again");
}

#[test]
fn others_come_when_they_are_woken() {
    let mut tasks = Tasks::new();
    let (first, one) = oneshot::channel();
    let (second, two) = oneshot::channel();
    assert!(tasks.start(answer(Some(one)), 1).is_none());
    assert!(tasks.start(answer(Some(two)), 2).is_none());
    assert!(next(&mut tasks).is_pending());
    second.send(20).unwrap();
    assert_eq!(next(&mut tasks), Poll::Ready((2, Ok(20))));
    assert!(next(&mut tasks).is_pending());
    first.send(10).unwrap();
    assert_eq!(next(&mut tasks), Poll::Ready((1, Ok(10))));
    assert_eq!(tasks.len(), 0);
}

#[test]
fn a_panic_ends_its_own_task_alone() {
    let mut tasks = Tasks::new();
    let (first, one) = oneshot::channel();
    let (second, two) = oneshot::channel();
    tasks.start(answer(Some(one)), 1);
    tasks.start(answer(Some(two)), 2);
    first.send(13).unwrap();
    assert_eq!(next(&mut tasks), Poll::Ready((1, Err(Panicked))));
    second.send(5).unwrap();
    assert_eq!(next(&mut tasks), Poll::Ready((2, Ok(5))));
}

#[test]
fn the_owner_is_woken_from_other_threads() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut tasks = Tasks::new();
        let mut senders = Vec::new();
        for number in 100..200 {
            let (sender, receiver) = oneshot::channel();
            tasks.start(answer(Some(receiver)), number);
            senders.push((number, sender));
        }
        let thread = std::thread::spawn(move || {
            for (number, sender) in senders {
                sender.send(number).unwrap();
            }
        });
        for _ in 0..100 {
            let (note, output) = poll_fn(|cx| tasks.poll_next(cx)).await;
            assert_eq!(output, Ok(note));
        }
        assert_eq!(tasks.len(), 0);
        thread.join().unwrap();
    });
}

#[test]
fn what_is_abandoned_is_dropped_and_told() {
    let mut tasks = Tasks::new();
    let (sender, receiver) = oneshot::channel::<u32>();
    tasks.start(answer(Some(receiver)), 7);
    let mut told = Vec::new();
    tasks.abandon(|note| told.push(note));
    assert_eq!(told, [7]);
    assert!(sender.is_closed());
    assert_eq!(tasks.len(), 0);
}
