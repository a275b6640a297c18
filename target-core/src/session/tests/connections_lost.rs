//! Connections of a session that go without a word, and those that take their place, at ErrorRecoveryLevel 0.

use super::bench::{CID, answer, pattern};
use super::group::Group;
use crate::pdu::fields::Serial;
use crate::pdu::target::TargetPdu;
use crate::scsi::command::{Outcome, TaskManagement, TaskTag};
use crate::session::event::{CloseReason, Event, Leg, TaskId};
use proptest::prelude::*;
use std::time::Duration;

const A: Leg = Leg::FIRST;
const B: Leg = Leg(1);

fn aborted(group: &mut Group) -> TaskTag {
    match group.lead.connection.poll_event() {
        Some(Event::Manage(id, TaskManagement::AbortTask { tag, .. })) => {
            assert_eq!(id, TaskId::default());
            group.managed(id);
            tag
        }
        other => panic!("expected an abort, not {other:?}"),
    }
}

#[test]
fn the_tasks_of_a_lost_connection_end_with_it() {
    let mut group = Group::of(2);
    let (kept, write, running) = (group.lead.command(), group.lead.write(4096), group.lead.command());
    group.send(A, kept.clone());
    let (kept_id, _) = group.executed();
    group.send(B, write.clone());
    group.send(B, running.clone());
    let (id, _) = group.executed();
    assert!(matches!(group.only(B), TargetPdu::ReadyToTransfer(_)));
    group.part(B);
    assert_eq!(aborted(&mut group), TaskTag(running.initiator_task_tag));
    assert!(group.lead.connection.has_orphans());
    // Until it has ended nothing may have its tag.
    let same = crate::pdu::initiator::ScsiCommand {
        initiator_task_tag: running.initiator_task_tag,
        ..group.lead.command()
    };
    group.send(A, same);
    assert!(matches!(group.only(A), TargetPdu::Reject(reject) if reject.reason == 0x07));
    group.lead.connection.complete(group.lead.now, id, Outcome::Aborted);
    assert!(!group.lead.connection.has_orphans());
    group.silence();
    group.complete(kept_id);
    assert_eq!(group.answered(A), [kept.initiator_task_tag]);
    // The places of all in the window are free again.
    let nop = group.lead.nop(b"");
    group.send(A, nop);
    group.heard(A);
    for _ in 0..16 {
        let command = group.lead.command();
        group.send(A, command);
        group.executed();
    }
    assert_eq!(group.lead.connection.gathered(), 0);
}

#[test]
fn a_command_that_ends_in_spite_of_its_abort_is_told_nowhere() {
    let mut group = Group::of(2);
    let command = group.lead.command();
    group.send(B, command);
    let (id, _) = group.executed();
    group.part(B);
    aborted(&mut group);
    group.complete(id);
    group.silence();
    assert!(!group.lead.connection.has_orphans());
}

/// What the lost connection took before its turn was never acknowledged: the initiator sends it again elsewhere (RFC 7143 §11.14).
#[test]
fn commands_that_were_not_acknowledged_may_come_again_on_another_connection() {
    let mut group = Group::of(2);
    let commands: Vec<_> = (0..4).map(|_| group.lead.write(64)).collect();
    for nth in [1, 3] {
        let early = commands[nth].clone();
        group.send(B, early);
    }
    group.send(A, commands[2].clone());
    group.silence();
    group.part(B);
    group.silence();
    for nth in [0, 1, 3] {
        group.send(A, commands[nth].clone());
    }
    for _ in 0..4 {
        // Each asks for its data.
        let r2ts = group.heard(A);
        for pdu in r2ts {
            let TargetPdu::ReadyToTransfer(r2t) = pdu else { panic!("expected an R2T, not {pdu:?}") };
            group.send(A, answer(&r2t, &pattern(64)));
        }
    }
    for command in &commands {
        assert_eq!(group.executed().1, command.initiator_task_tag);
    }
}

