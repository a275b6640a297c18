//! What other nodes ask of this one: to execute commands of their nexuses on units that this node owns.

use super::clock;
use super::hub::{Hub, Tidings};
use super::link::{
    Answer, CommandHead, Connection, End, Fingerprint, Frame, LinkError, Malformed, Message, Verb,
    command_of, function_of, managed_code, nexus_of, outcome_head,
};
use super::target::SharedTarget;
use super::unit::SharedUnit;
use crate::server::Workers;
use glint_cluster_core::forwarding::{Refusal, Request, Stamp, Verdict};
use glint_cluster_core::membership::Incarnation;
use glint_cluster_core::ownership::Epoch;
use glint_target_core::lun::notice::{AbortOrder, Listener, Notice};
use glint_target_core::lun::task_set::Abort;
use glint_target_core::payload::Payload;
use glint_target_core::scsi::asc;
use glint_target_core::scsi::command::{Command, DeviceServer, Nexus};
use glint_target_core::scsi::lun_address::LunAddress;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// After a connection that could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Most nexuses of one node.
const MOST_NEXUSES: usize = 1 << 16;

/// The nexuses of another process, which are kept for a while when its connection is lost: they are still logged in there.
pub struct Guests {
    of: Incarnation,
    hub: Weak<Hub>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    present: HashMap<u64, Arc<Guest>>,
    /// To its latest connection.
    outbox: Option<UnboundedSender<Frame>>,
    /// Counts connections.
    connection: u64,
    cut: Option<Instant>,
    /// What its transports were told to abort and have not said to be done.
    orders: HashMap<u64, AbortOrder>,
    last_order: u64,
}

/// A nexus of another process.
struct Guest {
    nexus: Arc<Nexus>,
    target: Arc<SharedTarget>,
    listener: Listener,
}

impl Guest {
    /// It is lost there: its tasks end.
    fn leave(&self) {
        self.target.local().nexus_lost(&self.nexus);
    }
}

/// Rung when a unit has something to tell a nexus of another process.
struct Bell {
    guests: Weak<Guests>,
    number: u64,
    runtime: Handle,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // Who rings holds a lock that is needed for hearing.
        let bell = Arc::clone(&self);
        self.runtime.spawn(async move {
            if let Some(guests) = bell.guests.upgrade() {
                guests.hear(bell.number);
            }
        });
    }
}

