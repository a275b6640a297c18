//! A volume of this node: its state machine, and what is done when that says so.

use super::{Engine, Event};
use crate::backend::{Device, OpenError, Switch};
use crate::cluster::link::Message;
use crate::cluster::routes::Routes;
use crate::cluster::target::SharedTarget;
use crate::cluster::unit::SharedUnit;
use crate::state::SharedDocuments;
use crate::store::nonce;
use futures_util::future::BoxFuture;
use glint_cluster_core::membership::{NodeId, Timing};
use glint_cluster_core::ownership::{
    AccessState as Access, Action, Class, Epoch, Input, OwnerRecord, Ownership, SetOutcome, Settings, Ticket,
    View, access_states,
};
use glint_cluster_core::store::{Body, DocumentName, Documents, Found, Outcome, State, Timing as Keeping};
use glint_target_core::device::BlockDevice;
use glint_target_core::lun::alua::{AccessState, PortGroup};
use glint_target_core::lun::memory::UnitMemory;
use glint_target_core::lun::unit::LogicalUnit;
use glint_target_core::scsi::asc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedReceiver;

/// After something went wrong.
const RETRY: Duration = Duration::from_millis(200);
/// A released volume is left to its named successor.
const GRACE: Duration = Duration::from_secs(2);
/// The preferred node has to be alive for so long before it gets a volume back.
const FAIL_BACK: Duration = Duration::from_secs(30);
/// Commands that run when a volume is to go elsewhere may take so long to end.
const DRAIN: Duration = Duration::from_secs(5);

/// Opens the device afresh for an owner.
type Open = dyn Fn(String) -> BoxFuture<'static, Result<Device, OpenError>> + Send + Sync;
/// Makes a unit over the switched device.
pub type Make = dyn Fn(Option<Arc<dyn UnitMemory>>) -> LogicalUnit<Device> + Send + Sync;
/// Told which unit this node serves as the owner, if it does.
type Serving = dyn Fn(Option<&Arc<LogicalUnit<Device>>>) + Send + Sync;

/// What a volume is made of.
pub struct VolumeParts {
    /// Its unit as initiators reach it.
    pub unit: Arc<SharedUnit>,
    /// Its target.
    pub target: Arc<SharedTarget>,
    /// Its number there.
    pub lun: u16,
    /// Its NAA designator, under which its documents are kept.
    pub naa: [u8; 8],
    /// Whether the store keeps former owners out.
    pub fences: bool,
    /// What is behind the unit's device.
    pub switch: Arc<Switch>,
    /// Epochs in which the store has refused I/O.
    pub refusals: UnboundedReceiver<u64>,
    /// See there.
    pub open: Arc<Open>,
    /// See there.
    pub make: Arc<Make>,
    /// See there.
    pub serving: Arc<Serving>,
}

/// See the module.
pub(super) struct Volume {
    pub parts: VolumeParts,
    pub machine: Ownership,
    pub document: DocumentName,
    /// Readings of the owner record that have been asked for, and those that are under way.
    pub reading: Vec<Ticket>,
    pub being_read: Vec<Ticket>,
    /// The opening, or the loading, that is under way: what another has brought comes too late.
    under_way: Option<Ticket>,
    /// Opened and fenced, and not behind the unit yet.
    opened: Option<Device>,
    /// Loaded and not served yet.
    loaded: Option<Arc<LogicalUnit<Device>>>,
    /// Served by this node as the owner.
    serving: Option<(Epoch, Arc<LogicalUnit<Device>>)>,
    preferred: Option<NodeId>,
}

impl Volume {
    pub(super) fn prefer(&mut self, node: Option<NodeId>) {
        self.machine.prefer(node.clone());
        self.preferred = node;
    }
}

/// The owner record is read again so often.
fn poll(timing: &Timing) -> Duration {
    timing.beat
}

