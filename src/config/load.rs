//! From file and flags to one [`Config`].

use super::chap::read_chap;
use super::cluster::{ClusterConfig, ClusterDraft};
use super::endpoint::Endpoint;
use super::fault::{Faults, Finding, Findings, Place, Placed};
use super::flags::{self, Flags};
use super::model::{Config, Limits, Log, LogFormat, Node, Portal};
use super::name::{IscsiName, NodeId};
use super::reader::{Document, Section};
use super::targets::{TargetDraft, read_target};
use super::tls::read_tls;
use super::units::ByteSize;
use super::whole;
use glint_target_core::login::catalog::AuthPolicy;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Port of iSCSI.
const ISCSI_PORT: u16 = 3260;
/// Port of the API.
const API_PORT: u16 = 9480;
const IQN_BASE: &str = "iqn.2026-12.io.glint";
const STATE_DIR: &str = "/var/lib/glint";
/// A configuration of more than this is no configuration.
const MAX_FILE: u64 = 16 << 20;

/// Where a configuration comes from; read again at a reload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigSource {
    /// The TOML file.
    pub file: Option<PathBuf>,
    /// The flags, which win over the file.
    pub flags: Flags,
}

/// A configuration that can be served, and what is doubtful about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Findings to show, none of which forbids serving.
    pub warnings: Vec<Finding>,
}

impl ConfigSource {
    /// Reads file, flags and secrets. Every fault is in the error.
    pub fn load(&self) -> Result<Loaded, Faults> {
        let mut findings = Findings::default();
        let text = self.file.as_deref().map(|file| read_file(file).map_err(|message| (file, message)));
        let mut draft = match text {
            None => Draft::default(),
            Some(Ok(text)) => {
                let document = Document::new(&text, self.file.as_deref().unwrap_or(Path::new("")));
                let draft = read_document(document.root());
                findings = document.findings.into_inner();
                draft
            }
            Some(Err((_, message))) => {
                findings.fault(Place::File, message);
                Draft::default()
            }
        };
        draft.apply(&self.flags, &mut findings);
        if self.file.is_none() && self.flags.volumes.is_empty() {
            let message = "there is nothing to serve; give a configuration or --volume NAME=DEVICE";
            findings.fault(Place::Flag("glint".into()), message);
        }
        whole::check(&draft, &mut findings);
        let cluster = draft.cluster.finish(&draft.targets, &mut findings);
        if findings.faults.is_empty() {
            return Ok(Loaded { config: draft.finish(cluster), warnings: findings.warnings });
        }
        findings.faults.sort();
        findings.faults.dedup();
        Err(Faults { file: self.file.clone(), faults: findings.faults, warnings: findings.warnings })
    }
}

fn read_file(file: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("cannot read the configuration: {error}");
    let size = std::fs::metadata(file).map_err(failed)?.len();
    if size > MAX_FILE {
        return Err(format!("{} is too large for a configuration", ByteSize(size)));
    }
    std::fs::read_to_string(file).map_err(failed)
}

/// What was read so far, each part with its place.
pub(super) struct Draft {
    node: Node,
    cluster: ClusterDraft,
    iqn_base: IscsiName,
    pub(super) portals: Vec<Placed<Portal>>,
    api: Option<Endpoint>,
    log: Log,
    limits: Limits,
    discovery_auth: AuthPolicy,
    pub(super) targets: Vec<TargetDraft>,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            node: Node { id: default_node_id(), state_dir: STATE_DIR.into() },
            cluster: ClusterDraft::default(),
            iqn_base: default_base(),
            portals: Vec::new(),
            api: Some(loopback(API_PORT)),
            log: Log { format: LogFormat::Human, level: "info".into() },
            limits: Limits::default(),
            discovery_auth: AuthPolicy::Open,
            targets: Vec::new(),
        }
    }
}

fn loopback(port: u16) -> Endpoint {
    std::net::SocketAddr::from(([127, 0, 0, 1], port)).into()
}

