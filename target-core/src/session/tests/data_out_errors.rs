//! Data-Out that is not what it must be (RFC 7143 §11.4.7.2, §7.8, §7.9).

use super::bench::{Initiator, answer, config, good, is_good, pattern, unsolicited};
use crate::pdu::initiator::{DataOut, ScsiCommand};
use crate::pdu::target::{ReadyToTransfer, Residual, TargetPdu};
use bytes::{Bytes, BytesMut};

const UNEXPECTED: (u8, u8) = (0x0c, 0x0c);
const INCORRECT_AMOUNT: (u8, u8) = (0x0c, 0x0d);
const CRC_ERROR: (u8, u8) = (0x47, 0x05);

/// Still there and well.
fn is_well(initiator: &mut Initiator) {
    let command = initiator.command();
    initiator.send(command);
    let (id, _) = initiator.execute();
    initiator.complete(id, good(vec![], 0));
    assert!(is_good(&initiator.response()));
    // Nothing holds a place in the window.
    assert_eq!(initiator.numbering.max_cmd_sn.0, initiator.cmd_sn.wrapping_add(15));
}

fn asked(length: u32) -> (Initiator, ReadyToTransfer, Vec<u8>) {
    let keys =
        "InitialR2T=No ImmediateData=Yes FirstBurstLength=4096 MaxOutstandingR2T=2 MaxBurstLength=8192";
    let mut initiator = Initiator::with(config(), keys);
    let write = initiator.write(length);
    initiator.send(write);
    let mut heard = initiator.heard();
    let TargetPdu::ReadyToTransfer(r2t) = heard.remove(0) else { panic!("expected an R2T") };
    (initiator, r2t, pattern(length as usize))
}

#[test]
fn immediate_data_that_was_not_agreed_on() {
    let mut initiator = Initiator::with(config(), "ImmediateData=No InitialR2T=No");
    let write = ScsiCommand { immediate_data: pattern(512).into(), ..initiator.write(512) };
    initiator.send(write);
    assert_eq!(initiator.condition(), UNEXPECTED);
    is_well(&mut initiator);
}

#[test]
fn immediate_data_with_a_read() {
    let mut initiator = Initiator::new();
    let read = ScsiCommand { immediate_data: pattern(512).into(), ..initiator.read(512) };
    initiator.send(read);
    assert_eq!(initiator.condition(), UNEXPECTED);
    is_well(&mut initiator);
}

#[test]
fn immediate_data_beyond_the_first_burst() {
    let mut initiator = Initiator::with(config(), "ImmediateData=Yes InitialR2T=No FirstBurstLength=512");
    let write = ScsiCommand { immediate_data: pattern(1024).into(), ..initiator.write(4096) };
    initiator.send(write);
    assert_eq!(initiator.condition(), INCORRECT_AMOUNT);
    is_well(&mut initiator);
}

#[test]
fn immediate_data_beyond_the_command() {
    let mut initiator = Initiator::new();
    let write = ScsiCommand { immediate_data: pattern(1024).into(), ..initiator.write(512) };
    initiator.send(write);
    assert_eq!(initiator.condition(), INCORRECT_AMOUNT);
    is_well(&mut initiator);
}

#[test]
fn unsolicited_data_that_was_not_agreed_on() {
    let mut initiator = Initiator::with(config(), "InitialR2T=Yes");
    let write = ScsiCommand { is_final: false, ..initiator.write(4096) };
    initiator.send(write.clone());
    // It is not answered before all has come that it announced.
    initiator.send(unsolicited(&write, 0, &pattern(1024), false));
    initiator.silence();
    initiator.send(DataOut { data_sn: 1, ..unsolicited(&write, 1024, &pattern(3072), true) });
    assert_eq!(initiator.condition(), UNEXPECTED);
    is_well(&mut initiator);
}

#[test]
fn unsolicited_data_after_the_command_said_that_there_is_none() {
    let (mut initiator, r2t, data) = asked(4096);
    let stray = DataOut {
        target_transfer_tag: crate::pdu::fields::RESERVED_TAG,
        data: Bytes::copy_from_slice(&data[..512]),
        is_final: false,
        ..answer(&r2t, &data)
    };
    initiator.send(stray.clone());
    initiator.send(answer(&r2t, &data));
    initiator.silence();
    initiator.send(DataOut { is_final: true, ..stray });
    assert_eq!(initiator.condition(), UNEXPECTED);
    is_well(&mut initiator);
}

