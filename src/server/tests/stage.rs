//! A node with one target over a device that does what the test says.

use crate::server::catalog::{
    Access, PortalAddress, PortalGroup, ServedDevice, ServedTarget, Snapshot, Told,
};
use crate::server::door::Door;
use crate::server::{Binding, Limits, Listeners, Node, Workers};
use crate::telemetry::metrics::Metrics;
use arc_swap::ArcSwap;
use glint_target_core::login::catalog::{AuthPolicy, Whereabouts};
use glint_target_core::login::parameters::Offer;
use glint_target_core::lun::notice::{Listener, Notices};
use glint_target_core::payload::Payload;
use glint_target_core::scsi::command::{
    Command, DeviceServer, Nexus, NexusId, Outcome, Response, TaskManagement, TaskManagementOutcome,
};
use glint_target_core::scsi::sense::Status;
use glint_target_core::session::connection::ConnectionConfig;
use glint_testkit::initiator::{Initiator, Port};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

const TARGET: &str = "iqn.2026-12.test:target";
/// READ(10) is answered with as many zeros as there is room for.
pub(super) const READ: [u8; 16] = [0x28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// Ends when the test lets it.
pub(super) const WAIT: [u8; 16] = [0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// Panics.
pub(super) const PANIC: [u8; 16] = [0xc1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// Ends at once.
pub(super) const TEST_UNIT_READY: [u8; 16] = [0; 16];

/// What happened to a [`ScriptedDevice`], in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happened {
    Established(u64),
    Managed(u64, TaskManagement),
    Lost(u64),
    Waiting,
    Released,
}

#[derive(Clone)]
pub(super) struct ScriptedDevice {
    pub(super) gate: Arc<Semaphore>,
    pub(super) log: Arc<Mutex<Vec<Happened>>>,
    pub(super) notices: Arc<Notices>,
}

impl ScriptedDevice {
    fn note(&self, what: Happened) {
        self.log.lock().unwrap().push(what);
    }
}

impl DeviceServer for ScriptedDevice {
    async fn execute(&self, _nexus: &Arc<Nexus>, command: Command) -> Outcome {
        let mut data_in = Payload::new();
        match command.cdb.opcode() {
            0x28 => data_in = vec![0; command.data_in_room as usize].into(),
            0xc0 => {
                self.note(Happened::Waiting);
                self.gate.acquire().await.unwrap().forget();
                self.note(Happened::Released);
            }
            0xc1 => panic!("as the test wants it"),
            _ => {}
        }
        Outcome::Done(Response {
            status: Status::Good,
            sense: Default::default(),
            sense_value: None,
            data_in,
            data_in_beyond: 0,
            data_out_wanted: 0,
        })
    }

    async fn manage(&self, nexus: &Arc<Nexus>, function: TaskManagement) -> TaskManagementOutcome {
        self.note(Happened::Managed(nexus.id.0, function));
        TaskManagementOutcome::Complete
    }

    fn listen(&self, nexus: NexusId, waker: Waker) -> Listener {
        self.notices.listen(nexus, waker)
    }

    fn nexus_established(&self, nexus: &Arc<Nexus>) {
        self.note(Happened::Established(nexus.id.0));
    }

    fn nexus_lost(&self, nexus: &Arc<Nexus>) {
        // Who does not wait for it is noticed.
        std::thread::sleep(Duration::from_millis(5));
        self.note(Happened::Lost(nexus.id.0));
    }
}

pub(super) struct Stage {
    pub(super) runtime: Runtime,
    pub(super) node: Arc<Node<ScriptedDevice>>,
    pub(super) device: ScriptedDevice,
    pub(super) address: SocketAddr,
    _listeners: Listeners<ScriptedDevice>,
}

impl Stage {
    pub(super) fn new(limits: Limits) -> Self {
        Self::with(limits, 64 << 20, Duration::from_secs(30))
    }

    pub(super) fn with(limits: Limits, bytes_in_flight: usize, login_timeout: Duration) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let connection = ConnectionConfig {
            offer: Offer { max_connections: 4, ..Offer::default() },
            login_timeout,
            nop_interval: Duration::from_secs(60),
            nop_timeout: Duration::from_secs(60),
            logout_timeout: Duration::from_secs(5),
            command_window: 64,
            max_command_bytes: 16 << 20,
            data_out_budget: 4 << 20,
            entropy: |bytes| bytes.fill(7),
        };
        let metrics = Arc::new(Metrics::new().unwrap());
        let node = Node::new(limits, bytes_in_flight, connection, metrics);
        let _inside = runtime.enter();
        let mut listeners = Listeners::new(Arc::clone(&node), Workers::start(2).unwrap());
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        assert!(
            runtime
                .block_on(listeners.apply(&[Binding { address: any, door: Door { tag: 1, tls: None } }]))
                .is_empty()
        );
        let address = listeners.bound(any).unwrap();
        let device = ScriptedDevice {
            gate: Arc::new(Semaphore::new(0)),
            log: Arc::default(),
            notices: Arc::default(),
        };
        let target = ServedTarget {
            name: TARGET.into(),
            alias: None,
            access: Access::default(),
            whereabouts: Whereabouts::Here,
            auth: AuthPolicy::Open,
            device: Arc::new(ServedDevice {
                server: device.clone(),
                volumes: ArcSwap::from_pointee(vec![(0, node.metrics().volume(TARGET, 0))]),
            }),
        };
        let group = PortalGroup {
            tag: 1,
            addresses: vec![PortalAddress { told: Told::Fixed(address.to_string()), tls: false }],
        };
        node.publish(Snapshot::new(vec![Arc::new(target)], vec![group], AuthPolicy::Open));
        listeners.accept();
        Self { node, device, address, _listeners: listeners, runtime }
    }

    /// A connection of an initiator port that has not logged in.
    pub(super) fn connect(&self, isid: u8) -> Initiator {
        Initiator::connect(self.address, Port::new(TARGET, isid))
    }

    /// A session that is logged in.
    pub(super) fn session(&self, isid: u8) -> Initiator {
        Initiator::log_in(self.address, Port::new(TARGET, isid))
    }

    /// One with several connections, of CID 0, 1 and so on.
    pub(super) fn session_of(&self, connections: u16) -> Vec<Initiator> {
        Initiator::log_in_with(self.address, Port::new(TARGET, 1), connections)
    }

    pub(super) fn log(&self) -> Vec<Happened> {
        self.device.log.lock().unwrap().clone()
    }

    /// Waits until `condition` holds.
    pub(super) fn until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        for _ in 0..4000 {
            if condition(self) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("never came true: {what}");
    }

    pub(super) fn metric(&self, line_start: &str) -> Option<f64> {
        let text = self.node.metrics().render().unwrap();
        let line = text.lines().find(|line| line.starts_with(line_start))?;
        line.rsplit(' ').next()?.parse().ok()
    }
}
