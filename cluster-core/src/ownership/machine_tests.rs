use super::super::testing::{Bench, node, owned, reading, released, setting, stops};
use super::super::{Class, Holder, Reason, Route};
use super::*;

const ALL: &[&str] = &["other", "third"];

#[test]
fn the_first_command_takes_a_volume_that_nobody_has() {
    let mut bench = Bench::new(true);
    assert_eq!(bench.route(Class::Medium), Route::Wait, "nothing is known yet");
    bench.sees(Seen { epoch: Epoch(0), record: OwnerRecord::of(Holder::Nobody) });
    assert_eq!(bench.route(Class::Probe), Route::Local, "probing moves nothing");
    assert_eq!(setting(&bench.pass(10, ALL)), None);
    let actions = bench.input(Input::Wanted);
    let (ticket, after, holder) = setting(&actions).unwrap();
    assert_eq!((after, holder), (Epoch(0), Holder::Owned(node("me"))));
    let actions = bench.input(Input::Set(ticket, SetOutcome::Won));
    assert_eq!(bench.route(Class::Medium), Route::Wait);
    let actions = bench.fence(&actions, owned(1, "me"));
    assert!(actions.contains(&Action::Serve(Epoch(1))), "{actions:?}");
    assert_eq!(bench.route(Class::Medium), Route::Here(Epoch(1)));
}

/// It slept between claim and lock, and has just stolen the lock of the one that went on without it.
#[test]
fn who_took_the_lock_too_late_lets_no_command_through() {
    let mut bench = Bench::new(true);
    bench.sees(released(4, None));
    let (ticket, ..) = setting(&bench.input(Input::Wanted)).unwrap();
    let actions = bench.input(Input::Set(ticket, SetOutcome::Won));
    let actions = bench.fence(&actions, owned(6, "other"));
    assert!(stops(&actions, 5), "{actions:?}");
    assert_eq!(bench.route(Class::Medium), Route::Owner(node("other"), Epoch(6)));
}

#[test]
fn an_owner_whose_lock_was_stolen_takes_it_back() {
    let mut bench = Bench::new(true);
    bench.own();
    let actions = bench.input(Input::Refused(Epoch(1)));
    assert_eq!(actions.first(), Some(&Action::Hold(Epoch(1))));
    assert_eq!(bench.route(Class::Medium), Route::Wait);
    let ticket = reading(&actions).unwrap();
    let actions = bench.input(Input::Read(ticket, Some(owned(1, "me"))));
    let actions = bench.fence(&actions, owned(1, "me"));
    assert!(actions.contains(&Action::Serve(Epoch(1))), "the same epoch goes on: {actions:?}");
}

#[test]
fn an_owner_that_is_refused_because_another_owns_steps_back() {
    let mut bench = Bench::new(true);
    bench.own();
    let ticket = reading(&bench.input(Input::Refused(Epoch(1)))).unwrap();
    let actions = bench.input(Input::Read(ticket, Some(owned(2, "other"))));
    assert!(stops(&actions, 1));
    assert_eq!(bench.route(Class::Medium), Route::Owner(node("other"), Epoch(2)));
}

#[test]
fn a_reading_that_shows_the_claim_before_its_answer_does_not_confuse_the_epochs() {
    let mut bench = Bench::new(true);
    bench.sees(released(2, None));
    let (ticket, ..) = setting(&bench.input(Input::Wanted)).unwrap();
    bench.sees(owned(3, "me"));
    let actions = bench.input(Input::Set(ticket, SetOutcome::Won));
    assert!(actions.iter().any(|action| matches!(action, Action::Fence(_, Epoch(3)))), "{actions:?}");
}

#[test]
fn a_dead_owner_is_followed_when_a_command_wants_it() {
    let mut bench = Bench::new(true);
    bench.sees(owned(7, "other"));
    bench.peers.get_mut(&node("other")).unwrap().cut = Some(bench.now);
    bench.input(Input::Wanted);
    assert_eq!(setting(&bench.pass(5, &["third"])), None);
    assert_eq!(bench.route(Class::Medium), Route::Wait, "it may be dead or out of reach");
    let (_, after, holder) = setting(&bench.pass(3, &["third"])).unwrap();
    assert_eq!((after, holder), (Epoch(7), Holder::Owned(node("me"))));
}