impl Guests {
    /// None yet.
    pub fn new(of: Incarnation, hub: &Arc<Hub>) -> Arc<Self> {
        Arc::new(Self { of, hub: Arc::downgrade(hub), state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whose nexuses.
    pub fn of(&self) -> &Incarnation {
        &self.of
    }

    /// Since when there has been no connection to their node; none while there is one.
    pub fn cut_since(&self) -> Option<Instant> {
        self.lock().cut
    }

    /// They are lost.
    pub fn clear(&self) {
        let (present, orders) = {
            let mut state = self.lock();
            (std::mem::take(&mut state.present), std::mem::take(&mut state.orders))
        };
        drop(orders);
        present.values().for_each(|guest| guest.leave());
    }

    /// Serves a connection that their node has made, until it ends.
    pub async fn serve(self: &Arc<Self>, connection: Connection) -> Result<(), LinkError> {
        let (outbox, frames) = unbounded_channel();
        let count = {
            let mut state = self.lock();
            state.outbox = Some(outbox);
            state.connection += 1;
            state.cut = None;
            // Its transports may not have heard of them: those whose connection was lost are asked no more.
            state.orders.clear();
            state.connection
        };
        let _cut = Cut { guests: self, count };
        let time = || clock::stamp(clock::now()).0;
        connection
            .run(frames, time, |frame| {
                if let Err(error) = self.take(frame) {
                    tracing::warn!(node = %self.of.node, %error, "another node says what none says");
                }
            })
            .await
    }

    fn send(&self, frame: impl Into<Frame>) {
        if let Some(outbox) = &self.lock().outbox {
            let _ = outbox.send(frame.into()); // it asks again when it has a connection again
        }
    }

    fn guest(&self, number: u64) -> Option<Arc<Guest>> {
        self.lock().present.get(&number).cloned()
    }

    fn take(self: &Arc<Self>, frame: Frame) -> Result<(), Malformed> {
        let Frame { message, data } = frame;
        let Some(hub) = self.hub.upgrade() else { return Ok(()) };
        match message {
            Message::Time(_) => {}
            Message::Look { volume } => hub.tell(Tidings::Look(volume.into())),
            Message::Nexus { number, nexus } => {
                let Some(target) = hub.target(&nexus.target_name) else { return Ok(()) };
                let nexus = nexus_of(nexus, hub.next_nexus())?;
                self.admit(number, nexus, target)?;
            }
            Message::Void { below } => {
                let lost: Vec<_> = self.lock().present.extract_if(|number, _| *number < below).collect();
                lost.iter().for_each(|(_, guest)| guest.leave());
            }
            Message::NexusLost { number } => {
                let lost = self.lock().present.remove(&number);
                lost.iter().for_each(|guest| guest.leave());
            }
            Message::Request { sequence, epoch, stamp, floor, nexus, command } => {
                let request = Request { sequence, epoch: Epoch(epoch), stamp: Stamp(stamp), floor };
                self.request(request, nexus, command, data)?;
            }
            Message::Manage { number, epoch, nexus, verb, lun, tag } => {
                self.manage(number, Epoch(epoch), nexus, (verb, lun, tag));
            }
            Message::Aborted { number, tasks } => {
                let order = self.lock().orders.remove(&number);
                if let Some(order) = order {
                    order.obeyed(usize::try_from(tasks).unwrap_or(usize::MAX));
                }
            }
            _ => return Err(Malformed("a message to one that asks")),
        }
        Ok(())
    }

    fn admit(
        self: &Arc<Self>,
        number: u64,
        nexus: Nexus,
        target: Arc<SharedTarget>,
    ) -> Result<(), Malformed> {
        {
            let state = self.lock();
            if state.present.contains_key(&number) {
                // It was told of before its last connection was lost.
                return Ok(());
            }
            if state.present.len() >= MOST_NEXUSES {
                return Err(Malformed("the number of its nexuses"));
            }
        }
        let bell = Bell { guests: Arc::downgrade(self), number, runtime: Handle::current() };
        let listener = target.local().listen(nexus.id, Waker::from(Arc::new(bell)));
        let nexus = Arc::new(nexus);
        // It has heard of its beginning where it is logged in.
        target.local().admit(&nexus, asc::ASYMMETRIC_ACCESS_STATE_CHANGED);
        self.lock().present.insert(number, Arc::new(Guest { nexus, target, listener }));
        // What rang before.
        self.hear(number);
        Ok(())
    }

    fn request(
        self: &Arc<Self>,
        request: Request,
        number: u64,
        command: CommandHead,
        data: Payload,
    ) -> Result<(), Malformed> {
        let lun = command.lun;
        let command = command_of(command, data)?;
        let answer = |answer: Answer, data: Payload| {
            let Request { sequence, epoch, .. } = request;
            let message = Message::Reply { sequence, epoch: epoch.0, nexus: number, lun, answer };
            self.send(Frame { message, data });
        };
        let found =
            self.guest(number).and_then(|guest| Some((guest.target.unit_at(LunAddress(lun))?, guest)));
        let Some((unit, guest)) = found else {
            // Its target is not served here, or not any more.
            answer(Answer::NotOwner, Payload::new());
            return Ok(());
        };
        let is_open = unit.gate().epoch() == Some(request.epoch);
        let now = clock::stamp(clock::now());
        let verdict = unit.executor().offer(now, is_open, &self.of, &request);
        match verdict {
            Verdict::Begin => {
                let guests = Arc::clone(self);
                tokio::spawn(
                    async move { guests.execute(request, number, lun, &unit, &guest, command).await },
                );
            }
            Verdict::Again((kept, data)) => answer(kept, data),
            Verdict::Refuse(refusal) => answer(answer_of(refusal), Payload::new()),
            Verdict::UnderWay | Verdict::Ignore => {}
        }
        Ok(())
    }

    async fn execute(
        &self,
        request: Request,
        number: u64,
        lun: [u8; 8],
        unit: &SharedUnit,
        guest: &Guest,
        command: Command,
    ) {
        let Request { sequence, epoch, .. } = request;
        let inside = unit.gate().enter().filter(|pass| pass.epoch == epoch);
        let (answer, data) = match inside {
            None => {
                unit.executor().withdrawn(epoch, &self.of, sequence);
                (Answer::NotOwner, Payload::new())
            }
            Some(_inside) => {
                let done = outcome_head(guest.target.local().execute(&guest.nexus, command).await);
                unit.executor().done(epoch, &self.of, sequence, done.clone());
                let may_answer = |hub: Arc<Hub>| hub.standing().may_answer(clock::now());
                if !self.hub.upgrade().is_some_and(may_answer) {
                    // Others may have gone on without it; the connection is about to be cut.
                    return;
                }
                done
            }
        };
        let message = Message::Reply { sequence, epoch: epoch.0, nexus: number, lun, answer };
        self.send(Frame { message, data });
    }

    fn manage(
        self: &Arc<Self>,
        number: u64,
        epoch: Epoch,
        nexus: u64,
        (verb, lun, tag): (Verb, [u8; 8], u32),
    ) {
        let guest = self.guest(nexus);
        let guests = Arc::clone(self);
        tokio::spawn(async move {
            let mut outcome = None;
            if let Some(guest) = guest
                && let Some(unit) = guest.target.unit_at(LunAddress(lun))
                && let Some(_inside) = unit.gate().enter().filter(|pass| pass.epoch == epoch)
            {
                let function = function_of(verb, lun, tag);
                outcome = Some(managed_code(guest.target.local().manage(&guest.nexus, function).await));
            }
            guests.send(Message::Managed { number, outcome });
        });
    }

    /// Hands on what units have to tell a nexus.
    fn hear(&self, number: u64) {
        let notices = self.guest(number).map_or_else(Vec::new, |guest| guest.listener.take());
        notices.into_iter().for_each(|notice| self.notice(number, notice));
    }

    fn notice(&self, nexus: u64, notice: Notice) {
        match notice {
            Notice::Event { lun, condition } => {
                self.send(Message::Event { nexus, lun: lun.0, condition: (condition.0, condition.1) });
            }
            Notice::Abort(order) => {
                let mut state = self.lock();
                // Without a connection nothing that its transports hold comes here any more but as a new command.
                let Some(outbox) = state.outbox.clone().filter(|outbox| !outbox.is_closed()) else { return };
                state.last_order += 1;
                let number = state.last_order;
                let (lun, told) = (order.lun().0, order.how() == Abort::TaskAborted);
                state.orders.insert(number, order);
                let _ = outbox.send(Message::Abort { number, nexus, lun, told }.into());
            }
        }
    }
}

fn answer_of(refusal: Refusal) -> Answer {
    match refusal {
        Refusal::NotOwner => Answer::NotOwner,
        Refusal::Old => Answer::Old,
        Refusal::Busy => Answer::Busy,
    }
}

/// The connection ends with this, unless another has taken its place.
struct Cut<'a> {
    guests: &'a Guests,
    count: u64,
}

impl Drop for Cut<'_> {
    fn drop(&mut self) {
        let orders = {
            let mut state = self.guests.lock();
            if state.connection != self.count {
                return;
            }
            state.outbox = None;
            state.cut = Some(clock::now());
            std::mem::take(&mut state.orders)
        };
        drop(orders);
    }
}

/// Takes connections of other nodes.
pub async fn accept(
    listener: TcpListener,
    end: Arc<End>,
    hub: Arc<Hub>,
    known: watch::Receiver<HashMap<Incarnation, Fingerprint>>,
    terms: watch::Receiver<CancellationToken>,
    workers: Workers,
) {
    loop {
        let socket = match listener.accept().await {
            Ok((socket, _)) => socket,
            Err(error) => {
                tracing::warn!(%error, "a connection of another node can't be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(socket) = socket.into_std() else { continue };
        let term = terms.borrow().clone();
        let (end, hub, known) = (Arc::clone(&end), Arc::clone(&hub), known.clone());
        workers.assign(move || async move {
            let serves = async {
                let socket = TcpStream::from_std(socket)?;
                let connection = end.accept(socket, |who| shown(hub.clone(), known, who)).await?;
                let guests = hub.guests(&connection.peer);
                guests.serve(connection).await
            };
            if let Some(Err(error)) = term.run_until_cancelled(serves).await {
                tracing::info!(%error, "the internal connection of another node has ended");
            }
        });
    }
}

/// The certificate of a node: as its record has it, which may be new.
async fn shown(
    hub: Arc<Hub>,
    mut known: watch::Receiver<HashMap<Incarnation, Fingerprint>>,
    who: Incarnation,
) -> Option<Fingerprint> {
    hub.tell(Tidings::Strangers);
    let found = known.wait_for(|known| known.contains_key(&who)).await.ok()?;
    found.get(&who).copied()
}
