//! The buckets of one unit and who waits for them.

use super::Limits;
use super::bucket::{Bucket, Limit, SLACK};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Who waits looks again after this time at the latest: limits may have been lifted, or those ahead aborted.
const LOOK_AGAIN: Duration = SLACK;

/// And not before this time, so that a wrong guess keeps nobody busy.
const REST: Duration = Duration::from_micros(100);

/// What wants to know of commands that waited.
pub trait Meter: Send + Sync {
    /// One has waited so long, and goes on.
    fn throttled(&self, waited: Duration);
}

/// Where a command queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// With those that write.
    pub writes: bool,
    /// Before all others.
    pub is_urgent: bool,
}

impl Line {
    const fn of(writes: bool, is_urgent: bool) -> Self {
        Self { writes, is_urgent }
    }

    const fn index(self) -> usize {
        (self.writes as usize) | ((!self.is_urgent) as usize) << 1
    }
}

/// The order in which lines are looked at where nothing else decides.
const LINES: [Line; 4] =
    [Line::of(false, true), Line::of(true, true), Line::of(false, false), Line::of(true, false)];

/// A command that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    number: u64,
    bytes: u64,
    since: Instant,
}

/// Whether the next of a line may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Passes,
    /// What all commands draw on is exhausted.
    Waits,
    /// Only what those of its direction draw on.
    DirectionWaits,
}

#[derive(Default)]
struct Inner {
    iops: Option<Bucket>,
    bytes: Option<Bucket>,
    /// Of reads and of writes.
    directions: [Option<Bucket>; 2],
    lines: [VecDeque<Waiting>; 4],
    last_number: u64,
    /// When the buckets were filled up last.
    filled: Option<Instant>,
}

impl Inner {
    fn line(&self, line: Line) -> &VecDeque<Waiting> {
        &self.lines[line.index() & 3]
    }

    fn line_mut(&mut self, line: Line) -> &mut VecDeque<Waiting> {
        &mut self.lines[line.index() & 3]
    }

    fn direction(&mut self, writes: bool) -> &mut Option<Bucket> {
        &mut self.directions[usize::from(writes)]
    }

    fn refill(&mut self, now: Instant) {
        // Threads have looked at the clock in another order than they come here.
        let filled = self.filled.map_or(now, |filled| filled.max(now));
        let elapsed = self.filled.map_or(Duration::ZERO, |before| filled - before);
        self.filled = Some(filled);
        let [reads, writes] = &mut self.directions;
        for bucket in [&mut self.iops, &mut self.bytes, reads, writes].into_iter().flatten() {
            bucket.refill(elapsed);
        }
    }

    fn judge(&self, writes: bool, bytes: u64) -> Verdict {
        let affords = |bucket: &Option<Bucket>, tokens| bucket.as_ref().is_none_or(|it| it.affords(tokens));
        if !affords(&self.iops, 1) || !affords(&self.bytes, bytes) {
            Verdict::Waits
        } else if !affords(&self.directions[usize::from(writes)], bytes) {
            Verdict::DirectionWaits
        } else {
            Verdict::Passes
        }
    }

    fn take(&mut self, writes: bool, bytes: u64) {
        if let Some(bucket) = &mut self.iops {
            bucket.take(1);
        }
        if let Some(bucket) = &mut self.bytes {
            bucket.take(bytes);
        }
        if let Some(bucket) = self.direction(writes) {
            bucket.take(bytes);
        }
    }

    /// The line whose first may go now. What is exhausted for all holds up all behind the first, or large ones would wait for ever; what is
    /// exhausted for one direction leaves the other alone.
    fn next(&self) -> Option<Line> {
        let mut heads: [Option<(Line, Waiting)>; 4] =
            LINES.map(|line| self.line(line).front().map(|first| (line, *first)));
        heads.sort_unstable_by_key(|head| {
            head.map_or((true, true, u64::MAX), |(line, first)| (false, !line.is_urgent, first.number))
        });
        let mut held = [false; 2];
        for (line, first) in heads.into_iter().flatten() {
            let held = &mut held[usize::from(line.writes)];
            if *held {
                continue;
            }
            match self.judge(line.writes, first.bytes) {
                Verdict::Passes => return Some(line),
                Verdict::Waits => return None,
                Verdict::DirectionWaits => *held = true,
            }
        }
        None
    }

