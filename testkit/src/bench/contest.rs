//! Entrants under one load in turn, round after round: machines are noisy, and what disturbs one of a round disturbs its neighbour.

use std::thread;
use std::time::Duration;

use super::client::{self, Seen};
use super::cost::{self, Counters, Spent, SystemCalls};
use super::entrant::Entrant;
use super::work::Work;

/// One entrant in one round.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// What the client saw.
    pub seen: Seen,
    /// What the serving process spent; None where there is none.
    pub spent: Option<Spent>,
    /// How much of the machine's processors was in use, by anyone.
    pub busy: Option<f64>,
}

/// One who takes part: an entrant under a load.
#[derive(Clone, Copy)]
pub struct Runner<'a> {
    /// Who.
    pub entrant: &'a Entrant,
    /// Its load.
    pub work: Work,
    /// Its name in this contest.
    pub name: &'a str,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// How much of the machine's processors was in use: how far more load could still bring more.
    Busy,
}

/// What a figure, or a ratio of figures, came to over the rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The middle.
    pub median: f64,
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
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
            Self::Busy => sample.busy,
        }
    }
}

impl Result {
    /// It over the rounds.
    #[must_use]
    pub fn spread(&self, figure: Figure) -> Option<Spread> {
        Spread::of(self.samples.iter().map(|sample| figure.of(sample)).collect::<Option<_>>()?)
    }

    /// The median over the rounds.
    #[must_use]
    pub fn median(&self, figure: Figure) -> Option<f64> {
        self.spread(figure).map(|spread| spread.median)
    }
}

impl Contest {
    /// Let them run, the first of them being glint under the load that the contest is named after.
    #[track_caller]
    #[must_use]
    pub fn run(store: &str, runners: &[Runner<'_>], rounds: Rounds) -> Self {
        let mut results: Vec<Result> = runners
            .iter()
            .map(|runner| Result {
                entrant: runner.name.to_owned(),
                samples: Vec::with_capacity(rounds.count),
                system_calls: None,
                resident_mib: None,
            })
            .collect();
        for _ in 0..rounds.count {
            for (runner, result) in runners.iter().zip(&mut results) {
                result.samples.push(sample(runner, rounds.time));
            }
        }
        for (runner, result) in runners.iter().zip(&mut results) {
            let Some(process) = runner.entrant.process else { continue };
            result.resident_mib = Some(cost::resident_mib(process));
            let Some(counter) = SystemCalls::of(process) else { continue };
            let time = rounds.time.min(Duration::from_secs(1));
            let seen = client::run(&runner.work, &runner.entrant.way, time);
            result.system_calls = counter.stop().map(|calls| calls / seen.operations);
        }
        let work = runners.first().expect("a contest has a first runner").work;
        Self { store: store.to_owned(), work, results }
    }

    /// The ratios, round by round, of the first one's figure to that of the one called `other`.
    #[must_use]
    pub fn ratio(&self, figure: Figure, other: &str) -> Option<Spread> {
        self.compare(figure, other, |first, other| first / other)
    }

    /// As [`Contest::ratio`], of the differences.
    #[must_use]
    pub fn difference(&self, figure: Figure, other: &str) -> Option<Spread> {
        self.compare(figure, other, |first, other| first - other)
    }

    fn compare(&self, figure: Figure, other: &str, how: fn(f64, f64) -> f64) -> Option<Spread> {
        let (first, rest) = self.results.split_first()?;
        let other = rest.iter().find(|result| result.entrant == other)?;
        let pairs = first.samples.iter().zip(&other.samples);
        Spread::of(pairs.map(|(a, b)| Some(how(figure.of(a)?, figure.of(b)?))).collect::<Option<_>>()?)
    }
}

fn sample(runner: &Runner<'_>, time: Duration) -> Sample {
    let process = runner.entrant.process;
    let before = process.map(Counters::of);
    let (seen, busy) = thread::scope(|scope| {
        let busy = scope.spawn(|| cost::busy_share(time));
        (client::run(&runner.work, &runner.entrant.way, time), busy.join().ok().flatten())
    });
    let spent =
        process.zip(before).map(|(process, before)| Counters::of(process).since(&before, seen.operations));
    Sample { seen, spent, busy }
}

impl Spread {
    /// None of no values.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        // The middle value, or the mean of the two in the middle.
        let median = (values.get((values.len() - 1) / 2)? + values.get(values.len() / 2)?) / 2.0;
        Some(Self { median, low, high })
    }
}

#[cfg(test)]
#[path = "contest_tests.rs"]
pub(super) mod tests;