impl Draft {
    /// Lets the flags win.
    fn apply(&mut self, flags: &Flags, findings: &mut Findings) {
        let listen = flags::endpoints(findings, "--listen", &flags.listen, ISCSI_PORT);
        let tls = flags::tls(findings, flags);
        let portal = |listen, tls| Portal { listen, advertise: Vec::new(), group_tag: 1, tls };
        if !flags.listen.is_empty() {
            let place = Place::Flag(format!("--listen {}", flags.listen.join(" --listen ")));
            if tls.is_none() && self.portals.iter().any(|portal| portal.value.tls.is_some()) {
                let message = "the configuration's portals have TLS and this one would not: add --tls-cert and --tls-key";
                findings.fault(place.clone(), message);
            }
            let listen = listen.into_iter().map(|address| address.value).collect();
            self.portals = vec![Placed { value: portal(listen, tls), place }];
        } else if self.portals.is_empty() {
            let portal = portal(vec![loopback(ISCSI_PORT)], tls);
            self.portals = vec![Placed { value: portal, place: Place::File }];
        } else if tls.is_some() {
            let message = "the configuration has portals; write [portal.tls] there, or add --listen";
            findings.fault(Place::Flag("--tls-cert".into()), message);
        }
        let advertise = flags::endpoints(findings, "--advertise", &flags.advertise, ISCSI_PORT);
        for address in &advertise {
            if let Some(fault) = address.value.why_not_told() {
                findings.fault(address.place.clone(), fault);
            }
        }
        if let Some(first) = advertise.first() {
            match self.portals.as_mut_slice() {
                [only] => {
                    only.value.advertise = advertise.iter().map(|address| address.value.clone()).collect()
                }
                _ => findings.fault(
                    first.place.clone(),
                    "the configuration has several portals; write `advertise` there, under each [[portal]]",
                ),
            }
        }
        if let Some(api) = &flags.api {
            match parse_api(api) {
                Ok(api) => self.api = api,
                Err(message) => findings.fault(Place::Flag(format!("--api {api}")), message),
            }
        }
        if let Some(state_dir) = &flags.state_dir {
            self.node.state_dir.clone_from(state_dir);
            if !state_dir.is_absolute() {
                let place = Place::Flag(format!("--state-dir {}", state_dir.display()));
                findings.fault(place, "it has to be an absolute path");
            }
        }
        self.cluster.apply(flags, findings);
        if let Some(node) = self.cluster.node_of_flag() {
            self.node.id = node.clone();
        }
        for volume in &flags.volumes {
            self.targets.extend(flags::read_volume(findings, volume, &self.iqn_base));
        }
    }

    fn finish(self, cluster: Option<ClusterConfig>) -> Config {
        Config {
            node: self.node,
            cluster,
            portals: self.portals.into_iter().map(|portal| portal.value).collect(),
            api: self.api,
            log: self.log,
            limits: self.limits,
            discovery_auth: self.discovery_auth,
            targets: self.targets.into_iter().map(|draft| draft.target.value).collect(),
        }
    }
}

fn parse_api(text: &str) -> Result<Option<Endpoint>, String> {
    match text {
        "off" => Ok(None),
        address => Endpoint::parse(address, None).map(Some),
    }
}

fn default_base() -> IscsiName {
    IscsiName::from_valid(IQN_BASE)
}

/// The host's name, as far as it is a plain word.
fn default_node_id() -> NodeId {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    host.parse().unwrap_or_else(|_| NodeId::from_valid("node"))
}

fn read_document(mut root: Section<'_>) -> Draft {
    let mut draft = Draft::default();
    if let Some(base) = root.value("iqn_base") {
        draft.iqn_base = base;
    }
    if let Some(section) = root.section("node") {
        draft.node = read_node(section, draft.node, &mut draft.cluster);
    }
    if let Some(section) = root.section("cluster") {
        draft.cluster.read(section);
    }
    draft.portals = root.sections("portal").into_iter().filter_map(read_portal).collect();
    if let Some(section) = root.section("api") {
        draft.api = read_api(section, draft.api);
    }
    if let Some(section) = root.section("log") {
        draft.log = read_log(section, draft.log);
    }
    if let Some(section) = root.section("limits") {
        draft.limits = read_limits(section);
    }
    if let Some(mut section) = root.section("discovery") {
        if let Some(chap) = section.section("chap") {
            draft.discovery_auth = read_chap(chap);
        }
        section.finish();
    }
    let targets = root.sections("target");
    draft.targets = targets.into_iter().filter_map(|section| read_target(section, &draft.iqn_base)).collect();
    root.finish();
    draft
}

fn read_node(mut section: Section<'_>, default: Node, cluster: &mut ClusterDraft) -> Node {
    let id = cluster.read_node(&mut section).unwrap_or(default.id);
    let state_dir = section.value::<String>("state_dir").map_or(default.state_dir, PathBuf::from);
    if !state_dir.is_absolute() {
        section.fault_at("state_dir", "`state_dir` has to be an absolute path");
    }
    section.finish();
    Node { id, state_dir }
}

