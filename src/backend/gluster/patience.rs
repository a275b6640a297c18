//! Deadlines: how long an operation is tried while the bricks are away, and what becomes of one that nobody waits for any more.

use glint_gfapi::{Error, Kind};
use glint_target_core::device::DeviceError;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// First pause between two attempts; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What each kind of error means to a unit whose file nobody fences. `NotConnected` is here for the time when patience has run out.
pub(super) fn classify(error: &Error) -> DeviceError {
    match error.kind() {
        Kind::NotConnected => DeviceError::Unreachable,
        Kind::NoSpace => DeviceError::NoSpace,
        Kind::ReadOnly => DeviceError::ReadOnly,
        // What is refused for want of a lock takes an administrator: somebody has fenced a file that is not ours to fence.
        Kind::Gone | Kind::OwnershipLost => DeviceError::Gone,
        Kind::OutOfMemory => DeviceError::Busy,
        Kind::Unsupported => DeviceError::Unsupported,
        Kind::Io | Kind::Invalid | Kind::Other => DeviceError::Medium,
    }
}

/// Repeats the attempt while the volume is not connected, until the deadline. Any other outcome is final.
pub(super) async fn patiently<T, F>(deadline: Instant, mut attempt: impl FnMut() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut pause = FIRST_PAUSE;
    loop {
        let error = match attempt().await {
            Err(error) if error.kind() == Kind::NotConnected => error,
            outcome => return outcome,
        };
        if Instant::now() + pause >= deadline {
            return Err(error);
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Waits for the work until the deadline. Work that changes nothing may be forgotten then.
pub(super) async fn by<T>(
    deadline: Instant,
    work: impl Future<Output = Result<T, DeviceError>>,
) -> Result<T, DeviceError> {
    timeout_at(deadline, work).await.unwrap_or(Err(DeviceError::Unreachable))
}

/// Work that runs to its end even when this future is dropped: by a deadline, or because its command was aborted. What it holds, such
/// as the lock on its range, is held until then, so that it cannot land after a later write to the same bytes.
pub(super) struct Settle<T: Send + 'static> {
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
}

impl<T: Send + 'static> Settle<T> {
    pub(super) fn new(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self { work: Some(Box::pin(work)) }
    }
}

impl<T: Send + 'static> Future for Settle<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Some(work) = self.work.as_mut() else { return Poll::Pending };
        let polled = work.as_mut().poll(context);
        if polled.is_ready() {
            self.work = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for Settle<T> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(work);
        }
    }
}
