//! Commands all the way: from the bytes of an initiator through a connection to a target, and back. What is sent and what is expected need not
//! fit the CDB at all.

use super::bench::{Initiator, answer, config};
use crate::pdu::target::{Residual, TargetPdu};
use crate::scsi::cdbs::cdb;
use crate::scsi::command::{Command, DeviceServer, Outcome, Response};
use crate::scsi::fields::Fields;
use crate::scsi::row::Data;
use crate::scsi::sense::Status;
use crate::scsi::table::Table;
use crate::session::event::Event;
use crate::testing::{Bench, RamDevice, config as unit, finish};
use bytes::Bytes;
use proptest::prelude::*;

/// What an initiator says beside the CDB.
#[derive(Clone, Copy, Debug)]
struct Said {
    read: bool,
    write: bool,
    expected: u32,
    bidirectional: u32,
    immediate: usize,
}

fn said() -> impl Strategy<Value = Said> {
    let length = || {
        prop_oneof![
            Just(0),
            Just(512),
            Just(1024),
            0..2000_u32,
            (0..9_u32).prop_map(|blocks| blocks * 512),
            0..70_000_u32
        ]
    };
    (any::<(bool, bool)>(), length(), length(), 0..9000_usize, any::<u8>(), any::<u32>()).prop_map(
        |((read, write), expected, bidirectional, immediate, rare, huge)| {
            // Only who reads can expect anything: what is written has to be sent.
            let expected = if rare < 16 && read && !write { huge } else { expected };
            let expected = if read || write { expected } else { 0 };
            let immediate = if write { immediate.min(expected as usize) } else { 0 };
            Said {
                read,
                write,
                expected,
                bidirectional: if read && write { bidirectional } else { 0 },
                immediate,
            }
        },
    )
}

/// What an initiator hears of a command.
#[derive(Debug, Default)]
struct Heard {
    data_in: Vec<u8>,
    status: Option<u8>,
    sense: Vec<u8>,
    residual: Residual,
    bidirectional_residual: Residual,
}

/// Runs a command over a connection; gives back what the target got and what the initiator heard.
fn exchange(
    initiator: &mut Initiator,
    target: &Bench,
    cdb: &[u8],
    said: Said,
    data: &[u8],
) -> (Command, Heard) {
    let mut pdu = initiator.command();
    (pdu.read, pdu.write) = (said.read, said.write);
    (pdu.expected_data_transfer_length, pdu.bidirectional_read_length) = (said.expected, said.bidirectional);
    pdu.cdb = cdb.into();
    pdu.immediate_data = Bytes::copy_from_slice(&data[..said.immediate]);
    initiator.send(pdu);
    let (mut got, mut heard) = (None, Heard::default());
    for _ in 0..200 {
        while let Some(event) = initiator.connection.poll_event() {
            let Event::Execute(id, command) = event else { panic!("{event:?}") };
            assert!(got.replace(command.clone()).is_none());
            let Outcome::Done(response) = finish(target.target.execute(&target.nexus, command)) else {
                panic!("aborted")
            };
            initiator.complete(id, response);
        }
        for pdu in initiator.heard() {
            assert!(heard.status.is_none(), "something after the end: {pdu:?}");
            match pdu {
                TargetPdu::ReadyToTransfer(r2t) => initiator.send(answer(&r2t, data)),
                TargetPdu::DataIn(pdu) => {
                    assert_eq!(pdu.buffer_offset as usize, heard.data_in.len());
                    heard.data_in.extend_from_slice(&pdu.data.to_bytes());
                    if let Some(status) = pdu.status {
                        (heard.status, heard.residual) = (Some(status.status), status.residual);
                    }
                }
                TargetPdu::ScsiResponse(pdu) => {
                    assert_eq!(pdu.response, 0);
                    (heard.status, heard.sense) = (Some(pdu.status), pdu.sense.to_vec());
                    heard.residual = pdu.residual;
                    heard.bidirectional_residual = pdu.bidirectional_read_residual;
                }
                other => panic!("{other:?}"),
            }
        }
        if heard.status.is_some() {
            break;
        }
    }
    initiator.silence();
    (got.expect("a command for the target"), heard)
}

/// RFC 7143 §11.4.5: what would have been moved, against what there was room for.
fn residual(room: u32, moved: u64) -> Residual {
    let room = u64::from(room);
    // The count has 32 bits and stays at the most that they can tell.
    let count = u32::try_from(moved.abs_diff(room)).unwrap_or(u32::MAX);
    match moved {
        _ if moved > room => Residual::Overflow(count),
        _ if moved < room => Residual::Underflow(count),
        _ => Residual::None,
    }
}

