//! Writes of every shape.

use super::bench::{Initiator, TARGET, answer, config, good, is_good, pattern, unsolicited};
use crate::pdu::fields::RESERVED_TAG;
use crate::pdu::initiator::{DataOut, NopOut, ScsiCommand};
use crate::pdu::target::{ReadyToTransfer, Residual, TargetPdu};
use crate::scsi::command::Command;
use crate::session::connection::{Ask, ConnectionConfig};
use crate::session::event::{Event, Leg};
use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use std::collections::{HashMap, VecDeque};

const PLAIN: &str = "InitialR2T=Yes ImmediateData=No MaxBurstLength=4096 FirstBurstLength=4096";

#[test]
fn immediate() {
    let mut initiator = Initiator::new();
    let data = pattern(4096);
    let write = ScsiCommand { immediate_data: data.clone().into(), ..initiator.write(4096) };
    initiator.send(write);
    let (id, command) = initiator.execute();
    assert_eq!(command.data_out.to_bytes(), data);
    assert_eq!(command.data_in_room, 0);
    initiator.silence();
    initiator.complete(id, good(vec![], 4096));
    assert!(is_good(&initiator.response()));
}

#[test]
fn of_nothing() {
    let mut initiator = Initiator::new();
    let write = initiator.write(0);
    initiator.send(write);
    let (id, command) = initiator.execute();
    assert!(command.data_out.is_empty());
    initiator.complete(id, good(vec![], 512));
    assert_eq!(initiator.response().residual, Residual::Overflow(512));
}

#[test]
fn solicited_burst_by_burst() {
    let mut initiator = Initiator::with(config(), &format!("{PLAIN} MaxOutstandingR2T=2"));
    let data = pattern(10_000);
    let write = initiator.write(10_000);
    initiator.send(write.clone());
    let [TargetPdu::ReadyToTransfer(first), TargetPdu::ReadyToTransfer(second)] = &initiator.heard()[..]
    else {
        panic!("expected two R2Ts")
    };
    assert_eq!((first.r2t_sn, first.buffer_offset, first.desired_length), (0, 0, 4096));
    assert_eq!((second.r2t_sn, second.buffer_offset, second.desired_length), (1, 4096, 4096));
    assert_eq!((first.lun, first.initiator_task_tag), (write.lun, write.initiator_task_tag));
    assert_ne!(first.target_transfer_tag, second.target_transfer_tag);
    initiator.send(answer(first, &data));
    let third = initiator.r2t();
    assert_eq!((third.r2t_sn, third.buffer_offset, third.desired_length), (2, 8192, 1808));
    initiator.send(answer(second, &data));
    initiator.silence();
    initiator.send(answer(&third, &data));
    assert_eq!(initiator.execute().1.data_out.to_bytes(), data);
}

#[test]
fn unsolicited_then_solicited() {
    let keys = "InitialR2T=No ImmediateData=Yes FirstBurstLength=4096 MaxBurstLength=65536";
    let mut initiator = Initiator::with(config(), keys);
    let data = pattern(10_000);
    let write = ScsiCommand {
        is_final: false,
        immediate_data: Bytes::copy_from_slice(&data[..1000]),
        ..initiator.write(10_000)
    };
    initiator.send(write.clone());
    initiator.silence();
    initiator.send(unsolicited(&write, 1000, &data[1000..2000], false));
    initiator.send(DataOut { data_sn: 1, ..unsolicited(&write, 2000, &data[2000..4096], true) });
    let r2t = initiator.r2t();
    assert_eq!((r2t.r2t_sn, r2t.buffer_offset, r2t.desired_length), (0, 4096, 5904));
    initiator.send(answer(&r2t, &data));
    assert_eq!(initiator.execute().1.data_out.to_bytes(), data);
}

