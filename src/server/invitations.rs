//! Data that R2Ts have asked for: what peers are going to make the node keep, because it has invited them to.
//!
//! All connections together may have asked for so much on behalf of commands that are not complete. Beyond that they wait in one queue:
//! whoever is first asks for a burst as soon as there is room, and goes to the end if it wants more. Room may not come at all, when all
//! that was asked for are parts of commands that want more. So one at a time, the first in the queue that has no R2T outstanding, has
//! the *turn*: it asks beyond the limit until one of its commands is complete, which gives memory back. Who does not get there in time,
//! or sends nothing, keeps no other from it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

/// How often one that waits looks again though nobody has woken it: the time of another's turn may be over.
pub(super) const RECHECK: Duration = Duration::from_millis(50);
/// How long one may have the turn while others want it.
const TURN: Duration = Duration::from_millis(250);
/// Who has sent nothing for so long is not counted on to send what it was asked for, so that promises alone take no room from others.
const STALL: Duration = Duration::from_secs(1);

/// The node's part.
#[derive(Debug)]
pub(super) struct Invitations {
    limit: usize,
    invited: AtomicUsize,
    /// How many wait, to be read without the lock.
    waiting: AtomicUsize,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    last_id: u64,
    waiting: VecDeque<Waiting>,
    turn: Option<Turn>,
}

#[derive(Debug)]
struct Waiting {
    id: u64,
    is_idle: bool,
    waker: Waker,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    id: u64,
    until: Instant,
}