fn check(said: Said, response: &Response, heard: &Heard) -> Result<(), TestCaseError> {
    let (data_in, data_out) = (response.data_in.len() as u64, response.data_out_wanted);
    prop_assert_eq!(response.data_in_beyond, 0);
    let room = match (said.read, said.write) {
        (true, false) => said.expected,
        (true, true) => said.bidirectional,
        (false, _) => 0,
    };
    let whole = response.data_in.to_bytes();
    prop_assert_eq!(&heard.data_in[..], &whole[..whole.len().min(room as usize)]);
    prop_assert_eq!(heard.status, Some(response.status as u8));
    prop_assert_eq!(&heard.sense[..], &response.sense[..]);
    let (expected, bidirectional) = match (said.read, said.write) {
        (true, true) => (residual(said.expected, data_out), residual(said.bidirectional, data_in)),
        // The other way than the initiator thinks: it has no room at all for that.
        (_, false) if data_in == 0 && data_out > 0 => (residual(0, data_out), Residual::None),
        (false, true) if data_out == 0 && data_in > 0 => (residual(0, data_in), Residual::None),
        (_, false) => (residual(said.expected, data_in), Residual::None),
        (false, true) => (residual(said.expected, data_out), Residual::None),
    };
    prop_assert_eq!((heard.residual, heard.bidirectional_residual), (expected, bidirectional));
    Ok(())
}

/// WRITE and WRITE AND VERIFY, each with 6, 10, 12 or 16 bytes.
fn is_plain_write(opcode: u8) -> bool {
    matches!(opcode, 0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn any_command_with_any_data(cdb in cdb(), said in said(), fill in any::<u8>(), large in any::<bool>()) {
        let serve = || Bench::with(unit(if large { 4096 } else { 512 }), RamDevice::new(1 << 17));
        let (target, twin) = (serve(), serve());
        let keys = "InitialR2T=No ImmediateData=Yes MaxRecvDataSegmentLength=8192 FirstBurstLength=16384 MaxBurstLength=32768";
        let mut initiator = Initiator::with(config(), keys);
        let window = initiator.numbering.max_cmd_sn;
        let data: Vec<u8> = (0..said.expected.min(70_000)).map(|at| fill.wrapping_add(at as u8 & 1)).collect();

        let (got, heard) = exchange(&mut initiator, &target, &cdb, said, &data);
        let wire = cdb.len().max(16).next_multiple_of(if cdb.len() > 16 { 4 } else { 1 });
        prop_assert!(got.cdb.as_slice().len() == wire || got.cdb.as_slice().len() == cdb.len().max(16));
        prop_assert_eq!(&got.cdb.as_slice()[..cdb.len()], &cdb[..]);
        prop_assert!(got.cdb.as_slice()[cdb.len()..].iter().all(|byte| *byte == 0));
        let sent = if said.write { &data[..] } else { &[] };
        prop_assert_eq!(&got.data_out.to_bytes()[..], sent);

        // What the target says by itself, to one who has room for all of it.
        let fields = Fields(got.cdb.as_slice());
        let row = Table::<RamDevice>::find(fields, &twin.device().capabilities, false);
        let response = twin.execute(&twin.nexus, Command { data_in_room: u32::MAX, ..got.clone() });
        check(said, &response, &heard)?;
        prop_assert_eq!(&*target.device().data.lock().unwrap(), &*twin.device().data.lock().unwrap());
        if let Ok(row) = row {
            prop_assert_eq!(response.data_out_wanted, row.data_out(fields, &got.data_out, twin.unit.block_size()));
            if let Data::In(field) = row.data {
                prop_assert!(heard.data_in.len() as u64 <= field.read(fields));
            }
            // With less data than it takes a command does nothing, save that plain writes take what whole blocks there are.
            if (sent.len() as u64) < response.data_out_wanted {
                let contents = twin.device().data.lock().unwrap();
                let written = contents.iter().filter(|byte| **byte != 0).count();
                let block = twin.unit.block_size() as usize;
                let is_partial = is_plain_write(row.opcode) && sent.len() % block == 0;
                prop_assert!(is_partial || response.status == Status::CheckCondition, "{}", row.name);
                prop_assert!(written <= if is_partial { sent.len() } else { 0 }, "{}", row.name);
            }
        }
        // Everything is given back.
        prop_assert_eq!(initiator.connection.gathered(), 0);
        prop_assert_eq!(initiator.numbering.max_cmd_sn.0, window.0.wrapping_add(1));
    }
}
