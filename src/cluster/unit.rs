//! A unit that several nodes serve, as this node sees it: where a command goes, and its way there.

use super::clock;
use super::gate::{Gate, Pass};
use super::groups::Groups;
use super::hub::{Hub, Tidings};
use super::link::{Answer, verb_of};
use super::outbound::{Outbound, Step, Waiting};
use super::routes::Routes;
use crate::backend::Device;
use arc_swap::ArcSwap;
use glint_cluster_core::forwarding::{CommandId, Executor, Reply};
use glint_cluster_core::membership::Incarnation;
use glint_cluster_core::ownership::{Class, Epoch, Reason, Route};
use glint_target_core::lun::target::TargetDevice;
use glint_target_core::payload::Payload;
use glint_target_core::scsi::asc;
use glint_target_core::scsi::command::{
    Command, DeviceServer, Nexus, NexusId, Outcome, Response, TaskManagement, TaskManagementOutcome, TaskTag,
};
use glint_target_core::scsi::row::Site;
use glint_target_core::scsi::sense::{Asc, Sense, SenseKey, Status};
use glint_target_core::scsi::sense_format::{SenseFormat, render};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Between two looks at where task management goes.
const LOOK: Duration = Duration::from_millis(50);

/// The result of a command of another node, for when it asks again.
pub type Kept = (Answer, Payload);

/// See the module.
pub struct SharedUnit {
    name: Arc<str>,
    hub: Arc<Hub>,
    local: Arc<TargetDevice<Device>>,
    /// Open while this node owns the volume and serves it.
    gate: Gate,
    routes: ArcSwap<Routes>,
    outbound: Outbound,
    executor: Mutex<Executor<Kept>>,
    groups: Arc<Groups>,
}

impl SharedUnit {
    /// Nobody is known to own it yet.
    pub fn new(
        name: Arc<str>,
        hub: Arc<Hub>,
        local: Arc<TargetDevice<Device>>,
        groups: Arc<Groups>,
    ) -> Arc<Self> {
        let patience = hub.patience();
        Arc::new(Self {
            name,
            hub,
            local,
            gate: Gate::default(),
            routes: ArcSwap::default(),
            outbound: Outbound::new(patience),
            executor: Mutex::new(Executor::new(patience.freshness)),
            groups,
        })
    }

    /// The name of its volume in the store.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The way to the opened volume.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The target port groups as initiators are told of them.
    pub fn groups(&self) -> &Arc<Groups> {
        &self.groups
    }

    /// The commands of other nodes.
    pub fn executor(&self) -> MutexGuard<'_, Executor<Kept>> {
        self.executor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on commands go this way, also those that wait. Whether medium commands wait for ownership to change.
    pub fn set_routes(&self, routes: Routes) -> bool {
        if **self.routes.load() != routes {
            self.routes.store(Arc::new(routes));
        }
        self.outbound.go_on(&self.hub, &self.routes.load())
    }

    /// Whether medium commands wait for ownership to change.
    pub fn waits(&self) -> bool {
        self.outbound.waits()
    }

    /// The connection to a node is lost.
    pub fn cut(&self, peer: &Incarnation) {
        self.outbound.cut(peer);
    }

    /// The owner has answered a command that came in here.
    pub fn reply(&self, id: CommandId, epoch: Epoch, reply: Reply<Outcome>) {
        if self.outbound.reply(&self.hub, &self.routes.load(), id, epoch, reply) {
            self.hub.tell(Tidings::Look(Arc::clone(&self.name)));
        }
    }

