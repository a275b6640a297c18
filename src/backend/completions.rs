//! How a thread that runs commands hears of completions, gluster's and io_uring's: in batches through an eventfd, not by one wake-up from a
//! foreign thread for each.

use super::ring;
use glint_gfapi::CompletionQueue;
use std::convert::Infallible;
use std::io;

/// Starts what serves completions on this thread, whose runtime is to serve connections. Without it they still arrive, only dearer.
pub fn serve_thread() {
    tokio::spawn(ring::serve());
    tokio::spawn(async {
        let Err(error) = serve_gluster().await;
        tracing::warn!(%error, "completions of gluster are not taken in batches");
    });
}

async fn serve_gluster() -> io::Result<Infallible> {
    CompletionQueue::attach_current_thread()?.run().await
}
