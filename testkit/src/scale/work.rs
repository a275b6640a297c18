//! A closed loop of reads and writes on one session.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::latency::Latency;
use crate::initiator::{GOOD, Initiator, TargetPdu};

/// What goes along with a write command; the rest is asked for. FirstBurstLength, as it is unless it is negotiated.
const FIRST_BURST: u32 = 64 << 10;

/// Data-Out PDUs are as long as glint declares by default that they may be.
const PIECE: usize = 256 << 10;

/// How long to wait for an answer before looking whether it is time to stop.
const GLANCE: Duration = Duration::from_millis(200);

/// What to do, over and over.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Bytes of one command; a multiple of 512.
    pub length: u32,
    /// Commands at a time.
    pub depth: usize,
    /// Of a hundred commands so many are reads.
    pub reads: u32,
    /// Bytes of the volume that are touched.
    pub extent: u32,
}

impl Work {
    /// Random reads and writes of 4 KiB, half of each, in the first 16 MiB.
    pub const SMALL: Self = Self { length: 4 << 10, depth: 1, reads: 50, extent: 16 << 20 };

    /// The same so many at a time.
    #[must_use]
    pub fn deep(self, depth: usize) -> Self {
        Self { depth, ..self }
    }

    /// Does it until told to stop, and waits for the ends of what is under way then.
    #[track_caller]
    pub fn run(&self, initiator: &mut Initiator, seed: u32, stop: &AtomicBool) -> Latency {
        self.run_while(initiator, seed, || !stop.load(Ordering::Relaxed))
    }

    /// Does it as long as `goes_on`, which is asked before each command, and waits for the ends of what is under way then.
    #[track_caller]
    pub fn run_while(
        &self,
        initiator: &mut Initiator,
        seed: u32,
        mut goes_on: impl FnMut() -> bool,
    ) -> Latency {
        initiator.take_meanwhile();
        let data = vec![0xa5; self.length as usize];
        let mut random = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9) | 1;
        let mut latency = Latency::default();
        let mut open = HashMap::new();
        loop {
            while open.len() < self.depth && goes_on() {
                let began = Instant::now();
                open.insert(self.send(initiator, &mut random, &data), began);
            }
            if open.is_empty() {
                return latency;
            }
            let Some(came) = initiator.receive_within(GLANCE) else { continue };
            let (tag, status) = match came {
                Some(TargetPdu::DataIn(it)) => match it.status {
                    Some(status) => (it.initiator_task_tag, status.status),
                    None => continue,
                },
                Some(TargetPdu::ScsiResponse(it)) => (it.initiator_task_tag, it.status),
                Some(TargetPdu::ReadyToTransfer(r2t)) => {
                    initiator.answer_in(PIECE, &r2t, &data);
                    continue;
                }
                Some(TargetPdu::NopIn(ping)) => {
                    initiator.answer_ping(&ping);
                    continue;
                }
                other => panic!("not expected: {other:?}"),
            };
            assert_eq!(status, GOOD);
            let began = open.remove(&tag).expect("each command ends once");
            latency.note(began.elapsed());
        }
    }

    #[track_caller]
    fn send(&self, initiator: &mut Initiator, random: &mut u32, data: &[u8]) -> u32 {
        let mut next = || {
            *random ^= *random << 13;
            *random ^= *random >> 17;
            *random ^= *random << 5;
            *random
        };
        let block = next() % (self.extent / self.length) * (self.length / 512);
        let (reads, blocks) = (next() % 100 < self.reads, self.length / 512);
        let mut cdb = [0; 16];
        cdb[0] = if reads { 0x88 } else { 0x8a };
        cdb[6..10].copy_from_slice(&block.to_be_bytes());
        cdb[10..14].copy_from_slice(&blocks.to_be_bytes());
        match reads {
            true => initiator.command(&cdb, self.length),
            false if self.length <= FIRST_BURST => initiator.command_with(&cdb, data),
            false => initiator.write_command(&cdb, self.length, false),
        }
    }
}
