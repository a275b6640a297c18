//! PERSISTENT RESERVE IN and OUT in what the model does not go into: lengths, malformed lists, bounds, tasks that are aborted, and what is
//! under way at the same time.

use super::asc;
use super::command::{Command, DeviceServer, Nexus, Outcome, TaskTag};
use super::persistent_memory_tests::with_memory;
use super::sense::{SenseKey, SenseSpecific, Status};
use super::transport_id::encode;
use crate::lun::reservations::registrant::InitiatorPort;
use crate::lun::reservations::state::MOST_REGISTRATIONS;
use crate::testing::{Bench, RamDevice, config, finish, nexus, poll, sense_of};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

const READ: [u8; 10] = [0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0];
const WRITE: [u8; 10] = [0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0];
pub(super) const EXCLUSIVE: u8 = 3;

/// CDB and basic parameter list of PERSISTENT RESERVE OUT.
pub(super) fn out(action: u8, kind: u8, key: u64, second_key: u64, flags: u8) -> ([u8; 10], Vec<u8>) {
    let mut list = [key.to_be_bytes(), second_key.to_be_bytes()].concat();
    list.extend_from_slice(&[0, 0, 0, 0, flags, 0, 0, 0]);
    (cdb(action, kind, list.len()), list)
}

fn cdb(action: u8, kind: u8, length: usize) -> [u8; 10] {
    let [a, b, c, d] = (length as u32).to_be_bytes();
    [0x5f, action, kind, 0, 0, a, b, c, d, 0]
}

pub(super) fn run(bench: &Bench, nexus: &Arc<Nexus>, (cdb, list): ([u8; 10], Vec<u8>)) -> Status {
    bench.run_as(nexus, &cdb, &list).status
}

fn command((cdb, list): ([u8; 10], Vec<u8>), tag: u32) -> Command {
    Command { tag: TaskTag(tag), ..Bench::command(&cdb, &list) }
}

/// Nexus 1 is registered with key 1, nexus 2 with key 2.
fn two() -> (Bench, Arc<Nexus>) {
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    assert_eq!(run(&bench, &bench.nexus, out(0, 0, 0, 1, 0)), Status::Good);
    assert_eq!(run(&bench, &other, out(0, 0, 0, 2, 0)), Status::Good);
    (bench, other)
}

#[test]
fn answers_are_cut_to_the_allocation_length_and_tell_their_whole_length() {
    let (bench, _) = two();
    assert_eq!(
        bench.good(&[0x5e, 0, 0, 0, 0, 0, 0, 0, 12, 0], &[])[..],
        [0, 0, 0, 2, 0, 0, 0, 16, 0, 0, 0, 0]
    );
    assert_eq!(bench.good(&[0x5e, 1, 0, 0, 0, 0, 0, 0, 255, 0], &[])[..], [0, 0, 0, 2, 0, 0, 0, 0]);
    assert_eq!(bench.good(&[0x5e, 2, 0, 0, 0, 0, 0, 0, 255, 0], &[])[..], [0, 8, 0x1c, 0x90, 0xea, 1, 0, 0]);
    assert!(bench.good(&[0x5e, 3, 0, 0, 0, 0, 0, 0, 0, 0], &[]).is_empty());
    for action in 4..32 {
        for opcode in [0x5e, 0x5f].into_iter().filter(|opcode| *opcode == 0x5e || action > 7) {
            let response = bench.fails(
                &[opcode, action, 0, 0, 0, 0, 0, 0, 0, 0],
                &[],
                SenseKey::IllegalRequest,
                asc::INVALID_FIELD_IN_CDB,
            );
            assert_eq!(response.sense[15..18], [0xcc, 0, 1], "REPLACE LOST RESERVATION is one of them");
        }
    }
}

#[test]
fn parameter_lists_have_the_right_length() {
    let bench = Bench::new();
    for action in 0..8 {
        for length in [0, 8, 23] {
            let response = bench.run(&cdb(action, 1, length), &vec![0; length]);
            let told = Some((SenseKey::IllegalRequest, asc::PARAMETER_LIST_LENGTH_ERROR));
            assert_eq!(sense_of(&response), told, "service action {action}, {length} bytes");
        }
        // The initiator sends less than it says.
        let response = bench.run(&cdb(action, 1, 24), &[0; 20]);
        assert_eq!(sense_of(&response).unwrap().1, asc::PARAMETER_LIST_LENGTH_ERROR);
    }
    for action in 0..7 {
        let response = bench.run(&cdb(action, 1, 28), &[0; 28]);
        assert_eq!(sense_of(&response).unwrap().1, asc::PARAMETER_LIST_LENGTH_ERROR);
    }
    assert_eq!(bench.unit.reservations().state().registrations().len(), 0);
}