#[test]
fn commands_that_were_lost_do_not_keep_the_session_for_ever() {
    // DefaultTime2Wait and DefaultTime2Retain, but no less than nop_timeout.
    commands_are_waited_for("", 22);
    commands_are_waited_for("DefaultTime2Retain=0", 10);
}

fn commands_are_waited_for(keys: &str, seconds: u64) {
    let mut group = Group::with(2, keys);
    let (_lost, waiting) = (group.lead.command(), group.lead.command());
    group.part(B);
    group.send(A, waiting);
    group.silence();
    let began = group.lead.now;
    let mut pings = 0;
    let end = loop {
        group.lead.sleep();
        match group.lead.connection.poll_event() {
            Some(Event::Close(leg, reason)) => break (leg, reason),
            Some(other) => panic!("expected the end, not {other:?}"),
            None => {
                // The initiator is there all the time.
                group.heard(A);
                let nop = group.lead.nop(b"");
                group.send(A, nop);
                group.heard(A);
                pings += 1;
                assert!(pings < 10, "it never ends");
            }
        }
    };
    assert_eq!(end, (A, CloseReason::CommandsLost));
    assert_eq!(group.lead.now - began, Duration::from_secs(seconds));
}

/// A function that waits for lost commands would wait for ever as well.
#[test]
fn functions_do_not_wait_for_ever_for_commands_that_were_lost() {
    let mut group = Group::of(2);
    let _lost = group.lead.command();
    let reset = group.lead.management(5);
    group.send(A, reset);
    group.silence();
    group.part(B);
    group.silence();
    assert_eq!(group.lead.sleep(), Duration::from_secs(22));
    assert_eq!(group.closed(), (A, CloseReason::CommandsLost));
    assert!(matches!(group.only(A), TargetPdu::AsyncMessage(message) if message.event == 3));
}

/// While nobody is there whom it could end, it is not to wake the driver again and again.
#[test]
fn a_gap_matters_to_nobody_when_all_have_gone() {
    let mut group = Group::of(2);
    let (_lost, missing) = (group.lead.command(), group.lead.command());
    group.part(B);
    let abort = group.lead.abort(&missing);
    group.send(A, abort);
    assert!(matches!(group.only(A), TargetPdu::TaskManagement(_)));
    group.part(A);
    assert_eq!(group.lead.connection.next_timeout(), None);
}

#[test]
fn a_gap_that_is_filled_in_time_does_no_harm() {
    let mut group = Group::of(2);
    let (lost, waiting) = (group.lead.command(), group.lead.command());
    group.send(A, waiting);
    group.part(B);
    group.send(A, lost);
    group.executed();
    group.executed();
    group.lead.now += Duration::from_secs(29);
    group.lead.connection.handle_timeout(group.lead.now);
    group.silence();
}

/// Without a loss it is the initiator's affair when it sends what is due.
#[test]
fn a_gap_is_nothing_to_wonder_about_while_all_connections_are_there() {
    let mut group = Group::of(2);
    let (_late, waiting) = (group.lead.command(), group.lead.command());
    group.send(A, waiting);
    group.lead.now += Duration::from_secs(29);
    group.lead.connection.handle_timeout(group.lead.now);
    group.silence();
}

#[test]
fn a_connection_takes_the_place_of_another() {
    let mut group = Group::of(2);
    let (kept, running) = (group.lead.write(64), group.lead.command());
    group.send(A, kept.clone());
    assert!(matches!(group.only(A), TargetPdu::ReadyToTransfer(_)));
    group.send(B, running.clone());
    let (id, _) = group.executed();
    group.part(B);
    aborted(&mut group);
    group.lead.connection.complete(group.lead.now, id, Outcome::Aborted);
    let (leg, _, numbering) = group.join(CID + 1);
    assert!(leg != A && leg != B);
    assert_eq!(numbering.exp_cmd_sn, Serial(group.lead.cmd_sn));
    let next = group.lead.command();
    group.send(leg, next.clone());
    let (id, tag) = group.executed();
    assert_eq!(tag, next.initiator_task_tag);
    group.complete(id);
    assert_eq!(group.answered(leg), [next.initiator_task_tag]);
    group.silence();
}

