use super::*;
use crate::membership::{BootId, NodeId};

const OWNER: Epoch = Epoch(5);

fn owner() -> Incarnation {
    Incarnation { node: NodeId::new("n1").unwrap(), boot: BootId(1) }
}

struct Bench {
    now: Instant,
    origin: Origin,
    route: Route,
}

impl Bench {
    /// A volume whose owner is connected.
    fn new() -> Self {
        let freshness = Freshness { age: Duration::from_secs(1), drift: 10 };
        let mut origin = Origin::new(Patience { hold: Duration::from_secs(7), freshness });
        let now = Instant::now();
        origin.told_time(now, &owner(), Stamp(0));
        Self { now, origin, route: Route::Owner(owner(), OWNER) }
    }

    fn arrive(&mut self, id: u64, is_repeatable: bool) -> Vec<Order<&'static str>> {
        self.origin.arrive(self.now, CommandId(id), Class::Medium, is_repeatable);
        self.after(0)
    }

    fn after(&mut self, milliseconds: u64) -> Vec<Order<&'static str>> {
        self.now += Duration::from_millis(milliseconds);
        let mut orders = Vec::new();
        self.origin.advance(self.now, |_| self.route.clone(), &mut orders);
        orders
    }

    fn reply(&mut self, id: u64, reply: Reply<&'static str>) -> Vec<Order<&'static str>> {
        let mut orders = Vec::new();
        self.origin.reply(self.now, CommandId(id), OWNER, reply, &mut orders);
        orders
    }
}

fn is_sent(orders: &[Order<&'static str>], id: u64) -> bool {
    matches!(orders, [Order::Send(CommandId(sent), _, request)] if *sent == id && request.sequence == id)
}

#[test]
fn a_command_is_sent_and_answered_once() {
    let mut bench = Bench::new();
    assert!(is_sent(&bench.arrive(1, false), 1));
    assert_eq!(bench.after(60_000), [], "the owner is at it");
    assert_eq!(bench.reply(1, Reply::Done("good")), [Order::Answer(CommandId(1), "good")]);
    assert_eq!(bench.reply(1, Reply::Done("good")), []);
}

#[test]
fn what_the_owner_refused_is_sent_again_after_a_pause() {
    let mut bench = Bench::new();
    bench.arrive(1, false);
    assert_eq!(bench.reply(1, Reply::Refused(Refusal::NotOwner)), []);
    assert!(bench.origin.waits());
    assert_eq!(bench.after(10), []);
    assert!(is_sent(&bench.after(60), 1));
    bench.reply(1, Reply::Refused(Refusal::NotOwner));
    bench.route = Route::Here(Epoch(6));
    assert_eq!(bench.after(0), [Order::Execute(CommandId(1), Epoch(6))]);
}

#[test]
fn after_a_lost_connection_the_owner_is_asked_again() {
    let mut bench = Bench::new();
    bench.arrive(1, false);
    bench.origin.cut(&owner());
    assert_eq!(bench.after(100), []);
    bench.origin.told_time(bench.now, &owner(), Stamp(100));
    assert!(is_sent(&bench.after(0), 1), "under the same number");
    // The other sending of it may have been begun.
    assert_eq!(bench.reply(1, Reply::Refused(Refusal::NotOwner)), []);
    bench.route = Route::Here(Epoch(6));
    assert_eq!(bench.after(500), []);
    assert_eq!(bench.after(600), [Order::InDoubt(CommandId(1))]);
}

#[test]
fn in_doubt_is_said_when_nothing_can_begin_any_more() {
    let mut bench = Bench::new();
    bench.arrive(1, false);
    bench.arrive(2, true);
    bench.origin.cut(&owner());
    bench.route = Route::Wait;
    assert_eq!(bench.after(1000), []);
    assert_eq!(bench.after(30), [Order::InDoubt(CommandId(1))]);
    // What only reads is done again.
    bench.route = Route::Here(Epoch(6));
    assert_eq!(bench.after(0), [Order::Execute(CommandId(2), Epoch(6))]);
}

#[test]
fn nothing_is_sent_by_a_time_that_was_told_long_ago() {
    let mut bench = Bench::new();
    bench.after(1020);
    assert_eq!(bench.arrive(1, false), []);
    bench.origin.told_time(bench.now, &owner(), Stamp(1020));
    assert!(is_sent(&bench.after(0), 1));
}

#[test]
fn who_waits_for_an_owner_is_not_left_waiting() {
    let mut bench = Bench::new();
    bench.route = Route::Wait;
    assert_eq!(bench.arrive(1, false), []);
    assert_eq!(bench.after(6999), []);
    assert_eq!(bench.after(1), [Order::NotReady(CommandId(1), Reason::Transitioning)]);
    assert_eq!(bench.after(10_000), []);
}

#[test]
fn the_floor_follows_what_is_answered() {
    let mut bench = Bench::new();
    let floor = |orders: &[Order<&'static str>]| match orders {
        [Order::Send(_, _, request)] => request.floor,
        other => panic!("{other:?}"),
    };
    assert_eq!(floor(&bench.arrive(1, false)), 1);
    assert_eq!(floor(&bench.arrive(2, false)), 1);
    bench.reply(1, Reply::Done("good"));
    assert_eq!(floor(&bench.arrive(3, false)), 2);
}
