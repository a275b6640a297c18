use super::*;
use crate::pdu::fields::BHS_LEN;
use crate::scsi::command::TaskAttribute;

/// A frame with these bytes at these places of its header.
fn frame(bytes: &[(usize, u8)]) -> Frame {
    let mut bhs = [0; BHS_LEN];
    bytes.iter().for_each(|(at, value)| bhs[*at] = *value);
    Frame { bhs, ahs: Bytes::new(), data: Bytes::new() }
}

fn refusal(bytes: &[(usize, u8)]) -> RejectReason {
    let frame = frame(bytes);
    let error = InitiatorPdu::parse(frame.clone()).unwrap_err();
    assert_eq!(error.bhs, frame.bhs);
    error.reason
}

const NO_TAG: [(usize, u8); 4] = [(16, 0xff), (17, 0xff), (18, 0xff), (19, 0xff)];

#[test]
fn opcodes_of_nobody_and_of_targets() {
    let known = [0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x10];
    for opcode in 0..0x40_u8 {
        if known.contains(&opcode) {
            continue;
        }
        let reason =
            if opcode < 0x20 { RejectReason::CommandNotSupported } else { RejectReason::ProtocolError };
        assert_eq!(refusal(&[(0, opcode)]), reason, "{opcode:#x}");
        let tagged: Vec<_> = NO_TAG.into_iter().chain([(0, opcode)]).collect();
        assert_eq!(refusal(&tagged), reason, "{opcode:#x}");
    }
}

#[test]
fn the_reserved_tag_names_no_task() {
    for opcode in
        [opcode::SCSI_COMMAND, opcode::TASK_MANAGEMENT_REQUEST, opcode::TEXT_REQUEST, opcode::LOGOUT_REQUEST]
    {
        let bytes: Vec<_> = NO_TAG.into_iter().chain([(0, opcode), (1, 0x80)]).collect();
        assert_eq!(refusal(&bytes), RejectReason::InvalidPduField, "{opcode:#x}");
        assert!(InitiatorPdu::parse(frame(&[(0, opcode), (1, 0x80)])).is_ok());
    }
}

#[test]
fn nop_out_without_tag_is_immediate() {
    let tagless: Vec<_> = NO_TAG.into_iter().chain([(1, 0x80)]).collect();
    assert_eq!(refusal(&tagless), RejectReason::ProtocolError);
    let immediate: Vec<_> = tagless.into_iter().chain([(0, 0x40)]).collect();
    assert!(InitiatorPdu::parse(frame(&immediate)).is_ok());
}

#[test]
fn bits_of_a_scsi_command() {
    for (flags, attribute) in [
        (0x80, TaskAttribute::Simple),
        (0x81, TaskAttribute::Simple),
        (0x82, TaskAttribute::Ordered),
        (0x83, TaskAttribute::HeadOfQueue),
        (0x84, TaskAttribute::Aca),
    ] {
        match InitiatorPdu::parse(frame(&[(0, 0x01), (1, flags), (2, 0x5f)])) {
            Ok(InitiatorPdu::ScsiCommand(command)) => {
                assert_eq!((command.attribute, command.priority), (attribute, 5));
                assert!(command.is_final && !command.read && !command.write && !command.immediate);
            }
            other => panic!("{other:?}"),
        }
    }
    for flags in [0x85, 0x86, 0x87] {
        assert_eq!(refusal(&[(0, 0x01), (1, flags)]), RejectReason::InvalidPduField);
    }
    // Neither F nor W; a length without direction.
    assert_eq!(refusal(&[(0, 0x01), (1, 0x41)]), RejectReason::InvalidPduField);
    assert_eq!(refusal(&[(0, 0x01), (1, 0x81), (22, 2)]), RejectReason::InvalidPduField);
    for flags in [0x21, 0xa1, 0xc1, 0xe1, 0x61] {
        assert!(InitiatorPdu::parse(frame(&[(0, 0x01), (1, flags), (22, 2)])).is_ok());
    }
}

#[test]
fn additional_segments_reach_the_command() {
    let mut bidirectional = frame(&[(0, 0x01), (1, 0xe1), (23, 8), (32, 0x7f)]);
    bidirectional.ahs = Bytes::from_static(&[0, 5, 2, 0, 0, 0, 2, 0, 0, 5, 1, 0, 9, 8, 7, 6]);
    match InitiatorPdu::parse(bidirectional) {
        Ok(InitiatorPdu::ScsiCommand(command)) => {
            assert_eq!(command.expected_data_transfer_length, 8);
            assert_eq!(command.bidirectional_read_length, 512);
            assert_eq!(command.cdb.len(), 20);
            assert_eq!((command.cdb[0], &command.cdb[16..]), (0x7f, &[9, 8, 7, 6][..]));
        }
        other => panic!("{other:?}"),
    }
    let mut broken = frame(&[(0, 0x01), (1, 0x80)]);
    broken.ahs = Bytes::from_static(&[0, 9, 1, 0]);
    assert_eq!(InitiatorPdu::parse(broken).unwrap_err().reason, RejectReason::InvalidPduField);
    // No other PDU has any: passed over.
    let mut text = frame(&[(0, 0x04), (1, 0x80)]);
    text.ahs = Bytes::from_static(&[0, 9, 1, 0]);
    assert!(InitiatorPdu::parse(text).is_ok());
}

#[test]
fn a_text_that_continues_is_not_final() {
    assert_eq!(refusal(&[(0, 0x04), (1, 0xc0)]), RejectReason::ProtocolError);
    for flags in [0x00, 0x40, 0x80] {
        assert!(InitiatorPdu::parse(frame(&[(0, 0x04), (1, flags)])).is_ok());
    }
}

#[test]
fn what_login_exchanges_is_not_printed() {
    let mut login = frame(&[(0, 0x43), (1, 0x87)]);
    login.data = Bytes::from_static(b"CHAP_N=alice\0CHAP_R=0x1234\0");
    let printed = format!("{:?}", InitiatorPdu::parse(login).unwrap());
    assert!(printed.contains("data_length: 27") && !printed.contains("CHAP"), "{printed}");
}
