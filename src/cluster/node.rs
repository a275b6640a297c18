//! This node among the others: how it joins them, what it is told to do, how it leaves.

use super::engine::{Engine, Fate, Order, Parts, VolumeParts};
use super::figures;
use super::hub::Hub;
use super::inbound;
use super::link::{End, Fingerprint, Identity, IdentityError, Pace};
use super::registration::{self, RegistrationError};
use crate::config::ClusterConfig;
use crate::server::Workers;
use crate::store::{Store, StoreOpenError};
use crate::telemetry::metrics::Metrics;
use glint_cluster_core::forwarding::{Freshness, Patience};
use glint_cluster_core::membership::{BootId, Incarnation, NodeRecord, Numbers, Portal, Timing};
use glint_cluster_core::store::{Directory, Documents, Timing as Keeping};
use glint_target_core::scsi::command::NexusId;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// Each call to the store ends within this: well below the time to fence, so that one lost heartbeat is not the end.
const STORE_DEADLINE: Duration = Duration::from_secs(2);
/// A command may be on its way to another node for so long.
const AGE: Duration = Duration::from_secs(1);
/// The first heartbeat has to reach the store within this.
const BIRTH: Duration = Duration::from_secs(20);

/// Why a node can't join the others.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum ClusterError {
    #[error("the store {store} can't be used: {error}")]
    Store { store: String, error: StoreOpenError },
    #[error("cannot listen for other nodes on {address}: {error}")]
    Listen { address: String, error: io::Error },
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error("the node can't register in the store {store}: {error}")]
    Register { store: String, error: RegistrationError },
    #[error("no heartbeat reached the store {0} within {BIRTH:?}: is it writable, and fast enough?")]
    Unborn(String),
    #[error("no random numbers: {0}")]
    Random(String),
}

/// A portal group of another node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its tag there.
    pub tag: u16,
    /// Its number in the store.
    pub number: u16,
    /// The addresses that initiators are told.
    pub addresses: Vec<String>,
}

/// What the node does for its part of a cluster.
pub struct Hooks {
    /// A number that no nexus of this process has.
    pub next_nexus: Box<dyn Fn() -> NexusId + Send + Sync>,
    /// Ends all sessions.
    pub expel: Box<dyn Fn() + Send>,
}

/// See the module.
pub struct Cluster {
    hub: Arc<Hub>,
    documents: Arc<Documents<Store>>,
    orders: UnboundedSender<Order>,
    fate: watch::Receiver<Fate>,
    neighbours: watch::Receiver<Vec<Neighbour>>,
    /// As far as somebody has been told of them.
    seen: Mutex<watch::Receiver<Vec<Neighbour>>>,
    numbers: Mutex<Numbers>,
    record: Mutex<NodeRecord>,
    listening: CancellationToken,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.listening.cancel();
    }
}

impl Cluster {
    /// Joins the nodes of a store. `tags` are those of this node's portal groups.
    ///
    /// # Errors
    /// [`ClusterError`].
    pub async fn join(
        config: &ClusterConfig,
        tags: &[u16],
        hooks: Hooks,
        workers: Workers,
        metrics: &Metrics,
    ) -> Result<Self, ClusterError> {
        let store_name = || config.store.to_string();
        let store = Store::open(&config.store, STORE_DEADLINE)
            .await
            .map_err(|error| ClusterError::Store { store: store_name(), error })?;
        let documents = Arc::new(Documents::new(store, Keeping::default()));
        let (listener, internal) = listen(config).await?;
        let boot = getrandom::u64().map_err(|error| ClusterError::Random(error.to_string()))?;
        let me = Incarnation { node: config.node.clone(), boot: BootId(boot) };
        let identity = Identity::new()?;
        let unregistered = |error| ClusterError::Register { store: store_name(), error };
        let numbers = registration::numbers(&documents, &me.node, tags).await.map_err(unregistered)?;
        let record = NodeRecord {
            boot: me.boot,
            portals: Vec::new(),
            group: numbers.group,
            internal,
            certificate: identity.fingerprint().to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            left: false,
        };
        registration::register(&documents, &me.node, &record, None).await.map_err(unregistered)?;
        let timing = Timing::default();
        let patience = Patience { hold: config.hold, freshness: Freshness { age: AGE, drift: timing.drift } };
        let (tell, tidings) = unbounded_channel();
        let hub = Hub::new(me.clone(), patience, tell, hooks.next_nexus);
        if let Err(error) = figures::tell(&hub, metrics) {
            tracing::error!(%error, "what is counted of the node among others is not told");
        }
        let (orders, ordered) = unbounded_channel();
        let (fate, alive) = watch::channel(Fate::default());
        let (neighbours, around) = watch::channel(Vec::new());
        let (certificates, known) = watch::channel(HashMap::<Incarnation, Fingerprint>::new());
        let (terms, term) = watch::channel(CancellationToken::new());
        let end = Arc::new(End { me, identity, most_data: MOST_DATA, pace: Pace::default() });
        let listening = CancellationToken::new();
        let accept =
            inbound::accept(listener, Arc::clone(&end), Arc::clone(&hub), known, term, workers.clone());
        tokio::spawn(listening.clone().run_until_cancelled_owned(accept));
        let parts = Parts {
            hub: Arc::clone(&hub),
            documents: Arc::clone(&documents),
            timing,
            numbers: numbers.clone(),
            end,
            workers,
            expel: hooks.expel,
            fate,
            neighbours,
            certificates,
            terms,
        };
        tokio::spawn(Engine::run(parts, ordered, tidings));
        let mut cluster = Self {
            hub,
            documents,
            orders,
            fate: alive,
            neighbours: around.clone(),
            seen: Mutex::new(around),
            numbers: Mutex::new(numbers),
            record: Mutex::new(record),
            listening,
        };
        let born = cluster.fate.wait_for(|fate| *fate != Fate::Unborn);
        if tokio::time::timeout(BIRTH, born).await.is_err() {
            return Err(ClusterError::Unborn(store_name()));
        }
        Ok(cluster)
    }

