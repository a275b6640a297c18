//! Data-In, status and residual counts.

use super::bench::{Initiator, answer, config, good, pattern};
use crate::payload::Payload;
use crate::pdu::initiator::ScsiCommand;
use crate::pdu::target::{DataIn, Residual, TargetPdu};
use crate::scsi::command::{Outcome, Response};
use crate::scsi::sense::{Asc, Sense, SenseKey, Status};
use crate::session::event::Leg;
use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use smallvec::smallvec;

#[test]
fn status_travels_with_the_data() {
    let mut initiator = Initiator::new();
    let read = initiator.read(512);
    initiator.send(read.clone());
    let (id, command) = initiator.execute();
    assert_eq!((command.data_in_room, command.tag.0, command.lun), (512, read.initiator_task_tag, read.lun));
    initiator.complete(id, good(pattern(512), 0));
    let TargetPdu::DataIn(data) = initiator.only() else { panic!("expected data") };
    assert!(data.is_final);
    assert_eq!(data.status.map(|it| (it.status, it.residual)), Some((0, Residual::None)));
    assert_eq!(data.data.to_bytes(), pattern(512));
    // Ended is ended.
    initiator.complete(id, good(pattern(512), 0));
    initiator.silence();
}

#[test]
fn data_with_an_error_is_followed_by_a_response() {
    let mut initiator = Initiator::new();
    let read = initiator.read(1024);
    initiator.send(read);
    let (id, _) = initiator.execute();
    let sense = smallvec![0x70, 0, 3, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x11, 0, 0, 0, 0, 0];
    let response = Response { status: Status::CheckCondition, sense: sense.clone(), ..good(pattern(512), 0) };
    initiator.complete(id, response);
    let heard = initiator.heard();
    let [TargetPdu::DataIn(data), TargetPdu::ScsiResponse(response)] = &heard[..] else {
        panic!("{heard:?}")
    };
    assert!(data.is_final && data.status.is_none());
    assert_eq!((response.status, response.residual), (2, Residual::Underflow(512)));
    assert_eq!((&response.sense, response.exp_data_sn), (&sense, 1));
}

#[test]
fn sense_without_a_format_takes_the_fixed_one() {
    let mut initiator = Initiator::new();
    let command = initiator.command();
    initiator.send(command);
    let (id, _) = initiator.execute();
    let sense = Sense::new(SenseKey::HardwareError, Asc(0x44, 0));
    let failed = Response { status: Status::CheckCondition, sense_value: Some(sense), ..good(vec![], 0) };
    initiator.complete(id, failed);
    let response = initiator.response();
    assert_eq!((response.sense[0], response.sense[2], response.sense[12]), (0x70, 4, 0x44));
}

#[test]
fn other_status_is_told_as_it_is() {
    for status in [Status::Busy, Status::ReservationConflict, Status::TaskSetFull, Status::ConditionMet] {
        let mut initiator = Initiator::new();
        let read = initiator.read(512);
        initiator.send(read);
        let (id, _) = initiator.execute();
        initiator.complete(id, Response { status, ..good(vec![], 0) });
        let response = initiator.response();
        assert_eq!((response.status, response.residual), (status as u8, Residual::Underflow(512)));
    }
}

#[test]
fn an_aborted_command_is_not_answered() {
    let mut initiator = Initiator::new();
    let read = initiator.read(512);
    initiator.send(read.clone());
    let (id, _) = initiator.execute();
    initiator.connection.complete(initiator.now, id, Outcome::Aborted);
    initiator.silence();
    // Its tag and its place are free.
    let again = ScsiCommand { initiator_task_tag: read.initiator_task_tag, ..initiator.read(512) };
    initiator.send(again);
    initiator.execute();
    let ping = initiator.nop(b"");
    initiator.send(ping);
    initiator.heard();
    assert_eq!(initiator.numbering.max_cmd_sn.0, initiator.cmd_sn.wrapping_add(14));
}

