//! The connections that this node has made to others: its commands go out there, and their answers come back. What others ask for comes in through
//! connections that they have made ([`super::inbound`]).

use super::clock;
use super::hub::Hub;
use super::link::{
    Answer, End, Fingerprint, Frame, LinkError, Malformed, Message, Verb, managed_of, nexus_head, outcome_of,
};
use glint_cluster_core::forwarding::{CommandId, Refusal, Reply, Stamp};
use glint_cluster_core::membership::Incarnation;
use glint_cluster_core::ownership::Epoch;
use glint_target_core::lun::task_set::Abort;
use glint_target_core::payload::Payload;
use glint_target_core::scsi::command::{Nexus, NexusId, Outcome, TaskManagementOutcome};
use glint_target_core::scsi::lun_address::LunAddress;
use glint_target_core::scsi::sense::Asc;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// From a connection that failed to the next attempt, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

#[derive(Default)]
struct State {
    told: Option<(Stamp, Instant)>,
    /// Nexuses that the other end knows of.
    introduced: HashSet<NexusId>,
    /// Task management that is not answered yet.
    managing: HashMap<u64, oneshot::Sender<Option<u8>>>,
    last: u64,
}

/// A connection to a node.
pub struct Link {
    peer: Incarnation,
    outbox: UnboundedSender<Frame>,
    state: Mutex<State>,
}

impl Link {
    /// Who is at the other end.
    pub fn peer(&self) -> &Incarnation {
        &self.peer
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The other end's time as it was told last, and when.
    pub fn told(&self) -> Option<(Stamp, Instant)> {
        self.lock().told
    }

    /// Says something. What can't be said any more is found out when the connection is told as lost.
    pub fn send(&self, frame: impl Into<Frame>) {
        let _ = self.outbox.send(frame.into());
    }

    /// Makes sure that the other end knows of a nexus.
    pub fn introduce(&self, nexus: &Nexus) {
        // Said under the lock, so that nothing of the nexus is said before.
        let mut state = self.lock();
        if state.introduced.insert(nexus.id) {
            self.send(Message::Nexus { number: nexus.id.0, nexus: nexus_head(nexus) });
        }
    }

    /// A nexus is lost.
    pub fn farewell(&self, nexus: NexusId) {
        if self.lock().introduced.remove(&nexus) {
            self.send(Message::NexusLost { number: nexus.0 });
        }
    }

    /// Has the owner of a unit carry a task management function out. None where it does not own the unit, or nobody knows.
    pub async fn manage(
        &self,
        nexus: &Nexus,
        epoch: Epoch,
        (verb, lun, tag): (Verb, LunAddress, u32),
    ) -> Option<TaskManagementOutcome> {
        self.introduce(nexus);
        let (sender, answer) = oneshot::channel();
        let number = {
            let mut state = self.lock();
            state.last += 1;
            let number = state.last;
            state.managing.insert(number, sender);
            number
        };
        let nexus = nexus.id.0;
        self.send(Message::Manage { number, epoch: epoch.0, nexus, verb, lun: lun.0, tag });
        answer.await.ok().flatten().and_then(|code| managed_of(code).ok())
    }

    fn take(self: &Arc<Self>, hub: &Arc<Hub>, frame: Frame) -> Result<(), Malformed> {
        let Frame { message, data } = frame;
        match message {
            Message::Time(time) => self.lock().told = Some((Stamp(time), clock::now())),
            Message::Reply { sequence, epoch, nexus, lun, answer } => {
                let reply = reply_of(answer, data)?;
                if let Some(unit) =
                    hub.target_of(NexusId(nexus)).and_then(|target| target.unit_at(LunAddress(lun)))
                {
                    unit.reply(CommandId(sequence), Epoch(epoch), reply);
                }
            }
            Message::Managed { number, outcome } => {
                if let Some(waiting) = self.lock().managing.remove(&number) {
                    let _ = waiting.send(outcome); // its session may have ended
                }
            }
            Message::Abort { number, nexus, lun, told } => {
                let how = if told { Abort::TaskAborted } else { Abort::Silent };
                let (link, target) = (Arc::clone(self), hub.target_of(NexusId(nexus)));
                tokio::spawn(async move {
                    let tasks = match target {
                        Some(target) => target.abort_held(NexusId(nexus), LunAddress(lun), how).await,
                        None => 0,
                    };
                    link.send(Message::Aborted { number, tasks });
                });
            }
            Message::Event { nexus, lun, condition: (asc, qualifier) } => {
                if let Some(target) = hub.target_of(NexusId(nexus)) {
                    target.event(NexusId(nexus), LunAddress(lun), Asc(asc, qualifier));
                }
            }
            _ => return Err(Malformed("a message to one that is asked")),
        }
        Ok(())
    }
}

fn reply_of(answer: Answer, data: Payload) -> Result<Reply<Outcome>, Malformed> {
    Ok(match answer {
        Answer::Done(head) => Reply::Done(outcome_of(head, data)?),
        Answer::Aborted => Reply::Done(Outcome::Aborted),
        Answer::NotOwner => Reply::Refused(Refusal::NotOwner),
        Answer::Old => Reply::Refused(Refusal::Old),
        Answer::Busy => Reply::Refused(Refusal::Busy),
    })
}

/// Where a node is, and how it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// Which process.
    pub peer: Incarnation,
    /// Where it listens for other nodes.
    pub address: String,
    /// Its certificate.
    pub certificate: Fingerprint,
}