#[test]
fn an_owner_that_lives_out_of_reach_is_left_alone() {
    let mut bench = Bench::new(true);
    bench.sees(owned(7, "other"));
    bench.peers.get_mut(&node("other")).unwrap().cut = Some(bench.now);
    bench.input(Input::Wanted);
    assert_eq!(setting(&bench.pass(60, ALL)), None);
    for class in [Class::Medium, Class::Probe] {
        assert_eq!(bench.route(class), Route::NotReady(Reason::Unavailable));
    }
}

/// It was dead, came back, and claimed anew: what was thought of it before does not count.
#[test]
fn a_claim_is_a_sign_of_life() {
    let mut bench = Bench::new(true);
    bench.sees(owned(7, "other"));
    bench.pass(10, &["third"]);
    let actions = bench.input(Input::Look);
    let ticket = reading(&actions).unwrap();
    bench.now += Duration::from_millis(10);
    bench.input(Input::Read(ticket, Some(owned(8, "other"))));
    assert_eq!(setting(&bench.input(Input::Wanted)), None, "its heartbeat was read before its claim");
}

#[test]
fn a_lapse_ends_the_epoch_for_good() {
    for fences in [true, false] {
        let mut bench = Bench::new(fences);
        bench.own();
        bench.now += Duration::from_secs(60);
        assert_eq!(bench.route(Class::Medium), Route::NotReady(Reason::Unavailable));
        bench.beat(ALL);
        assert_eq!(bench.route(Class::Medium), Route::Wait, "a new term does not bring it back");
        assert!(stops(&bench.input(Input::Tick), 1));
    }
}

#[test]
fn a_damaged_record_is_repaired_by_its_writer_and_by_others_only_after_a_while() {
    let damaged = Seen { epoch: Epoch(1), record: OwnerRecord::of(Holder::Damaged) };
    let mut bench = Bench::new(true);
    bench.own();
    let actions = bench.sees(damaged.clone());
    assert!(stops(&actions, 1));
    assert_eq!(setting(&actions).map(|(_, after, _)| after), Some(Epoch(1)));

    let mut bench = Bench::new(true);
    let seen = bench.sees(damaged);
    assert_eq!(setting(&seen).or(setting(&bench.input(Input::Wanted))), None);
    assert_eq!(setting(&bench.pass(5, ALL)), None);
    assert_eq!(setting(&bench.pass(3, ALL)).map(|(_, after, _)| after), Some(Epoch(1)));
}

#[test]
fn this_nodes_process_before_this_one_is_followed_at_once_only_where_the_store_fences() {
    let before = Incarnation { boot: crate::membership::BootId(0), ..node("me") };
    let seen = Seen { epoch: Epoch(3), record: OwnerRecord::of(Holder::Owned(before)) };
    for fences in [true, false] {
        let mut bench = Bench::new(fences);
        bench.sees(seen.clone());
        assert_eq!(setting(&bench.input(Input::Wanted)).is_some(), fences);
    }
}

#[test]
fn a_move_drains_releases_and_tells() {
    let mut bench = Bench::new(true);
    bench.own();
    let actions = bench.input(Input::Move(node("third").node));
    let Some(Action::Drain(ticket, Epoch(1))) = actions.first() else { panic!("{actions:?}") };
    assert_eq!(bench.route(Class::Medium), Route::Wait);
    let (ticket, after, holder) = setting(&bench.input(Input::Drained(*ticket, true))).unwrap();
    assert_eq!((after, holder), (Epoch(1), Holder::Released(Some(node("third").node))));
    let actions = bench.input(Input::Set(ticket, SetOutcome::Won));
    assert!(stops(&actions, 1) && actions.contains(&Action::Tell(Some(node("third").node))));
    // The successor has its time, but not for ever.
    assert_eq!(setting(&bench.input(Input::Wanted)), None);
    assert!(setting(&bench.pass(3, ALL)).is_some());
}

#[test]
fn the_named_successor_takes_it_without_a_command() {
    let mut bench = Bench::new(true);
    assert!(setting(&bench.sees(released(4, Some("me")))).is_some());
}

#[test]
fn what_cannot_be_flushed_is_not_handed_over() {
    let mut bench = Bench::new(true);
    bench.own();
    let Some(Action::Drain(ticket, _)) = bench.input(Input::Move(node("third").node)).first().cloned() else {
        panic!()
    };
    let actions = bench.input(Input::Drained(ticket, false));
    assert!(actions.contains(&Action::Serve(Epoch(1))) && setting(&actions).is_none());
}

