//! What the server hands commands to: a target of this node alone, or one that several nodes serve.

use super::target::SharedTarget;
use crate::backend::Device;
use glint_target_core::lun::notice::Listener;
use glint_target_core::lun::target::TargetDevice;
use glint_target_core::lun::throttle::Throttling;
use glint_target_core::scsi::command::{
    Command, DeviceServer, Nexus, NexusId, Outcome, TaskManagement, TaskManagementOutcome,
};
use std::sync::Arc;
use std::task::Waker;

/// See the module.
pub struct Front {
    local: Arc<TargetDevice<Device>>,
    shared: Option<Arc<SharedTarget>>,
}

impl Front {
    /// Of this node alone.
    pub fn alone(local: TargetDevice<Device>) -> Self {
        Self { local: Arc::new(local), shared: None }
    }

    /// Of several nodes.
    pub fn shared(shared: Arc<SharedTarget>) -> Self {
        Self { local: Arc::clone(shared.local()), shared: Some(shared) }
    }

    /// The units as this node executes commands on them.
    pub fn local(&self) -> &Arc<TargetDevice<Device>> {
        &self.local
    }

    /// As several nodes serve it.
    pub fn as_shared(&self) -> Option<&Arc<SharedTarget>> {
        self.shared.as_ref()
    }
}

impl DeviceServer for Front {
    async fn execute(&self, nexus: &Arc<Nexus>, command: Command) -> Outcome {
        match &self.shared {
            None => self.local.execute(nexus, command).await,
            Some(shared) => Box::pin(shared.execute(nexus, command)).await,
        }
    }

    async fn manage(&self, nexus: &Arc<Nexus>, function: TaskManagement) -> TaskManagementOutcome {
        match &self.shared {
            None => self.local.manage(nexus, function).await,
            Some(shared) => shared.manage(nexus, function).await,
        }
    }

    fn throttling(&self) -> Option<&Arc<Throttling>> {
        self.local.throttling()
    }

    fn listen(&self, nexus: NexusId, waker: Waker) -> Listener {
        self.local.listen(nexus, waker)
    }

    fn nexus_established(&self, nexus: &Arc<Nexus>) {
        match &self.shared {
            None => self.local.nexus_established(nexus),
            Some(shared) => shared.nexus_established(nexus),
        }
    }

    fn nexus_lost(&self, nexus: &Arc<Nexus>) {
        match &self.shared {
            None => self.local.nexus_lost(nexus),
            Some(shared) => shared.nexus_lost(nexus),
        }
    }
}