impl Engine {
    pub(super) fn add(&mut self, now: Instant, mut parts: VolumeParts) {
        let name = Arc::clone(parts.unit.name());
        let Some(document) = DocumentName::new(format!("owner-{name}")) else {
            tracing::error!(volume = %name, "its name is none of a document of the store");
            return;
        };
        let (hub, forwarded) = (Arc::clone(&self.parts.hub), Arc::clone(&name));
        let (_, nobody) = tokio::sync::mpsc::unbounded_channel();
        let mut refusals = std::mem::replace(&mut parts.refusals, nobody);
        tokio::spawn(async move {
            while let Some(epoch) = refusals.recv().await {
                hub.tell(crate::cluster::hub::Tidings::Refused(Arc::clone(&forwarded), Epoch(epoch)));
            }
        });
        let preferred = self.preferred_of(&name);
        let settings = Settings {
            me: self.me().clone(),
            fences: parts.fences,
            preferred: preferred.clone(),
            poll: poll(&self.parts.timing),
            retry: RETRY,
            grace: GRACE,
            fail_back: FAIL_BACK,
        };
        let volume = Volume {
            parts,
            machine: Ownership::new(settings, now),
            document,
            reading: Vec::new(),
            being_read: Vec::new(),
            under_way: None,
            opened: None,
            loaded: None,
            serving: None,
            preferred,
        };
        self.volumes.insert(Arc::clone(&name), volume);
        self.drive(&name, Input::Tick);
        self.publish(now, &name, true);
    }

    /// Gives a volume's machine an input, and does what it says.
    pub(super) fn drive(&mut self, name: &Arc<str>, input: Input) {
        let now = crate::cluster::clock::now();
        let Self { volumes, lease, peers, .. } = self;
        let Some(volume) = volumes.get_mut(name) else { return };
        let mut actions = Vec::new();
        volume.machine.handle(now, &View { lease, peers }, input, &mut actions);
        let has_changed = actions.contains(&Action::Changed);
        for action in actions {
            tracing::trace!(volume = %name, ?action);
            self.act(name, action);
        }
        self.publish(now, name, has_changed);
    }

    fn act(&mut self, name: &Arc<str>, action: Action) {
        match action {
            Action::Read(ticket) => self.with(name, |volume| volume.reading.push(ticket)),
            Action::Set(ticket, after, record) => self.set(name, ticket, after, record),
            Action::Fence(ticket, epoch) => self.open(name, ticket, epoch),
            Action::Load(ticket, epoch) => self.load(name, ticket, epoch),
            Action::Serve(epoch) => self.serve(name, epoch),
            Action::Hold(_) => self.with(name, |volume| volume.parts.unit.gate().shut()),
            Action::Drain(ticket, _) => self.drain(name, ticket),
            Action::Stop(ticket, epoch) => self.stop(name, ticket, epoch),
            Action::Tell(to) => self.tell_others(name, to.as_ref()),
            Action::Changed => {}
        }
    }

    fn with(&mut self, name: &Arc<str>, act: impl FnOnce(&mut Volume)) {
        if let Some(volume) = self.volumes.get_mut(name) {
            act(volume);
        }
    }

    fn set(&mut self, name: &Arc<str>, ticket: Ticket, after: Epoch, record: OwnerRecord) {
        let Some(volume) = self.volumes.get(name) else { return };
        let old = self.cache.get(&volume.document).filter(|state| state.version == after.0).cloned();
        let (documents, document) = (Arc::clone(&self.parts.documents), volume.document.clone());
        let name = Arc::clone(name);
        self.spawn(async move {
            let outcome = match old {
                Some(old) => set(&documents, &document, &old, &record).await,
                // What is in place is known from this node's own setting alone: read first.
                None => match documents.read(&document).await {
                    Ok(old) if old.version == after.0 => set(&documents, &document, &old, &record).await,
                    Ok(_) => SetOutcome::Lost,
                    Err(_) => SetOutcome::Unknown,
                },
            };
            Event::Set(name, ticket, outcome)
        });
    }

    /// What was opened.
    pub(super) fn opened(&mut self, name: &Arc<str>, ticket: Ticket, device: Option<Device>) {
        let is_open = device.is_some();
        // One that comes too late is closed at once: whoever has its lock by now is not this one.
        self.with(name, |volume| volume.opened = device.filter(|_| volume.under_way == Some(ticket)));
        self.drive(name, Input::Fenced(ticket, is_open));
    }