#[test]
fn who_cannot_open_the_file_leaves_it_to_others() {
    let mut bench = Bench::new(true);
    bench.sees(released(4, None));
    let (ticket, ..) = setting(&bench.input(Input::Wanted)).unwrap();
    let mut actions = bench.input(Input::Set(ticket, SetOutcome::Won));
    for _ in 0..3 {
        let fence = actions.iter().find_map(|action| match action {
            Action::Fence(ticket, Epoch(5)) => Some(*ticket),
            _ => None,
        });
        actions = bench.input(Input::Fenced(fence.unwrap(), false));
        if setting(&actions).is_none() {
            bench.now += Duration::from_millis(200);
            actions = bench.input(Input::Tick);
        }
    }
    let (ticket, after, holder) = setting(&actions).unwrap();
    assert_eq!((after, holder), (Epoch(5), Holder::Released(None)));
    bench.input(Input::Set(ticket, SetOutcome::Won));
    bench.input(Input::Wanted);
    assert_eq!(setting(&bench.pass(7, ALL)), None, "others first");
    bench.input(Input::Wanted);
    assert!(setting(&bench.pass(2, ALL)).is_some(), "nobody else wants it");
}

#[test]
fn it_goes_back_to_the_preferred_node_when_that_is_steady() {
    let drains = |actions: &[Action]| actions.iter().any(|action| matches!(action, Action::Drain(..)));
    let mut bench = Bench::new(true);
    bench.machine.prefer(Some(node("other").node));
    bench.own();
    assert!(!drains(&bench.pass(55, ALL)));
    assert!(drains(&bench.pass(10, ALL)));

    // One that has died lately has to wait twice as long, for each time.
    let mut bench = Bench::new(true);
    bench.machine.prefer(Some(node("other").node));
    bench.sees(owned(1, "other"));
    bench.input(Input::Wanted);
    let (ticket, ..) = setting(&bench.pass(10, &["third"])).unwrap();
    let actions = bench.input(Input::Set(ticket, SetOutcome::Won));
    let mut seen = owned(2, "me");
    seen.record.failures = 1;
    bench.fence(&actions, seen);
    assert_eq!(bench.machine.active(), Some(Epoch(2)));
    assert!(!drains(&bench.pass(115, ALL)));
    assert!(drains(&bench.pass(15, ALL)));
}

#[test]
fn what_was_moved_by_hand_stays() {
    let mut bench = Bench::new(true);
    bench.machine.prefer(Some(node("other").node));
    let mut seen = released(4, Some("me"));
    seen.record.pinned = true;
    let (ticket, ..) = setting(&bench.sees(seen)).unwrap();
    let actions = bench.input(Input::Set(ticket, SetOutcome::Won));
    let mut seen = owned(5, "me");
    seen.record.pinned = true;
    bench.fence(&actions, seen);
    assert_eq!(bench.machine.active(), Some(Epoch(5)));
    assert_eq!(bench.pass(300, ALL), []);
}

#[test]
fn who_leaves_hands_over_first() {
    let mut bench = Bench::new(true);
    bench.own();
    assert!(!bench.machine.has_left());
    let Some(Action::Drain(ticket, _)) = bench.input(Input::Shutdown).first().cloned() else { panic!() };
    let (ticket, _, holder) = setting(&bench.input(Input::Drained(ticket, true))).unwrap();
    assert_eq!(holder, Holder::Released(Some(node("other").node)));
    assert!(!bench.machine.has_left());
    bench.input(Input::Set(ticket, SetOutcome::Won));
    assert!(bench.machine.has_left());
    bench.input(Input::Wanted);
    assert_eq!(setting(&bench.pass(20, ALL)), None);
}

#[test]
fn without_fencing_nothing_new_begins_while_something_old_is_on_its_way() {
    let mut bench = Bench::new(false);
    bench.own();
    bench.now += Duration::from_secs(60);
    bench.beat(ALL);
    let actions = bench.input(Input::Wanted);
    let Some(Action::Stop(ticket, _)) = actions.first() else { panic!("{actions:?}") };
    assert_eq!(setting(&bench.pass(10, ALL)), None);
    assert!(setting(&bench.input(Input::Stopped(*ticket))).is_some());
}