/// Where the sense data points in the parameter list.
fn points_at(bench: &Bench, (cdb, list): ([u8; 10], Vec<u8>)) -> u16 {
    let response = bench.run(&cdb, &list);
    assert_eq!(sense_of(&response), Some((SenseKey::IllegalRequest, asc::INVALID_FIELD_IN_PARAMETER_LIST)));
    match response.sense_value.unwrap().specific {
        Some(SenseSpecific::Field { in_cdb: false, byte, .. }) => byte,
        other => panic!("{other:?}"),
    }
}

/// REGISTER with SPEC_I_PT and this list of TransportIDs, which says that it has `told` bytes.
fn register_others(ids: &[u8], told: usize) -> ([u8; 10], Vec<u8>) {
    let (_, mut list) = out(0, 0, 0, 7, 0x08);
    list.extend_from_slice(&(told as u32).to_be_bytes());
    list.extend_from_slice(ids);
    (cdb(0, 0, list.len()), list)
}

#[test]
fn transport_ids_that_are_not_right_register_nobody() {
    let bench = Bench::new();
    let good = encode(&InitiatorPort::new("iqn.2026-12.io.example:x", [1; 6]));
    for told in [0, good.len() - 4, good.len() + 4] {
        let (cdb, list) = register_others(&good, told);
        assert_eq!(sense_of(&bench.run(&cdb, &list)).unwrap().1, asc::PARAMETER_LIST_LENGTH_ERROR);
    }
    // Room for half of the length field.
    let (_, list) = register_others(&[], 0);
    let response = bench.run(&cdb(0, 0, 26), &list[..26]);
    assert_eq!(sense_of(&response).unwrap().1, asc::PARAMETER_LIST_LENGTH_ERROR);

    let second = [good.clone(), vec![0x46; 24]].concat();
    assert_eq!(points_at(&bench, register_others(&second, second.len())), 28 + good.len() as u16);
    let mut unknown = encode(&InitiatorPort::new("iqn.2026-12.io.example:nobody", [1; 6]));
    unknown[0] = 0x05;
    let end = unknown.iter().position(|byte| *byte == b',').unwrap();
    unknown[end..].fill(0);
    assert_eq!(points_at(&bench, register_others(&unknown, unknown.len())), 28);
    // Service actions that know no SPEC_I_PT.
    for action in 1..7 {
        assert_eq!(points_at(&bench, out(action, 1, 0, 7, 0x08)), 20);
    }
    assert_eq!(points_at(&bench, out(0, 0, 0, 7, 0x01)), 20, "APTPL without a memory");
    assert_eq!(bench.unit.reservations().state().registrations().len(), 0);

    // A name alone stands for all ports that are there.
    let mut other = Arc::into_inner(nexus(2)).unwrap();
    other.initiator_name = "iqn.2026-12.io.example:NOBODY".into();
    bench.login(&Arc::new(other));
    assert_eq!(run(&bench, &bench.nexus, register_others(&unknown, unknown.len())), Status::Good);
    let state = bench.unit.reservations().state();
    let names: Vec<_> =
        state.registrations().map(|(who, key)| (who.initiator.name.to_string(), key)).collect();
    let expected = ["iqn.2026-12.io.example:initiator1", "iqn.2026-12.io.example:nobody"];
    assert_eq!(names, expected.map(|name| (name.to_owned(), 7)));
}

