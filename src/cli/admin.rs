//! What the commands that look into a store have in common.

use std::future::Future;
use std::process::ExitCode;

/// Runs a command to its end, and says why it failed.
pub(super) fn run(command: impl Future<Output = Result<ExitCode, String>>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = match runtime {
        Ok(runtime) => {
            let ended = runtime.block_on(command);
            // A store that does not answer must not keep the process.
            runtime.shutdown_background();
            ended
        }
        Err(error) => Err(format!("cannot start: {error}")),
    };
    ended.unwrap_or_else(|message| {
        eprintln!("glint: {message}");
        ExitCode::FAILURE
    })
}
