//! One timer for all that a connection waits for.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::time::Sleep;

/// A timer that is touched only when a deadline comes nearer or has passed: most deadlines move away with each PDU.
pub(super) struct Clock {
    sleep: Pin<Box<Sleep>>,
    armed: Option<Instant>,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { sleep: Box::pin(tokio::time::sleep_until(Instant::now().into())), armed: None }
    }

    /// Whether `deadline` has passed; if not, the task is woken then, or somewhat before.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, now: Instant, deadline: Option<Instant>) -> Poll<()> {
        let Some(deadline) = deadline else { return Poll::Pending };
        if deadline <= now {
            return Poll::Ready(());
        }
        loop {
            if self.armed.is_none_or(|armed| armed > deadline) {
                self.sleep.as_mut().reset(deadline.into());
                self.armed = Some(deadline);
            }
            if self.sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            // It was armed for a deadline that has moved on since.
            if self.armed.take() == Some(deadline) {
                return Poll::Ready(());
            }
        }
    }
}