#[test]
fn residual_counts() {
    // R, W, expected, data-in, data-out wanted.
    let table = [
        ((true, false, 512, 512, 0), Residual::None),
        ((true, false, 512, 100, 0), Residual::Underflow(412)),
        ((true, false, 200, 512, 0), Residual::Overflow(312)),
        ((true, false, 0, 512, 0), Residual::Overflow(512)),
        ((true, false, 512, 0, 0), Residual::Underflow(512)),
        ((false, true, 512, 0, 512), Residual::None),
        ((false, true, 512, 0, 100), Residual::Underflow(412)),
        ((false, true, 512, 0, 1024), Residual::Overflow(512)),
        ((false, false, 0, 0, 0), Residual::None),
        ((false, false, 0, 96, 0), Residual::Overflow(96)),
        // Against the direction that was announced.
        ((false, true, 512, 512, 0), Residual::Overflow(512)),
        ((true, false, 512, 0, 512), Residual::Overflow(512)),
        ((false, false, 0, 0, 512), Residual::Overflow(512)),
        ((false, true, 512, 0, u64::MAX), Residual::Overflow(u32::MAX)),
    ];
    for (case, expected) in table {
        let (read, write, length, data_in, data_out_wanted) = case;
        let mut initiator = Initiator::new();
        let immediate = if write { pattern(length as usize) } else { vec![] };
        let command = ScsiCommand {
            read,
            write,
            expected_data_transfer_length: length,
            immediate_data: immediate.into(),
            ..initiator.command()
        };
        initiator.send(command);
        let (id, _) = initiator.execute();
        initiator.complete(id, good(pattern(data_in), data_out_wanted));
        let heard = initiator.heard();
        let residual = match heard.last() {
            Some(TargetPdu::DataIn(DataIn { status: Some(status), .. })) => status.residual,
            Some(TargetPdu::ScsiResponse(response)) => response.residual,
            other => panic!("{other:?}"),
        };
        assert_eq!(residual, expected, "{case:?}");
    }
}

#[test]
fn both_directions_at_once() {
    let mut initiator = Initiator::new();
    let command = ScsiCommand {
        read: true,
        write: true,
        expected_data_transfer_length: 512,
        bidirectional_read_length: 1024,
        immediate_data: pattern(512).into(),
        ..initiator.command()
    };
    initiator.send(command);
    let (id, command) = initiator.execute();
    assert_eq!((command.data_out.len(), command.data_in_room), (512, 1024));
    initiator.complete(id, good(pattern(1000), 256));
    let heard = initiator.heard();
    let [TargetPdu::DataIn(data), TargetPdu::ScsiResponse(response)] = &heard[..] else {
        panic!("{heard:?}")
    };
    assert!(data.status.is_none() && data.data.len() == 1000);
    assert_eq!(response.residual, Residual::Underflow(256));
    assert_eq!(response.bidirectional_read_residual, Residual::Underflow(24));
}

#[test]
fn both_directions_are_numbered_together() {
    let mut initiator =
        Initiator::with(config(), "InitialR2T=Yes ImmediateData=No MaxBurstLength=512 FirstBurstLength=512");
    for (room, count) in [(1024, 4), (0, 0)] {
        let command = ScsiCommand { read: true, bidirectional_read_length: room, ..initiator.write(1024) };
        initiator.send(command);
        for r2t_sn in 0..2 {
            let r2t = initiator.r2t();
            assert_eq!(r2t.r2t_sn, r2t_sn);
            initiator.send(answer(&r2t, &pattern(1024)));
        }
        let (id, _) = initiator.execute();
        initiator.complete(id, good(pattern(room as usize), 1024));
        let mut heard = initiator.heard();
        let Some(TargetPdu::ScsiResponse(response)) = heard.pop() else { panic!("{heard:?}") };
        assert_eq!(response.exp_data_sn, count);
        let numbers: Vec<_> = heard
            .iter()
            .map(|pdu| match pdu {
                TargetPdu::DataIn(data) => data.data_sn,
                other => panic!("expected data, not {other:?}"),
            })
            .collect();
        assert_eq!(numbers, Vec::from_iter(2..count));
    }
}

