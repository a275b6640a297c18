//! `glint check`.

use super::args::CheckArgs;
use super::{USAGE, print, refuse, report};
use crate::config::{ConfigSource, Flags};
use std::process::ExitCode;

/// Validates the configuration; faults go to stderr, what would be served to stdout. JSON goes to stdout in both cases.
pub(super) fn run(arguments: CheckArgs) -> ExitCode {
    let file = arguments.config;
    let source = ConfigSource { file: Some(file.clone()), flags: Flags::default() };
    let loaded = source.load();
    if arguments.json {
        let mut text = report::json(&file, &loaded).to_string();
        text.push('\n');
        let printed = print(text.as_bytes());
        return if loaded.is_ok() { printed } else { ExitCode::from(USAGE) };
    }
    match loaded {
        Ok(loaded) => {
            for warning in &loaded.warnings {
                eprintln!("warning: {}", warning.display(Some(&file)));
            }
            print(report::summary(&loaded.config).as_bytes())
        }
        Err(faults) => {
            for warning in &faults.warnings {
                eprintln!("warning: {}", warning.display(Some(&file)));
            }
            refuse(&faults)
        }
    }
}
