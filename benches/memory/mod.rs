//! What is measured in memory: the codec, the SCSI fast path, and whole commands (bytes in, SCSI, bytes out). No socket, no runtime.

use bytes::{Buf, Bytes, BytesMut};
use futures_util::FutureExt;
use glint::backend::{self, BackendContext, Device, OpenOptions};
use glint::config::{DeviceSpec, FileIo, Provisioning};
use glint_target_core::login::catalog::{AuthPolicy, Catalog, InitiatorList, TargetEntry, Whereabouts};
use glint_target_core::login::parameters::{Digest, Offer};
use glint_target_core::lun::identity::Identity;
use glint_target_core::lun::target::TargetDevice;
use glint_target_core::lun::unit::{LogicalUnit, UnitConfig};
use glint_target_core::payload::Payload;
use glint_target_core::pdu::fields::{Isid, Serial};
use glint_target_core::pdu::frame::FrameDecoder;
use glint_target_core::pdu::initiator::{InitiatorPdu, LoginRequest, ScsiCommand};
use glint_target_core::pdu::target::{CollapsedStatus, DataIn, Numbering, Residual, TargetPdu};
use glint_target_core::pdu::transmit::TransmitQueue;
use glint_target_core::scsi::command::{
    Cdb, Command, DeviceServer, Nexus, NexusId, Outcome, TaskAttribute, TaskTag,
};
use glint_target_core::scsi::lun_address::LunAddress;
use glint_target_core::scsi::sense::Status;
use glint_target_core::session::config::ConnectionConfig;
use glint_target_core::session::connection::Connection;
use glint_target_core::session::event::{BindOutcome, Event, Leg};
use smallvec::SmallVec;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Something to measure.
pub struct Case {
    /// `group/name`.
    pub name: &'static str,
    /// How many times each call does it.
    pub count: u32,
    /// Make ready, and give what does it.
    pub prepare: fn() -> Box<dyn FnMut()>,
}

const fn case(name: &'static str, count: u32, prepare: fn() -> Box<dyn FnMut()>) -> Case {
    Case { name, count, prepare }
}

/// Commands in a batch.
const DEPTH: u32 = 32;

/// All of them.
pub const CASES: &[Case] = &[
    case("codec/decode_write_4k", 1, || decode(Digest::None)),
    case("codec/decode_write_4k_digests", 1, || decode(Digest::Crc32c)),
    case("codec/encode_read_4k", 1, || encode(Digest::None)),
    case("codec/encode_read_4k_digests", 1, || encode(Digest::Crc32c)),
    case("scsi/test_unit_ready", 1, || scsi(test_unit_ready())),
    case("scsi/read_4k", 1, || scsi(read_10())),
    case("scsi/write_4k", 1, || scsi(write_10())),
    case("command/null_test_unit_ready", DEPTH, || whole(&DeviceSpec::Null, Digest::None, test_unit_ready())),
    case("command/null_read_4k", DEPTH, || whole(&DeviceSpec::Null, Digest::None, read_10())),
    case("command/null_write_4k", DEPTH, || whole(&DeviceSpec::Null, Digest::None, write_10())),
    case("command/ram_read_4k", DEPTH, || whole(&DeviceSpec::Ram, Digest::None, read_10())),
    case("command/ram_write_4k", DEPTH, || whole(&DeviceSpec::Ram, Digest::None, write_10())),
    case("command/ram_read_4k_digests", DEPTH, || whole(&DeviceSpec::Ram, Digest::Crc32c, read_10())),
    case("command/ram_write_4k_digests", DEPTH, || whole(&DeviceSpec::Ram, Digest::Crc32c, write_10())),
];

/// A command from its bytes to the bytes of its answer.
fn whole(device: &DeviceSpec, digests: Digest, command: ScsiCommand) -> Box<dyn FnMut()> {
    let mut bench = Bench::new(device, digests);
    // A read of what was never written would be a hole's.
    bench.run(&write_10(), 1);
    // A header for each command, and the data of reads: everything went well.
    let digest = if digests == Digest::Crc32c { 4 } else { 0 };
    let expected = DEPTH as usize * (48 + digest + if command.read { 4096 + digest } else { 0 });
    Box::new(move || assert_eq!(bench.run(&command, DEPTH), expected, "a command failed"))
}

