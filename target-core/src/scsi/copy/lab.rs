//! Several units on two targets of one node, and the parameter lists that initiators send.

use crate::lun::copy::CopyManager;
use crate::lun::identity::Identity;
use crate::lun::target::TargetDevice;
use crate::lun::unit::LogicalUnit;
use crate::scsi::command::{
    Cdb, Command, DeviceServer, Nexus, NexusId, Outcome, Response, TaskAttribute, TaskTag,
};
use crate::scsi::lun_address::LunAddress;
use crate::scsi::sense::{Asc, SenseKey, Status};
use crate::testing::{Crew, RamDevice, config, finish, poll, sense_of};
use std::cell::Cell;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::Poll;
use std::time::{Duration, Instant};

/// Bytes of every unit.
pub const SIZE: usize = 12 << 20;

thread_local! {
    static PASSED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Lets time pass for the copy managers of this thread.
pub fn pass(time: Duration) {
    PASSED.set(PASSED.get() + time);
}

fn now() -> Instant {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    *START + PASSED.get()
}

/// Target 0 has units A, B and, of 4096 bytes a block, C; target 1 has D.
pub struct Lab {
    pub targets: [TargetDevice<RamDevice>; 2],
    pub units: Vec<Arc<LogicalUnit<RamDevice>>>,
    pub crew: Arc<Crew>,
    /// The nexuses of initiator 1 with both targets.
    pub own: [Arc<Nexus>; 2],
}

/// Places of the units.
pub const A: usize = 0;
pub const B: usize = 1;
pub const C: usize = 2;
pub const D: usize = 3;

/// Target and number of a unit.
pub const fn place(unit: usize) -> (usize, u16) {
    if unit == D { (1, 0) } else { (0, unit as u16) }
}

impl Lab {
    /// Initiator 1 is logged in to both targets; all units have data of their own.
    pub fn new() -> Self {
        let lab = Self::without_login();
        for (target, nexus) in lab.targets.iter().zip(&lab.own) {
            target.nexus_established(nexus);
        }
        lab.settle();
        lab
    }

    pub fn without_login() -> Self {
        let copies = Arc::new(CopyManager::new(now));
        let crew = Arc::new(Crew::default());
        let targets = ["one", "two"].map(|name| {
            TargetDevice::sharing(format!("iqn.2026-12.io.glint:{name}").into(), Arc::clone(&copies))
        });
        let mut units = Vec::new();
        for unit in [A, B, C, D] {
            let mut config = config(if unit == C { 4096 } else { 512 });
            config.identity = Identity::new(format!("copy-{unit}"));
            let device = RamDevice::new(SIZE);
            let made = LogicalUnit::new(config, device).with_spawner(crew.clone());
            let made = Arc::new(made);
            let (target, number) = place(unit);
            targets[target].add_unit(number, Arc::clone(&made));
            units.push(made);
        }
        let own = [nexus(1, 1, 0, &[]), nexus(2, 1, 1, &[])];
        let lab = Self { targets, units, crew, own };
        for unit in [A, B, C, D] {
            lab.fill(unit, unit as u32 + 1);
        }
        lab
    }

    /// Takes all unit attentions of initiator 1.
    pub fn settle(&self) {
        for unit in [A, B, C, D] {
            let mut tries = 0..10;
            while tries.next().is_some() && self.run(unit, &[0; 6], &[]).status != Status::Good {}
        }
    }

    /// Data that differs from sector to sector and from seed to seed.
    pub fn fill(&self, unit: usize, seed: u32) {
        let mut data = self.units[unit].device().data.lock().unwrap();
        for (at, sector) in data.chunks_exact_mut(512).enumerate() {
            let word = (at as u32).wrapping_mul(0x9e37_79b9) ^ seed.wrapping_mul(0x85eb_ca6b);
            sector.copy_from_slice(&word.to_be_bytes().repeat(128));
        }
    }

    pub fn data(&self, unit: usize) -> Vec<u8> {
        self.units[unit].device().data.lock().unwrap().clone()
    }

    pub fn command(unit: usize, cdb: &[u8], data_out: &[u8]) -> Command {
        Command {
            lun: LunAddress::from_number(place(unit).1),
            tag: TaskTag(7),
            attribute: TaskAttribute::Simple,
            priority: 0,
            cdb: Cdb(cdb.into()),
            data_out: data_out.to_vec().into(),
            data_out_beyond: 0,
            data_in_room: u32::MAX,
        }
    }

    /// Starts a command of initiator 1.
    pub fn start<'a>(
        &'a self,
        unit: usize,
        cdb: &[u8],
        data_out: &[u8],
    ) -> impl Future<Output = Outcome> + use<'a> {
        let target = place(unit).0;
        self.targets[target].execute(&self.own[target], Self::command(unit, cdb, data_out))
    }

    pub fn run_as(&self, nexus: &Arc<Nexus>, unit: usize, cdb: &[u8], data_out: &[u8]) -> Response {
        let target = &self.targets[place(unit).0];
        match finish(target.execute(nexus, Self::command(unit, cdb, data_out))) {
            Outcome::Done(response) => response,
            Outcome::Aborted => panic!("aborted"),
        }
    }

    pub fn run(&self, unit: usize, cdb: &[u8], data_out: &[u8]) -> Response {
        self.run_as(&self.own[place(unit).0], unit, cdb, data_out)
    }

    pub fn good(&self, unit: usize, cdb: &[u8], data_out: &[u8]) -> Vec<u8> {
        let response = self.run(unit, cdb, data_out);
        assert_eq!(response.status, Status::Good, "{:x?}", response.sense_value);
        response.data_in.to_bytes().to_vec()
    }

    pub fn fails(&self, unit: usize, cdb: &[u8], data_out: &[u8], key: SenseKey, asc: Asc) -> Response {
        let response = self.run(unit, cdb, data_out);
        assert_eq!(sense_of(&response), Some((key, asc)));
        response
    }

    /// The designator of a unit as EXTENDED COPY names it, by NAA.
    pub fn cscd(&self, unit: usize) -> Vec<u8> {
        let unit = &self.units[unit];
        let mut cscd = vec![0; 32];
        cscd[..8].copy_from_slice(&[0xe4, 0, 0, 0, 1, 3, 0, 8]);
        cscd[8..16].copy_from_slice(&unit.config().identity.naa());
        cscd[28..].copy_from_slice(&unit.block_size().to_be_bytes());
        cscd
    }
}