    /// What all shared targets of the node have in common.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// The TARGET PORT GROUP of this node.
    pub async fn group(&self) -> u16 {
        self.numbers.lock().await.group
    }

    /// The numbers of this node, its portal groups' of these tags among them. What initiators are told as portal group tag and as RELATIVE TARGET PORT
    /// IDENTIFIER is that number: tags are of one node alone, and all nodes are one target.
    ///
    /// # Errors
    /// When the store can't be read or written.
    pub async fn numbers(&self, tags: &[u16]) -> Result<Numbers, RegistrationError> {
        let mut numbers = self.numbers.lock().await;
        *numbers = registration::numbers(&self.documents, &self.hub.me().node, tags).await?;
        Ok(numbers.clone())
    }

    /// Tells the other nodes of the portals.
    ///
    /// # Errors
    /// When the store can't be read or written.
    pub async fn tell_portals(&self, portals: Vec<Portal>) -> Result<(), RegistrationError> {
        let mut record = self.record.lock().await;
        let new = NodeRecord { portals, ..record.clone() };
        registration::register(&self.documents, &self.hub.me().node, &new, Some(record.boot)).await?;
        *record = new;
        Ok(())
    }

    /// The portals of the other nodes.
    pub fn neighbours(&self) -> Vec<Neighbour> {
        self.neighbours.borrow().clone()
    }

    /// Ready when they are others than they were the last time.
    pub async fn neighbours_changed(&self) {
        let mut seen = self.seen.lock().await;
        if seen.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// A volume is served from now on.
    pub fn add(&self, volume: VolumeParts) {
        let _ = self.orders.send(Order::Add(Box::new(volume))); // the process ends otherwise
    }

    /// A volume is not served any more; ready when this node has let go of it.
    pub async fn remove(&self, volume: &Arc<str>) {
        let (done, removed) = oneshot::channel();
        let _ = self.orders.send(Order::Remove(Arc::clone(volume), done)); // the process ends otherwise
        let _ = removed.await; // the same
    }

    /// Hands all volumes over to other nodes; ready when that is done.
    pub async fn hand_over(&self) {
        let (done, gone) = oneshot::channel();
        let _ = self.orders.send(Order::HandOver(done)); // the process ends otherwise
        let _ = gone.await; // the same
    }

    /// How many volumes this node owns, as of a moment ago.
    pub fn owned(&self) -> usize {
        self.hub.figures().owned.load(Ordering::Relaxed)
    }

    /// Tells the others that nothing runs here any more.
    pub async fn leave(&self) {
        let record = self.record.lock().await;
        let gone = NodeRecord { left: true, ..record.clone() };
        let node = &self.hub.me().node;
        if let Err(error) = registration::register(&self.documents, node, &gone, Some(record.boot)).await {
            tracing::warn!(%error, "the other nodes were not told that this one ends");
        }
        // Nobody needs it: who looks for it finds the record.
        let _ = self.documents.directory().unlink(&self.hub.me().beat_file()).await;
    }

    /// Ready when another process has taken the name of this node.
    pub async fn replaced(&self) {
        let mut fate = self.fate.clone();
        if fate.wait_for(|fate| *fate == Fate::Replaced).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Data that goes with one message: as much as a command may have.
const MOST_DATA: usize = 64 << 20;

/// Binds the address for other nodes; tells as what they reach it.
async fn listen(config: &ClusterConfig) -> Result<(TcpListener, String), ClusterError> {
    let failed = |error| ClusterError::Listen { address: config.internal.to_string(), error };
    let addresses = config.internal.resolve().await.map_err(failed)?;
    let address = addresses.into_iter().next().ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let told = match &config.internal_advertise {
        Some(told) => told.to_string(),
        None => bound.to_string(),
    };
    Ok((listener, told))
}
