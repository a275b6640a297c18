//! The work that a connection has under way: logging its session in, commands, task management.

use super::session::BoundSession;
use crate::server::budget::Ledger;
use crate::server::catalog::ServedDevice;
use crate::server::sessions::Refusal;
use crate::server::tasks::{Panicked, Tasks};
use crate::telemetry::{Operation, VolumeMetrics};
use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use glint_target_core::payload::Payload;
use glint_target_core::scsi::asc;
use glint_target_core::scsi::command::{
    Command, DeviceServer, Nexus, Outcome, Response, TaskManagement, TaskManagementOutcome,
};
use glint_target_core::scsi::sense::{Sense, SenseKey, Status};
use glint_target_core::scsi::sense_format::{self, SenseFormat};
use glint_target_core::session::connection::Connection;
use glint_target_core::session::event::TaskId;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Managed = (TaskId, std::thread::Result<TaskManagementOutcome>);

/// What is known of a command while it runs.
struct Note {
    id: TaskId,
    operation: Operation,
    volume: Option<Arc<VolumeMetrics>>,
    began: Instant,
    data_out: usize,
    cost: usize,
}

/// All that runs for a connection. `F` is the future of [`execute`].
pub(super) struct Commands<S: DeviceServer, F> {
    execute: fn(Arc<ServedDevice<S>>, Arc<Nexus>, Command) -> F,
    // Before the session: what runs is dropped before the nexus is lost.
    running: Tasks<F, Note>,
    managing: FuturesUnordered<Boxed<Managed>>,
    binding: Option<Boxed<Result<BoundSession<S>, Refusal>>>,
    session: Option<BoundSession<S>>,
    pub(super) ledger: Ledger,
    /// Room for data-in that is charged to a command at most: no unit sends more.
    most_data_in: usize,
}

/// Runs a command on a device that it keeps alive.
pub(super) async fn execute<S: DeviceServer>(
    device: Arc<ServedDevice<S>>,
    nexus: Arc<Nexus>,
    command: Command,
) -> Outcome {
    device.server.execute(&nexus, command).await
}

async fn manage<S: DeviceServer>(
    device: Arc<ServedDevice<S>>,
    nexus: Arc<Nexus>,
    id: TaskId,
    function: TaskManagement,
) -> Managed {
    let outcome = AssertUnwindSafe(device.server.manage(&nexus, function)).catch_unwind().await;
    (id, outcome)
}

impl<S: DeviceServer, F: Future<Output = Outcome> + Send> Commands<S, F> {
    pub(super) fn new(
        execute: fn(Arc<ServedDevice<S>>, Arc<Nexus>, Command) -> F,
        ledger: Ledger,
        most_data_in: usize,
    ) -> Self {
        Self {
            execute,
            running: Tasks::new(),
            managing: FuturesUnordered::new(),
            binding: None,
            session: None,
            ledger,
            most_data_in,
        }
    }

    /// The session, once there is one.
    pub(super) fn session(&self) -> Option<&BoundSession<S>> {
        self.session.as_ref()
    }

    /// Begins to make a session known.
    pub(super) fn bind(
        &mut self,
        bind: impl Future<Output = Result<BoundSession<S>, Refusal>> + Send + 'static,
    ) {
        self.binding = Some(Box::pin(bind));
    }

    /// The end of [`bind`](Self::bind).
    pub(super) fn poll_bound(&mut self, cx: &mut Context<'_>) -> Poll<Result<u16, Refusal>> {
        let Some(binding) = &mut self.binding else { return Poll::Pending };
        let bound = ready!(binding.as_mut().poll(cx));
        self.binding = None;
        Poll::Ready(bound.map(|session| {
            let tsih = session.tsih();
            self.session = Some(session);
            tsih
        }))
    }

    /// Starts a command when there is room for its data beside `queued` bytes that wait to be sent; otherwise it is given back.
    pub(super) fn start(
        &mut self,
        cx: &mut Context<'_>,
        id: TaskId,
        command: Command,
        connection: &mut Connection,
    ) -> Option<(TaskId, Command)> {
        let room = usize::try_from(command.data_in_room).unwrap_or(usize::MAX);
        let held = command.data_out.len() + command.data_out_beyond as usize;
        let cost = held + room.min(self.most_data_in);
        if self.ledger.poll_admit(cx, cost, connection.queued()).is_pending() {
            return Some((id, command));
        }
        let began = Instant::now();
        let Some(reach) = self.session.as_ref().and_then(BoundSession::reach) else {
            self.ledger.ended(cost);
            connection.complete(began, id, Outcome::Done(failed()));
            return None;
        };
        let volume = reach.volume(command.lun);
        if let Some(volume) = &volume {
            volume.begin();
        }
        let operation = Operation::of(command.cdb.opcode());
        let note = Note { id, operation, volume, began, data_out: command.data_out.len(), cost };
        let future = (self.execute)(Arc::clone(&reach.device), Arc::clone(&reach.nexus), command);
        if let Some((note, outcome)) = self.running.start(future, note) {
            self.complete(note, outcome, connection);
        }
        None
    }