/// A nexus of an initiator with a target, whose proofs are these.
pub fn nexus(id: u64, initiator: u8, target: usize, proofs: &[u64]) -> Arc<Nexus> {
    Arc::new(Nexus {
        id: NexusId(id),
        initiator_name: format!("iqn.2026-12.io.example:initiator{initiator}"),
        isid: [0x80, 0, 0, 0, 0, initiator],
        target_name: format!("iqn.2026-12.io.glint:{}", ["one", "two"][target]),
        portal_group_tag: 1,
        relative_port: 1,
        proofs: proofs.to_vec(),
    })
}

/// Most of A to B, whose result nobody can ask for.
pub fn a_to_b(lab: &Lab) -> Vec<u8> {
    lid1(0, 0x18, &[lab.cscd(A), lab.cscd(B)], &[from_to(0, 0, 20_000)])
}

/// Polls often enough for all that does not wait for anybody.
pub fn step(running: &mut Pin<&mut (impl Future<Output = Outcome> + ?Sized)>) -> Poll<Outcome> {
    (0..500).map(|_| poll(running.as_mut())).find(Poll::is_ready).unwrap_or(Poll::Pending)
}

/// The sense data of a command that has ended.
pub fn ended(outcome: Poll<Outcome>) -> Option<(SenseKey, Asc)> {
    match outcome {
        Poll::Ready(Outcome::Done(response)) => sense_of(&response),
        other => panic!("{other:?}"),
    }
}

/// A block to block segment.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    pub source: u16,
    pub destination: u16,
    pub counts_destination: bool,
    pub blocks: u16,
    pub from: u64,
    pub to: u64,
}

pub fn segment(blocks: Blocks) -> Vec<u8> {
    let mut segment = vec![0x02, u8::from(blocks.counts_destination) << 1, 0, 24];
    segment.extend_from_slice(&blocks.source.to_be_bytes());
    segment.extend_from_slice(&blocks.destination.to_be_bytes());
    segment.extend_from_slice(&[0, 0]);
    segment.extend_from_slice(&blocks.blocks.to_be_bytes());
    segment.extend_from_slice(&blocks.from.to_be_bytes());
    segment.extend_from_slice(&blocks.to.to_be_bytes());
    segment
}

/// The usual segment: from the first unit to the second.
pub fn from_to(from: u64, to: u64, blocks: u16) -> Vec<u8> {
    segment(Blocks { source: 0, destination: 1, counts_destination: false, blocks, from, to })
}

