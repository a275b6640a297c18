//! What a command costs in memory: bytes in, SCSI, bytes out, over a device that answers at once. No socket, no runtime.
#![expect(clippy::expect_used, clippy::panic, reason = "a bench that goes wrong should stop")]

use bytes::{Buf, Bytes, BytesMut};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures_util::FutureExt;
use glint::backend::{self, BackendContext, Device, OpenOptions};
use glint::config::{DeviceSpec, FileIo, Provisioning};
use glint_target_core::login::catalog::{AuthPolicy, Catalog, InitiatorList, TargetEntry, Whereabouts};
use glint_target_core::login::parameters::{Digest, Offer};
use glint_target_core::lun::identity::Identity;
use glint_target_core::lun::target::TargetDevice;
use glint_target_core::lun::unit::{LogicalUnit, UnitConfig};
use glint_target_core::pdu::fields::{Isid, Serial};
use glint_target_core::pdu::frame::FrameDecoder;
use glint_target_core::pdu::initiator::{InitiatorPdu, LoginRequest, ScsiCommand};
use glint_target_core::scsi::command::{DeviceServer, Nexus, NexusId, TaskAttribute};
use glint_target_core::scsi::lun_address::LunAddress;
use glint_target_core::session::config::ConnectionConfig;
use glint_target_core::session::connection::Connection;
use glint_target_core::session::event::{BindOutcome, Event, Leg};
use smallvec::SmallVec;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
}

impl Bench {
    fn new() -> Self {
        let options = OpenOptions {
            size: Some(1 << 40),
            block_size: BLOCK,
            provisioning: Provisioning::Thin,
            ..OpenOptions::default()
        };
        let context =
            BackendContext::new(Duration::from_secs(12), FileIo::Auto).expect("nothing is asked for");
        let null = backend::open(&DeviceSpec::Null, &options, &context)
            .now_or_never()
            .expect("the null device opens at once")
            .expect("the null device opens");
        let device = TargetDevice::new(TARGET.into());
        let config = UnitConfig {
            identity: Identity::new("bench"),
            block_size: BLOCK,
            read_only: false,
            removable: false,
            max_transfer: 1 << 20,
        };
        device.add_unit(0, Arc::new(LogicalUnit::new(config, null)));
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
        let text = format!(
            "InitiatorName=iqn.2026-12.io.glint:initiator\0TargetName={TARGET}\0SessionType=Normal\0\
             InitialR2T=No\0ImmediateData=Yes\0MaxRecvDataSegmentLength=262144\0"
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
            InitiatorPdu::ScsiCommand(command).encode(Digest::None, Digest::None, &mut self.input);
        }
        self.connection.receive(Leg::FIRST, self.now, &mut self.input);
        while let Some(event) = self.connection.poll_event() {
            let Event::Execute(id, command) = event else { panic!("unexpected {event:?}") };
            let outcome = self.device.execute(&self.nexus, command).now_or_never();
            self.connection.complete(self.now, id, outcome.expect("the null device answers at once"));
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

fn commands(c: &mut Criterion) {
    const DEPTH: u32 = 32;
    let mut group = c.benchmark_group("command");
    group.throughput(Throughput::Elements(DEPTH.into()));
    for (name, command) in
        [("test_unit_ready", test_unit_ready()), ("read_4k", read_10()), ("write_4k", write_10())]
    {
        let mut bench = Bench::new();
        // A header for each command, and the data of reads: everything went well.
        let expected = DEPTH as usize * (48 + if command.read { 4096 } else { 0 });
        assert_eq!(bench.run(&command, DEPTH), expected, "{name} failed");
        group.bench_function(name, |b| b.iter(|| bench.run(black_box(&command), DEPTH)));
    }
    group.finish();
}

fn codec(c: &mut Criterion) {
    let mut stream = BytesMut::new();
    InitiatorPdu::ScsiCommand(write_10()).encode(Digest::Crc32c, Digest::Crc32c, &mut stream);
    let stream = stream.freeze();
    let mut group = c.benchmark_group("codec");
    group.throughput(Throughput::Bytes(stream.len() as u64));
    group.bench_function("write_4k_with_digests", |b| {
        let mut decoder = FrameDecoder::new(262_144);
        decoder.set_digests(Digest::Crc32c, Digest::Crc32c);
        b.iter(|| {
            let mut input = BytesMut::from(black_box(&stream[..]));
            let frame = decoder.decode(&mut input).expect("digests are right").expect("it is whole");
            black_box(InitiatorPdu::parse(frame).is_ok())
        });
    });
    group.finish();
}

criterion_group!(benches, commands, codec);
criterion_main!(benches);
