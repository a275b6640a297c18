//! Bringing what runs in line with a configuration.

use super::limits;
use super::portals;
use super::shared::OpenShared;
use super::state::Store;
use super::volumes::{OpenTarget, VolumeError};
use crate::backend::{BackendContext, Device};
use crate::cluster::{Cluster, ClusterError, Front, Hooks, Neighbour, RegistrationError};
use crate::config::{Config, LunConfig, TargetConfig};
use crate::server::catalog::{Access, PortalGroup, ServedTarget, Snapshot};
use crate::server::{ListenError, Listeners, Node, Workers};
use crate::telemetry::metrics::Metrics;
use futures_util::future::join_all;
use glint_target_core::device::{BlockDevice, DeviceError};
use glint_target_core::login::catalog::{Redirect, Whereabouts};
use glint_target_core::lun::copy::CopyManager;
use glint_target_core::lun::unit::LogicalUnit;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long sessions of a target that is removed may take to end.
const REVOKE_PATIENCE: Duration = Duration::from_secs(30);

/// One thing that could not be done; the others were.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum ApplyError {
    #[error("volume {target}, LUN {lun}: {error}")]
    Volume { target: String, lun: u16, error: VolumeError },
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("cannot find the address of {name}: {error}")]
    Resolve { name: String, error: io::Error },
    #[error("the other nodes can't be told of the portals: {0}")]
    Portals(#[from] RegistrationError),
}

/// What runs.
pub struct Control {
    node: Arc<Node<Front>>,
    backends: BackendContext,
    workers: Workers,
    listeners: Listeners<Front>,
    /// Where units keep what outlives the process.
    state: Store,
    /// Copies between all units.
    copies: Arc<CopyManager<Device>>,
    /// By IQN.
    targets: HashMap<String, OpenTarget>,
    /// The other nodes that serve the same volumes.
    cluster: Option<Cluster>,
    /// What the portal groups of this node are called among all nodes, by their tags.
    numbers: BTreeMap<u16, u16>,
    /// The portal groups of this node.
    groups: Vec<PortalGroup>,
}

/// A unit that is open.
enum Opened {
    Alone(Arc<LogicalUnit<Device>>),
    Shared(Box<OpenShared>),
}

impl Control {
    /// Worker threads and an empty node, with the limits of `config`. To be called inside the runtime that is to accept connections.
    pub fn new(config: &Config, metrics: Arc<Metrics>) -> io::Result<Self> {
        let configured = &config.limits;
        let node = Node::new(
            limits::server_limits(configured),
            limits::bytes_in_flight(configured),
            limits::connection_config(configured),
            metrics,
        );
        let workers = Workers::start(usize::try_from(configured.workers).unwrap_or(0))?;
        let listeners = Listeners::new(Arc::clone(&node), workers.clone());
        let backends = BackendContext::new(configured.io_deadline, configured.file_io)?;
        node.metrics().tell_file_io(backends.file_io().word());
        let state = Store::open(&config.node.state_dir);
        Ok(Self {
            node,
            backends,
            workers,
            listeners,
            state,
            copies: Arc::default(),
            targets: HashMap::new(),
            cluster: None,
            numbers: BTreeMap::new(),
            groups: Vec::new(),
        })
    }

    /// Joins the other nodes, where the configuration has any. Before anything is opened.
    pub async fn join(&mut self, config: &Config) -> Result<(), ClusterError> {
        let Some(cluster) = &config.cluster else { return Ok(()) };
        let tags: Vec<u16> = config.portals.iter().map(|portal| portal.group_tag).collect();
        let (numbering, expelling) = (Arc::clone(&self.node), Arc::clone(&self.node));
        let hooks = Hooks {
            next_nexus: Box::new(move || numbering.nexus_id()),
            expel: Box::new(move || expelling.expel()),
        };
        self.cluster =
            Some(Cluster::join(cluster, &tags, hooks, self.workers.clone(), self.node.metrics()).await?);
        Ok(())
    }

    /// The other nodes.
    pub fn cluster(&self) -> Option<&Cluster> {
        self.cluster.as_ref()
    }

    /// The node.
    pub fn node(&self) -> &Arc<Node<Front>> {
        &self.node
    }

    /// The address that was bound for one that was wanted.
    pub fn bound(&self, wanted: SocketAddr) -> Option<SocketAddr> {
        self.listeners.bound(wanted)
    }

    /// Does all that lies between what runs and `config`, and tells what could not be done. Sessions that are not concerned notice nothing.
    pub async fn apply(&mut self, config: &Config) -> Vec<ApplyError> {
        let mut failed = self.open(config).await;
        failed.extend(self.serve(config).await);
        failed
    }

