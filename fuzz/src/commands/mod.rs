//! The logical units of a target: nexuses that come and go, commands built from the rows of the opcode table, task management, a device
//! that fails and waits, as the input says.

mod device;
pub mod report;

use crate::program::Program;
use device::Device;
use glint_target_core::device::{BlockDevice, DeviceError};
use glint_target_core::lun::copy::tokens::{TOKEN_BYTES, rod_type};
use glint_target_core::lun::identity::Identity;
use glint_target_core::lun::target::TargetDevice;
use glint_target_core::lun::unit::{LogicalUnit, UnitConfig};
use glint_target_core::payload::Payload;
use glint_target_core::scsi::command::{
    Cdb, Command, DeviceServer, Nexus, NexusId, Outcome, Response, TaskAttribute, TaskManagement,
    TaskManagementOutcome, TaskTag,
};
use glint_target_core::scsi::fields::Fields;
use glint_target_core::scsi::lun_address::LunAddress;
use glint_target_core::scsi::row::{Data, Handler, Row, ServiceAction};
use glint_target_core::scsi::sense::{Sense, SenseKey, Status};
use glint_target_core::scsi::table::Table;
use report::{End, Report};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Input beyond this length is not looked at.
const MOST_INPUT: usize = 4096;
/// Commands in flight, at most.
const MOST_RUNNING: usize = 16;
/// Unit attentions that a new nexus may have.
const MOST_ATTENTIONS: usize = 4;
/// Bytes of each unit.
const SIZE: usize = 64 * 1024;
/// Where WRITE USING TOKEN has its token.
const TOKEN: usize = 16;
/// Polls after which something that nothing holds back has to have ended.
const PATIENCE: usize = 1_000_000;

type Target = TargetDevice<Device>;

/// Takes: one byte of configuration, then operations of one byte each with their arguments.
///
/// Returns what became of them.
pub fn commands(data: &[u8]) -> Report {
    let mut program = Program::new(&data[..data.len().min(MOST_INPUT)]);
    let flags = program.byte();
    let target = target(flags);
    let mut bench = Bench {
        target: &target,
        nexuses: Vec::new(),
        running: Vec::new(),
        next_nexus: 1,
        report: Report::default(),
        is_tidy: flags & 8 != 0,
        token: token_of_zeros(),
    };
    bench.login(0);
    while !program.is_over() {
        bench.step(&mut program);
    }
    bench.finish();
    bench.report
}

/// The names of all rows of the opcode table.
pub fn command_names() -> impl Iterator<Item = &'static str> {
    Table::<Device>::rows().map(|row| row.name)
}

/// Two units: one of 512 byte blocks, one of 4096.
fn target(flags: u8) -> Target {
    let target = Target::new("iqn.2026-12.lab:tgt".into());
    for (number, block_size) in [(0, 512), (1, 4096)] {
        let config = UnitConfig {
            identity: Identity::new(format!("lab{number}")),
            block_size,
            read_only: flags & 1 != 0 && number == 1,
            removable: flags & 2 != 0,
            max_transfer: 32 * 1024,
        };
        let device = Device::new(SIZE, flags & 4 == 0);
        assert!(target.add_unit(number, Arc::new(LogicalUnit::new(config, device))).is_none());
    }
    target
}

type Running<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// What is under way.
enum Job<'a> {
    Command { unit: u16, cdb: Vec<u8>, sent: Payload, running: Running<'a, Outcome> },
    Management(TaskManagement, Running<'a, TaskManagementOutcome>),
}

struct Bench<'a> {
    target: &'a Target,
    nexuses: Vec<Arc<Nexus>>,
    running: Vec<Job<'a>>,
    next_nexus: u64,
    report: Report,
    is_tidy: bool,
    /// The ROD token that was read last, or that of zeros.
    token: Vec<u8>,
}

impl<'a> Bench<'a> {
    fn login(&mut self, port: u8) {
        let nexus = Arc::new(Nexus {
            id: NexusId(self.next_nexus),
            initiator_name: format!("iqn.2026-12.lab:initiator{}", port % 4),
            isid: [0x80, 0, 0, 0, 0, port % 4],
            target_name: "iqn.2026-12.lab:tgt".into(),
            portal_group_tag: 1 + u16::from(port / 128),
            relative_port: 1 + u16::from(port / 128),
            proofs: Vec::new(),
        });
        self.next_nexus += 1;
        // A session of the same identity is reinstated.
        let same = |other: &Arc<Nexus>| {
            (&other.initiator_name, other.relative_port) == (&nexus.initiator_name, nexus.relative_port)
        };
        if let Some(at) = self.nexuses.iter().position(same) {
            self.logout(at);
        }
        self.target.nexus_established(&nexus);
        self.nexuses.push(nexus.clone());
        if self.is_tidy {
            self.take_attentions(&nexus);
        }
    }

