//! Connections that make glint keep as much as they can: some write all they can, some begin writes that they do not complete, some
//! read and do not take what they asked for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::load::begin;
use super::{Latency, Work, port};
use crate::glint::Glint;
use crate::initiator::{Initiator, TargetPdu};

/// Commands under way on each connection that writes.
const DEPTH: usize = 32;

/// Commands begun on each that does not go on: the default of `command_window`.
const WINDOW: usize = 128;

/// What is left out of each burst by those that do not complete it.
const MISSING: usize = 8 << 10;

const MIB: u32 = 1 << 20;

/// How much memory it took.
#[derive(Clone, Debug)]
pub struct Flooded {
    /// Before, with nobody there.
    pub before_kib: u64,
    /// The most that was seen.
    pub peak_kib: u64,
    /// With nobody there any more.
    pub after_kib: u64,
    /// Writes of 1 MiB that came to their end.
    pub writes: Latency,
}

/// Floods targets 0 to `connections`, for a time. Of eight connections one does not complete its writes, and one does not take what it reads.
#[track_caller]
pub fn flood(glint: &Glint, connections: usize, time: Duration) -> Flooded {
    let before_kib = glint.resident_kib();
    let stop = AtomicBool::new(false);
    let (peak_kib, writes) = thread::scope(|scope| {
        let stop = &stop;
        let running: Vec<_> = (0..connections)
            .map(|at| {
                let mut session = begin(glint.portal(), port(at));
                scope.spawn(move || match at % 8 {
                    6 => {
                        hoard(&mut session, stop);
                        Latency::default()
                    }
                    7 => {
                        ask_in_vain(&mut session, stop);
                        Latency::default()
                    }
                    _ => Work { length: MIB, depth: DEPTH, reads: 0, extent: 16 * MIB }.run(
                        &mut session,
                        at as u32 + 1,
                        stop,
                    ),
                })
            })
            .collect();
        let (began, mut peak) = (Instant::now(), before_kib);
        while began.elapsed() < time {
            peak = peak.max(glint.resident_kib());
            thread::sleep(Duration::from_millis(20));
        }
        stop.store(true, Ordering::Relaxed);
        let mut writes = Latency::default();
        running.into_iter().for_each(|ended| writes.add(&ended.join().expect("the flood goes on")));
        (peak, writes)
    });
    thread::sleep(Duration::from_millis(500));
    Flooded { before_kib, peak_kib, after_kib: glint.resident_kib(), writes }
}

/// READ(16) or WRITE(16) of 1 MiB.
fn cdb(opcode: u8) -> [u8; 16] {
    [opcode, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0]
}

/// Begins writes and sends all that is asked for but the ends, for as long as glint bears it.
fn hoard(session: &mut Initiator, stop: &AtomicBool) {
    let data = vec![0x5a; MIB as usize];
    for _ in 0..WINDOW {
        let command = session.prepare_write(&cdb(0x8a), MIB, true);
        let tag = command.initiator_task_tag;
        session.send_command(command);
        let burst = session.unsolicited(tag, 0, &data[..(64 << 10) - MISSING], false);
        if session.try_send(&burst).is_err() {
            return;
        }
    }
    while !stop.load(Ordering::Relaxed) {
        match session.receive_within(Duration::from_millis(100)) {
            Some(Some(TargetPdu::ReadyToTransfer(mut r2t))) => {
                r2t.desired_length -= MISSING as u32;
                session.answer(&r2t, &data);
            }
            Some(Some(_)) | None => {}
            Some(None) => return,
        }
    }
}

/// Reads as much as it may and takes nothing of it.
fn ask_in_vain(session: &mut Initiator, stop: &AtomicBool) {
    for _ in 0..WINDOW {
        session.command(&cdb(0x88), MIB);
    }
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(50));
    }
}
