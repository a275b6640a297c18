//! What is known of the space of a store and of its files. To ask takes a message to the bricks or a system call that may hang, so what
//! was found out serves for a while, and all that lives on the store.

use glint_target_core::device::{DeviceError, Space};
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long an answer of a store serves: less than the time between two looks at a unit, so that one that is alone on its store sees no
/// answer twice.
const STORE_SERVES: Duration = Duration::from_secs(4);

/// How long an answer serves for a file that was not changed from here. Others may change it as well.
const FILE_SERVES: Duration = Duration::from_secs(60);

/// Bytes of a store: all, and those that may still be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) total: u64,
    pub(super) free: u64,
}

impl Room {
    /// For a file that has taken so many bytes of it.
    pub(super) fn beside(self, used: u64) -> Space {
        Space { total: self.total, free: self.free, used, shared: true }
    }
}

/// The room of one store, for all that lives on it.
#[derive(Debug, Default)]
pub(super) struct StoreRoom(tokio::sync::Mutex<Option<(Instant, Result<Room, DeviceError>)>>);

impl StoreRoom {
    /// What was found out last, or else what `ask` finds out. Who comes meanwhile waits for the same answer, be it a failure: of a store
    /// that hangs not everybody has to learn that in turn.
    pub(super) async fn get(
        &self,
        ask: impl Future<Output = Result<Room, DeviceError>>,
    ) -> Result<Room, DeviceError> {
        let mut known = self.0.lock().await;
        if let Some((at, answer)) = *known
            && at.elapsed() < STORE_SERVES
        {
            return answer;
        }
        let answer = ask.await;
        *known = Some((Instant::now(), answer));
        answer
    }
}

/// What one file has taken of its store.
#[derive(Debug, Default)]
pub(super) struct Taken(Mutex<Option<Answer>>);

#[derive(Clone, Copy, Debug)]
struct Answer {
    /// The number of changes, as it was before the file was asked.
    changes: u64,
    at: Instant,
    bytes: u64,
}

impl Taken {
    /// What was found out last, or what `ask` finds out when the file was changed since: `changes` is another number then.
    pub(super) async fn get(
        &self,
        changes: u64,
        ask: impl Future<Output = Result<u64, DeviceError>>,
    ) -> Result<u64, DeviceError> {
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = known
            && answer.changes == changes
            && answer.at.elapsed() < FILE_SERVES
        {
            return Ok(answer.bytes);
        }
        let bytes = ask.await?;
        let answer = Answer { changes, at: Instant::now(), bytes };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use std::cell::Cell;
    use tokio::time::{advance, sleep};

    const ROOM: Room = Room { total: 8, free: 3 };

    #[tokio::test(start_paused = true)]
    async fn a_store_is_asked_once_in_a_while_whoever_wants_to_know() {
        let (store, asked) = (StoreRoom::default(), Cell::new(0));
        let look = || {
            store.get(async {
                asked.set(asked.get() + 1);
                sleep(Duration::from_secs(1)).await;
                Ok(ROOM)
            })
        };
        assert!(join_all((0..1000).map(|_| look())).await.into_iter().all(|found| found == Ok(ROOM)));
        assert_eq!(asked.get(), 1);
        advance(STORE_SERVES - Duration::from_millis(1)).await;
        look().await.unwrap();
        assert_eq!(asked.get(), 1);
        advance(Duration::from_millis(1)).await;
        look().await.unwrap();
        assert_eq!(asked.get(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_hangs_is_waited_for_once_and_asked_again_later() {
        let store = StoreRoom::default();
        let began = Instant::now();
        let hung = || {
            store.get(async {
                sleep(Duration::from_secs(12)).await;
                Err(DeviceError::Unreachable)
            })
        };
        let unreachable = Err(DeviceError::Unreachable);
        assert!(join_all((0..1000).map(|_| hung())).await.into_iter().all(|found| found == unreachable));
        assert_eq!(began.elapsed(), Duration::from_secs(12));
        advance(STORE_SERVES).await;
        assert_eq!(store.get(async { Ok(ROOM) }).await, Ok(ROOM));
    }

    #[tokio::test]
    async fn who_goes_while_he_asks_leaves_that_to_the_next() {
        let store = StoreRoom::default();
        {
            let mut gone = Box::pin(store.get(std::future::pending()));
            assert!(futures_util::poll!(&mut gone).is_pending());
        }
        assert_eq!(store.get(async { Ok(ROOM) }).await, Ok(ROOM));
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_is_asked_when_it_was_changed_and_now_and_then() {
        let file = Taken::default();
        let never = || async { panic!("asked for what is known") };
        assert_eq!(file.get(0, async { Err(DeviceError::Medium) }).await, Err(DeviceError::Medium));
        assert_eq!(file.get(0, async { Ok(1) }).await, Ok(1));
        assert_eq!(file.get(0, never()).await, Ok(1));
        assert_eq!(file.get(2, async { Ok(2) }).await, Ok(2));
        advance(FILE_SERVES - Duration::from_millis(1)).await;
        assert_eq!(file.get(2, never()).await, Ok(2));
        advance(Duration::from_millis(1)).await;
        assert_eq!(file.get(2, async { Ok(3) }).await, Ok(3));
    }
}
