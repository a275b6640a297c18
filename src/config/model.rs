//! What glint serves, as validated types: whoever holds a [`Config`] need not check it again.

use super::cluster::ClusterConfig;
use super::device::DeviceSpec;
use super::endpoint::Endpoint;
use super::name::{IscsiName, NodeId, Serial, TargetLabel};
use super::tls::Tls;
use glint_target_core::login::catalog::{AuthPolicy, InitiatorList};
use glint_target_core::lun::space::LowSpace;
use glint_target_core::lun::throttle;
use ipnet::IpNet;
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::time::Duration;

/// A whole configuration, from the file and the flags together. Equal values need no action at a reload.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Config {
    pub node: Node,
    /// Where volumes are served by several nodes; `None`: this one alone has them.
    pub cluster: Option<ClusterConfig>,
    /// Never empty. Portals with the same group tag are one portal group.
    pub portals: Vec<Portal>,
    /// Where `/metrics`, `/livez` and `/readyz` are served; `None`: nowhere.
    pub api: Option<Endpoint>,
    pub log: Log,
    pub limits: Limits,
    /// What a discovery session has to prove.
    pub discovery_auth: AuthPolicy,
    /// In the order in which SendTargets tells them; labels and IQNs are unique.
    pub targets: Vec<TargetConfig>,
}

/// This node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its id; the host's name by default.
    pub id: NodeId,
    /// Where it keeps what must outlive the process.
    pub state_dir: PathBuf,
}

/// Addresses that are bound, and those that initiators are told instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portal {
    /// Addresses to bind; never empty. Port 0 lets the system pick one.
    pub listen: Vec<Endpoint>,
    /// Addresses told by SendTargets; empty: those that are bound (or, for a wildcard, the one the initiator came in by).
    pub advertise: Vec<Endpoint>,
    /// Target portal group tag, 1 to 65535.
    pub group_tag: u16,
    /// None: plain iSCSI.
    pub tls: Option<Tls>,
}

/// How logs are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// For people or for machines.
    pub format: LogFormat,
    /// A level (`info`) or a list of `module=level`, as tracing's filters are written.
    pub level: String,
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text.
    Human,
    /// One JSON object a line.
    Json,
}

/// Bounds on what peers can make the process spend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// TCP connections at a time, those still logging in included.
    pub max_connections: u32,
    /// Sessions at a time.
    pub max_sessions: u32,
    /// Connections that one session may have (MaxConnections of RFC 7143 §13.2), 1 to 16.
    pub connections_per_session: u16,
    /// Discovery sessions, which do not count among those.
    pub max_discovery_sessions: u32,
    /// From accept to full-feature phase.
    pub login_timeout: Duration,
    /// Silence after which a NOP-In asks whether the initiator is there.
    pub nop_interval: Duration,
    /// How long the answer to that may take.
    pub nop_timeout: Duration,
    /// How long an initiator that was asked to log out may take.
    pub logout_timeout: Duration,
    /// From SIGTERM to the end of the process, at most.
    pub drain_timeout: Duration,
    /// Bytes of commands' data that all connections may hold together.
    pub bytes_in_flight: u64,
    /// Commands that one session may have open (MaxCmdSN - ExpCmdSN + 1).
    pub command_window: u32,
    /// Most bytes one command may carry, and the MAXIMUM TRANSFER LENGTH of volumes.
    pub max_command_bytes: u32,
    /// Most data of one PDU from an initiator: the MaxRecvDataSegmentLength that it is told.
    pub max_recv_data_segment: u32,
    /// Bytes of Data-Out that one connection solicits at a time; all together solicit half of `bytes_in_flight`.
    pub data_out_budget: u64,
    /// How long a backend may try before an operation fails; shorter than the initiators' own timers.
    pub io_deadline: Duration,
    /// How files are read and written.
    pub file_io: FileIo,
    /// Worker threads; 0: one for each processor.
    pub workers: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            max_sessions: 512,
            connections_per_session: 4,
            max_discovery_sessions: 64,
            login_timeout: Duration::from_secs(15),
            nop_interval: Duration::from_secs(10),
            nop_timeout: Duration::from_secs(10),
            logout_timeout: Duration::from_secs(5),
            drain_timeout: Duration::from_secs(8),
            bytes_in_flight: 256 << 20,
            command_window: 128,
            max_command_bytes: 16 << 20,
            max_recv_data_segment: 256 << 10,
            data_out_budget: 4 << 20,
            // ESXi aborts a command after 15 s: the answer has to come before.
            io_deadline: Duration::from_secs(12),
            file_io: FileIo::Auto,
            workers: 0,
        }
    }
}