    /// Goes in, if this node owns the volume and may answer this nexus.
    fn enter(&self, nexus: NexusId) -> Option<Pass<'_>> {
        let pass = self.gate.enter()?;
        let standing = self.hub.standing();
        (standing.counts(nexus) && standing.may_answer(clock::now())).then_some(pass)
    }

    /// What became of a command, unless the lease has lapsed while it ran: others may have gone on without it, so nobody is told that it was executed.
    fn told(&self, outcome: Outcome) -> Outcome {
        match self.hub.standing().may_answer(clock::now()) {
            true => outcome,
            false => in_doubt(),
        }
    }

    /// Runs a command that came in at this node.
    pub async fn execute(&self, nexus: &Arc<Nexus>, command: Command) -> Outcome {
        match self.enter(nexus.id) {
            Some(_inside) => self.told(self.local.execute(nexus, command).await),
            None => Box::pin(self.elsewhere(nexus, command)).await,
        }
    }

    async fn elsewhere(&self, nexus: &Arc<Nexus>, command: Command) -> Outcome {
        let (class, is_repeatable) = match TargetDevice::<Device>::site(command.cdb.as_slice()) {
            Site::Anywhere => return self.local.execute(nexus, command).await,
            Site::Probe => (Class::Probe, true),
            Site::Owner { is_repeatable } => (Class::Medium, is_repeatable),
        };
        let since = clock::now();
        loop {
            if !self.hub.standing().counts(nexus.id) {
                // It came in before others went on without this node; its session is about to be ended.
                return refused(Reason::Unavailable);
            }
            let waiting =
                Waiting { nexus: Arc::clone(nexus), command: command.clone(), since, class, is_repeatable };
            let mut place = self.outbound.arrive(&self.hub, &self.routes.load(), waiting);
            if class == Class::Medium && self.routes.load().medium == Route::Wait {
                self.hub.tell(Tidings::Wanted(Arc::clone(&self.name)));
            }
            match place.next().await {
                Step::Execute => {
                    if let Some(_inside) = self.enter(nexus.id) {
                        return self.told(self.local.execute(nexus, command).await);
                    }
                    // It has gone again; and is waited for anew, as if it had just come in by another number.
                    tokio::task::yield_now().await;
                }
                Step::Local => return self.local.execute(nexus, command).await,
                Step::Answer(outcome) => return outcome,
                Step::NotReady(reason) => return refused(reason),
                Step::InDoubt => return in_doubt(),
            }
        }
    }

    /// Carries out a task management function that concerns this unit, wherever its tasks are.
    pub async fn manage(&self, nexus: &Arc<Nexus>, function: TaskManagement) -> TaskManagementOutcome {
        let Some(call) = verb_of(function) else { return self.local.manage(nexus, function).await };
        let is_abort = |tag| self.outbound.abort(nexus.id, tag);
        let (aborted, is_elsewhere) = match function {
            TaskManagement::AbortTask { tag, .. } => is_abort(Some(tag)),
            TaskManagement::AbortTaskSet { .. }
            | TaskManagement::ClearTaskSet { .. }
            | TaskManagement::LogicalUnitReset { .. } => is_abort(None),
            _ => (0, false),
        };
        if let TaskManagement::AbortTask { .. } = function {
            if aborted > 0 && !is_elsewhere {
                return TaskManagementOutcome::Complete;
            }
            // Also while the volume is about to go elsewhere: its commands are here as long as they run.
            if self.local.manage(nexus, function).await == TaskManagementOutcome::Complete {
                return TaskManagementOutcome::Complete;
            }
        }
        let until = clock::now() + self.hub.patience().hold;
        while clock::now() < until {
            if let Some(_inside) = self.enter(nexus.id) {
                return self.local.manage(nexus, function).await;
            }
            let route = self.routes.load().of(Class::Probe, self.hub.standing().may_answer(clock::now()));
            match route {
                Route::Owner(owner, epoch) => {
                    if let Some(link) = self.hub.link(&owner)
                        && let Some(outcome) = link.manage(nexus, epoch, call).await
                    {
                        return outcome;
                    }
                }
                // Nobody has the unit, so there are no tasks but those that wait here.
                Route::Local => return self.local.manage(nexus, function).await,
                Route::NotReady(_) => return TaskManagementOutcome::Rejected,
                Route::Here(_) | Route::Wait => {}
            }
            tokio::time::sleep(LOOK).await;
        }
        TaskManagementOutcome::Rejected
    }

    /// What of a nexus has not left here is aborted.
    pub fn abort_waiting(&self, nexus: NexusId, tag: Option<TaskTag>) {
        self.outbound.abort(nexus, tag);
    }
}

/// The answer to a command that was not executed.
fn refused(reason: Reason) -> Outcome {
    check(
        SenseKey::NotReady,
        match reason {
            Reason::Unavailable => asc::NOT_READY_TARGET_PORT_IN_UNAVAILABLE_STATE,
            Reason::Transitioning => asc::NOT_READY_ASYMMETRIC_ACCESS_STATE_TRANSITION,
        },
    )
}

/// The answer to a command of which nobody knows whether it was executed.
fn in_doubt() -> Outcome {
    check(SenseKey::AbortedCommand, asc::COMMANDS_CLEARED_BY_DEVICE_SERVER)
}

fn check(key: SenseKey, code: Asc) -> Outcome {
    let sense = Sense::new(key, code);
    Outcome::Done(Response {
        sense: render(&sense, SenseFormat::Fixed),
        sense_value: Some(sense),
        ..Response::of(Status::CheckCondition)
    })
}
