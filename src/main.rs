//! The `glint` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// The system's allocator would give the buffers of large reads and writes back to the kernel each time, and have it clear their pages anew: more than half
/// of what a read of 256 KiB costs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    glint::cli::run(glint::control::serve)
}
