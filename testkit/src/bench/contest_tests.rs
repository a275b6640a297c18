use super::super::work;
use super::*;

/// A contest of "a" and "b" with these operations in a second, round by round.
pub fn contest(first: &[f64], second: &[f64]) -> Contest {
    let result = |name: &str, iops: &[f64]| Result {
        entrant: name.to_owned(),
        samples: iops
            .iter()
            .map(|&iops| Sample {
                seen: Seen { iops, bandwidth: 0.0, mean_us: 1e6 / iops, p99_us: 0.0, operations: 1.0 },
                spent: None,
                busy: Some(0.5),
            })
            .collect(),
        system_calls: None,
        resident_mib: None,
    };
    let results = vec![result("a", first), result("b", second)];
    Contest { store: "null".to_owned(), work: work::READ_QD32, results }
}

fn median(values: &[f64]) -> Option<f64> {
    Spread::of(values.to_vec()).map(|spread| spread.median)
}

#[test]
fn medians_are_of_the_middle() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[3.0]), Some(3.0));
    assert_eq!(median(&[5.0, 1.0]), Some(3.0));
    assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[9.0, 1.0, 2.0, 4.0]), Some(3.0));
}

#[test]
fn a_spread_goes_from_the_least_to_the_most() {
    let spread = Spread::of(vec![2.0, 9.0, 1.0]);
    assert_eq!(spread, Some(Spread { median: 2.0, low: 1.0, high: 9.0 }));
}

/// The machine was slow in the second round, for both.
#[test]
fn ratios_are_taken_within_a_round() {
    let contest = contest(&[100.0, 20.0, 110.0], &[50.0, 10.0, 50.0]);
    assert_eq!(contest.ratio(Figure::Iops, "b"), Some(Spread { median: 2.0, low: 2.0, high: 2.2 }));
    assert_eq!(contest.difference(Figure::Iops, "b").map(|spread| spread.median), Some(50.0));
    assert_eq!(contest.ratio(Figure::Cpu, "b"), None);
    assert_eq!(contest.ratio(Figure::Iops, "c"), None);
}
