//! A logical unit: a block device with an identity and all the state that SCSI keeps about it.

use super::alua::{AccessCell, AccessState, Change, PortGroups, TARGET_PORT_GROUP};
use super::attention::Attentions;
use super::background::{Background, Spawner};
use super::buffers::Buffers;
use super::claim::Claim;
use super::clock::{DeviceClock, HostClock};
use super::condition::Condition;
use super::copy::operations::Operations;
use super::copy::watch::Watches;
use super::identifying::Identifying;
use super::identity::Identity;
use super::lanes::Lanes;
use super::medium::Medium;
use super::memory::{Document, MemoryError, UnitMemory};
use super::priorities::Priorities;
use super::reservations::{Reservations, document};
use super::self_tests::SelfTests;
use super::space::SpaceWatch;
use super::statistics::Statistics;
use super::task_set::TaskSet;
use crate::device::BlockDevice;
use crate::scsi::asc;
use crate::scsi::command::{Nexus, NexusId};
use crate::scsi::mode_values::ModeCell;
use crate::scsi::overhaul;
use crate::scsi::sense::Asc;
use std::sync::Arc;

/// What a unit is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitConfig {
    /// Who it is.
    pub identity: Identity,
    /// Logical block size in bytes: 512 or 4096.
    pub block_size: u32,
    /// Refuse writes, whatever the device could do.
    pub read_only: bool,
    /// A medium that can be ejected and loaded.
    pub removable: bool,
    /// Most bytes that one READ or WRITE may carry; more than the device takes at a time is split.
    pub max_transfer: u32,
}

/// A logical unit over a device.
pub struct LogicalUnit<D> {
    config: UnitConfig,
    device: D,
    attentions: Attentions,
    tasks: TaskSet,
    watches: Watches,
    operations: Operations,
    reservations: Reservations,
    modes: ModeCell,
    buffers: Buffers,
    lanes: Lanes,
    clock: DeviceClock,
    identifying: Identifying,
    priorities: Priorities,
    self_tests: SelfTests,
    statistics: Statistics,
    access: AccessCell,
    port_groups: Option<Arc<dyn PortGroups>>,
    medium: Medium,
    memory: Option<Arc<dyn UnitMemory>>,
    background: Background,
    condition: Condition,
    space: SpaceWatch,
}

impl<D: BlockDevice> LogicalUnit<D> {
    /// A unit in its power-on state.
    pub fn new(config: UnitConfig, device: D) -> Self {
        let modes = ModeCell::new(device.capabilities().volatile_cache);
        Self {
            config,
            device,
            attentions: Attentions::default(),
            tasks: TaskSet::default(),
            watches: Watches::default(),
            operations: Operations::default(),
            reservations: Reservations::default(),
            modes,
            buffers: Buffers::default(),
            lanes: Lanes::default(),
            clock: DeviceClock::default(),
            identifying: Identifying::default(),
            priorities: Priorities::default(),
            self_tests: SelfTests::default(),
            statistics: Statistics::default(),
            access: AccessCell::default(),
            port_groups: None,
            medium: Medium::default(),
            memory: None,
            background: Background::default(),
            condition: Condition::default(),
            space: SpaceWatch::default(),
        }
    }

    /// The same unit with a memory that outlives the process.
    pub fn with_memory(self, memory: Arc<dyn UnitMemory>) -> Self {
        Self { memory: Some(memory), ..self }
    }

    /// The same unit with the host's clock.
    pub fn with_clock(self, clock: HostClock) -> Self {
        Self { clock: DeviceClock::new(clock), ..self }
    }

    /// The same unit with somebody who runs its work in the background.
    pub fn with_spawner(self, spawner: Arc<dyn Spawner>) -> Self {
        Self { background: Background::new(spawner), ..self }
    }

    /// The same unit as one that several nodes serve.
    pub fn with_port_groups(self, groups: Arc<dyn PortGroups>) -> Self {
        Self { port_groups: Some(groups), ..self }
    }

    /// The target port groups, where several nodes serve it.
    pub fn port_groups(&self) -> Option<&Arc<dyn PortGroups>> {
        self.port_groups.as_ref()
    }

    /// TARGET PORT GROUP of this node's ports.
    pub fn own_port_group(&self) -> u16 {
        self.port_groups.as_ref().map_or(TARGET_PORT_GROUP, |groups| groups.own())
    }

    /// The states of the target port groups have changed: tells every nexus (SPC-5 5.18.2.9).
    pub fn access_changed(&self) {
        self.attentions.raise(asc::ASYMMETRIC_ACCESS_STATE_CHANGED);
    }

    /// Work that goes on after its command has ended.
    pub fn background(&self) -> &Background {
        &self.background
    }

    /// Whether the medium can be used.
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// The space that it lives on.
    pub fn space(&self) -> &SpaceWatch {
        &self.space
    }

    /// What outlives the process, if anything does.
    pub fn memory(&self) -> Option<&Arc<dyn UnitMemory>> {
        self.memory.as_ref()
    }