#[test]
fn no_more_is_asked_for_than_a_command_may_bring() {
    let config = ConnectionConfig { max_command_bytes: 8192, ..config() };
    let mut initiator = Initiator::with(config, "InitialR2T=Yes ImmediateData=No MaxBurstLength=65536");
    let write = initiator.write(u32::MAX);
    initiator.send(write);
    let r2t = initiator.r2t();
    assert_eq!(r2t.desired_length, 8192);
    initiator.send(answer(&r2t, &pattern(8192)));
    let (id, command) = initiator.execute();
    assert_eq!(command.data_out.len(), 8192);
    initiator.complete(id, good(vec![], 8192));
    assert_eq!(initiator.response().residual, Residual::Underflow(u32::MAX - 8192));
}

#[test]
fn the_budget_is_shared_out_in_order() {
    let config = ConnectionConfig { data_out_budget: 10_000, ..config() };
    let mut initiator = Initiator::with(config, &format!("{PLAIN} MaxOutstandingR2T=8"));
    let data = pattern(12_288);
    let writes = [initiator.write(12_288), initiator.write(4096), initiator.write(4096)];
    initiator.send(writes[0].clone());
    let mut first: VecDeque<ReadyToTransfer> = r2ts(&mut initiator);
    assert_eq!(first.len(), 2, "a third would exceed the budget");
    initiator.send(writes[1].clone());
    initiator.send(writes[2].clone());
    initiator.silence();
    initiator.send(answer(&first.pop_front().expect("an R2T"), &data));
    initiator.silence();
    // Nothing is on its way any more, so the oldest goes on although the budget is used up.
    initiator.send(answer(&first.pop_front().expect("an R2T"), &data));
    let last = initiator.r2t();
    assert_eq!((last.initiator_task_tag, last.buffer_offset), (writes[0].initiator_task_tag, 8192));
    initiator.send(answer(&last, &data));
    assert_eq!(initiator.execute().1.data_out.len(), 12_288);
    // Its share has come back.
    let others: Vec<_> = r2ts(&mut initiator).iter().map(|r2t| r2t.initiator_task_tag).collect();
    assert_eq!(others, [writes[1].initiator_task_tag, writes[2].initiator_task_tag]);
}

#[test]
fn an_aborted_command_gives_its_share_back() {
    let config = ConnectionConfig { data_out_budget: 4096, ..config() };
    let mut initiator = Initiator::with(config, PLAIN);
    let (first, second) = (initiator.write(4096), initiator.write(4096));
    initiator.send(first.clone());
    initiator.r2t();
    initiator.send(second.clone());
    initiator.silence();
    let abort = initiator.abort(&first);
    initiator.send(abort);
    let heard = initiator.heard();
    assert!(
        matches!(&heard[..], [TargetPdu::ReadyToTransfer(r2t), TargetPdu::TaskManagement(done)]
            if r2t.initiator_task_tag == second.initiator_task_tag && done.response == 0),
        "{heard:?}"
    );
}

/// A connection whose R2Ts the driver allows, with two writes of three bursts begun.
fn rationed() -> (Initiator, [ScsiCommand; 2]) {
    let mut initiator = Initiator::connected(config());
    initiator.connection.ration();
    initiator.log_in(&format!("InitiatorName=iqn.x:y TargetName={TARGET} {PLAIN} MaxOutstandingR2T=2"));
    let writes = [initiator.write(12_288), initiator.write(12_288)];
    writes.iter().for_each(|write| initiator.send(write.clone()));
    initiator.silence();
    (initiator, writes)
}

fn r2t_sns(initiator: &mut Initiator) -> Vec<(u32, u32)> {
    r2ts(initiator).iter().map(|r2t| (r2t.initiator_task_tag, r2t.r2t_sn)).collect()
}