fn read_portal(mut section: Section<'_>) -> Option<Placed<Portal>> {
    let listen = section.filled_list::<Endpoint>("listen");
    if !section.has("listen") {
        section.fault_at("listen", "[[portal]] lacks `listen`; add for example: listen = \"0.0.0.0:3260\"");
    }
    let advertise = section.list::<Endpoint>("advertise");
    for address in &advertise {
        if let Some(fault) = address.value.why_not_told() {
            section.fault(address.place.clone(), format!("`advertise`: {fault}"));
        }
    }
    let tls = section.section("tls").map(read_tls);
    let group_tag = section.bounded("group_tag", 1, 1..=u16::MAX);
    let place = section.place();
    section.finish();
    let addresses = |list: Vec<Placed<Endpoint>>| list.into_iter().map(|address| address.value).collect();
    Some(Placed {
        // Where TLS could not be read there is a fault.
        value: Portal {
            listen: addresses(listen),
            advertise: addresses(advertise),
            group_tag,
            tls: tls.flatten(),
        },
        place,
    })
}

fn read_api(mut section: Section<'_>, default: Option<Endpoint>) -> Option<Endpoint> {
    let api = match section.value::<String>("listen").map(|text| parse_api(&text)) {
        None => default,
        Some(Ok(api)) => api,
        Some(Err(message)) => {
            section.fault_at("listen", format!("`listen`: {message}; or \"off\""));
            None
        }
    };
    section.finish();
    api
}

fn read_log(mut section: Section<'_>, default: Log) -> Log {
    let format = match section.value::<String>("format").as_deref() {
        None => default.format,
        Some("human") => LogFormat::Human,
        Some("json") => LogFormat::Json,
        Some(other) => {
            section.fault_at("format", format!("`format` is \"human\" or \"json\", not {other:?}"));
            default.format
        }
    };
    let level = section.value_or("level", default.level);
    if let Err(error) = tracing_subscriber::EnvFilter::builder().parse(&level) {
        section.fault_at(
            "level",
            format!("`level`: {error}; use error, warn, info, debug or trace, or a list such as \"info,glint=debug\""),
        );
    }
    section.finish();
    Log { format, level }
}

/// The bounds of each limit stand here, in one place.
fn read_limits(mut section: Section<'_>) -> Limits {
    let d = Limits::default();
    let second = Duration::from_secs(1);
    let hour = Duration::from_secs(3600);
    let mut bytes = |key, default: u64, low: u64, high: u64| {
        section.bounded(key, ByteSize(default), ByteSize(low)..=ByteSize(high)).0
    };
    let bytes_in_flight = bytes("bytes_in_flight", d.bytes_in_flight, 1 << 20, 1 << 40);
    let max_command_bytes = bytes("max_command_bytes", d.max_command_bytes.into(), 64 << 10, 64 << 20);
    // 8 KiB is what every initiator starts with; no burst has more than 1 MiB.
    let max_recv_data_segment =
        bytes("max_recv_data_segment", d.max_recv_data_segment.into(), 8 << 10, 1 << 20);
    let data_out_budget = bytes("data_out_budget", d.data_out_budget, 64 << 10, 1 << 30);
    let limits = Limits {
        max_connections: section.bounded("max_connections", d.max_connections, 1..=1_000_000),
        max_sessions: section.bounded("max_sessions", d.max_sessions, 1..=65_535),
        connections_per_session: section.bounded(
            "connections_per_session",
            d.connections_per_session,
            1..=16,
        ),
        max_discovery_sessions: section.bounded(
            "max_discovery_sessions",
            d.max_discovery_sessions,
            1..=65_535,
        ),
        login_timeout: section.bounded("login_timeout", d.login_timeout, second..=hour),
        nop_interval: section.bounded("nop_interval", d.nop_interval, second..=hour),
        nop_timeout: section.bounded("nop_timeout", d.nop_timeout, second..=hour),
        logout_timeout: section.bounded("logout_timeout", d.logout_timeout, second..=hour),
        drain_timeout: section.bounded("drain_timeout", d.drain_timeout, second..=hour),
        bytes_in_flight,
        command_window: section.bounded("command_window", d.command_window, 1..=4096),
        max_command_bytes: u32::try_from(max_command_bytes).unwrap_or(d.max_command_bytes),
        max_recv_data_segment: u32::try_from(max_recv_data_segment).unwrap_or(d.max_recv_data_segment),
        data_out_budget,
        io_deadline: section.bounded("io_deadline", d.io_deadline, second..=hour),
        file_io: section.value_or("file_io", d.file_io),
        workers: section.bounded("workers", d.workers, 0..=1024),
    };
    if u64::from(limits.max_command_bytes) > limits.bytes_in_flight {
        section
            .fault_at("bytes_in_flight", "`bytes_in_flight` has to hold one command of `max_command_bytes`");
    }
    section.finish();
    limits
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