    /// Takes up what was kept the last time, which has to be done before it is served. Where this fails it must not be served: nobody
    /// knows whom it has to keep out, or how it was set.
    pub async fn recall(self: &Arc<Self>) -> Result<(), (Document, MemoryError)> {
        self.recall_reservations().await.map_err(|error| (Document::Reservations, error))?;
        self.restore_mode_parameters().await.map_err(|error| (Document::ModeParameters, error))?;
        let information = self.restore_identifying_information().await;
        information.map_err(|error| (Document::IdentifyingInformation, error))?;
        overhaul::recall(self).await.map_err(|error| (Document::MediumCondition, error))
    }

    async fn recall_reservations(&self) -> Result<(), MemoryError> {
        let Some(memory) = &self.memory else { return Ok(()) };
        if let Some(kept) = memory.recall(Document::Reservations).await? {
            let (state, notebook) = document::decode(&kept).map_err(MemoryError::Damaged)?;
            self.reservations.restore(state, notebook);
        }
        Ok(())
    }

    /// A nexus came into being.
    pub fn admit(&self, nexus: &Nexus) {
        self.admit_with(nexus, asc::POWER_ON_RESET_OR_BUS_DEVICE_RESET_OCCURRED);
    }

    /// A nexus is there, and hears of that condition first.
    pub fn admit_with(&self, nexus: &Nexus, condition: Asc) {
        self.attentions.admit(nexus.id, condition);
        self.reservations.admit(nexus);
        if self.space.is_low() {
            self.attentions.raise_for(nexus.id, asc::THIN_PROVISIONING_SOFT_THRESHOLD_REACHED);
        }
    }

    /// What it was made with.
    pub fn config(&self) -> &UnitConfig {
        &self.config
    }

    /// The device below.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Unit attentions.
    pub fn attentions(&self) -> &Attentions {
        &self.attentions
    }

    /// The task set.
    pub fn tasks(&self) -> &TaskSet {
        &self.tasks
    }

    /// Who wants to know of changes.
    pub fn watches(&self) -> &Watches {
        &self.watches
    }

    /// Third-party copy commands.
    pub fn operations(&self) -> &Operations {
        &self.operations
    }

    /// Reservations.
    pub fn reservations(&self) -> &Reservations {
        &self.reservations
    }

    /// Mode parameters.
    pub fn modes(&self) -> &ModeCell {
        &self.modes
    }

    /// The buffers of WRITE BUFFER.
    pub fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// Lanes for large reads that no transport counts.
    pub fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    /// The time.
    pub fn clock(&self) -> &DeviceClock {
        &self.clock
    }

    /// Identifying information.
    pub fn identifying(&self) -> &Identifying {
        &self.identifying
    }

    /// Command priorities of nexuses.
    pub fn priorities(&self) -> &Priorities {
        &self.priorities
    }

    /// Self-tests.
    pub fn self_tests(&self) -> &SelfTests {
        &self.self_tests
    }

    /// What is counted.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The medium.
    pub fn medium(&self) -> &Medium {
        &self.medium
    }

    /// The access state.
    pub fn access_state(&self) -> AccessState {
        self.access.get()
    }

    /// What changed the access state last.
    pub fn access_change(&self) -> Change {
        self.access.change()
    }

    /// Changes the access state and tells every nexus (SPC-5 5.18.2.9).
    pub fn set_access_state(&self, state: AccessState) {
        if self.access.set(state, Change::Implicit) {
            self.attentions.raise(asc::ASYMMETRIC_ACCESS_STATE_CHANGED);
        }
    }

    /// Changes the access state as a nexus asked for and tells every other one.
    pub fn set_access_state_for(&self, nexus: NexusId, state: AccessState) {
        if self.access.set(state, Change::Explicit) {
            self.attentions.raise_except(nexus, asc::ASYMMETRIC_ACCESS_STATE_CHANGED);
        }
    }

    /// The size of the device has changed: tells every nexus. Blocks that were cut off are not what they were when they come back.
    pub fn capacity_changed(&self) {
        self.watches.touch(&Claim::Exclusive(self.capacity()..u64::MAX));
        self.attentions.raise(asc::CAPACITY_DATA_HAS_CHANGED);
    }

    /// Logical block size in bytes.
    pub fn block_size(&self) -> u32 {
        self.config.block_size.max(512)
    }

    /// Logical blocks that there are.
    pub fn capacity(&self) -> u64 {
        self.device.geometry().size / u64::from(self.block_size())
    }

    /// MAXIMUM TRANSFER LENGTH in logical blocks.
    pub fn max_transfer_blocks(&self) -> u32 {
        (self.config.max_transfer / self.block_size()).max(1)
    }

    /// Most bytes for one read or write of the device, a multiple of the block size.
    pub fn device_transfer(&self) -> u64 {
        let block = self.block_size();
        u64::from((self.device.capabilities().max_transfer / block).max(1) * block)
    }

    /// Whether writes are refused for good.
    pub fn is_read_only(&self) -> bool {
        self.config.read_only || self.device.capabilities().read_only
    }

    /// Whether a write has to be on stable storage when it is told as done.
    pub fn writes_through(&self) -> bool {
        self.device.capabilities().volatile_cache && !self.modes.get().wce
    }

    /// Ends the work in the background. Ready when it has ended, and every task that is in the set now has left it: then nothing that was
    /// asked of the device before is under way.
    pub async fn settled(&self) {
        self.background.close();
        self.tasks.gone(self.tasks.present()).await;
        self.background.ended().await;
    }
}