/// One target.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TargetConfig {
    pub name: TargetLabel,
    pub iqn: IscsiName,
    pub alias: Option<String>,
    pub initiators: InitiatorList,
    /// Where initiators may come from; empty: anywhere.
    pub networks: Vec<IpNet>,
    /// Tags of the portal groups that serve it; empty: all.
    pub groups: Vec<u16>,
    pub auth: AuthPolicy,
    /// Where it is served instead; then it has no units here.
    pub redirect: Option<RedirectConfig>,
    /// Never empty unless it is served elsewhere; numbers are unique.
    pub luns: Vec<LunConfig>,
}

/// Where initiators are sent to instead of being logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectConfig {
    /// A portal that serves the target.
    pub to: Endpoint,
    /// Whether it has moved there for good.
    pub permanent: bool,
}

impl TargetConfig {
    /// Whether anyone who reaches the portal may use it.
    pub fn is_open(&self) -> bool {
        let barred = !self.initiators.0.is_empty() || !self.networks.is_empty();
        self.auth == AuthPolicy::Open && !barred && self.redirect.is_none()
    }

    /// Whether the portal group of this tag serves it.
    pub fn serves_group(&self, tag: u16) -> bool {
        self.groups.is_empty() || self.groups.contains(&tag)
    }

    /// The names by which initiators recognise the unit, the same after every restart.
    pub fn identity(&self, lun: &LunConfig) -> LunIdentity {
        let hash = match &lun.serial {
            Some(serial) => identity_hash(&["serial", serial]),
            None => identity_hash(&["unit", &self.iqn, &lun.number.to_string()]),
        };
        LunIdentity {
            serial: lun.serial.as_ref().map_or_else(|| format!("{hash:016x}"), |serial| serial.to_string()),
            naa: 0x3 << 60 | hash >> 4,
        }
    }
}

/// What names a unit to initiators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LunIdentity {
    /// Unit serial number (VPD page 80h).
    pub serial: String,
    /// NAA identifier, locally assigned (format 3h; SPC-5 7.8.6.6.4).
    pub naa: u64,
}

/// 64 bits that depend on the parts alone.
fn identity_hash(parts: &[&str]) -> u64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().take(8).fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// One logical unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LunConfig {
    /// The number, 0 to 16383.
    pub number: u16,
    /// What it lives on.
    pub device: DeviceSpec,
    /// Bytes, a multiple of `block_size`; `None` takes the size that the device has.
    pub size: Option<u64>,
    /// Take all the space when the device is created.
    pub preallocate: bool,
    /// Let a device that is smaller than `size` grow to it.
    pub grow: bool,
    /// Cut a device that is larger than `size` to it.
    pub shrink: bool,
    /// Logical block size in bytes: 512 or 4096.
    pub block_size: u32,
    /// Physical block size in bytes that initiators are told, instead of the device's own.
    pub physical_block_size: Option<u32>,
    /// How little space below makes initiators be told of it.
    pub low_space: Option<LowSpace>,
    /// What it may do in a second.
    pub limits: throttle::Limits,
    /// Refuse writes.
    pub read_only: bool,
    /// Tell initiators that the medium can be removed.
    pub removable: bool,
    /// Whether initiators may give space back.
    pub provisioning: Provisioning,
    /// Serial number, when the default will not do; the NAA identifier follows it.
    pub serial: Option<Serial>,
}

/// How `file:` devices are read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileIo {
    /// By io_uring where the kernel lets this process have it, by threads elsewhere.
    #[default]
    Auto,
    /// By io_uring, or not at all.
    IoUring,
    /// By threads that block in system calls.
    Threads,
}

impl FileIo {
    /// The word of the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::IoUring => "io-uring",
            Self::Threads => "threads",
        }
    }
}

impl std::str::FromStr for FileIo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::Auto, Self::IoUring, Self::Threads].into_iter().find(|kind| kind.word() == text);
        known.ok_or_else(|| format!("file_io is \"auto\", \"io-uring\" or \"threads\", not {text:?}"))
    }
}

/// How a unit presents its space (SBC-4 4.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Provisioning {
    /// Blocks can be unmapped, where the device has a way to give space back.
    #[default]
    Thin,
    /// All blocks are mapped for good.
    Full,
}

impl Provisioning {
    /// The word of the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Thin => "thin",
            Self::Full => "full",
        }
    }
}

impl std::str::FromStr for Provisioning {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::Thin, Self::Full].into_iter().find(|kind| kind.word() == text);
        known.ok_or_else(|| format!("provisioning is \"thin\" or \"full\", not {text:?}"))
    }
}