    /// Lets all go whose time has come.
    fn advance(&mut self, now: Instant, meter: &dyn Meter) {
        self.refill(now);
        while let Some(line) = self.next() {
            let Some(first) = self.line_mut(line).pop_front() else { return };
            self.take(line.writes, first.bytes);
            let waited = now.saturating_duration_since(first.since);
            if waited > Duration::ZERO {
                meter.throttled(waited);
            }
        }
    }

    /// How long the one of this number has to wait, as far as one can tell.
    fn wait(&self, line: Line, number: u64) -> Duration {
        let mut own = 0;
        let (mut commands, mut bytes, mut same) = (0, 0_u64, 0_u64);
        for other in LINES {
            for waiting in self.line(other) {
                let is_ahead = match (other.is_urgent, line.is_urgent) {
                    (true, false) => true,
                    (false, true) => false,
                    _ => waiting.number < number,
                };
                if waiting.number == number {
                    own = waiting.bytes;
                }
                if !is_ahead {
                    break;
                }
                commands += 1;
                bytes = bytes.saturating_add(waiting.bytes);
                if other.writes == line.writes {
                    same = same.saturating_add(waiting.bytes);
                }
            }
        }
        let wait = |bucket: &Option<Bucket>, ahead, tokens| {
            bucket.as_ref().map_or(Duration::ZERO, |it| it.wait(ahead, tokens))
        };
        wait(&self.iops, commands, 1).max(wait(&self.bytes, bytes, own)).max(wait(
            &self.directions[usize::from(line.writes)],
            same,
            own,
        ))
    }
}

/// The limits of one unit and those who wait for them.
pub struct Throttle {
    inner: Mutex<Inner>,
    meter: Arc<dyn Meter>,
}

impl Throttle {
    /// No limits.
    pub fn new(meter: Arc<dyn Meter>) -> Self {
        Self { inner: Mutex::default(), meter }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on these are the limits. Who waits goes by them too; what was taken in advance is owed still.
    pub fn set(&self, now: Instant, limits: Limits) {
        let mut inner = self.lock();
        inner.refill(now);
        let change = |bucket: &mut Option<Bucket>, limit: Option<Limit>| {
            *bucket = limit.map(|limit| bucket.map_or(Bucket::new(limit), |bucket| bucket.with(limit)));
        };
        change(&mut inner.iops, limits.iops);
        change(&mut inner.bytes, limits.bytes);
        change(inner.direction(false), limits.read_bytes);
        change(inner.direction(true), limits.write_bytes);
        inner.advance(now, &*self.meter);
    }

    /// Charges a command. None: it may go on at once.
    pub(super) fn charge(self: &Arc<Self>, now: Instant, line: Line, bytes: u64) -> Option<Ticket> {
        let mut inner = self.lock();
        inner.last_number += 1;
        let number = inner.last_number;
        inner.line_mut(line).push_back(Waiting { number, bytes, since: now });
        inner.advance(now, &*self.meter);
        if inner.line(line).back().is_none_or(|last| last.number != number) {
            return None;
        }
        drop(inner);
        Some(Ticket { throttle: Arc::clone(self), line, number })
    }
}

/// A command's place in a queue. Who drops it waits no more.
pub struct Ticket {
    throttle: Arc<Throttle>,
    line: Line,
    number: u64,
}

impl Ticket {
    /// Whether the command may go on; if not, when to ask again.
    pub fn look(&self, now: Instant) -> Result<(), Instant> {
        let mut inner = self.throttle.lock();
        inner.advance(now, &*self.throttle.meter);
        if inner.line(self.line).front().is_none_or(|first| first.number > self.number) {
            return Ok(());
        }
        let wait = inner.wait(self.line, self.number).clamp(REST, LOOK_AGAIN);
        Err(now + wait)
    }

    /// Whether both are of one queue. Then the later goes after the earlier.
    pub fn queues_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.throttle, &other.throttle) && self.line == other.line
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut inner = self.throttle.lock();
        let line = inner.line_mut(self.line);
        if let Ok(at) = line.binary_search_by_key(&self.number, |waiting| waiting.number) {
            line.remove(at);
        }
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket")
            .field("line", &self.line)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "unit_tests.rs"]
mod tests;
