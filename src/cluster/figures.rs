//! What is counted of a node among others.

use super::hub::Hub;
use crate::telemetry::metrics::Metrics;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Set by the engine.
#[derive(Debug, Default)]
pub struct Figures {
    /// Volumes that this node owns and serves.
    pub owned: AtomicUsize,
    /// Volumes that the store can't fence.
    pub unfenced: AtomicUsize,
    /// Other nodes that have not left.
    pub nodes: AtomicUsize,
}

/// Has them told.
pub fn tell(hub: &Arc<Hub>, metrics: &Metrics) -> prometheus::Result<()> {
    let tell = |name, help, read: fn(&Hub) -> usize| {
        let hub = Arc::clone(hub);
        metrics.add_reading(name, help, move || read(&hub))
    };
    tell("glint_cluster_volumes_owned", "Volumes that this node owns and serves.", |hub| {
        hub.figures().owned.load(Ordering::Relaxed)
    })?;
    tell(
        "glint_cluster_volumes_unfenced",
        "Volumes of this node's configuration that the store can't fence: only clocks keep a former owner from writing.",
        |hub| hub.figures().unfenced.load(Ordering::Relaxed),
    )?;
    tell("glint_cluster_nodes", "Other nodes of the store that have not left.", |hub| {
        hub.figures().nodes.load(Ordering::Relaxed)
    })?;
    tell("glint_cluster_nodes_reached", "Other nodes to which there is an internal connection.", |hub| {
        hub.links().len()
    })
}