#[test]
fn register_and_move_points_at_what_is_wrong() {
    let (bench, other) = two();
    assert_eq!(run(&bench, &bench.nexus, out(1, 1, 1, 0, 0)), Status::Good);
    let to = |port: u16, id: &[u8], told: usize| {
        let mut list = [1_u64.to_be_bytes(), 9_u64.to_be_bytes()].concat();
        list.extend_from_slice(&[0, 0]);
        list.extend_from_slice(&port.to_be_bytes());
        list.extend_from_slice(&(told as u32).to_be_bytes());
        list.extend_from_slice(id);
        (cdb(7, 0, list.len()), list)
    };
    let id = encode(&InitiatorPort::new(&other.initiator_name, other.isid));
    assert_eq!(points_at(&bench, to(2, &id, id.len())), 18, "no such target port");
    assert_eq!(points_at(&bench, to(1, &[], 0)), 24, "no TransportID");
    let twice = [id.clone(), id.clone()].concat();
    assert_eq!(points_at(&bench, to(1, &twice, twice.len())), 24, "one too many");
    let (cdb, list) = to(1, &id, id.len() - 4);
    assert_eq!(sense_of(&bench.run(&cdb, &list)).unwrap().1, asc::PARAMETER_LIST_LENGTH_ERROR);
    assert_eq!(run(&bench, &bench.nexus, to(1, &id, id.len())), Status::Good);
    assert_eq!(bench.good(&[0x5e, 1, 0, 0, 0, 0, 0, 0, 24, 0], &[])[15], 9);
}

#[test]
fn registrations_are_bounded() {
    let bench = Bench::new();
    let ids = |count: usize| {
        let ids = (0..count).flat_map(|n| {
            let [.., a, b] = (n as u32).to_be_bytes();
            encode(&InitiatorPort::new("iqn.2026-12.io.example:many", [0, 0, 0, 1, a, b]))
        });
        ids.collect::<Vec<u8>>()
    };
    for count in [MOST_REGISTRATIONS, MOST_REGISTRATIONS + 1, 4 * MOST_REGISTRATIONS] {
        let ids = ids(count);
        let (cdb, list) = register_others(&ids, ids.len());
        bench.fails(&cdb, &list, SenseKey::IllegalRequest, asc::INSUFFICIENT_REGISTRATION_RESOURCES);
        assert_eq!(bench.unit.reservations().state().registrations().len(), 0, "all or none");
    }
    let most = ids(MOST_REGISTRATIONS - 1);
    assert_eq!(run(&bench, &bench.nexus, register_others(&most, most.len())), Status::Good);
    let other = nexus(2);
    bench.login(&other);
    let (cdb, list) = out(6, 0, 0, 2, 0);
    let response = bench.run_as(&other, &cdb, &list);
    assert_eq!(sense_of(&response).unwrap().1, asc::INSUFFICIENT_REGISTRATION_RESOURCES);
    // Who is registered may go on all the same.
    assert_eq!(run(&bench, &bench.nexus, out(0, 0, 7, 8, 0)), Status::Good);
    assert_eq!(run(&bench, &bench.nexus, out(0, 0, 8, 0, 0)), Status::Good);
    assert_eq!(run(&bench, &other, out(6, 0, 0, 2, 0)), Status::Good);
    let all = bench.good(&[0x5e, 3, 0, 0, 0, 0, 0, 0xff, 0xff, 0], &[]);
    assert_eq!(all.len(), 0xffff);
}

#[test]
fn preempt_and_abort_ends_what_the_preempted_have_under_way() {
    for tas in [true, false] {
        let (bench, other) = two();
        let mut values = bench.unit.modes().get();
        values.tas = tas;
        bench.unit.modes().set(values);
        assert_eq!(run(&bench, &other, out(1, EXCLUSIVE, 2, 0, 0)), Status::Good);
        bench.device().hold(true);
        let write = Bench::command(&WRITE, &[7; 512]);
        let mut theirs = pin!(bench.target.execute(&other, write));
        assert!(poll(theirs.as_mut()).is_pending());
        let mut preempt = pin!(bench.target.execute(&bench.nexus, command(out(5, EXCLUSIVE, 1, 2, 0), 5)));
        assert!(poll(preempt.as_mut()).is_pending(), "their write is still with the device");
        // Its effect on what comes later is there already.
        assert_eq!(bench.run_as(&other, &READ, &[]).status, Status::ReservationConflict);
        bench.device().hold(false);
        match finish(theirs) {
            Outcome::Done(response) => assert!(tas && response.status == Status::TaskAborted),
            Outcome::Aborted => assert!(!tas),
        }
        match poll(preempt.as_mut()) {
            Poll::Ready(Outcome::Done(response)) => assert_eq!(response.status, Status::Good),
            other => panic!("{other:?}"),
        }
        let told: Vec<_> = std::iter::from_fn(|| bench.unit.attentions().take(other.id, |_| true)).collect();
        match tas {
            true => assert_eq!(told, [asc::REGISTRATIONS_PREEMPTED]),
            false => {
                assert_eq!(told, [asc::REGISTRATIONS_PREEMPTED, asc::COMMANDS_CLEARED_BY_ANOTHER_INITIATOR])
            }
        }
        assert!(bench.unit.tasks().is_empty());
    }
}