/// The list of EXTENDED COPY(LID1); `flags` are LIST ID USAGE and PRIORITY.
pub fn lid1(list_id: u8, flags: u8, cscds: &[Vec<u8>], segments: &[Vec<u8>]) -> Vec<u8> {
    let (cscds, segments) = (cscds.concat(), segments.concat());
    let mut list = vec![list_id, flags];
    list.extend_from_slice(&(cscds.len() as u16).to_be_bytes());
    list.extend_from_slice(&[0; 4]);
    list.extend_from_slice(&(segments.len() as u32).to_be_bytes());
    list.extend_from_slice(&[0; 4]);
    [list, cscds, segments].concat()
}

/// The list of EXTENDED COPY(LID4).
pub fn lid4(list_id: u32, immed: bool, cscds: &[Vec<u8>], segments: &[Vec<u8>]) -> Vec<u8> {
    let (cscds, segments) = (cscds.concat(), segments.concat());
    let mut list = vec![0; 48];
    list[..4].copy_from_slice(&[1, 0, 0, 0x20]);
    list[15] = u8::from(immed);
    list[16] = 0xff;
    list[20..24].copy_from_slice(&list_id.to_be_bytes());
    list[42..44].copy_from_slice(&(cscds.len() as u16).to_be_bytes());
    list[44..46].copy_from_slice(&(segments.len() as u16).to_be_bytes());
    [list, cscds, segments].concat()
}

fn third_party(service_action: u8, length: usize) -> [u8; 16] {
    let mut cdb = [0; 16];
    cdb[..2].copy_from_slice(&[0x83, service_action]);
    cdb[10..14].copy_from_slice(&(length as u32).to_be_bytes());
    cdb
}

/// EXTENDED COPY(LID1) with a list of this length.
pub fn extended_copy(list: &[u8]) -> [u8; 16] {
    third_party(0x00, list.len())
}

/// EXTENDED COPY(LID4).
pub fn extended_copy_4(list: &[u8]) -> [u8; 16] {
    third_party(0x01, list.len())
}

/// POPULATE TOKEN (10h) or WRITE USING TOKEN (11h).
pub fn token_command(service_action: u8, list_id: u32, list: &[u8]) -> [u8; 16] {
    let mut cdb = third_party(service_action, list.len());
    cdb[6..10].copy_from_slice(&list_id.to_be_bytes());
    cdb
}

/// RECEIVE COPY STATUS(LID1) (00h), OPERATING PARAMETERS (03h), FAILURE DETAILS (04h).
pub fn receive_1(service_action: u8, list_id: u8) -> [u8; 16] {
    [0x84, service_action, list_id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0]
}

/// RECEIVE COPY STATUS(LID4) (05h), ROD TOKEN INFORMATION (07h).
pub fn receive_4(service_action: u8, list_id: u32) -> [u8; 16] {
    let mut cdb = [0x84, service_action, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0];
    cdb[2..6].copy_from_slice(&list_id.to_be_bytes());
    cdb
}

/// COPY OPERATION ABORT.
pub fn abort(list_id: u32) -> [u8; 16] {
    let mut cdb = [0; 16];
    cdb[..2].copy_from_slice(&[0x83, 0x1c]);
    cdb[2..6].copy_from_slice(&list_id.to_be_bytes());
    cdb
}

pub fn ranges(ranges: &[(u64, u32)]) -> Vec<u8> {
    let one = |(lba, blocks): &(u64, u32)| [&lba.to_be_bytes()[..], &blocks.to_be_bytes(), &[0; 4]].concat();
    ranges.iter().flat_map(one).collect()
}

/// The list of POPULATE TOKEN; `flags` are RTV and IMMED.
pub fn populate(flags: u8, timeout: u32, rod_type: u32, of: &[(u64, u32)]) -> Vec<u8> {
    let of = ranges(of);
    let mut list = ((of.len() + 14) as u16).to_be_bytes().to_vec();
    list.extend_from_slice(&[flags, 0]);
    list.extend_from_slice(&timeout.to_be_bytes());
    list.extend_from_slice(&rod_type.to_be_bytes());
    list.extend_from_slice(&[0, 0]);
    list.extend_from_slice(&(of.len() as u16).to_be_bytes());
    [list, of].concat()
}

/// The list of WRITE USING TOKEN; `flags` are DEL_TKN and IMMED.
pub fn write_using(flags: u8, offset: u64, token: &[u8], to: &[(u64, u32)]) -> Vec<u8> {
    let to = ranges(to);
    let mut list = ((to.len() + 534) as u16).to_be_bytes().to_vec();
    list.extend_from_slice(&[flags, 0, 0, 0, 0, 0]);
    list.extend_from_slice(&offset.to_be_bytes());
    list.extend_from_slice(token);
    list.extend_from_slice(&[0; 6]);
    list.extend_from_slice(&(to.len() as u16).to_be_bytes());
    [list, to].concat()
}