    /// Lets a new nexus hear what it has missed, so that its commands get somewhere.
    fn take_attentions(&mut self, nexus: &Arc<Nexus>) {
        for unit in [0, 1] {
            for _ in 0..MOST_ATTENTIONS {
                let before = self.report.commands.len();
                let (tag, attribute) = (TaskTag(0), TaskAttribute::Simple);
                self.run(nexus.clone(), unit, tag, attribute, vec![0; 6], Payload::default());
                let ends = self.report.commands.split_off(before);
                if !matches!(ends[..], [(_, End::Sense(SenseKey::UnitAttention, _))]) {
                    break;
                }
            }
        }
    }

    fn logout(&mut self, at: usize) {
        let nexus = self.nexuses.remove(at);
        self.target.nexus_lost(&nexus);
    }

    fn step(&mut self, program: &mut Program<'_>) {
        match program.byte() % 16 {
            0 => self.login(program.byte()),
            1 if self.nexuses.len() > 1 => {
                let at = program.index(self.nexuses.len()).unwrap_or(0);
                self.logout(at);
            }
            2 => self.device(program, |device, value| device.hold(value & 1 != 0)),
            3 => self.device(program, |device, value| device.fail(error(value))),
            4 => self.manage(program),
            5 => self.poll_all(),
            6 => self.raw(program),
            _ => self.command(program),
        }
    }

    fn device(&self, program: &mut Program<'_>, act: impl Fn(&Device, u8)) {
        let (number, value) = (program.byte() & 1, program.byte());
        let unit = self.target.unit(u16::from(number)).unwrap();
        act(unit.device(), value);
    }

    fn nexus(&self, program: &mut Program<'_>) -> Option<Arc<Nexus>> {
        let at = program.index(self.nexuses.len())?;
        self.nexuses.get(at).cloned()
    }

    /// A CDB of arbitrary bytes.
    fn raw(&mut self, program: &mut Program<'_>) {
        let len = usize::from(program.byte() % 36);
        let cdb = program.bytes(len).to_vec();
        self.start(program, cdb);
    }

    /// A CDB that is right save for what the input says.
    fn command(&mut self, program: &mut Program<'_>) {
        let cdb = cdb(row(program), program);
        self.start(program, cdb);
    }

    fn start(&mut self, program: &mut Program<'_>, cdb: Vec<u8>) {
        if self.running.len() >= MOST_RUNNING {
            return self.poll_all();
        }
        let Some(nexus) = self.nexus(program) else { return };
        let options = program.byte();
        let unit = u16::from(options & 1);
        let attributes =
            [TaskAttribute::Simple, TaskAttribute::Ordered, TaskAttribute::HeadOfQueue, TaskAttribute::Aca];
        let attribute = match options & 0xc0 {
            0 => attributes[usize::from(options >> 1 & 3)],
            _ => TaskAttribute::Simple,
        };
        let data_out = self.data_out(unit, &cdb, program);
        let tag = TaskTag(u32::from(program.byte()));
        self.run(nexus, unit, tag, attribute, cdb, data_out);
    }

    /// Begins a command.
    fn run(
        &mut self,
        nexus: Arc<Nexus>,
        unit: u16,
        tag: TaskTag,
        attribute: TaskAttribute,
        cdb: Vec<u8>,
        data_out: Payload,
    ) {
        let sent = data_out.clone();
        let command = Command {
            lun: LunAddress::from_number(unit),
            tag,
            attribute,
            priority: 0,
            cdb: Cdb(cdb.as_slice().into()),
            data_out,
            data_out_beyond: 0,
            data_in_room: u32::MAX,
        };
        let target = self.target;
        let running: Running<'a, Outcome> = Box::pin(async move { target.execute(&nexus, command).await });
        self.running.push(Job::Command { unit, cdb, sent, running });
        let last = self.running.len() - 1;
        self.poll(last);
    }

    /// The data-out that a unit will want for a CDB.
    fn wanted(&self, unit: u16, cdb: &[u8]) -> u64 {
        let row = self.row(unit, cdb);
        let unit = self.target.unit(unit).unwrap();
        row.map_or(0, |row| row.data_out(Fields(cdb), &Payload::default(), unit.block_size()))
    }

