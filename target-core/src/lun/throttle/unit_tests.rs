use super::*;
use proptest::prelude::*;

const READ: Line = Line { writes: false, is_urgent: false };
const WRITE: Line = Line { writes: true, is_urgent: false };
const URGENT: Line = Line { writes: false, is_urgent: true };
const MS: Duration = Duration::from_millis(1);

#[derive(Default)]
struct Clerk(Mutex<Vec<Duration>>);

impl Meter for Clerk {
    fn throttled(&self, waited: Duration) {
        self.0.lock().unwrap().push(waited);
    }
}

struct Lab {
    throttle: Arc<Throttle>,
    clerk: Arc<Clerk>,
    now: Instant,
}

impl Lab {
    fn new(limits: Limits) -> Self {
        let clerk = Arc::new(Clerk::default());
        let throttle = Arc::new(Throttle::new(clerk.clone()));
        let now = Instant::now();
        throttle.set(now, limits);
        Self { throttle, clerk, now }
    }

    fn charge(&self, line: Line, bytes: u64) -> Option<Ticket> {
        self.throttle.charge(self.now, line, bytes)
    }

    /// A command that has to wait.
    fn waits(&self, line: Line, bytes: u64) -> Ticket {
        self.charge(line, bytes).expect("it has to wait")
    }

    /// Takes all that can be taken at once.
    fn exhaust(&self) -> Ticket {
        loop {
            if let Some(ticket) = self.charge(READ, 0) {
                return ticket;
            }
        }
    }

    fn passes(&self, ticket: &Ticket) -> bool {
        ticket.look(self.now).is_ok()
    }
}

fn limit(rate: u64, burst: u64) -> Option<Limit> {
    Some(Limit { rate, burst })
}

fn iops(rate: u64, burst: u64) -> Limits {
    Limits { iops: limit(rate, burst), ..Limits::NONE }
}

#[test]
fn first_come_first_served() {
    let mut lab = Lab::new(iops(1000, 10));
    let first = lab.exhaust();
    let second = lab.waits(WRITE, 0);
    let third = lab.waits(READ, 0);
    assert!(!lab.passes(&first));
    lab.now += MS;
    // Whoever looks lets all go whose time has come.
    assert!(!lab.passes(&third) && !lab.passes(&second) && lab.passes(&first));
    lab.now += MS;
    assert!(!lab.passes(&third) && lab.passes(&second));
    lab.now += MS;
    assert!(lab.passes(&third));
    assert_eq!(*lab.clerk.0.lock().unwrap(), [MS, MS * 2, MS * 3]);
}

#[test]
fn who_waits_is_told_when_to_look_again() {
    let mut lab = Lab::new(iops(100, 1));
    let (first, second, third) = (lab.exhaust(), lab.waits(READ, 0), lab.waits(READ, 0));
    assert_eq!(first.look(lab.now), Err(lab.now + MS * 10));
    assert_eq!(second.look(lab.now), Err(lab.now + MS * 20));
    // No later than this: limits may be lifted meanwhile.
    assert_eq!(third.look(lab.now), Err(lab.now + MS * 20));
    lab.now += MS * 10;
    assert_eq!(first.look(lab.now), Ok(()));
}

#[test]
fn who_is_aborted_costs_nothing_and_holds_nobody_up() {
    let mut lab = Lab::new(iops(1000, 10));
    let first = lab.exhaust();
    let aborted: Vec<_> = (0..100).map(|_| lab.waits(READ, 0)).collect();
    let last = lab.waits(READ, 0);
    drop(aborted);
    lab.now += MS * 2;
    assert!(lab.passes(&first) && lab.passes(&last));
}

#[test]
fn head_of_queue_goes_first() {
    let mut lab = Lab::new(iops(1000, 10));
    let first = lab.exhaust();
    let urgent = lab.waits(URGENT, 0);
    lab.now += MS;
    assert!(lab.passes(&urgent) && !lab.passes(&first));
}

#[test]
fn directions_do_not_hold_each_other_up() {
    let limits = Limits { write_bytes: limit(1 << 20, 1 << 20), ..iops(100_000, 100_000) };
    let mut lab = Lab::new(limits);
    assert!(lab.charge(WRITE, 1 << 20).is_none());
    let write = lab.waits(WRITE, 4096);
    for _ in 0..100 {
        assert!(lab.charge(READ, 1 << 20).is_none());
    }
    let behind = lab.waits(WRITE, 512);
    lab.now += MS * 4;
    assert!(lab.passes(&write) && !lab.passes(&behind));
}