#[test]
fn nothing_is_asked_for_before_the_driver_allows_it() {
    let (mut initiator, [first, second]) = rationed();
    let [first, second] = [first.initiator_task_tag, second.initiator_task_tag];
    let mut asked = Vec::new();
    initiator.connection.solicit(&mut |ask| {
        asked.push((ask.bytes, ask.is_idle));
        false
    });
    assert_eq!(asked, [(4096, false), (4096, true)], "none is outstanding");
    assert!(initiator.connection.is_solicitation_due());
    assert_eq!((initiator.connection.solicited(), initiator.heard().len()), (0, 0));
    // Three bursts, as far as R2Ts may be outstanding for a command.
    let mut left = 3;
    let mut allow = |ask: Ask| {
        left -= i32::from(!ask.is_idle);
        left >= 0 && !ask.is_idle
    };
    initiator.connection.solicit(&mut allow);
    assert_eq!(r2t_sns(&mut initiator), [(first, 0), (first, 1), (second, 0)]);
    assert_eq!(initiator.connection.solicited(), 3 * 4096);
    assert!(initiator.connection.is_solicitation_due(), "one more was not allowed");
    initiator.connection.solicit(&mut |_| true);
    assert_eq!(r2t_sns(&mut initiator), [(second, 1)]);
    assert!(!initiator.connection.is_solicitation_due(), "as many are outstanding as may be");
}

#[test]
fn one_burst_at_a_time_completes_the_oldest_first() {
    let (mut initiator, [first, second]) = rationed();
    let data = pattern(12_288);
    let mut got = Vec::new();
    for nth in 0..6 {
        assert!(initiator.connection.is_solicitation_due(), "{nth}");
        initiator.connection.solicit(&mut |ask| ask.is_idle);
        let r2t = initiator.r2t();
        // While it is outstanding there is no other reason to ask.
        initiator.connection.solicit(&mut |ask| ask.is_idle);
        initiator.silence();
        got.push((r2t.initiator_task_tag, r2t.r2t_sn));
        initiator.send(answer(&r2t, &data));
        if nth % 3 == 2 {
            let (id, command) = initiator.execute();
            assert_eq!(command.data_out.len(), 12_288);
            assert_eq!(initiator.connection.solicited(), 0, "given back");
            initiator.complete(id, good(vec![], 12_288));
            assert!(is_good(&initiator.response()));
        }
    }
    let tags = [first.initiator_task_tag, second.initiator_task_tag];
    assert_eq!(got, tags.into_iter().flat_map(|tag| (0..3).map(move |sn| (tag, sn))).collect::<Vec<_>>());
    assert!(!initiator.connection.is_solicitation_due());
}

#[test]
fn an_aborted_command_that_was_held_back_is_not_asked_for() {
    let (mut initiator, [first, second]) = rationed();
    let abort = initiator.abort(&first);
    initiator.send(abort);
    initiator.heard();
    initiator.connection.solicit(&mut |ask| ask.is_idle);
    assert_eq!(r2t_sns(&mut initiator), [(second.initiator_task_tag, 0)]);
    let abort = initiator.abort(&second);
    initiator.send(abort);
    initiator.heard();
    assert_eq!(initiator.connection.solicited(), 0);
    initiator.connection.solicit(&mut |_| true);
    initiator.silence();
    assert!(!initiator.connection.is_solicitation_due());
}

/// Sends a write of 1 MiB in pieces of 4 KiB, with so much that is thrown away before each; gives what there is to run, the bytes that
/// came, and their buffers.
fn sparse_write(junk: usize) -> (Command, usize, Vec<BytesMut>) {
    let mut initiator = Initiator::with(config(), "InitialR2T=Yes ImmediateData=No MaxBurstLength=1048576");
    let data = pattern(1 << 20);
    let write = initiator.write(1 << 20);
    initiator.send(write);
    let r2t = initiator.r2t();
    let mut pdus = VecDeque::new();
    cut(&answer(&r2t, &data), &data, 4096, &mut pdus);
    let (mut inputs, mut came) = (Vec::new(), 0);
    for pdu in pdus {
        let junk = NopOut { initiator_task_tag: RESERVED_TAG, ..initiator.nop(&vec![0; junk]) };
        let mut input = initiator.bytes(junk);
        input.extend_from_slice(&initiator.bytes(pdu));
        came += input.len();
        initiator.connection.receive(Leg::FIRST, initiator.now, &mut input);
        inputs.push(input);
    }
    let (_, command) = initiator.execute();
    assert_eq!(command.data_out.to_bytes(), data);
    (command, came, inputs)
}