    /// The first half of [`apply`](Self::apply): targets, units and devices.
    pub async fn open(&mut self, config: &Config) -> Vec<ApplyError> {
        self.restrict(config).await;
        let mut failed = Vec::new();
        self.change_units(config, &mut failed).await;
        self.node.readiness().set_volumes_open(failed.is_empty());
        failed
    }

    /// The second half: limits and portals, and what initiators are told. Connections are accepted when all of it is in place.
    pub async fn serve(&mut self, config: &Config) -> Vec<ApplyError> {
        let limits = &config.limits;
        self.node.set_limits(limits::server_limits(limits), limits::connection_config(limits));
        let mut failed = Vec::new();
        if let Some(cluster) = &self.cluster {
            let tags: Vec<u16> = config.portals.iter().map(|portal| portal.group_tag).collect();
            match cluster.numbers(&tags).await {
                Ok(numbers) => self.numbers = numbers.ports,
                Err(error) => failed.push(error.into()),
            }
        }
        let (resolved, unresolved) = portals::resolve(&config.portals).await;
        let unbound = self.listeners.apply(&portals::to_bind(&resolved, |tag| self.number(tag))).await;
        self.groups =
            portals::groups(&resolved, |tag| self.number(tag), |wanted| self.listeners.bound(wanted));
        for target in &config.targets {
            if let Some(open) = self.targets.get(&*target.iqn) {
                let groups =
                    self.groups.iter().filter(|group| self.served_groups(target).contains(&group.tag));
                open.device.server.local().set_ports(groups.map(|group| (group.tag, group.tag)));
            }
        }
        self.publish(config).await;
        self.listeners.accept();
        failed.extend(unresolved.into_iter().map(|(name, error)| ApplyError::Resolve { name, error }));
        failed.extend(unbound.into_iter().map(ApplyError::from));
        if let Some(cluster) = &self.cluster {
            let told = portals::records(&resolved, |wanted| self.listeners.bound(wanted));
            failed.extend(cluster.tell_portals(told).await.err().map(ApplyError::from));
        }
        self.node.readiness().set_listening(failed.is_empty());
        failed
    }

    /// Tells initiators what is served now: also when other nodes have come or gone.
    pub async fn publish(&self, config: &Config) {
        let targets = config.targets.iter().filter_map(|target| self.served(target)).map(Arc::new).collect();
        let groups =
            self.groups.iter().cloned().chain(self.neighbours().iter().map(portals::neighbour)).collect();
        await_end(self.node.publish(Snapshot::new(targets, groups, config.discovery_auth.clone()))).await;
    }

    fn neighbours(&self) -> Vec<Neighbour> {
        self.cluster.as_ref().map_or_else(Vec::new, Cluster::neighbours)
    }

    /// What a portal group of this node is called: its tag, where there are other nodes its number among all of them.
    fn number(&self, tag: u16) -> u16 {
        self.numbers.get(&tag).copied().unwrap_or(tag)
    }

    /// The portal groups through which a target is served, by what they are called; those of other nodes too.
    fn served_groups(&self, target: &TargetConfig) -> Vec<u16> {
        let own = self.groups.iter().map(|group| group.tag);
        if target.groups.is_empty() {
            return own.collect();
        }
        let own = target.groups.iter().map(|tag| self.number(*tag));
        let neighbours = self.neighbours();
        let others = neighbours.iter().filter(|other| target.groups.contains(&other.tag));
        own.chain(others.map(|other| other.number)).collect()
    }

    /// Ends the targets that are wanted no longer, and the sessions of those who are admitted no longer: they are to see nothing of
    /// what changes next.
    async fn restrict(&mut self, config: &Config) {
        let wanted = |iqn: &str| config.targets.iter().find(|target| &*target.iqn == iqn);
        let kept = self.node.catalog();
        let targets = kept.targets().iter().filter_map(|old| {
            let mut target = self.served(wanted(&old.name)?)?;
            if old.whereabouts != Whereabouts::Here && target.whereabouts == Whereabouts::Here {
                // It comes back, and its units are not open yet.
                target.whereabouts = Whereabouts::Moving;
            }
            Some(Arc::new(target))
        });
        let targets = targets.collect();
        await_end(self.node.publish(kept.with_targets(targets))).await;
        let removed: Vec<String> = self.targets.keys().filter(|iqn| wanted(iqn).is_none()).cloned().collect();
        for iqn in removed {
            if let Some(mut target) = self.targets.remove(&iqn) {
                if let Some(cluster) = &self.cluster {
                    cluster.hub().remove_target(&iqn);
                }
                for number in target.numbers() {
                    target.close(number, self.node.metrics(), self.cluster.as_ref()).await;
                }
            }
        }
    }