/// A command from its CDB to its response.
fn scsi(command: ScsiCommand) -> Box<dyn FnMut()> {
    let bench = Bench::new(&DeviceSpec::Null, Digest::None);
    let mut data_out = Payload::new();
    data_out.push(command.immediate_data);
    let command = Command {
        lun: LunAddress::default(),
        tag: TaskTag(1),
        attribute: TaskAttribute::Simple,
        priority: 0,
        cdb: Cdb(command.cdb),
        data_out,
        data_out_beyond: 0,
        data_in_room: if command.read { command.expected_data_transfer_length } else { 0 },
    };
    Box::new(move || {
        let outcome = bench.device.execute(&bench.nexus, black_box(command.clone())).now_or_never();
        match outcome {
            Some(Outcome::Done(response)) => assert_eq!(response.status, Status::Good),
            other => panic!("no end: {other:?}"),
        }
    })
}

fn decode(digest: Digest) -> Box<dyn FnMut()> {
    let mut stream = BytesMut::new();
    InitiatorPdu::ScsiCommand(write_10()).encode(digest, digest, &mut stream);
    let mut decoder = FrameDecoder::new(262_144);
    decoder.set_digests(digest, digest);
    Box::new(move || {
        let mut input = BytesMut::from(black_box(&stream[..]));
        let frame = decoder.decode(&mut input).expect("digests are right").expect("it is whole");
        assert!(black_box(InitiatorPdu::parse(frame)).is_ok(), "it is a command");
    })
}

fn encode(digest: Digest) -> Box<dyn FnMut()> {
    let mut data = Payload::new();
    data.push(vec![7; 4096].into());
    let status = CollapsedStatus { status: 0, residual: Residual::None };
    let pdu = TargetPdu::DataIn(DataIn {
        is_final: true,
        status: Some(status),
        lun: LunAddress::default(),
        initiator_task_tag: 1,
        target_transfer_tag: u32::MAX,
        data_sn: 0,
        buffer_offset: 0,
        data,
    });
    let mut queue = TransmitQueue::new();
    Box::new(move || {
        queue.push(black_box(&pdu), Numbering::default(), digest, digest);
        let length = queue.len();
        assert!(length >= 48 + 4096, "all of it waits");
        queue.advance(length);
    })
}

const TARGET: &str = "iqn.2026-12.io.glint:bench";
const BLOCK: u32 = 512;

struct OneTarget;

impl Catalog for OneTarget {
    fn target(&self, name: &str) -> Option<Arc<TargetEntry>> {
        self.targets().into_iter().find(|target| *target.name == *name)
    }

    fn targets(&self) -> Vec<Arc<TargetEntry>> {
        vec![Arc::new(TargetEntry {
            name: TARGET.into(),
            alias: None,
            portal_group_tag: 1,
            relative_port: 1,
            addresses: Vec::new(),
            initiators: InitiatorList::default(),
            lets_in_network: true,
            served_here: true,
            whereabouts: Whereabouts::Here,
            auth: AuthPolicy::Open,
        })]
    }

    fn discovery_auth(&self) -> AuthPolicy {
        AuthPolicy::Open
    }
}

/// An initiator, a connection and a target in one thread.
struct Bench {
    connection: Connection,
    device: TargetDevice<Device>,
    nexus: Arc<Nexus>,
    input: BytesMut,
    cmd_sn: u32,
    now: Instant,
    digests: Digest,
}

impl Bench {
    /// On `device`, with the digests asked for at login.
    fn new(device: &DeviceSpec, digests: Digest) -> Self {
        let options = OpenOptions {
            size: Some(1 << 30),
            block_size: BLOCK,
            provisioning: Provisioning::Thin,
            ..OpenOptions::default()
        };
        let context =
            BackendContext::new(Duration::from_secs(12), FileIo::Auto).expect("nothing is asked for");
        let store = backend::open(device, &options, &context)
            .now_or_never()
            .expect("the device opens at once")
            .expect("the device opens");
        let device = TargetDevice::new(TARGET.into());
        let config = UnitConfig {
            identity: Identity::new("bench"),
            block_size: BLOCK,
            read_only: false,
            removable: false,
            max_transfer: 1 << 20,
        };
        device.add_unit(0, Arc::new(LogicalUnit::new(config, store)));
        let config = ConnectionConfig {
            offer: Offer::default(),
            login_timeout: Duration::from_secs(15),
            nop_interval: Duration::ZERO,
            nop_timeout: Duration::ZERO,
            logout_timeout: Duration::from_secs(5),
            command_window: 128,
            max_command_bytes: 16 << 20,
            data_out_budget: 4 << 20,
            entropy: |bytes| bytes.fill(1),
        };
        let now = Instant::now();
        let nexus = Nexus {
            id: NexusId(1),
            initiator_name: "iqn.2026-12.io.glint:initiator".into(),
            isid: [0; 6],
            target_name: TARGET.into(),
            portal_group_tag: 1,
            relative_port: 1,
            proofs: Vec::new(),
        };
        let mut bench = Self {
            connection: Connection::new(Arc::new(config), Arc::new(OneTarget), now),
            device,
            nexus: Arc::new(nexus),
            input: BytesMut::new(),
            cmd_sn: 1,
            now,
            digests,
        };
        bench.log_in();
        bench.device.nexus_established(&bench.nexus);
        // The first commands report the unit attentions of a new nexus.
        for _ in 0..4 {
            bench.run(&test_unit_ready(), 1);
        }
        bench
    }

