use super::*;
use std::sync::atomic::AtomicU32;
use std::task::Wake;

/// Counts how often it is woken.
#[derive(Default)]
struct Bell(AtomicU32);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct Lab {
    node: Arc<Invitations>,
    now: Instant,
}

/// A session that wants to ask, and the bell that wakes it.
struct Session {
    guest: Guest,
    bell: Arc<Bell>,
}

impl Lab {
    fn new(limit: usize) -> Self {
        Self { node: Invitations::new(limit), now: Instant::now() }
    }

    fn session(&self) -> Session {
        Session { guest: self.node.guest(self.now), bell: Arc::default() }
    }
}

impl Session {
    /// Asks for a burst with no R2T outstanding, and waits if it may not.
    fn ask_idle(&mut self, now: Instant, bytes: usize) -> bool {
        let allowed = self.guest.invite(bytes) || self.guest.invite_in_turn(now, bytes);
        self.wait_unless(allowed, true)
    }

    /// The same with one outstanding.
    fn ask_more(&mut self, bytes: usize) -> bool {
        let allowed = self.guest.invite(bytes);
        self.wait_unless(allowed, false)
    }

    fn wait_unless(&mut self, allowed: bool, is_idle: bool) -> bool {
        if !allowed {
            self.guest.wait(&Waker::from(Arc::clone(&self.bell)), is_idle);
        }
        allowed
    }

    fn rings(&self) -> u32 {
        self.bell.0.swap(0, Ordering::Relaxed)
    }
}

#[test]
fn room_goes_to_those_who_wait_in_the_order_in_which_they_came() {
    let lab = Lab::new(100);
    let [mut busy, mut first, mut second] = [lab.session(), lab.session(), lab.session()];
    assert!(busy.ask_more(60) && busy.ask_more(40));
    assert!(!busy.ask_more(40));
    assert!(!first.ask_more(40) && !second.ask_more(40));
    // It has been there before the others, and wants more than is free.
    busy.guest.set(lab.now, 80, 0);
    assert_eq!((busy.rings(), first.rings()), (1, 0));
    busy.guest.leave();
    assert_eq!((first.rings(), second.rings()), (1, 0));
    busy.guest.set(lab.now, 20, 0);
    assert!(!second.ask_more(40), "another is before it");
    assert!(!busy.ask_more(20), "and before this one");
    assert!(first.ask_more(40));
    assert_eq!(second.rings(), 1, "there is room left");
    assert!(second.ask_more(40));
    assert_eq!(lab.node.total(), 100);
    drop((busy, first, second));
    assert_eq!((lab.node.total(), lab.node.is_anyone_waiting()), (0, false));
}

#[test]
fn beyond_the_limit_one_at_a_time_goes_on() {
    let lab = Lab::new(100);
    let [mut stuck, mut first, mut second] = [lab.session(), lab.session(), lab.session()];
    assert!(stuck.ask_more(100));
    assert!(!stuck.ask_more(10));
    assert!(first.ask_idle(lab.now, 30), "nobody else has the turn");
    assert!(!second.ask_idle(lab.now, 30));
    assert!(first.guest.has_turn(lab.now) && second.guest.is_kept_waiting());
    // Its burst has come and its command lacks another.
    first.guest.set(lab.now, 30, 30);
    assert!(first.ask_idle(lab.now, 30));
    assert!(!second.ask_idle(lab.now, 30));
    assert_eq!((lab.node.total(), second.rings()), (160, 0));
    first.guest.set(lab.now, 0, 0);
    assert_eq!(second.rings(), 1);
    assert!(!first.guest.has_turn(lab.now));
    assert!(!first.ask_idle(lab.now, 30), "it is another's turn");
    assert!(second.ask_idle(lab.now, 30));
    drop(second);
    assert_eq!(first.rings(), 1);
    assert!(first.ask_idle(lab.now, 30));
}

#[test]
fn a_turn_of_which_nothing_comes_passes() {
    let lab = Lab::new(100);
    let [mut stuck, mut silent, mut next] = [lab.session(), lab.session(), lab.session()];
    assert!(stuck.ask_more(100) && silent.ask_idle(lab.now, 10));
    assert!(!next.ask_idle(lab.now, 10));
    let later = lab.now + TURN;
    assert!(next.ask_idle(later, 10));
    assert!(!silent.guest.has_turn(later) && next.guest.has_turn(later));
    // Who comes late ends no turn but its own.
    silent.guest.set(later, 0, 0);
    assert!(!silent.ask_idle(later, 10));
}

#[test]
fn promises_that_are_not_kept_take_no_room() {
    let lab = Lab::new(100);
    let [mut silent, mut other] = [lab.session(), lab.session()];
    assert!(silent.ask_more(100));
    silent.guest.set(lab.now, 100, 0);
    assert!(!other.ask_more(100));
    let late = lab.now + STALL;
    silent.guest.write_off(late - Duration::from_millis(1));
    assert_eq!((lab.node.total(), other.rings()), (100, 0));
    silent.guest.write_off(late);
    assert_eq!((lab.node.total(), other.rings(), silent.guest.deadline()), (0, 1, None));
    assert!(other.ask_more(100));
    // It counts again when it goes on, and is given back once.
    silent.guest.set(late, 100, 10);
    assert_eq!(lab.node.total(), 200);
    silent.guest.excuse(late + STALL);
    silent.guest.write_off(late + STALL);
    assert_eq!(lab.node.total(), 200, "nobody has read what it sent");
    drop((silent, other));
    assert_eq!(lab.node.total(), 0);
}
