//! What was measured, as a table and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::contest::{Contest, Figure, Result};
use super::goals::{Bound, Verdict};

/// A line for each entrant and load, glint's first, with glint's ratios to the others: the median, and what it was between.
#[must_use]
pub fn table(contests: &[Contest]) -> String {
    let mut text = format!(
        "{:<17} {:<17} {:<19} {:>8} {:>8} {:>9} {:>9} {:>7} {:>7} {:>7} {:>7} {:>5}   glint against it\n",
        "store",
        "load",
        "who",
        "IOPS",
        "MiB/s",
        "mean us",
        "p99 us",
        "cpu us",
        "switch",
        "calls",
        "MiB",
        "busy"
    );
    for contest in contests {
        for (place, result) in contest.results.iter().enumerate() {
            let show = |value: Option<f64>, digits: usize| {
                value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
            };
            let figure = |figure: Figure, digits: usize| show(result.median(figure), digits);
            let bandwidth = result.median(Figure::Bandwidth).map(|bytes| bytes / f64::from(1 << 20));
            let _ = write!(
                text,
                "{:<17} {:<17} {:<19} {:>8} {:>8} {:>9} {:>9} {:>7} {:>7} {:>7} {:>7} {:>5}",
                contest.store,
                contest.work.name,
                result.entrant,
                figure(Figure::Iops, 0),
                show(bandwidth, 0),
                figure(Figure::Latency, 1),
                figure(Figure::Tail, 0),
                figure(Figure::Cpu, 2),
                figure(Figure::Switches, 2),
                show(result.system_calls, 2),
                show(result.resident_mib, 0),
                figure(Figure::Busy, 2),
            );
            if place > 0 {
                let ratio = |figure| {
                    let ratio = contest.ratio(figure, &result.entrant);
                    ratio.map_or_else(
                        || "-".to_owned(),
                        |ratio| format!("{:.2} ({:.2}-{:.2})", ratio.median, ratio.low, ratio.high),
                    )
                };
                let _ =
                    write!(text, "   {} x IOPS, {} x latency", ratio(Figure::Iops), ratio(Figure::Latency));
                if result.median(Figure::Cpu).is_some() {
                    let _ = write!(text, ", {} x cpu", ratio(Figure::Cpu));
                }
            }
            text.push('\n');
        }
    }
    text
}

/// A line for each goal, with the median and what it was between.
#[must_use]
pub fn goals(verdicts: &[Verdict]) -> String {
    let mut text = String::new();
    for verdict in verdicts {
        let goal = &verdict.goal;
        let (sign, bound, unit) = match goal.bound {
            Bound::AtLeast(bound) => (">=", bound, "x"),
            Bound::AtMost(bound) => ("<=", bound, "x"),
            Bound::Above(bound) => ("<=", bound, "us more"),
            Bound::Itself(bound) => (">=", bound, "of 1"),
        };
        let _ = writeln!(
            text,
            "{:<6} {:<17} {:<17} {:<9} {:>8.2} {unit} ({:.2} to {:.2}), wanted {sign} {bound}{}",
            if verdict.is_met() { "met" } else { "MISSED" },
            verdict.store,
            goal.work.name,
            format!("{:?}", goal.figure).to_lowercase(),
            verdict.measured.median,
            verdict.measured.low,
            verdict.measured.high,
            if goal.other.is_empty() { String::new() } else { format!(", against {}", goal.other) }
        );
    }
    text
}

/// All of it: every sample, in operations and bytes in a second, microseconds, MiB.
#[must_use]
pub fn json(contests: &[Contest], verdicts: &[Verdict], setup: &Value) -> Value {
    let result = |result: &Result| {
        let samples: Vec<Value> = result
            .samples
            .iter()
            .map(|sample| {
                json!({
                    "iops": sample.seen.iops,
                    "bytes_per_second": sample.seen.bandwidth,
                    "mean_us": sample.seen.mean_us,
                    "p99_us": sample.seen.p99_us,
                    "cpu_us_per_operation": sample.spent.map(|spent| spent.cpu_us),
                    "context_switches_per_operation": sample.spent.map(|spent| spent.switches),
                    "busy": sample.busy,
                })
            })
            .collect();
        json!({
            "who": result.entrant,
            "system_calls_per_operation": result.system_calls,
            "resident_mib": result.resident_mib,
            "rounds": samples,
        })
    };
    let contests: Vec<Value> = contests
        .iter()
        .map(|contest| {
            json!({
                "store": contest.store,
                "load": contest.work.name,
                "results": contest.results.iter().map(result).collect::<Vec<_>>(),
            })
        })
        .collect();
    let verdicts: Vec<Value> = verdicts
        .iter()
        .map(|verdict| {
            json!({
                "store": verdict.store,
                "load": verdict.goal.work.name,
                "figure": format!("{:?}", verdict.goal.figure).to_lowercase(),
                "against": verdict.goal.other,
                "bound": format!("{:?}", verdict.goal.bound),
                "measured": verdict.measured.median,
                "lowest": verdict.measured.low,
                "highest": verdict.measured.high,
                "met": verdict.is_met(),
            })
        })
        .collect();
    json!({ "setup": setup, "contests": contests, "goals": verdicts })
}
