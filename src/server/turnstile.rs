//! Who has had enough of a worker for now, and goes on after all who have not.
//!
//! A runtime runs its tasks in the order in which they become ready, and looks at its sockets only when none is ready or after many turns.
//! So connections that always have more to do would make one that has a command now and then wait for all of them. Those pass through
//! here instead: one at a time, and before each the runtime looks at its sockets and serves what came.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use tokio::task::yield_now;

/// The queue of one thread.
#[derive(Default)]
struct Turnstile {
    waiting: VecDeque<Waker>,
    keeper: Option<Waker>,
    is_kept: bool,
}

thread_local! {
    static TURNSTILE: RefCell<Turnstile> = RefCell::default();
}

/// Has the task woken in its turn. To be called on the thread that runs it.
pub(super) fn queue(cx: &Context<'_>) {
    TURNSTILE.with_borrow_mut(|turnstile| {
        if !turnstile.is_kept {
            return cx.waker().wake_by_ref();
        }
        turnstile.waiting.push_back(cx.waker().clone());
        if let Some(keeper) = turnstile.keeper.take() {
            keeper.wake();
        }
    });
}

/// Lets one after the other through; to be run as a task on each thread that serves connections, which ends with its runtime.
pub(super) async fn keep() {
    TURNSTILE.with_borrow_mut(|turnstile| turnstile.is_kept = true);
    loop {
        poll_fn(somebody_waits).await;
        // Goes on when the runtime has nothing to do, and has looked at its sockets.
        yield_now().await;
        if let Some(next) = TURNSTILE.with_borrow_mut(|turnstile| turnstile.waiting.pop_front()) {
            next.wake();
        }
    }
}

fn somebody_waits(cx: &mut Context<'_>) -> Poll<()> {
    TURNSTILE.with_borrow_mut(|turnstile| {
        if !turnstile.waiting.is_empty() {
            return Poll::Ready(());
        }
        turnstile.keeper = Some(cx.waker().clone());
        Poll::Pending
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;

    /// Gives up its thread as a connection does that has more to do.
    async fn step_back() {
        let mut queued = false;
        poll_fn(|cx| {
            if std::mem::replace(&mut queued, true) {
                return Poll::Ready(());
            }
            queue(cx);
            Poll::Pending
        })
        .await;
    }

    /// Counts its turns.
    fn be_busy(turns: &Arc<AtomicU32>) {
        let turns = Arc::clone(turns);
        tokio::spawn(async move {
            loop {
                turns.fetch_add(1, Ordering::Relaxed);
                step_back().await;
            }
        });
    }

    #[tokio::test]
    async fn who_waits_for_a_socket_waits_for_one_busy_task_and_not_for_all() {
        let (mut near, mut far) = UnixStream::pair().unwrap();
        let turns = Arc::default();
        tokio::spawn(keep());
        yield_now().await;
        (0..8).for_each(|_| be_busy(&turns));
        tokio::spawn(async move {
            let mut byte = [0];
            while far.read_exact(&mut byte).await.is_ok() {
                far.write_all(&byte).await.unwrap();
            }
        });
        let mut exchange = async || {
            let before = turns.load(Ordering::Relaxed);
            near.write_all(&[1]).await.unwrap();
            near.read_exact(&mut [0]).await.unwrap();
            turns.load(Ordering::Relaxed) - before
        };
        // All have their first turn.
        exchange().await;
        for _ in 0..100 {
            // One until it is heard there, one until it is heard here.
            let meanwhile = exchange().await;
            assert!(meanwhile <= 3, "{meanwhile} turns of others came first");
        }
    }

    #[tokio::test]
    async fn busy_tasks_take_turns() {
        tokio::spawn(keep());
        yield_now().await;
        let all: [Arc<AtomicU32>; 3] = Default::default();
        all.iter().for_each(be_busy);
        let turns = || all.each_ref().map(|turns| turns.load(Ordering::Relaxed));
        while turns()[0] < 100 {
            yield_now().await;
        }
        assert!(turns().iter().all(|turns| (99..=101).contains(turns)), "{:?}", turns());
    }

    #[tokio::test]
    async fn without_a_keeper_nobody_is_forgotten() {
        step_back().await;
    }
}