/// SPC-5 6.14: one who is gone for good cannot allow the removal again.
#[test]
fn preempt_and_abort_ends_what_the_preempted_prevent() {
    for (action, ejected) in [(4, Status::CheckCondition), (5, Status::Good)] {
        let mut config = config(512);
        config.removable = true;
        let bench = Bench::with(config, RamDevice::new(1 << 20));
        let other = nexus(2);
        bench.login(&other);
        assert_eq!(run(&bench, &bench.nexus, out(0, 0, 0, 1, 0)), Status::Good);
        assert_eq!(run(&bench, &other, out(0, 0, 0, 2, 0)), Status::Good);
        assert_eq!(bench.run_as(&other, &[0x1e, 0, 0, 0, 1, 0], &[]).status, Status::Good);
        assert_eq!(run(&bench, &bench.nexus, out(action, 0, 1, 2, 0)), Status::Good);
        assert_eq!(bench.run(&[0x1b, 0, 0, 0, 2, 0], &[]).status, ejected);
    }
}

#[test]
fn preempt_lets_what_is_under_way_come_to_its_end() {
    let (bench, other) = two();
    bench.device().hold(true);
    let mut theirs = pin!(bench.target.execute(&other, Bench::command(&WRITE, &[7; 512])));
    assert!(poll(theirs.as_mut()).is_pending());
    assert_eq!(run(&bench, &bench.nexus, out(4, 0, 1, 2, 0)), Status::Good);
    bench.device().hold(false);
    assert!(matches!(finish(theirs), Outcome::Done(response) if response.status == Status::Good));
}

#[test]
fn two_who_preempt_and_abort_each_other_do_not_wait_for_each_other() {
    let (bench, memory) = with_memory();
    let other = nexus(2);
    bench.login(&other);
    assert_eq!(run(&bench, &bench.nexus, out(0, 0, 0, 1, 1)), Status::Good);
    assert_eq!(run(&bench, &other, out(0, 0, 0, 2, 1)), Status::Good);
    bench.device().hold(true);
    let mut own_write = pin!(bench.target.execute(&bench.nexus, Bench::command(&WRITE, &[1; 512])));
    let mut their_write = pin!(bench.target.execute(&other, Bench::command(&WRITE, &[2; 512])));
    assert!(poll(own_write.as_mut()).is_pending() && poll(their_write.as_mut()).is_pending());
    memory.hold(true);
    let mut first = pin!(bench.target.execute(&bench.nexus, command(out(5, 0, 1, 2, 0), 5)));
    let mut second = pin!(bench.target.execute(&other, command(out(5, 0, 2, 1, 0), 5)));
    assert!(poll(first.as_mut()).is_pending() && poll(second.as_mut()).is_pending());
    memory.hold(false);
    assert!(poll(first.as_mut()).is_pending(), "their write and their command are still there");
    let status = |outcome| match outcome {
        Outcome::Done(response) => response.status,
        Outcome::Aborted => panic!("TAS is set"),
    };
    assert_eq!(status(finish(second)), Status::TaskAborted);
    bench.device().hold(false);
    assert_eq!(status(finish(their_write)), Status::TaskAborted);
    assert_eq!(status(finish(first)), Status::Good);
    assert_eq!(status(finish(own_write)), Status::Good);
}

