//! The session of a connection: the device that it reaches, its nexus, its place in the registry.

use crate::server::catalog::ServedDevice;
use crate::server::node::Node;
use crate::server::orders::Orders;
use crate::server::proofs;
use crate::server::sessions::{Refusal, SessionHandle};
use crate::telemetry::VolumeMetrics;
use glint_target_core::lun::notice::{Listener, Notice};
use glint_target_core::lun::throttle::Throttling;
use glint_target_core::scsi::command::{DeviceServer, Nexus};
use glint_target_core::scsi::lun_address::{LunAddress, LunKind};
use glint_target_core::session::event::SessionRequest;
use std::sync::Arc;

/// A session that exists. When it is dropped its nexus is lost; then a session of the same identity may begin.
pub(super) struct BoundSession<S: DeviceServer> {
    /// None in a discovery session.
    reach: Option<Reach<S>>,
    handle: SessionHandle,
}

/// What commands run on.
pub(super) struct Reach<S: DeviceServer> {
    pub(super) device: Arc<ServedDevice<S>>,
    pub(super) nexus: Arc<Nexus>,
    /// None once nobody does what the device server says any more.
    listener: Option<Listener>,
}

impl<S: DeviceServer> BoundSession<S> {
    /// Ends what is older, then begins.
    pub(super) async fn begin(
        node: Arc<Node<S>>,
        request: SessionRequest,
        orders: Arc<Orders>,
    ) -> Result<Self, Refusal> {
        let limits = node.limits.load_full();
        let sessions = Arc::clone(&node.sessions);
        let bind = sessions.bind(request.clone(), Arc::clone(&orders), &limits);
        let handle = bind.await?;
        // Looked up when the registry knows the session: a target that is removed after this finds the session there.
        let reach = match &request.target_name {
            Some(target) => Some(Reach::new(&node, &request, target, orders)?),
            None => None,
        };
        Ok(Self { reach, handle })
    }

    pub(super) fn tsih(&self) -> u16 {
        self.handle.tsih()
    }

    pub(super) fn reach(&self) -> Option<&Reach<S>> {
        self.reach.as_ref()
    }

    /// The limits that its commands keep.
    pub(super) fn throttling(&self) -> Option<&Arc<Throttling>> {
        self.reach.as_ref().and_then(|reach| reach.device.server.throttling())
    }

    /// What the device server has to tell.
    pub(super) fn take_notices(&self) -> Vec<Notice> {
        let listener = self.reach.as_ref().and_then(|reach| reach.listener.as_ref());
        listener.map_or_else(Vec::new, Listener::take)
    }

    /// Nothing that the device server says is heard from now on: nobody is to wait for that.
    pub(super) fn deafen(&mut self) {
        if let Some(reach) = &mut self.reach {
            reach.listener = None;
        }
    }
}

impl<S: DeviceServer> Reach<S> {
    fn new(
        node: &Node<S>,
        request: &SessionRequest,
        target: &str,
        orders: Arc<Orders>,
    ) -> Result<Self, Refusal> {
        let catalog = node.catalog.load();
        let target = catalog
            .target(target)
            .filter(|target| target.admits(&request.initiator_name, orders.peer(), request.portal_group_tag))
            .ok_or(Refusal::TargetRemoved)?;
        let nexus = Arc::new(Nexus {
            id: node.nexus_id(),
            initiator_name: request.initiator_name.to_string(),
            isid: request.isid.0,
            target_name: target.name.to_string(),
            portal_group_tag: request.portal_group_tag,
            relative_port: request.relative_port,
            proofs: proofs::of(&target.auth),
        });
        let listener = Some(target.device.server.listen(nexus.id, orders.into()));
        target.device.server.nexus_established(&nexus);
        Ok(Self { device: Arc::clone(&target.device), nexus, listener })
    }

    /// The metrics of the unit that an address names.
    pub(super) fn volume(&self, lun: LunAddress) -> Option<Arc<VolumeMetrics>> {
        match lun.kind() {
            LunKind::Unit(number) => self.device.volume(number),
            LunKind::ReportLuns | LunKind::Unknown => None,
        }
    }
}

impl<S: DeviceServer> Drop for Reach<S> {
    fn drop(&mut self) {
        self.device.server.nexus_lost(&self.nexus);
    }
}
