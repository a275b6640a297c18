//! Every dependency comes from the registry, under a licence that goes with ours.

use std::process::Command;
use std::time::Duration;

use glint_testkit::tools::run;
use serde_json::Value;

const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether an SPDX expression leaves a choice of licences that are all in the list.
fn admits(expression: &str) -> bool {
    // OR binds more loosely than AND. An expression in parentheses may only be a whole operand, which is all there is so far.
    let mut depth = 0;
    let mut parts = vec![String::new()];
    let mut operators = Vec::new();
    for word in expression.replace('/', " OR ").replace('(', "( ").replace(')', " )").split_whitespace() {
        depth += i32::from(word == "(") - i32::from(word == ")");
        if depth == 0 && matches!(word, "OR" | "AND") {
            operators.push(word.to_owned());
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            let space = if part.is_empty() { "" } else { " " };
            part.push_str(space);
            part.push_str(word);
        }
    }
    let admitted = |part: &String| {
        let inner = part.strip_prefix("( ").and_then(|part| part.strip_suffix(" )"));
        inner.map_or_else(|| LICENCES.contains(&part.as_str()), admits)
    };
    let mut operands = parts.iter().map(admitted);
    let mut all = operands.next().unwrap_or(false);
    for (operator, operand) in operators.iter().zip(operands) {
        if operator == "OR" && all {
            return true;
        }
        all = if operator == "OR" { operand } else { all && operand };
    }
    all
}

#[test]
fn expressions_are_understood() {
    for good in [
        "MIT",
        "MIT OR GPL-2.0",
        "GPL-2.0/MIT",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "MIT AND ISC OR GPL-2.0",
    ] {
        assert!(admits(good), "{good}");
    }
    for bad in
        ["", "GPL-2.0", "MIT AND GPL-2.0", "(GPL-2.0 OR MPL-2.0) AND MIT", "GPL-2.0 OR MIT AND LGPL-2.1"]
    {
        assert!(!admits(bad), "{bad}");
    }
}

#[test]
fn every_dependency_may_be_used() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).args([
        "metadata",
        "--format-version=1",
        "--locked",
        "--quiet",
    ]);
    // What is only there for other systems need not be fetched to be judged.
    let host = run(Command::new(env!("CARGO")).arg("-vV"), Duration::from_secs(20)).success();
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let metadata = run(cargo.args(["--filter-platform", host]), Duration::from_secs(120)).success();
    let metadata: Value = serde_json::from_str(&metadata).unwrap();

    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 20, "cargo metadata tells of {} packages", packages.len());
    let mut faults = Vec::new();
    for package in packages {
        let name = format!("{} {}", package["name"], package["version"]);
        let licence = package["license"].as_str().unwrap_or_default();
        if !admits(licence) {
            faults.push(format!("{name}: licence {licence:?}"));
        }
        // Ours have no source.
        if package["source"].as_str().is_some_and(|source| !source.starts_with("registry+")) {
            faults.push(format!("{name}: source {}", package["source"]));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