    /// What was loaded.
    pub(super) fn loaded(&mut self, name: &Arc<str>, ticket: Ticket, unit: Option<Arc<LogicalUnit<Device>>>) {
        let is_loaded = unit.is_some();
        self.with(name, |volume| volume.loaded = unit.filter(|_| volume.under_way == Some(ticket)));
        self.drive(name, Input::Loaded(ticket, is_loaded));
    }

    fn open(&mut self, name: &Arc<str>, ticket: Ticket, epoch: Epoch) {
        let owner = format!("{} {}", self.me(), epoch.0);
        let Some(volume) = self.volumes.get_mut(name) else { return };
        volume.under_way = Some(ticket);
        volume.opened = None;
        let open = (volume.parts.open)(owner);
        let name = Arc::clone(name);
        self.spawn(async move {
            let opened = open.await.inspect_err(|error| {
                tracing::error!(volume = %name, "the volume can't be taken: {error}");
            });
            Event::Opened(name, ticket, opened.ok())
        });
    }

    fn load(&mut self, name: &Arc<str>, ticket: Ticket, epoch: Epoch) {
        let Some(volume) = self.volumes.get_mut(name) else { return };
        volume.under_way = Some(ticket);
        if let Some(device) = volume.opened.take() {
            volume.parts.switch.open(device, epoch.0);
        }
        let served = volume.serving.as_ref().filter(|(served, _)| *served == epoch);
        if let Some((_, unit)) = served {
            // Only its lock had been stolen: what it remembers is as it was.
            volume.loaded = None;
            let unit = Arc::clone(unit);
            let name = Arc::clone(name);
            return self.spawn(async move { Event::Loaded(name, ticket, Some(unit)) });
        }
        let (documents, naa, make) =
            (Arc::clone(&self.parts.documents), volume.parts.naa, Arc::clone(&volume.parts.make));
        let name = Arc::clone(name);
        self.spawn(async move {
            let loading = async {
                // Each in a directory of its own: whoever changes a document lists what is beside it.
                let name = format!("units/{:016x}", u64::from_be_bytes(naa));
                let directory =
                    documents.directory().within(&name).await.map_err(|error| error.to_string())?;
                let documents = Arc::new(Documents::new(directory, Keeping::default()));
                let memory =
                    SharedDocuments::claim(documents, naa, epoch).await.map_err(|error| error.to_string())?;
                let unit = Arc::new(make(Some(Arc::new(memory))));
                unit.recall()
                    .await
                    .map_err(|(document, error)| format!("its {}: {error}", document.name()))?;
                Ok::<_, String>(unit)
            };
            let loaded = loading.await.inspect_err(|error| {
                tracing::error!(volume = %name, "what the volume remembers can't be loaded: {error}");
            });
            Event::Loaded(name, ticket, loaded.ok())
        });
    }

    fn serve(&mut self, name: &Arc<str>, epoch: Epoch) {
        let Some(volume) = self.volumes.get_mut(name) else { return };
        let parts = &volume.parts;
        if let Some(unit) = volume.loaded.take() {
            let is_new = volume.serving.as_ref().is_none_or(|(_, served)| !Arc::ptr_eq(served, &unit));
            if is_new {
                let size = unit.device().geometry().size;
                tracing::info!(volume = %name, epoch = epoch.0, size, "this node owns the volume now");
                parts.target.local().replace_unit(
                    parts.lun,
                    Arc::clone(&unit),
                    asc::ASYMMETRIC_ACCESS_STATE_CHANGED,
                );
                (parts.serving)(Some(&unit));
            }
            volume.serving = Some((epoch, unit));
        }
        parts.unit.executor().serve(Some(epoch));
        parts.unit.gate().open(epoch);
    }

    fn drain(&mut self, name: &Arc<str>, ticket: Ticket) {
        let Some(volume) = self.volumes.get(name) else { return };
        let shared = Arc::clone(&volume.parts.unit);
        shared.gate().shut();
        let unit = volume.serving.as_ref().map(|(_, unit)| Arc::clone(unit));
        let name = Arc::clone(name);
        self.spawn(async move {
            let drained = tokio::time::timeout(DRAIN, async {
                shared.gate().is_empty().await;
                match unit {
                    Some(unit) => unit.device().flush().await.is_ok(),
                    None => true,
                }
            });
            let is_done = drained.await.unwrap_or(false);
            if !is_done {
                tracing::warn!(volume = %name, "its commands did not end, or could not be flushed: it stays here");
            }
            Event::Drained(name, ticket, is_done)
        });
    }