    /// Closes, lets grow and opens units; all that is to be closed is closed before anything is opened, as a device may move to another unit.
    async fn change_units(&mut self, config: &Config, failed: &mut Vec<ApplyError>) {
        let mut opening = Vec::new();
        for wanted in &config.targets {
            let open = self.targets.entry(wanted.iqn.to_string()).or_insert_with(|| {
                OpenTarget::new(wanted.iqn.shared(), Arc::clone(&self.copies), self.cluster.as_ref())
            });
            let changes = open.changes(wanted);
            for number in changes.close {
                open.close(number, self.node.metrics(), self.cluster.as_ref()).await;
            }
            for lun in changes.resize {
                let number = lun.number;
                if let Err(error) = open.resize(lun).await {
                    failed.push(volume_error(wanted, number, error));
                }
            }
            opening.extend(changes.open.into_iter().map(|lun| (wanted, lun)));
        }
        let most = config.limits.max_command_bytes;
        let units = join_all(opening.iter().map(|(wanted, lun)| self.open_unit(wanted, lun, most))).await;
        for ((wanted, lun), unit) in opening.into_iter().zip(units) {
            let Some(open) = self.targets.get_mut(&*wanted.iqn) else { continue };
            match (unit, &self.cluster) {
                (Ok(Opened::Alone(unit)), _) => open.add(lun, unit, self.node.metrics()),
                (Ok(Opened::Shared(shared)), Some(cluster)) => {
                    open.add_shared(lun, *shared, cluster, self.node.metrics());
                }
                (Ok(Opened::Shared(_)), None) => {}
                (Err(error), _) => failed.push(volume_error(wanted, lun.number, error)),
            }
        }
    }

    /// Opens a unit; what other nodes serve too is only looked at.
    async fn open_unit(
        &self,
        target: &TargetConfig,
        lun: &LunConfig,
        max_transfer: u32,
    ) -> Result<Opened, VolumeError> {
        let spawner = Arc::new(self.workers.clone());
        Ok(match &self.cluster {
            Some(cluster) => Opened::Shared(Box::new(
                OpenShared::open(target, lun, max_transfer, &self.backends, cluster, spawner).await?,
            )),
            None => Opened::Alone(
                OpenTarget::open(target, lun, max_transfer, &self.backends, &self.state, spawner).await?,
            ),
        })
    }

    fn served(&self, target: &TargetConfig) -> Option<ServedTarget<Front>> {
        let open = self.targets.get(&*target.iqn)?;
        Some(ServedTarget {
            name: target.iqn.shared(),
            alias: target.alias.as_deref().map(Arc::from),
            access: Access {
                initiators: target.initiators.clone(),
                networks: target.networks.clone(),
                groups: match target.groups.is_empty() {
                    true => Vec::new(),
                    false => self.served_groups(target),
                },
            },
            whereabouts: match &target.redirect {
                None => Whereabouts::Here,
                Some(_) if !open.numbers().is_empty() => Whereabouts::Moving,
                Some(redirect) => Whereabouts::Moved(Redirect {
                    address: redirect.to.to_string().into(),
                    permanent: redirect.permanent,
                }),
            },
            auth: target.auth.clone(),
            device: Arc::clone(&open.device),
        })
    }

    /// No connection is accepted from now on.
    pub fn stop_listening(&mut self) {
        self.listeners.close();
    }

    /// Ends the work in the background and puts all that was written onto stable storage; tells how many units could not.
    pub async fn flush(&self) -> usize {
        let flush = |target: &OpenTarget| {
            let name = Arc::clone(target.device.server.local().name());
            let units = target.device.server.local().units();
            async move {
                let mut failed = 0;
                for (lun, unit) in units.iter() {
                    unit.background().close();
                    unit.background().ended().await;
                    match unit.device().flush().await {
                        // Another node owns it, who has all that was written here.
                        Ok(()) | Err(DeviceError::OwnershipLost) => {}
                        Err(error) => {
                            tracing::error!(target = %name, lun, %error, "flush failed");
                            failed += 1;
                        }
                    }
                }
                failed
            }
        };
        join_all(self.targets.values().map(flush)).await.into_iter().sum()
    }
}

fn volume_error(target: &TargetConfig, lun: u16, error: VolumeError) -> ApplyError {
    ApplyError::Volume { target: target.name.to_string(), lun, error }
}

async fn await_end(sessions: Vec<CancellationToken>) {
    let ended = join_all(sessions.iter().map(CancellationToken::cancelled));
    if tokio::time::timeout(REVOKE_PATIENCE, ended).await.is_err() {
        tracing::error!("sessions that were ended have commands that did not end");
    }
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