    fn log_in(&mut self) {
        let digests = if self.digests == Digest::Crc32c { "CRC32C" } else { "None" };
        let text = format!(
            "InitiatorName=iqn.2026-12.io.glint:initiator\0TargetName={TARGET}\0SessionType=Normal\0\
             InitialR2T=No\0ImmediateData=Yes\0MaxRecvDataSegmentLength=262144\0HeaderDigest={digests}\0DataDigest={digests}\0"
        );
        let request = LoginRequest {
            transit: true,
            continues: false,
            current_stage: 1,
            next_stage: 3,
            version_max: 0,
            version_min: 0,
            isid: Isid::default(),
            tsih: 0,
            initiator_task_tag: 1,
            cid: 1,
            cmd_sn: Serial(1),
            exp_stat_sn: Serial(0),
            data: text.into(),
        };
        InitiatorPdu::Login(request).encode(Digest::None, Digest::None, &mut self.input);
        self.connection.receive(Leg::FIRST, self.now, &mut self.input);
        let bind = self.connection.poll_event();
        assert!(matches!(bind, Some(Event::Bind(_))), "login did not get through: {bind:?}");
        self.connection.bound(self.now, BindOutcome::Bound { tsih: 1 });
        self.send();
    }

    /// Runs `depth` copies of a command in one batch; tells how many bytes the target sent.
    fn run(&mut self, command: &ScsiCommand, depth: u32) -> usize {
        for tag in 0..depth {
            let command =
                ScsiCommand { initiator_task_tag: tag, cmd_sn: Serial(self.cmd_sn), ..command.clone() };
            self.cmd_sn = self.cmd_sn.wrapping_add(1);
            InitiatorPdu::ScsiCommand(command).encode(self.digests, self.digests, &mut self.input);
        }
        self.connection.receive(Leg::FIRST, self.now, &mut self.input);
        while let Some(event) = self.connection.poll_event() {
            let Event::Execute(id, command) = event else { panic!("unexpected {event:?}") };
            let outcome = self.device.execute(&self.nexus, command).now_or_never();
            self.connection.complete(self.now, id, outcome.expect("the device answers at once"));
        }
        self.send()
    }

    fn send(&mut self) -> usize {
        let queue = self.connection.transmit(Leg::FIRST).expect("the connection is there");
        let sent = queue.len();
        queue.advance(sent);
        sent
    }
}

fn command(cdb: &[u8], read: bool, write: bool, length: u32, immediate_data: Bytes) -> ScsiCommand {
    let mut padded = SmallVec::from_slice(cdb);
    padded.resize(16, 0);
    ScsiCommand {
        immediate: false,
        is_final: true,
        read,
        write,
        attribute: TaskAttribute::Simple,
        priority: 0,
        lun: LunAddress::default(),
        initiator_task_tag: 0,
        expected_data_transfer_length: length,
        bidirectional_read_length: 0,
        cmd_sn: Serial(0),
        exp_stat_sn: Serial(0),
        cdb: padded,
        immediate_data,
    }
}

fn test_unit_ready() -> ScsiCommand {
    command(&[0; 6], false, false, 0, Bytes::new())
}

fn read_10() -> ScsiCommand {
    command(&[0x28, 0, 0, 0, 0, 0, 0, 0, 8, 0], true, false, 4096, Bytes::new())
}

fn write_10() -> ScsiCommand {
    command(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 8, 0], false, true, 4096, vec![7; 4096].into())
}