    fn stop(&mut self, name: &Arc<str>, ticket: Ticket, epoch: Epoch) {
        let Some(volume) = self.volumes.get_mut(name) else { return };
        let parts = &volume.parts;
        parts.unit.gate().shut();
        parts.unit.executor().serve(None);
        volume.under_way = None;
        volume.opened = None;
        volume.loaded = None;
        parts.switch.close();
        if let Some((_, old)) = volume.serving.take() {
            tracing::info!(volume = %name, epoch = epoch.0, "this node does not own the volume any more");
            (parts.serving)(None);
            old.background().close();
            // What of it is asked here from now on knows nothing of what the owner knows.
            let shell = Arc::new((parts.make)(None));
            parts.target.local().replace_unit(parts.lun, shell, asc::ASYMMETRIC_ACCESS_STATE_CHANGED);
        }
        let switch = Arc::clone(&parts.switch);
        let name = Arc::clone(name);
        self.spawn(async move {
            switch.closed().await;
            Event::Stopped(name, ticket)
        });
    }

    fn tell_others(&self, name: &Arc<str>, first: Option<&NodeId>) {
        let links = self.parts.hub.links();
        let is_first = |node: &NodeId| Some(node) == first;
        for link in links.iter().filter(|link| is_first(&link.peer().node)) {
            link.send(Message::Look { volume: name.to_string() });
        }
        for link in links.iter().filter(|link| !is_first(&link.peer().node)) {
            link.send(Message::Look { volume: name.to_string() });
        }
    }

    /// Has commands go where they go now; tells the access states, where they may have changed.
    pub(super) fn publish(&self, now: Instant, name: &Arc<str>, is_view_new: bool) {
        let Some(volume) = self.volumes.get(name) else { return };
        let view = View { lease: &self.lease, peers: &self.peers };
        let routes = Routes {
            probe: volume.machine.route(now, &view, Class::Probe),
            medium: volume.machine.route(now, &view, Class::Medium),
        };
        volume.parts.unit.set_routes(routes);
        if !is_view_new {
            return;
        }
        let states = access_states(&volume.machine, now, &view, &self.groups);
        let groups = states.into_iter().zip(&self.groups).zip(&self.ports);
        let groups = groups.map(|(((number, state), member), ports)| {
            let node = &member.incarnation.node;
            let is_preferred = volume.preferred.as_ref() == Some(node);
            let group = PortGroup { number, state: access_state(state), is_preferred, ports: ports.clone() };
            (group, node.clone())
        });
        if volume.parts.unit.groups().set(groups.collect())
            && let Some(unit) = volume.parts.target.local().unit(volume.parts.lun)
        {
            unit.access_changed();
        }
    }
}

fn access_state(state: Access) -> AccessState {
    match state {
        Access::ActiveOptimized => AccessState::ActiveOptimized,
        Access::ActiveNonOptimized => AccessState::ActiveNonOptimized,
        Access::Unavailable => AccessState::Unavailable,
        Access::Transitioning => AccessState::Transitioning,
    }
}

async fn set<D: glint_cluster_core::store::Directory>(
    documents: &Documents<D>,
    document: &DocumentName,
    old: &State,
    record: &OwnerRecord,
) -> SetOutcome {
    let mut body = match &old.found {
        Found::Body(body) => body.clone(),
        Found::Nothing | Found::Damaged(_) => Body::new(),
    };
    record.write(&mut body);
    let Ok(nonce) = nonce() else { return SetOutcome::Lost };
    match documents.compare_and_set(document, old, body, nonce).await {
        Ok(Outcome::Won(_)) => SetOutcome::Won,
        Ok(Outcome::Lost | Outcome::Overtaken) => SetOutcome::Lost,
        Ok(Outcome::Unknown(_)) | Err(_) => SetOutcome::Unknown,
    }
}
