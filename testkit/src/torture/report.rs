//! What came of it, as a table and as JSON.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use super::tally::Counts;

/// One kind of fault.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Its name.
    pub fault: &'static str,
    /// Rounds that were begun.
    pub rounds: u32,
    /// What the hosts counted.
    pub counts: Counts,
    /// The longest that a command was allowed to take.
    pub allowed: Duration,
    /// Answers of `glint nodes` that were compared.
    pub looks: u64,
    /// What was wrong, I/O errors included.
    pub wrong: Vec<String>,
    /// For all of it.
    pub took: Duration,
}

impl Line {
    /// The head of the table.
    pub fn head() -> String {
        format!(
            "{:13} {:>6} {:>9} {:>8} {:>9} {:>9} {:>7} {:>6} {:>8}",
            "fault", "rounds", "commands", "retries", "longest", "allowed", "errors", "wrong", "took"
        )
    }

    /// Its row.
    pub fn row(&self) -> String {
        let Self { fault, rounds, counts, allowed, wrong, took, .. } = self;
        format!(
            "{fault:13} {rounds:6} {:9} {:8} {:7.2} s {:7.2} s {:7} {:6} {:6.0} s",
            counts.commands,
            counts.retries,
            counts.longest.as_secs_f64(),
            allowed.as_secs_f64(),
            counts.errors.len(),
            wrong.len(),
            took.as_secs_f64(),
        )
    }
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One for each kind of fault.
    pub lines: Vec<Line>,
}

impl Report {
    /// Whether nothing is wrong, and something was done at all.
    pub fn is_clean(&self) -> bool {
        let has_worked = |line: &Line| line.wrong.is_empty() && line.counts.commands > 0;
        self.looks() > 0 && self.lines.iter().all(has_worked)
    }

    fn looks(&self) -> u64 {
        self.lines.iter().map(|line| line.looks).sum()
    }

    /// The table, with what was wrong below it.
    pub fn table(&self) -> String {
        let mut text = Line::head() + "\n";
        for line in &self.lines {
            text += &(line.row() + "\n");
        }
        for line in &self.lines {
            for wrong in &line.wrong {
                writeln!(text, "\n{}: {wrong}", line.fault).expect("memory");
            }
        }
        if self.looks() == 0 {
            text += "\nglint nodes never answered\n";
        }
        text
    }

    /// The same for machines; times in seconds.
    pub fn json(&self) -> Value {
        let lines = self.lines.iter().map(|line| {
            json!({
                "fault": line.fault,
                "rounds": line.rounds,
                "commands": line.counts.commands,
                "retries": line.counts.retries,
                "reasons": line.counts.reasons,
                "longest": line.counts.longest.as_secs_f64(),
                "slowest": line.counts.slowest,
                "allowed": line.allowed.as_secs_f64(),
                "errors": line.counts.errors,
                "looks": line.looks,
                "wrong": line.wrong,
                "took": line.took.as_secs_f64(),
            })
        });
        json!({ "clean": self.is_clean(), "faults": lines.collect::<Vec<_>>() })
    }
}