#[test]
fn what_data_keeps_of_its_receive_buffers_is_counted() {
    let (command, came, _inputs) = sparse_write(8000);
    assert!(command.data_out.pieces().iter().all(|piece| !piece.is_unique()), "nothing is copied");
    // What came with the login is in the first of them.
    let held = command.data_out.len() + command.data_out_beyond as usize;
    assert!((came..came + 4096).contains(&held), "{held} of {came}");
}

/// Pieces of data between much that is thrown away must not keep all of it.
#[test]
fn sparse_data_does_not_hold_its_receive_buffers() {
    let (command, _, _inputs) = sparse_write(200_000);
    // A piece that is a part of a receive buffer shares it with the rest of that.
    let shared = command.data_out.pieces().iter().filter(|piece| !piece.is_unique()).count();
    assert!(shared <= 4, "{shared} buffers are kept alive");
}

fn r2ts(initiator: &mut Initiator) -> VecDeque<ReadyToTransfer> {
    let heard = initiator.heard();
    heard
        .into_iter()
        .map(|pdu| match pdu {
            TargetPdu::ReadyToTransfer(r2t) => r2t,
            other => panic!("expected an R2T, not {other:?}"),
        })
        .collect()
}

/// What is agreed on, and how the initiator makes use of it.
#[derive(Clone, Debug)]
struct Shape {
    initial_r2t: bool,
    immediate_data: bool,
    digests: bool,
    first_burst: u32,
    max_burst: u32,
    max_outstanding: u16,
    segment: u32,
    budget: usize,
}

fn any_shape() -> impl Strategy<Value = Shape> {
    (
        any::<(bool, bool, bool)>(),
        512..20_000_u32,
        512..40_000_u32,
        1..5_u16,
        512..9000_u32,
        prop_oneof![Just(0_usize), 1000..100_000_usize],
    )
        .prop_map(|(switches, first, max_burst, max_outstanding, segment, budget)| Shape {
            initial_r2t: switches.0,
            immediate_data: switches.1,
            digests: switches.2,
            first_burst: first.min(max_burst),
            max_burst,
            max_outstanding,
            segment,
            budget,
        })
}

/// How one write is sent.
#[derive(Clone, Debug)]
struct Plan {
    length: u32,
    immediate: u32,
    unsolicited: bool,
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let length = prop_oneof![Just(0_u32), 1..100_u32, 1..60_000_u32];
    (length, prop_oneof![Just(0_u32), 0..20_000_u32], any::<bool>())
        .prop_map(|(length, immediate, unsolicited)| Plan { length, immediate, unsolicited })
}

fn log_in(shape: &Shape, rationed: bool) -> Initiator {
    let yes_no = |yes: bool| if yes { "Yes" } else { "No" };
    let digest = if shape.digests { "CRC32C" } else { "None" };
    let keys = format!(
        "InitialR2T={} ImmediateData={} FirstBurstLength={} MaxBurstLength={} MaxOutstandingR2T={} HeaderDigest={digest} DataDigest={digest}",
        yes_no(shape.initial_r2t),
        yes_no(shape.immediate_data),
        shape.first_burst,
        shape.max_burst,
        shape.max_outstanding,
    );
    let mut config = ConnectionConfig { data_out_budget: shape.budget, command_window: 64, ..config() };
    config.offer.max_recv_data_segment_length = shape.segment;
    let mut initiator = Initiator::connected(config);
    if rationed {
        initiator.connection.ration();
    }
    initiator.log_in(&format!("InitiatorName=iqn.x:y TargetName={TARGET} {keys}"));
    initiator
}

