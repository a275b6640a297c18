//! Nodes that share a store, with proxies in between where they are to be cut off.
//!
//! The last node has a network of its own. libgfapi finds glusterd where it is told, and bricks where glusterd says; inside, proxies
//! listen at these very addresses. So that node can be cut off from the store without a firewall, and all else goes on.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use super::namespace::Namespace;
use super::node::Node;
use super::nodes::{self, Nodes};
use super::proxy::{Mode, Place, Proxy};
use crate::glint::loopback;
use crate::gluster::{GlusterCluster, GlusterVolume, VolumeSpec};
use crate::paths;

/// The volume that is written to, and the one that is reserved.
pub const VOLUMES: [&str; 2] = ["disk", "guarded"];

/// Bytes in each.
const SIZE: &str = "64MiB";

/// Where nodes keep what they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// A replica 3 volume whose bricks know mandatory locks: nodes are fenced.
    Gluster,
    /// A directory: leases only.
    Local,
}

/// See the module.
pub struct Cluster {
    /// The nodes.
    pub nodes: Vec<Node>,
    volume: Option<GlusterVolume>,
    url: String,
    /// In the last node's network: the ways out to the store, and those to other nodes and in.
    outside: Place,
    inside: Place,
    to_store: BTreeMap<SocketAddr, Proxy>,
    _doors: Vec<Proxy>,
    /// Until all that uses it has ended.
    _directory: TempDir,
}

impl Cluster {
    /// Starts so many nodes and waits until all are ready.
    ///
    /// # Errors
    /// When there is no GlusterFS, or this is not root.
    pub fn start(count: usize, backing: Backing) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("glint-torture-").tempdir()?;
        let at = |name: &str| directory.path().join(name);
        let volume = match backing {
            Backing::Gluster => {
                Some(GlusterCluster::start()?.create_volume("shared", &VolumeSpec::default())?)
            }
            Backing::Local => {
                fs::create_dir(at("store"))?;
                None
            }
        };
        let image = |name: &str| format!("{name}.img");
        let (url, devices) = match &volume {
            Some(volume) => (volume.uri("store"), VOLUMES.map(|name| volume.uri(&image(name)))),
            None => {
                let device = |name: &str| format!("file:{}", at(&image(name)).display());
                (at("store").display().to_string(), VOLUMES.map(device))
            }
        };
        let outside = Place::Here;
        let inside = Place::Within(Arc::new(Namespace::new()?));
        let (mut all, mut doors, mut met) = (Vec::new(), Vec::new(), Vec::new());
        for number in 1..=count {
            let id = format!("n{number}");
            let (portal, internal, advertised) = (loopback(), loopback(), loopback());
            let is_last = number == count;
            let place = if is_last { &inside } else { &outside };
            let mut command = Vec::new();
            if let Place::Within(namespace) = place {
                command = namespace.prefix();
                doors.push(Proxy::start((&outside, portal), (place, portal))?);
                // Inside it is known by the same address.
                for other in &met {
                    doors.push(Proxy::start((place, *other), (&outside, *other))?);
                }
            }
            met.push(advertised);
            command.push(paths::glint());
            let mut arguments: Vec<String> =
                ["serve", "--node", &id, "--store", &url, "--api", "off"].map(String::from).into();
            for (flag, address) in
                [("--internal", internal), ("--internal-advertise", advertised), ("--listen", portal)]
            {
                arguments.extend([flag.to_owned(), address.to_string()]);
            }
            arguments.extend(["--state-dir".to_owned(), at(&format!("state-{id}")).display().to_string()]);
            for (name, device) in VOLUMES.iter().zip(&devices) {
                let volume = format!("{name}={device},size={SIZE},block_size=4096");
                arguments.extend(["--volume".to_owned(), volume]);
            }
            command.extend(arguments.into_iter().map(PathBuf::from));
            let front = Proxy::start((&outside, advertised), (place, internal))?;
            all.push(Node::new(id, portal, front, command));
        }
        let mut cluster = Self {
            nodes: all,
            volume,
            url,
            outside,
            inside,
            to_store: BTreeMap::new(),
            _doors: doors,
            _directory: directory,
        };
        cluster.open_ways()?;
        cluster.start_all();
        Ok(cluster)
    }

    /// Starts those that do not run, and waits until all are ready.
    #[track_caller]
    pub fn start_all(&mut self) {
        self.nodes.iter_mut().for_each(Node::start);
        self.nodes.iter_mut().for_each(Node::wait_ready);
    }

    /// Has the last node reach bricks where they are now.
    fn open_ways(&mut self) -> io::Result<()> {
        let Some(volume) = &self.volume else { return Ok(()) };
        for address in volume.addresses()? {
            if !self.to_store.contains_key(&address) {
                let way = Proxy::start((&self.inside, address), (&self.outside, address))?;
                self.to_store.insert(address, way);
            }
        }
        Ok(())
    }

    /// Where initiators find the nodes, in their order.
    pub fn portals(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(|node| node.portal).collect()
    }

    /// `--store`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The number of the node that owns a volume now.
    pub fn owner(&self, volume: &str) -> Result<usize, String> {
        let told = Nodes::ask(&self.url)?;
        let owner = told.volume(volume).and_then(|volume| volume.owner.clone());
        let found = owner.as_ref().and_then(|owner| self.nodes.iter().position(|node| node.id == *owner));
        found.ok_or_else(|| format!("nobody owns {volume}: {told:?}"))
    }

    /// Has a volume move to the node of this number.
    pub fn relocate(&self, volume: &str, to: usize) -> Result<(), String> {
        nodes::relocate(&self.url, volume, &self.nodes[to].id)
    }

    /// Cuts the last node off from the store, without a word to it, or lets it back.
    pub fn cut_store(&self, is_cut: bool) {
        let mode = if is_cut { Mode::Silent } else { Mode::Open };
        self.to_store.values().for_each(|way| way.set(mode));
    }

    /// Has bricks notice that the last node is cut off.
    pub fn notice_cut(&self) {
        self.to_store.values().for_each(Proxy::close_far_ends);
    }

    /// Kills a brick, and starts it again after this time. Healing begins then.
    pub fn break_brick(&mut self, number: usize, down: Duration) -> io::Result<()> {
        let Some(volume) = &self.volume else { return Err(io::ErrorKind::Unsupported.into()) };
        volume.kill_brick(number)?;
        std::thread::sleep(down);
        volume.start_force()?;
        self.open_ways()
    }

    /// Waits until all bricks are the same. It is for when nobody writes: under load there is always something that they differ in.
    pub fn wait_healed(&self) -> io::Result<()> {
        self.volume.as_ref().map_or(Ok(()), GlusterVolume::wait_healed)
    }

    /// What the nodes said last.
    pub fn told(&self) -> String {
        self.nodes.iter().map(Node::told).collect()
    }
}
