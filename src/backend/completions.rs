//! How a thread that runs commands hears of gluster's completions: in batches through an eventfd, not by one wake-up from a foreign
//! thread for each.

use glint_gfapi::CompletionQueue;
use std::convert::Infallible;
use std::io;

/// To be run as a task on each thread whose runtime serves connections. It never ends while all is well; without it completions
/// still arrive, only dearer.
pub async fn serve_thread() {
    let Err(error) = serve().await;
    tracing::warn!(%error, "completions of gluster are not taken in batches");
}

async fn serve() -> io::Result<Infallible> {
    CompletionQueue::attach_current_thread()?.run().await
}