/// Cuts `data` from `offset` on into the PDUs of one sequence.
fn cut(template: &DataOut, data: &[u8], segment: u32, out: &mut VecDeque<DataOut>) {
    let pieces: Vec<_> = data.chunks(segment as usize).collect();
    let mut offset = template.buffer_offset;
    for (at, piece) in pieces.iter().enumerate() {
        out.push_back(DataOut {
            is_final: at + 1 == pieces.len(),
            data_sn: at as u32,
            buffer_offset: offset,
            data: Bytes::copy_from_slice(piece),
            ..template.clone()
        });
        offset += piece.len() as u32;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Several writes at a time, their PDUs mixed: each command gets exactly its data, and the target keeps its promises.
    #[test]
    fn any_data_arrives_as_it_was_sent(
        shape in any_shape(),
        plans in proptest::collection::vec(any_plan(), 1..8),
        mut dice in proptest::collection::vec(any::<u8>(), 64),
    ) {
        let rationed = dice[0] % 2 == 0;
        let mut initiator = log_in(&shape, rationed);
        let all = pattern(60_000 + 16);
        let mut data = HashMap::new();
        let mut streams: Vec<VecDeque<DataOut>> = Vec::new();
        let mut places = HashMap::new();
        for (at, plan) in plans.iter().enumerate() {
            let bytes = &all[at..at + plan.length as usize];
            let first = plan.length.min(shape.first_burst);
            let immediate = match shape.immediate_data {
                true => plan.immediate.min(first).min(shape.segment),
                false => 0,
            };
            let unsolicited_too = plan.unsolicited && !shape.initial_r2t && immediate < first;
            let write = ScsiCommand {
                is_final: !unsolicited_too,
                immediate_data: Bytes::copy_from_slice(&bytes[..immediate as usize]),
                ..initiator.write(plan.length)
            };
            let mut stream = VecDeque::new();
            if unsolicited_too {
                let template = unsolicited(&write, immediate, &[], true);
                cut(&template, &bytes[immediate as usize..first as usize], shape.segment, &mut stream);
            }
            data.insert(write.initiator_task_tag, bytes);
            places.insert(write.initiator_task_tag, at);
            streams.push(stream);
            initiator.send(write);
        }
        let mut outstanding: HashMap<u32, (u32, u32)> = HashMap::new();
        let mut done = 0;
        for turn in 0.. {
            // Some of what it wants, and always what it needs.
            let lot = dice[1];
            initiator.connection.solicit(&mut |ask| ask.is_idle || !rationed || ask.bytes as u8 % 4 == lot % 4);
            for r2t in r2ts(&mut initiator) {
                let tag = r2t.initiator_task_tag;
                prop_assert!(r2t.desired_length > 0 && r2t.desired_length <= shape.max_burst);
                let (count, sn) = outstanding.entry(tag).or_default();
                prop_assert_eq!(r2t.r2t_sn, *sn);
                *sn += 1;
                *count += 1;
                prop_assert!(*count <= u32::from(shape.max_outstanding));
                let template = answer(&r2t, data[&tag]);
                let bytes = template.data.clone();
                cut(&template, &bytes, shape.segment, &mut streams[places[&tag]]);
            }
            while let Some(event) = initiator.connection.poll_event() {
                let Event::Execute(_, command) = event else { panic!("{event:?}") };
                prop_assert_eq!(command.data_out.to_bytes(), data[&command.tag.0]);
                done += 1;
            }
            if streams.iter().all(VecDeque::is_empty) {
                break;
            }
            dice.rotate_left(1);
            let busy: Vec<_> = (0..streams.len()).filter(|at| !streams[*at].is_empty()).collect();
            let stream = &mut streams[busy[(usize::from(dice[0]) + turn) % busy.len()]];
            let pdu = stream.pop_front().expect("a PDU");
            if pdu.is_final && let Some((count, _)) = outstanding.get_mut(&pdu.initiator_task_tag)
                && pdu.target_transfer_tag != RESERVED_TAG
            {
                *count -= 1;
            }
            initiator.send(pdu);
        }
        prop_assert_eq!(done, plans.len());
    }
}
