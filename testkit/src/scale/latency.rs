//! How long operations took, in a fixed amount of memory however many there were.

use std::time::Duration;

/// Buckets for each power of two: what is told is at most a sixteenth too much.
const STEPS: u32 = 16;
const BUCKETS: usize = 64 * STEPS as usize;

/// A histogram of durations, of nanoseconds to hours.
#[derive(Clone, Debug)]
pub struct Latency {
    buckets: Vec<u64>,
    count: u64,
}

impl Default for Latency {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS], count: 0 }
    }
}

fn bucket(nanos: u64) -> usize {
    let value = nanos.max(u64::from(STEPS));
    let power = value.ilog2();
    let step = (value >> (power - STEPS.ilog2())) as u32 - STEPS;
    ((power * STEPS + step) as usize).min(BUCKETS - 1)
}

/// The least value that belongs to a later bucket.
fn end(bucket: usize) -> u64 {
    let (power, step) = (bucket as u32 / STEPS, bucket as u32 % STEPS);
    u64::from(STEPS + step + 1) << power.saturating_sub(STEPS.ilog2())
}

impl Latency {
    /// Notes an operation.
    pub fn note(&mut self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        if let Some(count) = self.buckets.get_mut(bucket(nanos)) {
            *count += 1;
            self.count += 1;
        }
    }

    /// Notes all that another has.
    pub fn add(&mut self, other: &Self) {
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(own, theirs)| *own += theirs);
        self.count += other.count;
    }

    /// Operations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What this part of all operations did not exceed: 0.5 is the median.
    pub fn quantile(&self, part: f64) -> Duration {
        let rank = (self.count as f64 * part).ceil().max(1.0) as u64;
        let mut seen = 0;
        let reached = self.buckets.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        Duration::from_nanos(reached.map_or(0, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_at_most_a_sixteenth_too_high() {
        let mut latency = Latency::default();
        (1..=1000).for_each(|micros| latency.note(Duration::from_micros(micros)));
        for (part, micros) in [(0.001, 1.0), (0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let told = latency.quantile(part).as_secs_f64() * 1e6;
            assert!((micros..=micros * 1.0625).contains(&told), "{part}: {told}");
        }
        let mut both = Latency::default();
        both.add(&latency);
        both.note(Duration::ZERO);
        both.note(Duration::MAX);
        assert_eq!((both.count(), Latency::default().quantile(0.5)), (1002, Duration::ZERO));
    }
}