#[test]
fn not_enough_unsolicited_data() {
    let mut initiator = Initiator::with(config(), "InitialR2T=No ImmediateData=Yes FirstBurstLength=4096");
    let write = ScsiCommand { is_final: false, ..initiator.write(8192) };
    initiator.send(write.clone());
    initiator.send(unsolicited(&write, 0, &pattern(4095), true));
    let response = initiator.response();
    assert_eq!((response.sense[12], response.sense[13]), INCORRECT_AMOUNT);
    assert_eq!(response.residual, Residual::Underflow(8192));
    is_well(&mut initiator);
}

#[test]
fn too_much_unsolicited_data() {
    let mut initiator = Initiator::with(config(), "InitialR2T=No ImmediateData=Yes FirstBurstLength=4096");
    let write = ScsiCommand { is_final: false, ..initiator.write(8192) };
    initiator.send(write.clone());
    initiator.send(unsolicited(&write, 0, &pattern(4097), true));
    assert_eq!(initiator.condition(), INCORRECT_AMOUNT);
    is_well(&mut initiator);
}

#[test]
fn an_empty_end_of_unsolicited_data_is_fine() {
    let mut initiator = Initiator::with(config(), "InitialR2T=No ImmediateData=Yes FirstBurstLength=4096");
    let write =
        ScsiCommand { is_final: false, immediate_data: pattern(4096).into(), ..initiator.write(4096) };
    initiator.send(write.clone());
    initiator.silence();
    initiator.send(unsolicited(&write, 4096, &[], true));
    assert_eq!(initiator.execute().1.data_out.to_bytes(), pattern(4096));
}

#[test]
fn an_answer_of_the_wrong_length() {
    for (length, is_final) in [(4095, true), (4097, true), (4096, false)] {
        let (mut initiator, r2t, _) = asked(4096);
        let wrong = DataOut { is_final, data: pattern(length).into(), ..answer(&r2t, &pattern(4096)) };
        initiator.send(wrong);
        assert_eq!(initiator.condition(), INCORRECT_AMOUNT, "{length} {is_final}");
        // More of it is of no interest.
        initiator.send(answer(&r2t, &pattern(4096)));
        initiator.silence();
        is_well(&mut initiator);
    }
}

#[test]
fn too_much_is_not_answered_before_its_end() {
    let (mut initiator, r2t, _) = asked(4096);
    let all = answer(&r2t, &pattern(4096));
    initiator.send(DataOut { is_final: false, data: pattern(5000).into(), ..all.clone() });
    initiator.silence();
    initiator.send(DataOut { data_sn: 1, ..all });
    assert_eq!(initiator.condition(), INCORRECT_AMOUNT);
    is_well(&mut initiator);
}

#[test]
fn a_data_sn_out_of_order_means_a_lost_pdu() {
    for wrong in [1, 27, u32::MAX] {
        let (mut initiator, r2t, data) = asked(4096);
        initiator.send(DataOut { data_sn: wrong, ..answer(&r2t, &data) });
        assert_eq!(initiator.condition(), CRC_ERROR, "{wrong}");
        is_well(&mut initiator);
    }
    // The same number twice.
    let (mut initiator, r2t, data) = asked(4096);
    let all = answer(&r2t, &data);
    let half = |n: usize| Bytes::copy_from_slice(&data[n * 2048..(n + 1) * 2048]);
    initiator.send(DataOut { is_final: false, data: half(0), ..all.clone() });
    initiator.send(DataOut { buffer_offset: 2048, data: half(1), ..all });
    assert_eq!(initiator.condition(), CRC_ERROR);
    is_well(&mut initiator);
}

#[test]
fn an_offset_out_of_order_is_rejected_and_ends_the_command() {
    let (mut initiator, r2t, data) = asked(4096);
    initiator.send(DataOut { buffer_offset: 512, ..answer(&r2t, &data) });
    let heard = initiator.heard();
    let [TargetPdu::Reject(reject), TargetPdu::ScsiResponse(response)] = &heard[..] else {
        panic!("{heard:?}")
    };
    assert_eq!((reject.reason, reject.header[0]), (0x09, 0x05));
    assert_eq!((response.sense[12], response.sense[13]), INCORRECT_AMOUNT);
    is_well(&mut initiator);
}

#[test]
fn answers_out_of_order_end_the_command_when_all_have_come() {
    let (mut initiator, first, data) = asked(16_384);
    let second = ReadyToTransfer {
        target_transfer_tag: first.target_transfer_tag + 1,
        buffer_offset: 8192,
        ..first.clone()
    };
    initiator.send(answer(&second, &data));
    assert_eq!(initiator.rejected(), 0x09);
    initiator.send(answer(&first, &data));
    assert_eq!(initiator.condition(), INCORRECT_AMOUNT);
    is_well(&mut initiator);
}