#[test]
fn one_changes_the_state_after_the_other() {
    let (bench, memory) = with_memory();
    let other = nexus(2);
    bench.login(&other);
    memory.hold(true);
    let mut first = pin!(bench.target.execute(&bench.nexus, command(out(0, 0, 0, 1, 1), 5)));
    assert!(poll(first.as_mut()).is_pending(), "not told before it is kept");
    assert_eq!(bench.unit.reservations().state().registrations().len(), 0);
    let mut second = pin!(bench.target.execute(&other, command(out(0, 0, 0, 2, 1), 5)));
    let mut third = pin!(bench.target.execute(&other, command(out(1, EXCLUSIVE, 2, 0, 0), 6)));
    assert!(poll(second.as_mut()).is_pending() && poll(third.as_mut()).is_pending());
    // RESERVE cannot know yet whether it conflicts.
    assert_eq!(bench.run(&[0x16, 0, 0, 0, 0, 0], &[]).status, Status::Busy);
    // One that is given up while it waits, and one while it is being kept, leave the way free.
    {
        let mut waits = pin!(bench.target.execute(&bench.nexus, command(out(0, 0, 1, 3, 1), 7)));
        assert!(poll(waits.as_mut()).is_pending());
    }
    memory.hold(false);
    let good = |outcome| matches!(outcome, Outcome::Done(response) if response.status == Status::Good);
    assert!(good(finish(first)) && good(finish(second)) && good(finish(third)));
    let state = bench.unit.reservations().state();
    assert_eq!(state.registrations().map(|(_, key)| key).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(state.reservation_key(), 2);
    {
        memory.hold(true);
        let mut kept = pin!(bench.target.execute(&bench.nexus, command(out(0, 0, 1, 3, 1), 7)));
        assert!(poll(kept.as_mut()).is_pending());
    }
    memory.hold(false);
    assert_eq!(run(&bench, &bench.nexus, out(0, 0, 1, 4, 1)), Status::Good);
}

#[test]
fn what_an_abort_meets_waiting_has_no_effect() {
    let (bench, memory) = with_memory();
    memory.hold(true);
    let mut first = pin!(bench.target.execute(&bench.nexus, command(out(0, 0, 0, 1, 1), 5)));
    let mut second = pin!(bench.target.execute(&bench.nexus, command(out(0, 0, 1, 2, 1), 6)));
    assert!(poll(first.as_mut()).is_pending() && poll(second.as_mut()).is_pending());
    let lun = super::lun_address::LunAddress::from_number(0);
    let abort = super::command::TaskManagement::AbortTask { lun, tag: TaskTag(6) };
    let mut abort = pin!(bench.target.manage(&bench.nexus, abort));
    assert!(poll(abort.as_mut()).is_pending());
    memory.hold(false);
    assert!(matches!(finish(first), Outcome::Done(_)));
    assert!(matches!(finish(second), Outcome::Aborted));
    finish(abort);
    assert_eq!(
        bench.unit.reservations().state().registrations().map(|(_, key)| key).collect::<Vec<_>>(),
        [1]
    );
}

#[test]
fn a_reservation_does_not_stand_against_looking_after_the_unit() {
    let mut config = config(512);
    config.removable = true;
    let bench = Bench::with(config, RamDevice::new(1 << 20));
    let other = nexus(2);
    bench.login(&other);
    assert_eq!(run(&bench, &bench.nexus, out(0, 0, 0, 1, 0)), Status::Good);
    assert_eq!(run(&bench, &bench.nexus, out(1, EXCLUSIVE, 1, 0, 0)), Status::Good);
    let status = |cdb: &[u8]| bench.run_as(&other, cdb, &[]).status;
    for allowed in [
        &[0x00, 0, 0, 0, 0, 0][..],
        &[0x03, 0, 0, 0, 252, 0],
        &[0x12, 0, 0, 0, 96, 0],
        &[0x1b, 0, 0, 0, 0x01, 0],
        &[0x1e, 0, 0, 0, 0, 0],
        &[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0x5e, 0, 0, 0, 0, 0, 0, 0, 8, 0],
        &[0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0],
    ] {
        assert_eq!(status(allowed), Status::Good, "{allowed:02x?}");
    }
    for refused in [
        &[0x1b, 0, 0, 0, 0x00, 0][..],
        &[0x1b, 0, 0, 0, 0x02, 0],
        &[0x1b, 0, 0, 0, 0x11, 0],
        &[0x1e, 0, 0, 0, 1, 0],
        &[0x1a, 0, 0x3f, 0, 255, 0],
        &[0x16, 0, 0, 0, 0, 0],
        &[0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &READ,
        &WRITE,
    ] {
        assert_eq!(status(refused), Status::ReservationConflict, "{refused:02x?}");
    }
}