    /// Starts a task management function. It takes hold at once, so that it concerns no command that comes after it.
    pub(super) fn manage(
        &mut self,
        cx: &mut Context<'_>,
        id: TaskId,
        function: TaskManagement,
        connection: &mut Connection,
    ) {
        let Some(reach) = self.session.as_ref().and_then(BoundSession::reach) else {
            return connection.managed(Instant::now(), id, TaskManagementOutcome::Rejected);
        };
        let (device, nexus) = (Arc::clone(&reach.device), Arc::clone(&reach.nexus));
        let mut managing: Boxed<Managed> = Box::pin(manage(device, nexus, id, function));
        match managing.as_mut().poll(cx) {
            Poll::Ready(managed) => tell_managed(managed, connection),
            Poll::Pending => self.managing.push(managing),
        }
    }

    /// Hands over what has ended; tells whether anything had.
    pub(super) fn poll_ended(&mut self, cx: &mut Context<'_>, connection: &mut Connection) -> bool {
        let mut any = false;
        while let Poll::Ready((note, outcome)) = self.running.poll_next(cx) {
            self.complete(note, outcome, connection);
            any = true;
        }
        while let Poll::Ready(Some(managed)) = self.managing.poll_next_unpin(cx) {
            tell_managed(managed, connection);
            any = true;
        }
        any
    }

    fn complete(&mut self, note: Note, outcome: Result<Outcome, Panicked>, connection: &mut Connection) {
        let outcome = outcome.unwrap_or_else(|Panicked| Outcome::Done(failed()));
        let now = Instant::now();
        self.record(&note, now, &outcome);
        connection.complete(now, note.id, outcome);
    }

    fn record(&mut self, note: &Note, now: Instant, outcome: &Outcome) {
        self.ledger.ended(note.cost);
        if let Some(volume) = &note.volume {
            volume.end(note.operation, note.data_out as u64, now - note.began, outcome);
        }
    }

    /// Aborts what has not begun, waits for what is in flight when its connection is gone, then ends the session. What has not ended
    /// after `patience` is given up.
    pub(super) async fn settle(mut self, patience: Duration) {
        self.binding = None;
        if let Some(session) = &mut self.session {
            session.deafen();
        }
        if self.running.len() > 0
            && let Some(reach) = self.session.as_ref().and_then(BoundSession::reach)
        {
            // Nobody waits for the rest of a long command any more, but the initiator may for its next login.
            let (device, nexus) = (Arc::clone(&reach.device), Arc::clone(&reach.nexus));
            let reset = manage(device, nexus, TaskId::default(), TaskManagement::ITNexusReset);
            self.managing.push(Box::pin(reset));
        }
        let ended = poll_fn(|cx| {
            while let Poll::Ready((note, outcome)) = self.running.poll_next(cx) {
                self.record(&note, Instant::now(), &outcome.unwrap_or(Outcome::Aborted));
            }
            while let Poll::Ready(Some(_)) = self.managing.poll_next_unpin(cx) {}
            match self.running.len() + self.managing.len() {
                0 => Poll::Ready(()),
                _ => Poll::Pending,
            }
        });
        if tokio::time::timeout(patience, ended).await.is_err() {
            tracing::error!(
                commands = self.running.len(),
                "commands of a lost connection did not end: given up"
            );
        }
    }
}

impl<S: DeviceServer, F> Drop for Commands<S, F> {
    fn drop(&mut self) {
        self.running.abandon(|note| {
            if let Some(volume) = note.volume {
                volume.abandon();
            }
        });
    }
}

/// A function that panicked has an unknown effect: rejected is what makes initiators go on to a stronger one.
fn tell_managed((id, outcome): Managed, connection: &mut Connection) {
    connection.managed(Instant::now(), id, outcome.unwrap_or(TaskManagementOutcome::Rejected));
}

/// The answer to a command that was lost in here: HARDWARE ERROR, INTERNAL TARGET FAILURE (SPC-5 table F.1).
fn failed() -> Response {
    let sense = Sense::new(SenseKey::HardwareError, asc::INTERNAL_TARGET_FAILURE);
    Response {
        status: Status::CheckCondition,
        sense: sense_format::render(&sense, SenseFormat::Fixed),
        sense_value: Some(sense),
        data_in: Payload::new(),
        data_in_beyond: 0,
        data_out_wanted: 0,
    }
}
