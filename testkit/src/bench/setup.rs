//! What has to be known to read the figures: versions and settings.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::contest::Rounds;
use crate::{gluster, paths};

/// Versions of all that takes part, the machine, and how it was measured.
#[must_use]
pub fn describe(rounds: Rounds) -> Value {
    json!({
        "glint": first_line(&paths::glint(), &["--version"]),
        "commit": commit(),
        "tgt": first_line(Path::new("tgtd"), &["--version"]),
        "fio": first_line(&paths::tool("fio/fio"), &["--version"]),
        "libiscsi": package("libiscsi-dev"),
        "gluster": first_line(Path::new("gluster"), &["--version"]),
        "gluster_options": gluster::BLOCK_OPTIONS
            .iter()
            .chain(gluster::REPLICA_OPTIONS)
            .map(|(key, value)| format!("{key}={value}"))
            .collect::<Vec<_>>(),
        "kernel": first_line(Path::new("uname"), &["-r"]),
        "processor": fs::read_to_string("/proc/cpuinfo").ok().as_deref().and_then(processor),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "rounds": rounds.count,
        "seconds": rounds.time.as_secs_f64(),
    })
}

fn first_line(program: &Path, arguments: &[&str]) -> Option<String> {
    let output =
        Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
}

/// Of the sources beside this program; glint is built from them unless `GLINT_BIN` says otherwise.
fn commit() -> Option<String> {
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    first_line(Path::new("git"), &["-C", sources, "describe", "--always", "--dirty", "--exclude=*"])
}

fn package(name: &str) -> Option<String> {
    first_line(Path::new("dpkg-query"), &["-W", "-f=${Version}\n", name])
}

/// The processor's name in the text of /proc/cpuinfo.
fn processor(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_has_a_name() {
        assert_eq!(processor("processor\t: 0\nmodel name\t: A B\nmodel name\t: C\n"), Some("A B".to_owned()));
        assert_eq!(processor("processor: 0"), None);
    }
}