#[test]
fn a_tag_that_was_never_given_is_rejected() {
    let (mut initiator, r2t, data) = asked(4096);
    initiator.send(DataOut { target_transfer_tag: 4711, ..answer(&r2t, &data) });
    assert_eq!(initiator.rejected(), 0x09);
    // The command takes no harm.
    initiator.send(answer(&r2t, &data));
    assert_eq!(initiator.execute().1.data_out.to_bytes(), data);
    // While it runs there is nothing to be sent for it.
    initiator.send(answer(&r2t, &data));
    assert_eq!(initiator.rejected(), 0x04);
}

#[test]
fn data_for_no_task_is_rejected() {
    let (mut initiator, r2t, data) = asked(4096);
    initiator.send(DataOut { initiator_task_tag: 4711, ..answer(&r2t, &data) });
    assert_eq!(initiator.rejected(), 0x09);
    let ping = initiator.management(12);
    initiator.send(DataOut { initiator_task_tag: ping.initiator_task_tag, ..answer(&r2t, &data) });
    assert_eq!(initiator.rejected(), 0x09);
}

#[test]
fn data_for_an_aborted_task_is_ignored() {
    let (mut initiator, r2t, data) = asked(4096);
    let mut abort = initiator.management(1);
    abort.referenced_task_tag = r2t.initiator_task_tag;
    initiator.send(abort);
    assert_eq!(initiator.management_response(), 0);
    initiator.send(answer(&r2t, &data));
    initiator.silence();
    is_well(&mut initiator);
}

/// Spoils the last byte before the data digest.
fn spoil(mut bytes: BytesMut) -> BytesMut {
    let at = bytes.len() - 5;
    bytes[at] ^= 0x40;
    bytes
}

#[test]
fn a_wrong_data_digest_is_rejected_and_ends_the_command_after_its_data() {
    let keys = "DataDigest=CRC32C HeaderDigest=CRC32C InitialR2T=Yes ImmediateData=No FirstBurstLength=4096 MaxBurstLength=4096 MaxOutstandingR2T=2";
    let mut initiator = Initiator::with(config(), keys);
    let data = pattern(12_288);
    let write = initiator.write(12_288);
    initiator.send(write);
    let heard = initiator.heard();
    let [TargetPdu::ReadyToTransfer(first), TargetPdu::ReadyToTransfer(second)] = &heard[..] else {
        panic!("{heard:?}")
    };
    let bad = spoil(initiator.bytes(answer(first, &data)));
    initiator.send_bytes(bad);
    assert_eq!(initiator.rejected(), 0x02);
    // What was asked for is awaited, but no more is.
    initiator.send(answer(second, &data));
    assert_eq!(initiator.condition(), CRC_ERROR);
    is_well(&mut initiator);
}

#[test]
fn a_wrong_digest_of_immediate_data() {
    let keys = "DataDigest=CRC32C InitialR2T=No ImmediateData=Yes";
    let mut initiator = Initiator::with(config(), keys);
    let write = ScsiCommand { immediate_data: pattern(512).into(), ..initiator.write(512) };
    let bad = spoil(initiator.bytes(write));
    initiator.send_bytes(bad);
    let heard = initiator.heard();
    let [TargetPdu::Reject(reject), TargetPdu::ScsiResponse(response)] = &heard[..] else {
        panic!("{heard:?}")
    };
    assert_eq!(reject.reason, 0x02);
    assert_eq!((response.sense[12], response.sense[13]), CRC_ERROR);
    is_well(&mut initiator);
    // With unsolicited data to follow.
    let write = ScsiCommand { is_final: false, immediate_data: pattern(512).into(), ..initiator.write(1024) };
    let bad = spoil(initiator.bytes(write.clone()));
    initiator.send_bytes(bad);
    assert_eq!(initiator.rejected(), 0x02);
    initiator.send(unsolicited(&write, 512, &pattern(512), true));
    assert_eq!(initiator.condition(), CRC_ERROR);
    is_well(&mut initiator);
    // Before its turn.
    let (first, early) = (initiator.command(), initiator.write(512));
    let bad = spoil(initiator.bytes(ScsiCommand { immediate_data: pattern(512).into(), ..early }));
    initiator.send_bytes(bad);
    assert_eq!(initiator.rejected(), 0x02);
    initiator.send(first);
    let (id, _) = initiator.execute();
    assert_eq!(initiator.condition(), CRC_ERROR);
    initiator.complete(id, good(vec![], 0));
    initiator.response();
    is_well(&mut initiator);
}
