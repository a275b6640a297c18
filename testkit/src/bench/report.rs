//! What was measured, as a table and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::contest::{Contest, Figure, Result};
use super::goals::{Bound, Verdict};

/// A line for each entrant and load, glint's first, with the others' ratios to it.
#[must_use]
pub fn table(contests: &[Contest]) -> String {
    let mut text = format!(
        "{:<22} {:<17} {:<18} {:>8} {:>8} {:>9} {:>9} {:>7} {:>7} {:>7} {:>7}   glint against it\n",
        "store", "load", "who", "IOPS", "MiB/s", "mean us", "p99 us", "cpu us", "switch", "calls", "MiB"
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
                "{:<22} {:<17} {:<18} {:>8} {:>8} {:>9} {:>9} {:>7} {:>7} {:>7} {:>7}",
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
            );
            if place > 0 {
                let ratio = |figure| show(contest.ratio(figure, &result.entrant), 2);
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

/// A line for each goal.
#[must_use]
pub fn goals(verdicts: &[Verdict]) -> String {
    let mut text = String::new();
    for verdict in verdicts {
        let goal = &verdict.goal;
        let (sign, bound, unit) = match goal.bound {
            Bound::AtLeast(bound) => (">=", bound, "x"),
            Bound::AtMost(bound) => ("<=", bound, "x"),
            Bound::Above(bound) => ("<=", bound, "us more"),
        };
        let _ = writeln!(
            text,
            "{:<6} {:<22} {:<17} {:<10} {:>7.2} {unit} (wanted {sign} {bound}) against {}",
            if verdict.is_met() { "met" } else { "MISSED" },
            verdict.store,
            goal.work.name,
            format!("{:?}", goal.figure).to_lowercase(),
            verdict.measured,
            goal.other
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
                "measured": verdict.measured,
                "met": verdict.is_met(),
            })
        })
        .collect();
    json!({ "setup": setup, "contests": contests, "goals": verdicts })
}
