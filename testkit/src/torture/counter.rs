//! A number that several hosts increment with COMPARE AND WRITE, each through a portal of its own: not one increment may be lost or done
//! twice. The block also says how often each host has incremented it, so a host whose command was lost finds out whether it was done.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::block::BLOCK;
use super::cdb;
use super::multipath::{Failed, Multipath};
use super::site::Site;
use crate::initiator::{GOOD, Transfer};

/// What the block holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// All increments.
    pub total: u64,
    /// Those of each host.
    pub of: Vec<u64>,
}

impl Count {
    fn encode(&self) -> Vec<u8> {
        let words = [self.total].into_iter().chain(self.of.iter().copied());
        let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        bytes.resize(BLOCK, 0);
        bytes
    }

    fn decode(bytes: &[u8], hosts: usize) -> Self {
        let mut words = bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes));
        Self { total: words.next().unwrap_or(0), of: words.take(hosts).collect() }
    }
}

/// What is known of one host's increments.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    sent: u64,
    /// Done for certain: acknowledged, or seen.
    done: u64,
}

/// Checks what is read of a counter.
#[derive(Debug, Default)]
pub struct Checker {
    known: Mutex<(Vec<Known>, Vec<String>)>,
}

impl Checker {
    /// Of so many hosts.
    pub fn new(hosts: usize) -> Self {
        Self { known: Mutex::new((vec![Known::default(); hosts], Vec::new())) }
    }

    fn lock(&self) -> MutexGuard<'_, (Vec<Known>, Vec<String>)> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sends(&self, host: usize, nth: u64) {
        let known = &mut self.lock().0[host];
        known.sent = known.sent.max(nth);
    }

    fn acknowledged(&self, host: usize, nth: u64) {
        let known = &mut self.lock().0[host];
        known.done = known.done.max(nth);
    }

    /// What a read that begins now has to show at least.
    fn floors(&self) -> Vec<u64> {
        self.lock().0.iter().map(|known| known.done).collect()
    }

    fn found(&self, floors: &[u64], count: &Count) {
        let mut lock = self.lock();
        let (known, faults) = &mut *lock;
        if count.total != count.of.iter().sum::<u64>() {
            faults.push(format!("the counter does not add up: {count:?}"));
        }
        for (host, ((known, floor), of)) in known.iter_mut().zip(floors).zip(&count.of).enumerate() {
            if of < floor {
                faults.push(format!("increments of host {host} are lost: {of} instead of {floor}"));
            }
            if *of > known.sent {
                faults.push(format!("increments of host {host} that nobody sent: {of}, {} sent", known.sent));
            }
            known.done = known.done.max(*of);
        }
    }

    fn fault(&self, fault: String) {
        self.lock().1.push(fault);
    }

    /// What was wrong since the last time.
    pub fn take_faults(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().1)
    }
}

/// Has as many hosts as there are pins increment block `block`, which is blank, so many times each; gives what was wrong. Each prefers
/// the portal of its pin.
pub fn count(site: &Site, block: u64, increments: u64, pins: &[usize]) -> Vec<String> {
    let checker = Arc::new(Checker::new(pins.len()));
    let hosts: Vec<_> = pins.iter().map(|pin| site.host(&format!("counter-{pin}")).pinned(*pin)).collect();
    let threads = hosts.into_iter().enumerate().map(|(number, mut host)| {
        let checker = Arc::clone(&checker);
        thread::spawn(move || -> Result<(), Failed> {
            (1..=increments).try_for_each(|nth| increment(&mut host, block, number, nth, &checker))
        })
    });
    let threads: Vec<_> = threads.collect();
    let mut faults: Vec<String> = Vec::new();
    for thread in threads {
        match thread.join() {
            Ok(Ok(())) => {}
            Ok(Err(failed)) => faults.push(failed.0),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    let mut last = site.host("counter-reader");
    for path in 0..site.portals.len() {
        let floors = checker.floors();
        match read(&mut last, Some(path), block, pins.len()) {
            Ok(count) => {
                checker.found(&floors, &count);
                if faults.is_empty() && count.of.iter().any(|of| *of != increments) {
                    faults.push(format!("in the end it is {count:?}, not {increments} of each host"));
                }
            }
            Err(failed) => faults.push(failed.0),
        }
    }
    faults.extend(checker.take_faults());
    faults
}

fn increment(
    host: &mut Multipath,
    block: u64,
    number: usize,
    nth: u64,
    checker: &Checker,
) -> Result<(), Failed> {
    let mut is_in_doubt = false;
    loop {
        let floors = checker.floors();
        let count = read(host, None, block, floors.len())?;
        checker.found(&floors, &count);
        if count.of[number] >= nth {
            if !is_in_doubt {
                checker.fault(format!("increment {nth} of host {number} was refused, and is there"));
            }
            return Ok(());
        }
        let mut next = count.clone();
        next.total += 1;
        next.of[number] = nth;
        checker.sends(number, nth);
        let out = [count.encode(), next.encode()].concat();
        let answer = host.run(&cdb::compare_and_write(block), Transfer::Out(&out))?;
        if answer.end.status == GOOD {
            checker.acknowledged(number, nth);
            return Ok(());
        }
        // MISCOMPARE: another host was faster, or an earlier try was done after all.
        is_in_doubt |= answer.doubt;
    }
}

fn read(host: &mut Multipath, path: Option<usize>, block: u64, hosts: usize) -> Result<Count, Failed> {
    let (cdb, transfer) = (cdb::read(block, 1), Transfer::In(BLOCK as u32));
    let answer = match path {
        Some(path) => host.run_on(path, &cdb, transfer)?,
        None => host.run(&cdb, transfer)?,
    };
    Ok(Count::decode(&answer.end.good(), hosts))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two hosts, of whom the first has two increments acknowledged and the second sent one.
    fn checker() -> Checker {
        let checker = Checker::new(2);
        for nth in 1..=2 {
            checker.sends(0, nth);
            checker.acknowledged(0, nth);
        }
        checker.sends(1, 1);
        checker
    }

    fn faults(total: u64, of: [u64; 2]) -> Vec<String> {
        let checker = checker();
        checker.found(&checker.floors(), &Count { total, of: of.to_vec() });
        checker.take_faults()
    }

    #[test]
    fn what_is_acknowledged_or_in_doubt_may_be_there() {
        assert_eq!(faults(2, [2, 0]), [""; 0]);
        assert_eq!(faults(3, [2, 1]), [""; 0]);
    }

    #[test]
    fn a_lost_increment_is_found() {
        assert!(faults(1, [1, 0])[0].contains("lost"));
        // One that was seen once is not in doubt any more.
        let checker = checker();
        checker.found(&checker.floors(), &Count { total: 3, of: vec![2, 1] });
        checker.found(&checker.floors(), &Count { total: 2, of: vec![2, 0] });
        assert!(checker.take_faults()[0].contains("lost"));
    }

    #[test]
    fn an_increment_that_is_done_twice_is_found() {
        // By adding, and by a repetition on top of what another has done: an old total with a newer one's hosts.
        assert!(faults(4, [2, 1])[0].contains("add up"));
        assert!(faults(2, [2, 1])[0].contains("add up"));
        assert!(faults(4, [3, 1])[0].contains("nobody sent"));
    }

    #[test]
    fn counts_keep_their_form() {
        let count = Count { total: 5, of: vec![2, 3] };
        assert_eq!(Count::decode(&count.encode(), 2), count);
        assert_eq!(Count::decode(&[0; BLOCK], 2), Count { total: 0, of: vec![0, 0] });
    }
}