#[test]
fn small_ones_do_not_starve_a_large_one() {
    let mut lab = Lab::new(Limits { bytes: limit(1_000_000, 100_000), ..Limits::NONE });
    assert!(lab.charge(READ, 100_000).is_none());
    let large = lab.waits(WRITE, 1_000_000);
    let small = lab.waits(READ, 1);
    lab.now += MS * 99;
    assert!(!lab.passes(&small) && !lab.passes(&large));
    lab.now += MS;
    assert!(lab.passes(&large) && !lab.passes(&small));
    // What was larger than the burst is owed.
    lab.now += MS * 900;
    assert!(!lab.passes(&small));
    lab.now += MS;
    assert!(lab.passes(&small));
}

#[test]
fn other_limits_hold_at_once_and_lifted_ones_no_more() {
    let mut lab = Lab::new(iops(10, 1));
    let waiting: Vec<_> = std::iter::once(lab.exhaust()).chain((0..20).map(|_| lab.waits(READ, 0))).collect();
    lab.throttle.set(lab.now, iops(10_000, 1));
    lab.now += MS;
    assert_eq!(waiting.iter().filter(|ticket| lab.passes(ticket)).count(), 10);
    lab.throttle.set(lab.now, Limits::NONE);
    assert!(waiting.iter().all(|ticket| lab.passes(ticket)));
    assert!(lab.charge(WRITE, u64::MAX).is_none());
}

#[test]
fn a_clock_that_is_behind_does_no_harm() {
    let lab = Lab::new(iops(1000, 1));
    let first = lab.exhaust();
    let later = lab.now + MS * 5;
    assert!(first.look(later).is_ok());
    let second = lab.exhaust();
    assert!(second.look(lab.now).is_err());
    assert!(second.look(later).is_err());
}

proptest! {
    /// Limits of all kinds, commands of all kinds, some aborted, changes in between: never more than each rate and one burst, and nobody
    /// waits for ever.
    #[test]
    fn limits_are_kept_by_all_together(
        rates in prop::array::uniform4(prop::option::of(1_000..1_000_000_u64)),
        steps in prop::collection::vec((0..4_u8, 0..20_000_u64, 0..5_000_000_u64), 1..100),
    ) {
        let [a, b, c, d] = rates.map(|rate| rate.map(|rate| Limit { rate, burst: 20_000 }));
        let mut lab = Lab::new(Limits { iops: a, bytes: b, read_bytes: c, write_bytes: d });
        let begin = lab.now;
        let mut waiting: Vec<(Ticket, bool, u64)> = Vec::new();
        let mut gone = [0_u64; 4];
        let count = |gone: &mut [u64; 4], writes: bool, bytes| {
            gone[0] += 1;
            gone[1] += bytes;
            gone[2 + usize::from(writes)] += bytes;
        };
        for (what, bytes, pause) in steps {
            let line = [READ, WRITE, URGENT, WRITE][usize::from(what)];
            match lab.charge(line, bytes) {
                None => count(&mut gone, line.writes, bytes),
                Some(ticket) => waiting.push((ticket, line.writes, bytes)),
            }
            if what == 3 && !waiting.is_empty() {
                let aborted = waiting.swap_remove(bytes as usize % waiting.len());
                if lab.passes(&aborted.0) {
                    count(&mut gone, aborted.1, aborted.2);
                }
            }
            lab.now += Duration::from_nanos(pause);
            waiting.retain(|(ticket, writes, bytes)| {
                let passes = lab.passes(ticket);
                if passes {
                    count(&mut gone, *writes, *bytes);
                }
                !passes
            });
            let elapsed = (lab.now - begin).as_nanos();
            for (rate, gone) in rates.iter().zip(gone) {
                if let Some(rate) = rate {
                    let most = u128::from(*rate) * elapsed / 1_000_000_000 + 20_000 + 1;
                    prop_assert!(u128::from(gone) <= most, "{gone} > {most}");
                }
            }
        }
        for _ in 0..100_000 {
            let Some((ticket, ..)) = waiting.first() else { break };
            match ticket.look(lab.now) {
                Ok(()) => drop(waiting.remove(0)),
                Err(again) => lab.now = again,
            }
        }
        prop_assert!(waiting.is_empty());
    }
}