/// On the only connection everything was lost that had not come; the session goes on where the login says.
#[test]
fn the_only_connection_is_replaced_and_lost_commands_are_over() {
    let mut group = Group::of(1);
    let (_lost, early) = (group.lead.command(), group.lead.command());
    group.send(A, early);
    group.part(A);
    assert!(!group.lead.connection.has_orphans());
    let (leg, _, numbering) = group.join(CID);
    assert_eq!(numbering.exp_cmd_sn, Serial(group.lead.cmd_sn));
    assert_eq!(numbering.max_cmd_sn, Serial(group.lead.cmd_sn.wrapping_add(15)));
    let next = group.lead.command();
    group.send(leg, next.clone());
    assert_eq!(group.executed().1, next.initiator_task_tag);
    group.silence();
}

#[test]
fn a_connection_that_has_gone_silent_ends_alone() {
    let mut group = Group::of(2);
    for _ in 0..3 {
        group.lead.now += Duration::from_secs(20);
        let nop = group.lead.nop(b"");
        group.send(A, nop);
        group.heard(A);
        group.lead.connection.handle_timeout(group.lead.now);
        group.heard(B);
    }
    assert_eq!(group.closed(), (B, CloseReason::NopTimeout));
    assert!(!group.lead.connection.is_closing(A));
    group.part(B);
    group.silence();
}

/// A driver that has not read has nobody to blame.
#[test]
fn silence_is_excused_while_nothing_is_read() {
    let mut group = Group::of(2);
    for _ in 0..5 {
        group.lead.now += Duration::from_secs(40);
        group.lead.connection.excuse(group.lead.now);
        group.lead.connection.handle_timeout(group.lead.now);
    }
    group.silence();
}

