use super::*;
use crate::testing::{Crew, poll};
use std::pin::pin;

#[test]
fn without_a_spawner_nothing_begins() {
    assert!(Background::default().start(|_| async { unreachable!() }).is_none());
}

#[test]
fn a_job_tells_how_far_it_is_and_ends() {
    let crew = Arc::new(Crew::default());
    let background = Background::new(crew.clone());
    let job = background
        .start(|job| async move {
            job.expect(4);
            job.advance(1);
            yield_once().await;
            job.advance(3);
            yield_once().await;
        })
        .unwrap();
    let mut ended = pin!(background.job_ended(&job));
    assert_eq!((job.progress(), poll(ended.as_mut())), (0, Poll::Pending));
    crew.step();
    assert_eq!((job.progress(), poll(ended.as_mut())), (0x4000, Poll::Pending));
    crew.step();
    assert_eq!((job.progress(), poll(ended.as_mut())), (0xffff, Poll::Pending));
    crew.step();
    assert_eq!(poll(ended.as_mut()), Poll::Ready(()));
    assert_eq!(poll(pin!(background.ended())), Poll::Ready(()));
}

#[test]
fn closing_halts_what_runs_and_refuses_what_would_begin() {
    let crew = Arc::new(Crew::default());
    let background = Background::new(crew.clone());
    let job = background
        .start(|job| async move {
            while !job.is_halted() {
                yield_once().await;
            }
        })
        .unwrap();
    crew.step();
    assert!(!job.is_halted());
    background.close();
    assert!(background.start(|_| async {}).is_none());
    assert_eq!(poll(pin!(background.ended())), Poll::Pending);
    crew.step();
    assert_eq!(poll(pin!(background.ended())), Poll::Ready(()));
}

#[test]
fn a_job_that_is_dropped_has_ended() {
    let crew = Arc::new(Crew::default());
    let background = Background::new(crew.clone());
    let job = background.start(|_| std::future::pending()).unwrap();
    crew.step();
    assert_eq!(poll(pin!(background.job_ended(&job))), Poll::Pending);
    crew.dismiss();
    assert_eq!(poll(pin!(background.job_ended(&job))), Poll::Ready(()));
}

async fn yield_once() {
    let mut yielded = false;
    poll_fn(|_| match std::mem::replace(&mut yielded, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}