#[test]
fn a_peer_that_does_not_read_is_not_read_from() {
    let mut initiator = Initiator::new();
    let mut running = Vec::new();
    for _ in 0..8 {
        let read = initiator.read(1 << 20);
        initiator.send(read);
        running.push(initiator.execute().0);
    }
    for id in running {
        initiator.complete(id, good(vec![0; 1 << 20], 0));
    }
    assert!(!initiator.connection.wants_input(Leg::FIRST));
    assert!(!initiator.heard().is_empty());
    assert!(initiator.connection.wants_input(Leg::FIRST));
}

#[test]
fn what_came_in_one_go_is_not_all_heard_at_once() {
    let mut initiator = Initiator::with(config(), "MaxRecvDataSegmentLength=262144");
    let mut input = BytesMut::new();
    for _ in 0..40 {
        let nop = initiator.nop(&[0; 262_144]);
        input.unsplit(initiator.bytes(nop));
    }
    initiator.connection.receive(Leg::FIRST, initiator.now, &mut input);
    assert!(!initiator.connection.wants_input(Leg::FIRST));
    let mut answers = initiator.heard().len();
    assert!((10..20).contains(&answers), "{answers}");
    while !input.is_empty() {
        initiator.connection.receive(Leg::FIRST, initiator.now, &mut input);
        answers += initiator.heard().len();
    }
    assert_eq!(answers, 40);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_data_arrives_in_pieces_that_fit(
        segment in 512..9000_usize,
        burst in 512..20_000_usize,
        room in 0..60_000_usize,
        length in prop_oneof![Just(0_usize), 0..60_000_usize],
        cut in 1..7000_usize,
        status in prop_oneof![3 => Just(Status::Good), 1 => Just(Status::ConditionMet)],
    ) {
        let keys = format!("MaxRecvDataSegmentLength={segment} MaxBurstLength={burst} FirstBurstLength=512");
        let mut initiator = Initiator::with(config(), &keys);
        let read = initiator.read(room as u32);
        initiator.send(read.clone());
        let (id, _) = initiator.execute();
        let data = pattern(length);
        let mut payload = Payload::new();
        data.chunks(cut).for_each(|piece| payload.push(Bytes::copy_from_slice(piece)));
        initiator.complete(id, Response { status, ..good(payload, 0) });

        let sent = length.min(room);
        let expected = match length.cmp(&room) {
            std::cmp::Ordering::Less => Residual::Underflow((room - length) as u32),
            std::cmp::Ordering::Equal => Residual::None,
            std::cmp::Ordering::Greater => Residual::Overflow((length - room) as u32),
        };
        let mut heard = initiator.heard();
        let mut told = None;
        if let Some(TargetPdu::ScsiResponse(response)) = heard.last() {
            prop_assert!(sent == 0 || status != Status::Good);
            prop_assert_eq!(response.exp_data_sn as usize, heard.len() - 1);
            told = Some((response.status, response.residual));
            heard.pop();
        }
        let (mut received, mut in_burst) = (Vec::new(), 0);
        for (at, pdu) in heard.iter().enumerate() {
            let TargetPdu::DataIn(data) = pdu else { panic!("{pdu:?}") };
            prop_assert_eq!(data.initiator_task_tag, read.initiator_task_tag);
            prop_assert_eq!((data.data_sn as usize, data.buffer_offset as usize), (at, received.len()));
            prop_assert!(!data.data.is_empty() && data.data.len() <= segment);
            received.extend_from_slice(&data.data.to_bytes());
            in_burst += data.data.len();
            prop_assert!(in_burst <= burst);
            prop_assert_eq!(data.is_final, in_burst == burst || received.len() == sent);
            if data.is_final {
                in_burst = 0;
            }
            if let Some(status) = data.status {
                prop_assert!(at + 1 == heard.len() && told.is_none());
                told = Some((status.status, status.residual));
            }
        }
        prop_assert_eq!(&received[..], &data[..sent]);
        prop_assert_eq!(told, Some((status as u8, expected)));
    }
}
