//! Entrants under one load in turn, round after round: machines are noisy, and what disturbs one of a round disturbs its neighbour.

use std::time::Duration;

use super::client::{self, Seen};
use super::cost::{self, Counters, Spent, SystemCalls};
use super::entrant::{Entrant, SIZE};
use super::work::Work;

/// One entrant in one round.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// What the client saw.
    pub seen: Seen,
    /// What the serving process spent; None where there is none.
    pub spent: Option<Spent>,
}

/// One entrant in all rounds.
#[derive(Debug)]
pub struct Result {
    /// Its name.
    pub entrant: String,
    /// In the order of the rounds.
    pub samples: Vec<Sample>,
    /// System calls for each operation, from a run of their own.
    pub system_calls: Option<f64>,
    /// Resident memory at the end, in MiB.
    pub resident_mib: Option<f64>,
}

/// One load, all its entrants; the first is glint.
#[derive(Debug)]
pub struct Contest {
    /// What they are compared on.
    pub store: String,
    /// The load.
    pub work: Work,
    /// In the order in which they ran within each round.
    pub results: Vec<Result>,
}

/// How thorough a comparison is.
#[derive(Debug, Clone, Copy)]
pub struct Rounds {
    /// How many; the medians are over them.
    pub count: usize,
    /// How long each entrant runs in each.
    pub time: Duration,
}

/// A figure that entrants are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Operations in a second: more is better.
    Iops,
    /// Bytes in a second: more is better.
    Bandwidth,
    /// Mean latency: less is better.
    Latency,
    /// 99th percentile of the latency: less is better.
    Tail,
    /// CPU time of the serving process for an operation: less is better.
    Cpu,
    /// Context switches of the serving process for an operation: less is better.
    Switches,
}

impl Figure {
    /// It in a sample, in its unit (1/s, B/s, us).
    #[must_use]
    pub fn of(self, sample: &Sample) -> Option<f64> {
        match self {
            Self::Iops => Some(sample.seen.iops),
            Self::Bandwidth => Some(sample.seen.bandwidth),
            Self::Latency => Some(sample.seen.mean_us),
            Self::Tail => Some(sample.seen.p99_us),
            Self::Cpu => sample.spent.map(|spent| spent.cpu_us),
            Self::Switches => sample.spent.map(|spent| spent.switches),
        }
    }

    /// Whether less of it is better.
    #[must_use]
    pub const fn less_is_better(self) -> bool {
        !matches!(self, Self::Iops | Self::Bandwidth)
    }
}

impl Result {
    /// The median over the rounds.
    #[must_use]
    pub fn median(&self, figure: Figure) -> Option<f64> {
        median(self.samples.iter().map(|sample| figure.of(sample)).collect::<Option<_>>()?)
    }
}

impl Contest {
    /// Let the entrants run.
    #[track_caller]
    #[must_use]
    pub fn run(store: &str, work: Work, entrants: &[&Entrant], rounds: Rounds) -> Self {
        let mut results: Vec<Result> = entrants
            .iter()
            .map(|entrant| Result {
                entrant: entrant.name.clone(),
                samples: Vec::with_capacity(rounds.count),
                system_calls: None,
                resident_mib: None,
            })
            .collect();
        for _ in 0..rounds.count {
            for (entrant, result) in entrants.iter().zip(&mut results) {
                result.samples.push(sample(&work, entrant, rounds.time));
            }
        }
        for (entrant, result) in entrants.iter().zip(&mut results) {
            let Some(process) = entrant.process else { continue };
            result.resident_mib = Some(cost::resident_mib(process));
            let Some(counter) = SystemCalls::of(process) else { continue };
            let seen = client::run(&work, &entrant.way, SIZE, rounds.time.min(Duration::from_secs(1)));
            result.system_calls = counter.stop().map(|calls| calls / seen.operations);
        }
        Self { store: store.to_owned(), work, results }
    }

    /// The median of the ratios, round by round, of the first entrant's figure to the one of the entrant called `other`.
    #[must_use]
    pub fn ratio(&self, figure: Figure, other: &str) -> Option<f64> {
        self.compare(figure, other, |first, other| first / other)
    }

    /// As [`Contest::ratio`], of the differences.
    #[must_use]
    pub fn difference(&self, figure: Figure, other: &str) -> Option<f64> {
        self.compare(figure, other, |first, other| first - other)
    }

    fn compare(&self, figure: Figure, other: &str, how: fn(f64, f64) -> f64) -> Option<f64> {
        let (first, rest) = self.results.split_first()?;
        let other = rest.iter().find(|result| result.entrant == other)?;
        let pairs = first.samples.iter().zip(&other.samples);
        median(pairs.map(|(a, b)| Some(how(figure.of(a)?, figure.of(b)?))).collect::<Option<_>>()?)
    }
}

fn sample(work: &Work, entrant: &Entrant, time: Duration) -> Sample {
    let before = entrant.process.map(Counters::of);
    let seen = client::run(work, &entrant.way, SIZE, time);
    let spent = entrant
        .process
        .zip(before)
        .map(|(process, before)| Counters::of(process).since(before, seen.operations));
    Sample { seen, spent }
}

/// The middle value, or the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len().checked_sub(1)? / 2;
    Some((values.get(middle)? + values.get(values.len() / 2)?) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contest(first: &[f64], second: &[f64]) -> Contest {
        let result = |name: &str, iops: &[f64]| Result {
            entrant: name.to_owned(),
            samples: iops
                .iter()
                .map(|&iops| Sample {
                    seen: Seen { iops, bandwidth: 0.0, mean_us: 0.0, p99_us: 0.0, operations: 1.0 },
                    spent: None,
                })
                .collect(),
            system_calls: None,
            resident_mib: None,
        };
        let results = vec![result("a", first), result("b", second)];
        Contest { store: String::new(), work: super::super::work::READ_QD1, results }
    }

    #[test]
    fn medians_are_of_the_middle() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0]), Some(3.0));
        assert_eq!(median(vec![5.0, 1.0]), Some(3.0));
        assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![9.0, 1.0, 2.0, 4.0]), Some(3.0));
    }

    /// The machine was slow in the second round, for both.
    #[test]
    fn ratios_are_taken_within_a_round() {
        let contest = contest(&[100.0, 20.0, 110.0], &[50.0, 10.0, 50.0]);
        assert_eq!(contest.ratio(Figure::Iops, "b"), Some(2.0));
        assert_eq!(contest.ratio(Figure::Cpu, "b"), None);
        assert_eq!(contest.ratio(Figure::Iops, "c"), None);
    }
}
