//! What all connections of a node share.

use super::budget::NodeBudget;
use super::catalog::Snapshot;
use super::gathering::Gathering;
use super::invitations::Invitations;
use super::limits::Limits;
use super::readiness::Readiness;
use super::roster::Roster;
use super::sessions::{Sessions, Standing};
use crate::telemetry::{Throttle, metrics::Metrics};
use arc_swap::ArcSwap;
use glint_target_core::scsi::command::NexusId;
use glint_target_core::session::connection::ConnectionConfig;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The shared state: the catalog, the sessions, the limits, the metrics.
pub struct Node<S> {
    pub(super) catalog: Arc<ArcSwap<Snapshot<S>>>,
    pub(super) limits: ArcSwap<Limits>,
    pub(super) connection_config: ArcSwap<ConnectionConfig>,
    pub(super) budget: NodeBudget,
    pub(super) gathering: Arc<Gathering>,
    pub(super) invitations: Arc<Invitations>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) roster: Arc<Roster>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) readiness: Arc<Readiness>,
    /// Logs about what peers do wrong pass through here.
    pub(super) complaints: Throttle,
    next_nexus: AtomicU64,
}

impl<S> Node<S> {
    /// A node that serves nothing yet. All connections together may hold `bytes_in_flight` bytes of commands' data, and as many of
    /// commands whose data is not complete, half of which they ask for.
    pub fn new(
        limits: Limits,
        bytes_in_flight: usize,
        connection: ConnectionConfig,
        metrics: Arc<Metrics>,
    ) -> Arc<Self> {
        let budget = NodeBudget::new(bytes_in_flight);
        // What is asked for comes on top of what comes unasked, and nobody is cut off for having sent it.
        let invitations = Invitations::new(bytes_in_flight / 2);
        let gathering = Gathering::new(bytes_in_flight, Arc::clone(&invitations));
        if let Err(error) = tell_held(&metrics, &budget, &gathering, &invitations) {
            tracing::error!(%error, "the bytes that connections hold are not told");
        }
        Arc::new(Self {
            catalog: Arc::new(ArcSwap::from_pointee(Snapshot::empty())),
            limits: ArcSwap::from_pointee(limits),
            connection_config: ArcSwap::from_pointee(connection),
            budget,
            gathering,
            invitations,
            sessions: Sessions::new(metrics.sessions.clone()),
            roster: Roster::new(metrics.connections.clone()),
            metrics,
            readiness: Arc::default(),
            complaints: Throttle::new(20, Duration::from_secs(10)),
            next_nexus: AtomicU64::new(1),
        })
    }

    /// A number that no nexus of this process has; those that come later have greater ones.
    pub fn nexus_id(&self) -> NexusId {
        NexusId(self.next_nexus.fetch_add(1, Ordering::Relaxed))
    }

    /// Ends all connections that there are: what they bring is out of date. Their initiators may come again at once.
    pub fn expel(&self) {
        self.roster.cut();
    }

    /// The metrics of the process.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// What /readyz tells.
    pub fn readiness(&self) -> &Arc<Readiness> {
        &self.readiness
    }

    /// What is served now.
    pub fn catalog(&self) -> Arc<Snapshot<S>> {
        self.catalog.load_full()
    }

    /// Serves this from now on. Sessions whose target is in it no longer are asked to log out; those whose target no longer admits their
    /// initiator are ended. What comes back is to be waited for until they and their commands have ended.
    pub fn publish(&self, snapshot: Snapshot<S>) -> Vec<CancellationToken> {
        let snapshot = Arc::new(snapshot);
        self.catalog.store(Arc::clone(&snapshot));
        self.sessions.revoke(|initiator, target, tag, peer| match snapshot.target(target) {
            None => Standing::TargetGone,
            Some(target) if target.admits(initiator, peer, tag) => Standing::Admitted,
            Some(_) => Standing::Withdrawn,
        })
    }

    /// These hold for connections and sessions that begin from now on. Initiators that are there already are asked to hear of the
    /// MaxRecvDataSegmentLength if it has changed.
    pub fn set_limits(&self, limits: Limits, connection: ConnectionConfig) {
        self.limits.store(Arc::new(limits));
        let length = connection.offer.max_recv_data_segment_length;
        let old = self.connection_config.swap(Arc::new(connection));
        if old.offer.max_recv_data_segment_length != length {
            self.roster.redeclare();
        }
    }

    /// Asks all initiators to log out and lets in no other; ready when no connection is left. Commands in flight are answered.
    pub async fn drain(&self) {
        self.readiness.set_draining();
        self.roster.drain();
        self.roster.empty().await;
    }

    /// Ends all connections; ready when their commands have ended.
    pub async fn cut(&self) {
        self.roster.cut();
        self.roster.empty().await;
    }
}

/// Metrics of what connections hold.
fn tell_held(
    metrics: &Metrics,
    budget: &NodeBudget,
    gathering: &Arc<Gathering>,
    invitations: &Arc<Invitations>,
) -> prometheus::Result<()> {
    let (budget, gathering, invitations) = (budget.clone(), Arc::clone(gathering), Arc::clone(invitations));
    metrics.add_reading(
        "glint_bytes_in_flight",
        "Data of commands that run or whose responses are not sent, as it counts against bytes_in_flight.",
        move || budget.held(),
    )?;
    metrics.add_reading(
        "glint_bytes_gathered",
        "Data of writes that are not complete, but for what was asked for.",
        move || gathering.total(),
    )?;
    metrics.add_reading(
        "glint_bytes_solicited",
        "Data that was asked for, of writes that are not complete: what has come and what is on its way.",
        move || invitations.total(),
    )
}