    /// About as much data as is wanted, mostly exactly so: bytes of the input in front, its last one repeated behind.
    fn data_out(&self, unit: u16, cdb: &[u8], program: &mut Program<'_>) -> Payload {
        let shape = program.byte();
        let wanted = self.wanted(unit, cdb).min(SIZE as u64) as usize;
        let token = Some(&self.token).filter(|token| shape & 7 == 7 && wanted > TOKEN + token.len());
        let len = match shape & 7 {
            0 => usize::from(program.byte()),
            1 => wanted / 2,
            _ => wanted - token.map_or(0, Vec::len),
        };
        let mut data = program.bytes(len.min(usize::from(shape >> 3) * 8)).to_vec();
        data.resize(len, data.last().copied().unwrap_or(0));
        if let Some(token) = token {
            data.splice(TOKEN..TOKEN, token.iter().copied()).for_each(drop);
        }
        data.into()
    }

    fn manage(&mut self, program: &mut Program<'_>) {
        let Some(nexus) = self.nexus(program) else { return };
        let options = program.byte();
        let lun = LunAddress::from_number(u16::from(options & 1));
        let tag = TaskTag(u32::from(program.byte()));
        let function = match options >> 1 & 15 {
            0 | 1 => TaskManagement::AbortTask { lun, tag },
            2 => TaskManagement::AbortTaskSet { lun },
            3 => TaskManagement::ClearAca { lun },
            4 => TaskManagement::ClearTaskSet { lun },
            5 => TaskManagement::TargetWarmReset,
            6 => TaskManagement::TargetColdReset,
            7 => TaskManagement::QueryTask { lun, tag },
            8 => TaskManagement::QueryTaskSet { lun },
            9 => TaskManagement::ITNexusReset,
            10 => TaskManagement::QueryAsyncEvent { lun },
            _ => TaskManagement::LogicalUnitReset { lun },
        };
        let target = self.target;
        let running: Running<'a, TaskManagementOutcome> =
            Box::pin(async move { target.manage(&nexus, function).await });
        self.running.push(Job::Management(function, running));
        let last = self.running.len() - 1;
        self.poll(last);
    }

    fn poll_all(&mut self) {
        for at in (0..self.running.len()).rev() {
            self.poll(at);
        }
    }

    /// Polls one job; one that has ended is looked at and forgotten.
    fn poll(&mut self, at: usize) {
        let mut context = Context::from_waker(Waker::noop());
        match &mut self.running[at] {
            Job::Management(function, running) => {
                let Poll::Ready(outcome) = running.as_mut().poll(&mut context) else { return };
                self.report.management.push((*function, outcome));
                drop(self.running.remove(at));
            }
            Job::Command { running, .. } => {
                let Poll::Ready(outcome) = running.as_mut().poll(&mut context) else {
                    self.report.waits += 1;
                    return;
                };
                if let Job::Command { unit, cdb, sent, .. } = self.running.remove(at) {
                    self.ended(unit, &cdb, &sent, &outcome);
                }
            }
        }
    }

    fn ended(&mut self, unit: u16, cdb: &[u8], sent: &Payload, outcome: &Outcome) {
        let row = self.row(unit, cdb);
        self.notice_token(cdb, outcome);
        let name = row.as_ref().map_or("", |row| row.name);
        self.report.commands.push((name, End::of(outcome)));
        if let Outcome::Done(response) = outcome {
            self.check(unit, cdb, sent, response, row.ok());
        }
    }

