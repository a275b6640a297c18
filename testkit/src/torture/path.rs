//! One path of a host to a unit: a session at one portal, which is logged in again in the background whenever it was lost.

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::cdb;
use super::timers::Timers;
use super::verdict::{Verdict, judge};
use crate::initiator::{GOOD, Initiator, Lost, Port, Transfer};

/// How often it is looked whether the target says something on a session that is not used.
const LISTEN: Duration = Duration::from_millis(100);

/// A session, and the target port group that it goes through.
pub struct Session {
    /// The session.
    pub initiator: Initiator,
    /// TARGET PORT GROUP.
    pub group: u16,
}

enum State {
    /// To be logged in again.
    Down,
    Up(Box<Session>),
    /// In use: there is a session, or somebody is about to say that there is none any more.
    Taken,
    /// No more of it.
    Over,
}

struct Slot {
    state: Mutex<State>,
    changed: Condvar,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, state: State) {
        let mut now = self.lock();
        if !matches!(*now, State::Over) {
            *now = state;
        }
        drop(now);
        self.changed.notify_all();
    }

    fn give(&self, session: Box<Session>) {
        if session.initiator.is_asked_to_leave() {
            session.initiator.leave();
            self.set(State::Down);
        } else {
            self.set(State::Up(session));
        }
    }
}

/// See the module. It ends when dropped, with its session.
pub struct Path {
    portal: SocketAddr,
    slot: Arc<Slot>,
    keeper: Option<JoinHandle<()>>,
}

impl Path {
    /// Begins to log in.
    pub fn new(portal: SocketAddr, port: Port, timers: Timers) -> Self {
        let slot = Arc::new(Slot { state: Mutex::new(State::Down), changed: Condvar::new() });
        let kept = Arc::clone(&slot);
        let keeper = Some(thread::spawn(move || keep(&kept, portal, &port, timers)));
        Self { portal, slot, keeper }
    }

    /// Where it leads.
    pub fn portal(&self) -> SocketAddr {
        self.portal
    }

    /// The session, if there is one; it has to be given back or said to be lost.
    pub fn take(&self) -> Option<Box<Session>> {
        let mut state = self.slot.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Up(session) => Some(session),
            other => {
                *state = other;
                None
            }
        }
    }

    /// It can be used again; unless the target has asked for its end.
    pub fn give(&self, session: Box<Session>) {
        self.slot.give(session);
    }

    /// Closes the session, and has it replaced.
    pub fn lose(&self, session: Box<Session>) {
        drop(session);
        self.slot.set(State::Down);
    }

    /// The target port group, if there is a session.
    pub fn group(&self) -> Option<u16> {
        match &*self.slot.lock() {
            State::Up(session) => Some(session.group),
            _ => None,
        }
    }

    /// Waits until there is a session, and says whether there is.
    pub fn wait(&self, limit: Duration) -> bool {
        let state = self.slot.lock();
        let is_down = |state: &mut State| matches!(state, State::Down | State::Taken);
        let waited = self.slot.changed.wait_timeout_while(state, limit, is_down);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        matches!(*state, State::Up(_))
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let session = std::mem::replace(&mut *self.slot.lock(), State::Over);
        self.slot.changed.notify_all();
        if let State::Up(session) = session {
            session.initiator.leave();
        }
        if let Some(keeper) = self.keeper.take()
            && let Err(panic) = keeper.join()
            && !thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

fn keep(slot: &Slot, portal: SocketAddr, port: &Port, timers: Timers) {
    loop {
        let state = slot.lock();
        let is_kept = |state: &mut State| matches!(state, State::Up(_) | State::Taken);
        let waited = slot.changed.wait_timeout_while(state, LISTEN, is_kept);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State::Over => return,
            State::Up(session) if session.initiator.has_news() => {
                let heard = std::mem::replace(&mut *state, State::Taken);
                drop(state);
                if let State::Up(session) = heard {
                    listen(slot, session);
                }
                continue;
            }
            State::Up(_) | State::Taken => continue,
            State::Down => drop(state),
        }
        match log_in(portal, port, timers) {
            Ok(session) => slot.set(State::Up(Box::new(session))),
            Err(_) => {
                let state = slot.lock();
                let is_going_on = |state: &mut State| !matches!(state, State::Over);
                drop(slot.changed.wait_timeout_while(state, timers.pause, is_going_on));
            }
        }
    }
}

/// Takes what the target says by itself, and does what it asks for.
fn listen(slot: &Slot, mut session: Box<Session>) {
    match session.initiator.hear() {
        Ok(()) => slot.give(session),
        Err(_) => {
            drop(session);
            slot.set(State::Down);
        }
    }
}

/// A session whose target port group is known.
fn log_in(portal: SocketAddr, port: &Port, timers: Timers) -> Result<Session, Lost> {
    let mut initiator = Initiator::attempt_login(portal, port.clone(), timers.login)?;
    let deadline = Instant::now() + timers.login;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let end = initiator.attempt(&cdb::IDENTIFICATION, Transfer::In(cdb::ROOM), left)?;
        match judge(&end) {
            Verdict::Done if end.status == GOOD => {
                // A target without groups has one, so to say.
                let group = cdb::group(&end.data).unwrap_or(0);
                return Ok(Session { initiator, group });
            }
            Verdict::Again { .. } => thread::sleep(Duration::from_millis(50)),
            _ => return Err(Lost::Closed(format!("INQUIRY: {end:?}"))),
        }
    }
}
