//! Hosts that write and read the blocks of a ledger, each through all portals, until they are told to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::block::{BLOCK, Content};
use super::cdb;
use super::ledger::{Floors, Ledger};
use super::multipath::{Failed, Multipath};
use super::site::Site;
use crate::initiator::{GOOD, Transfer};

/// The most blocks of a write, and of a read. The longer of the writes are more than goes with a command.
const MOST: (u64, u64) = (4, 8);

/// Blocks of one read of a sweep.
const STRIDE: u64 = 16;

struct Worker {
    /// Commands that it has done.
    done: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

/// See the module.
pub struct Load {
    stop: Arc<AtomicBool>,
    workers: Vec<Worker>,
}

impl Load {
    /// Starts a host for each of `pins`: one that always uses the best path, or prefers the portal of this number.
    pub fn start(site: &Site, ledger: &Arc<Ledger>, pins: &[Option<usize>]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let workers = pins.iter().zip(1..).map(|(pin, number)| {
            let host = site.host(&format!("host-{number}"));
            let host = match pin {
                Some(path) => host.pinned(*path),
                None => host,
            };
            let (stop, ledger, done) = (Arc::clone(&stop), Arc::clone(ledger), Arc::default());
            let counted = Arc::clone(&done);
            let thread = thread::spawn(move || work(host, &ledger, number, &stop, &counted));
            Worker { done, thread }
        });
        let workers = workers.collect();
        Self { stop, workers }
    }

    /// Waits until each host has done so many more commands; those that have not after `limit` are named.
    pub fn wait_for(&self, commands: u64, limit: Duration) -> Result<(), String> {
        let deadline = Instant::now() + limit;
        let goals: Vec<_> =
            self.workers.iter().map(|it| it.done.load(Ordering::Relaxed) + commands).collect();
        for (number, (worker, goal)) in self.workers.iter().zip(goals).enumerate() {
            while worker.done.load(Ordering::Relaxed) < goal {
                if worker.thread.is_finished() || Instant::now() > deadline {
                    return Err(format!("host {} does not go on, {limit:?} were not enough", number + 1));
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
        Ok(())
    }

    /// Waits for the commands under way, and panics where a host did.
    pub fn stop(mut self) {
        if let Some(panic) = self.join().pop() {
            std::panic::resume_unwind(panic);
        }
    }

    fn join(&mut self) -> Vec<Box<dyn std::any::Any + Send>> {
        self.stop.store(true, Ordering::Relaxed);
        self.workers.drain(..).filter_map(|worker| worker.thread.join().err()).collect()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // Whoever drops it is on his way out for another reason.
        self.join();
    }
}

fn work(mut host: Multipath, ledger: &Ledger, number: u32, stop: &AtomicBool, done: &AtomicU64) {
    let mut dice = Dice(u64::from(number));
    while !stop.load(Ordering::Relaxed) {
        let is_write = dice.roll(10) < 6;
        let most = if is_write { MOST.0 } else { MOST.1 };
        let blocks = 1 + dice.roll(most);
        let first = dice.roll(ledger.len() - blocks + 1);
        // What failed was counted, and is in doubt or was not read.
        let did = match is_write {
            true => write(&mut host, ledger, number, first..first + blocks),
            false => read(&mut host, None, ledger, first..first + blocks),
        };
        done.fetch_add(u64::from(did.is_ok()), Ordering::Relaxed);
    }
}

fn write(
    host: &mut Multipath,
    ledger: &Ledger,
    writer: u32,
    blocks: std::ops::Range<u64>,
) -> Result<(), Failed> {
    let count = (blocks.end - blocks.start) as u16;
    let Some(claim) = ledger.claim(blocks, writer) else { return Ok(()) };
    match host.run(&cdb::write(claim.first(), count), Transfer::Out(&claim.bytes())) {
        Ok(answer) if answer.end.status == GOOD => {
            let how = if answer.doubt { ", not at the first try" } else { "" };
            ledger.acknowledge(claim, &format!("by {}{how}", answer.portal));
            Ok(())
        }
        Ok(answer) => panic!("a write ended with {:02x?}", answer.end),
        Err(failed) => {
            ledger.doubt(claim, &failed.0);
            Err(failed)
        }
    }
}

fn read(
    host: &mut Multipath,
    path: Option<usize>,
    ledger: &Ledger,
    blocks: std::ops::Range<u64>,
) -> Result<(), Failed> {
    let (first, count) = (blocks.start, (blocks.end - blocks.start) as u16);
    let cdb = cdb::read(first, count);
    let floors: Floors = ledger.before_read(blocks);
    let transfer = Transfer::In(u32::from(count) * BLOCK as u32);
    let answer = match path {
        Some(path) => host.run_on(path, &cdb, transfer)?,
        None => host.run(&cdb, transfer)?,
    };
    let portal = answer.portal;
    let contents: Vec<_> = answer.end.good().chunks(BLOCK).map(Content::of).collect();
    ledger.after_read(&floors, &contents, &format!("by {portal}"));
    Ok(())
}

/// Reads all blocks through the portal of this number, and compares.
pub fn sweep(site: &Site, ledger: &Ledger, path: usize) -> Result<(), Failed> {
    let mut host = site.host("sweeper");
    for first in (0..ledger.len()).step_by(STRIDE as usize) {
        read(&mut host, Some(path), ledger, first..(first + STRIDE).min(ledger.len()))?;
    }
    Ok(())
}

/// Numbers without an order, the same for the same start.
struct Dice(u64);

impl Dice {
    /// Less than `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        // xorshift64*; the state must not be zero, and numbers are never negative.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % sides
    }
}