impl Invitations {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            invited: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            queue: Mutex::default(),
        })
    }

    pub(super) fn guest(self: &Arc<Self>, now: Instant) -> Guest {
        let id = {
            let mut queue = self.queue();
            queue.last_id += 1;
            queue.last_id
        };
        Guest {
            node: Arc::clone(self),
            id,
            counted: 0,
            told: (0, 0),
            moved: now,
            turn_until: None,
            wait: Wait::None,
        }
    }

    /// Bytes that were asked for.
    pub(super) fn total(&self) -> usize {
        self.invited.load(Ordering::Relaxed)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Nothing in here leaves it half changed.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_anyone_waiting(&self) -> bool {
        // Who begins to wait says so before it looks for room a last time, and who makes room looks for it after that.
        self.waiting.load(Ordering::SeqCst) > 0
    }

    fn try_invite(&self, bytes: usize) -> bool {
        let before = self.invited.fetch_add(bytes, Ordering::SeqCst);
        let has_room = before.saturating_add(bytes) <= self.limit;
        if !has_room {
            self.invited.fetch_sub(bytes, Ordering::SeqCst);
        }
        has_room
    }

    /// Wakes those for whom there may be something now.
    fn pass_on(&self, queue: &Queue) {
        if let Some(first) = queue.waiting.front()
            && self.total() < self.limit
        {
            first.waker.wake_by_ref();
        }
        if queue.turn.is_none()
            && let Some(next) = queue.waiting.iter().find(|it| it.is_idle)
        {
            next.waker.wake_by_ref();
        }
    }

    fn leave(&self, queue: &mut Queue, id: u64) {
        if let Some(at) = queue.waiting.iter().position(|it| it.id == id) {
            queue.waiting.remove(at);
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// What one session has asked for; given back when dropped.
#[derive(Debug)]
pub(super) struct Guest {
    node: Arc<Invitations>,
    id: u64,
    /// Bytes that the node counts for it.
    counted: usize,
    /// Bytes asked for and bytes held, as told last.
    told: (usize, usize),
    /// When that changed last.
    moved: Instant,
    turn_until: Option<Instant>,
    wait: Wait,
}

/// How it waits in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    None,
    /// With an R2T outstanding.
    ForMore,
    /// With none.
    ForAny,
}

impl Guest {
    /// Notes what has been asked for on behalf of commands that are not complete, and what is held for those.
    pub(super) fn set(&mut self, now: Instant, solicited: usize, held: usize) {
        if self.told == (solicited, held) {
            return;
        }
        let is_one_complete = solicited < self.told.0;
        self.told = (solicited, held);
        self.moved = now;
        self.count(solicited);
        if is_one_complete && self.turn_until.is_some() {
            self.end_turn();
        }
    }

    /// Bytes that the node counts for it, and counts on.
    pub(super) fn counted(&self) -> usize {
        self.counted
    }

    /// Whether a burst may be asked for within what all may ask for.
    pub(super) fn invite(&mut self, bytes: usize) -> bool {
        let invited = if self.node.is_anyone_waiting() {
            let mut queue = self.node.queue();
            let is_first = queue.waiting.front().is_none_or(|first| first.id == self.id);
            let invited = is_first && self.node.try_invite(bytes);
            if invited {
                self.wait = Wait::None;
                self.node.leave(&mut queue, self.id);
                self.node.pass_on(&queue);
            }
            invited
        } else {
            self.node.try_invite(bytes)
        };
        if invited {
            self.counted += bytes;
        }
        invited
    }

    /// Whether one that has no R2T outstanding may ask for a burst beyond that.
    pub(super) fn invite_in_turn(&mut self, now: Instant, bytes: usize) -> bool {
        let mut queue = self.node.queue();
        let is_own = queue.turn.is_some_and(|turn| turn.id == self.id);
        if !is_own {
            let is_free = queue.turn.is_none_or(|turn| turn.until <= now);
            let next = queue.waiting.iter().find(|it| it.is_idle || it.id == self.id);
            if !is_free || next.is_some_and(|next| next.id != self.id) {
                return false;
            }
            let until = now + TURN;
            queue.turn = Some(Turn { id: self.id, until });
            self.turn_until = Some(until);
        }
        self.wait = Wait::None;
        self.node.leave(&mut queue, self.id);
        self.node.invited.fetch_add(bytes, Ordering::SeqCst);
        self.counted += bytes;
        true
    }

    /// Waits in the queue for being allowed what was refused; tells whether it did not before, and has to look once more.
    pub(super) fn wait(&mut self, waker: &Waker, is_idle: bool) -> bool {
        let mut queue = self.node.queue();
        let wait = if is_idle { Wait::ForAny } else { Wait::ForMore };
        let is_new = std::mem::replace(&mut self.wait, wait) == Wait::None;
        if is_new {
            queue.waiting.push_back(Waiting { id: self.id, is_idle, waker: waker.clone() });
            self.node.waiting.fetch_add(1, Ordering::SeqCst);
        } else if let Some(own) = queue.waiting.iter_mut().find(|it| it.id == self.id) {
            own.is_idle = is_idle;
            own.waker.clone_from(waker);
        }
        is_new
    }

    /// Wants nothing more for now.
    pub(super) fn leave(&mut self) {
        if std::mem::replace(&mut self.wait, Wait::None) != Wait::None {
            let mut queue = self.node.queue();
            self.node.leave(&mut queue, self.id);
            self.node.pass_on(&queue);
        }
    }

    /// Whether all that its commands lack has yet to be asked for: it cannot help it that they are not complete.
    pub(super) fn is_kept_waiting(&self) -> bool {
        self.wait == Wait::ForAny
    }

    /// Whether others wait for its command to be complete.
    pub(super) fn has_turn(&self, now: Instant) -> bool {
        self.turn_until.is_some_and(|until| now < until)
    }

    /// When [`write_off`](Self::write_off) has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        (self.counted > 0).then(|| self.moved + STALL)
    }

    /// Nothing was read, so nobody was silent.
    pub(super) fn excuse(&mut self, now: Instant) {
        self.moved = now;
    }

    /// Does not count on what was asked for, if it has not come for too long.
    pub(super) fn write_off(&mut self, now: Instant) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            self.count(0);
        }
    }

    fn count(&mut self, bytes: usize) {
        if bytes > self.counted {
            self.node.invited.fetch_add(bytes - self.counted, Ordering::SeqCst);
        } else if bytes < self.counted {
            self.node.invited.fetch_sub(self.counted - bytes, Ordering::SeqCst);
            if self.node.is_anyone_waiting() {
                self.node.pass_on(&self.node.queue());
            }
        }
        self.counted = bytes;
    }

    fn end_turn(&mut self) {
        self.turn_until = None;
        let mut queue = self.node.queue();
        if queue.turn.take_if(|turn| turn.id == self.id).is_some() {
            self.node.pass_on(&queue);
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.count(0);
        self.leave();
        if self.turn_until.is_some() {
            self.end_turn();
        }
    }
}

#[cfg(test)]
#[path = "invitations_tests.rs"]
mod tests;
