//! The `glint` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    glint::heap::keep_buffers();
    glint::cli::run(glint::control::serve)
}