#[derive(Clone, Debug)]
enum Step {
    /// On which connection; what; how far from its turn.
    Send(usize, u8, u32),
    Complete(usize),
    Manage,
    Sleep,
    Part(usize),
    Join(u16),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => (any::<usize>(), 0..8_u8, prop_oneof![4 => Just(0), 1 => 0..20_u32])
            .prop_map(|(leg, what, off)| Step::Send(leg, what, off)),
        4 => any::<usize>().prop_map(Step::Complete),
        2 => Just(Step::Manage),
        1 => Just(Step::Sleep),
        1 => any::<usize>().prop_map(Step::Part),
        2 => (0..5_u16).prop_map(Step::Join),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Connections come and go amid anything: numbers stay in order on each, nothing is kept for those that have gone, and once the
    /// driver has ended what it had the whole window is free.
    #[test]
    fn any_sequence_of_comings_and_goings(steps in proptest::collection::vec(any_step(), 0..80)) {
        let mut group = Group::of(2);
        let mut legs = vec![A, B];
        let (mut commands, mut functions) = (Vec::new(), Vec::new());
        let mut logged_out = false;
        for step in steps {
            let some = |nth: usize| legs.get(nth % legs.len().max(1)).copied();
            match step {
                Step::Send(nth, what, off) => {
                    let Some(leg) = some(nth) else { continue };
                    let before = group.lead.cmd_sn;
                    group.lead.cmd_sn = before.wrapping_add(off);
                    match what {
                        0 | 1 => { let pdu = group.lead.command(); group.send(leg, pdu) }
                        2 => { let pdu = group.lead.write(100_000); group.send(leg, pdu) }
                        3 => { let pdu = group.lead.nop(b"?"); group.send(leg, pdu) }
                        4 => { let pdu = crate::pdu::initiator::NopOut { immediate: false, ..group.lead.nop(b"?") }; group.send(leg, pdu) }
                        5 => { let pdu = group.lead.management(5); group.send(leg, pdu) }
                        6 => { let pdu = group.lead.management(2); group.send(leg, pdu) }
                        _ => {
                            let cid = CID + u16::from(off as u8 % 3);
                            let pdu = crate::pdu::initiator::LogoutRequest { cid, ..group.lead.logout(1) };
                            group.send(leg, pdu);
                        }
                    }
                    // What came too early leaves a gap, which is filled later or never.
                    let taken = matches!(what, 0 | 1 | 2 | 4) && off == 0;
                    group.lead.cmd_sn = before.wrapping_add(u32::from(taken));
                }
                Step::Complete(nth) if !commands.is_empty() => {
                    let id = commands.swap_remove(nth % commands.len());
                    group.complete(id);
                }
                Step::Manage => if let Some(id) = functions.pop() { group.managed(id) },
                Step::Sleep if group.lead.connection.next_timeout().is_some() => { group.lead.sleep(); }
                Step::Part(nth) if legs.len() > 1 => {
                    let leg = legs.remove(nth % legs.len());
                    group.part(leg);
                }
                // As the driver does: nobody with the CID of one who is there, or while tasks of one who was go on.
                Step::Join(nth)
                    if legs.len() < 4
                        && group.lead.connection.leg_of(CID + nth).is_none()
                        && !group.lead.connection.is_ending()
                        && !group.lead.connection.has_orphans() =>
                {
                    legs.push(group.join(CID + nth).0);
                }
                _ => {}
            }
            for leg in &legs {
                group.heard(*leg);
            }
            while let Some(event) = group.lead.connection.poll_event() {
                match event {
                    Event::Execute(id, _) => commands.push(id),
                    Event::Manage(id, _) => functions.push(id),
                    Event::Close(leg, _) if legs.len() > 1 => {
                        legs.retain(|it| *it != leg);
                        group.part(leg);
                    }
                    Event::Close(..) => logged_out = true,
                    Event::Bind(_) => prop_assert!(false, "bound already"),
                }
            }
            if logged_out {
                return Ok(());
            }
        }
        commands.into_iter().for_each(|id| group.complete(id));
        functions.into_iter().for_each(|id| group.managed(id));
        // The last connection may have waited for these to log out.
        if group.lead.connection.is_ending() {
            return Ok(());
        }
        prop_assert!(!group.lead.connection.has_orphans());
        // Alone and without tasks: nothing is held.
        let (last, others) = legs.split_last().expect("the last stays");
        others.iter().for_each(|leg| group.part(*leg));
        group.part(*last);
        prop_assert_eq!(group.lead.connection.gathered(), 0);
        prop_assert!(!group.lead.connection.has_orphans());
        let (_, _, numbers) = group.join(CID + 9);
        prop_assert_eq!(numbers.max_cmd_sn.0.wrapping_sub(numbers.exp_cmd_sn.0).wrapping_add(1), 16);
    }
}

/// RFC 7143 §7.1.4.3, §11.9.1: what the initiator may not have noticed it hears on another connection.
#[test]
fn another_connection_tells_of_the_loss() {
    let mut group = Group::of(3);
    group.lead.connection.announce_loss(B);
    group.part(B);
    match group.only(A) {
        TargetPdu::AsyncMessage(message) => {
            assert_eq!((message.event, message.parameters), (2, [CID + 1, 2, 20]));
        }
        other => panic!("expected an Asynchronous Message, not {other:?}"),
    }
    group.silence();
    // Not on one that is about to go itself.
    group.lead.connection.drop_leg(A);
    assert_eq!(group.closed(), (A, CloseReason::Driver));
    assert!(matches!(group.only(A), TargetPdu::AsyncMessage(it) if it.parameters == [CID, 2, 20]));
    group.lead.connection.announce_loss(A);
    group.part(A);
    assert!(matches!(group.only(Leg(2)), TargetPdu::AsyncMessage(it) if it.parameters == [CID, 2, 20]));
    // Nobody is left who could hear.
    group.lead.connection.announce_loss(Leg(2));
    group.silence();
}