/// Keeps a connection to a node for as long as this is polled.
pub async fn keep(end: Arc<End>, hub: Arc<Hub>, to: Whereabouts) {
    let mut pause = PAUSES.0;
    let mut is_told = false;
    loop {
        let mut was_up = false;
        let ended = run(&end, &hub, &to, &mut was_up).await;
        if was_up {
            (pause, is_told) = (PAUSES.0, false);
        }
        if let Err(error) = ended
            && !is_told
        {
            is_told = true;
            tracing::warn!(node = %to.peer.node, address = to.address, %error, "no internal connection to another node: trying again");
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// One connection, from its beginning to its end.
async fn run(end: &End, hub: &Arc<Hub>, to: &Whereabouts, was_up: &mut bool) -> Result<(), LinkError> {
    let connection = end.connect(&to.address, &to.peer, to.certificate).await?;
    let (outbox, frames) = unbounded_channel();
    let link = Arc::new(Link { peer: to.peer.clone(), outbox, state: Mutex::default() });
    let mut up = Up { hub, link: &link, is_up: false };
    link.send(Message::Void { below: hub.standing().floor().0 });
    for nexus in hub.take_known(&to.peer) {
        // The other end has kept it from the connection before.
        match hub.nexus(nexus) {
            Some(nexus) => link.introduce(&nexus),
            None => link.send(Message::NexusLost { number: nexus.0 }),
        }
    }
    let time = || clock::stamp(clock::now()).0;
    let ran = connection
        .run(frames, time, |frame| {
            let is_time = matches!(frame.message, Message::Time(_));
            if let Err(error) = link.take(hub, frame) {
                tracing::warn!(node = %link.peer.node, %error, "another node says what none says");
            }
            if is_time {
                up.begin();
            }
        })
        .await;
    *was_up = up.is_up;
    drop(up);
    ran
}

/// The connection can be used; it can't when this is dropped.
struct Up<'a> {
    hub: &'a Arc<Hub>,
    link: &'a Arc<Link>,
    is_up: bool,
}

impl Up<'_> {
    fn begin(&mut self) {
        if !self.is_up {
            self.is_up = true;
            tracing::info!(node = %self.link.peer.node, "internal connection to another node");
            self.hub.link_up(self.link);
        }
    }
}

impl Drop for Up<'_> {
    fn drop(&mut self) {
        let mut state = self.link.lock();
        let known = std::mem::take(&mut state.introduced);
        // Those who wait for answers learn that there are none.
        state.managing.clear();
        drop(state);
        self.hub.keep_known(&self.link.peer, known);
        if self.is_up {
            self.hub.link_down(self.link);
        }
    }
}
