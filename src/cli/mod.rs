//! The command line: what users type, and what they read when something is wrong with it.

mod admin;
mod args;
mod check;
mod moving;
mod nodes;
mod report;

use crate::config::{ConfigSource, Faults, Loaded};
use args::{Arguments, Command};
use clap::{CommandFactory, Parser};
use std::io::Write;
use std::process::ExitCode;

/// The exit code for a command line or a configuration that is wrong.
const USAGE: u8 = 2;

/// Runs the command that the process was started with; `serve` is the service itself, which reads its source again at a reload.
pub fn run(serve: fn(&ConfigSource, Loaded) -> ExitCode) -> ExitCode {
    match Arguments::parse().command {
        Command::Serve(serving) => {
            let source = serving.into_source();
            match source.load() {
                Ok(loaded) => serve(&source, loaded),
                Err(faults) => refuse(&faults),
            }
        }
        Command::Check(checking) => check::run(checking),
        Command::Nodes(asking) => nodes::run(&asking),
        Command::Move(moving) => moving::run(&moving),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "glint", &mut script);
            print(&script)
        }
    }
}

fn refuse(faults: &Faults) -> ExitCode {
    eprintln!("{faults}");
    ExitCode::from(USAGE)
}

/// Prints to stdout; a reader that has gone is no success.
fn print(text: &[u8]) -> ExitCode {
    match std::io::stdout().lock().write_all(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

#[cfg(test)]
mod tests;