    /// The row of a CDB at a unit.
    fn row(&self, unit: u16, cdb: &[u8]) -> Result<&'static Row<Device>, Sense> {
        let unit = self.target.unit(unit).unwrap();
        Table::<Device>::find(Fields(cdb), &unit.device().capabilities(), unit.config().removable)
    }

    /// Keeps a token that was read: nobody could guess it.
    fn notice_token(&mut self, cdb: &[u8], outcome: &Outcome) {
        let is_about_tokens = cdb.starts_with(&[0x84, 0x07]);
        if let Outcome::Done(response) = outcome
            && is_about_tokens
            && response.data_in.len() > TOKEN_BYTES
        {
            let data = response.data_in.to_bytes();
            self.token = data[data.len() - TOKEN_BYTES..].to_vec();
        }
    }

    fn check(
        &self,
        number: u16,
        cdb: &[u8],
        sent: &Payload,
        response: &Response,
        row: Option<&'static Row<Device>>,
    ) {
        let unit = self.target.unit(number).unwrap();
        assert_eq!(response.sense.is_empty(), response.status != Status::CheckCondition);
        assert_eq!(response.sense_value.is_some(), response.status == Status::CheckCondition);
        let Some(row) = row else {
            assert_ne!(response.status, Status::Good);
            return;
        };
        let wanted = row.data_out(Fields(cdb), sent, unit.block_size());
        assert_eq!(response.data_out_wanted, wanted, "{}", row.name);
        if let Data::In(field) = row.data {
            assert!(response.data_in.len() as u64 <= field.read(Fields(cdb)), "{}", row.name);
        }
        if response.status != Status::Good {
            assert!(response.data_in.is_empty() || response.status == Status::CheckCondition, "{}", row.name);
            return;
        }
        if matches!(row.handler, Handler::Read) {
            let blocks = row.layout.extent(Fields(cdb));
            let block = u64::from(unit.block_size());
            assert!(blocks.lba + blocks.blocks <= unit.capacity());
            assert_eq!(response.data_in.len() as u64, blocks.blocks * block);
            // Nothing else runs: then the medium has not changed since.
            if self.running.is_empty() {
                let range = blocks.lba * block..(blocks.lba + blocks.blocks) * block;
                assert_eq!(response.data_in.to_bytes(), unit.device().contents(range));
            }
        }
    }

    /// With nothing that holds them back all jobs end, and nothing is left in the task sets.
    fn finish(&mut self) {
        for (_, unit) in self.target.units().iter() {
            unit.device().hold(false);
        }
        for _ in 0..PATIENCE {
            if self.running.is_empty() {
                break;
            }
            self.poll_all();
        }
        assert!(self.running.is_empty(), "{} jobs do not end", self.running.len());
        while !self.nexuses.is_empty() {
            self.logout(0);
        }
        for (_, unit) in self.target.units().iter() {
            assert!(unit.tasks().is_empty());
        }
    }
}

/// The block device zero ROD token (SPC-5 5.17.6.6), which needs nobody to make it.
fn token_of_zeros() -> Vec<u8> {
    let length = (TOKEN_BYTES as u16 - 8).to_be_bytes();
    let mut token = [&rod_type::ZERO.to_be_bytes()[..], &[0; 2], &length].concat();
    token.resize(TOKEN_BYTES, 0);
    token
}

/// A device error, or none.
fn error(value: u8) -> Option<DeviceError> {
    let errors = [
        DeviceError::Unreachable,
        DeviceError::OwnershipLost,
        DeviceError::Transitioning,
        DeviceError::Medium,
        DeviceError::FlushFailed,
        DeviceError::NoSpace,
        DeviceError::ReadOnly,
        DeviceError::Gone,
        DeviceError::Busy,
        DeviceError::Unsupported,
    ];
    // Mostly none: what comes after is to get somewhere.
    errors.get(usize::from(value % 32)).copied()
}

/// A row, by operation code and, where several rows have that, by service action. Not by its place, so that inputs mean the same when
/// there are more rows.
fn row(program: &mut Program<'_>) -> &'static Row<Device> {
    let opcode = program.byte();
    let of_opcode = || Table::<Device>::rows().filter(|row| row.opcode == opcode);
    let count = of_opcode().count();
    if count < 2 {
        let all = Table::<Device>::rows();
        let any = usize::from(opcode) % all.clone().count();
        return of_opcode().chain(all.skip(any)).next().unwrap();
    }
    let service_action = program.byte();
    let any = usize::from(service_action) % count;
    let mut named = of_opcode().filter(|row| row.service_action == Some(service_action.into()));
    named.next().or_else(|| of_opcode().nth(any)).unwrap()
}

/// A CDB of a row: small numbers in the places that the row looks at, or what the input has.
fn cdb(row: &Row<Device>, program: &mut Program<'_>) -> Vec<u8> {
    let shape = program.byte();
    let mut cdb: Vec<u8> = row
        .usage
        .iter()
        .enumerate()
        .map(|(at, usage)| match (*usage, shape & 3) {
            (0, _) => 0,
            // The last byte of a field tells most; its high bytes would lead beyond every bound.
            (0xff, 0 | 1) if row.usage.get(at + 1) == Some(&0xff) => 0,
            (usage, _) => program.byte() & usage,
        })
        .collect();
    if let Some(opcode) = cdb.first_mut() {
        *opcode = row.opcode;
    }
    for (at, byte) in cdb.iter_mut().enumerate() {
        *byte |= ServiceAction::of(row.opcode).bits(at, row.service_action.unwrap_or(0));
    }
    match shape >> 4 {
        0 => cdb.truncate(usize::from(program.byte()) % (cdb.len() + 1)),
        1 => {
            if let Some(at) = program.index(cdb.len()) {
                cdb[at] ^= program.byte();
            }
        }
        _ => {}
    }
    cdb
}
