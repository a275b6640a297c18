//! Bytes that make no sense, each with its answer.

use super::bench::{Initiator, TARGET, config, good, is_good, pattern};
use crate::pdu::fields::Serial;
use crate::pdu::initiator::{InitiatorPdu, LoginRequest, NopOut, SnackRequest};
use crate::pdu::target::TargetPdu;
use crate::scsi::lun_address::LunAddress;
use crate::session::event::{BindOutcome, CloseReason, Event, Leg};
use bytes::{BufMut, BytesMut};
use proptest::prelude::*;

/// A header with this first byte, CmdSN and DataSegmentLength.
fn header(first: u8, cmd_sn: u32, length: u32) -> BytesMut {
    let mut bytes = BytesMut::zeroed(48);
    bytes[0] = first;
    bytes[1] = 0x80;
    bytes[4..8].copy_from_slice(&length.to_be_bytes());
    bytes[16..20].copy_from_slice(&7_u32.to_be_bytes());
    bytes[20..24].copy_from_slice(&[0xff; 4]);
    bytes[24..28].copy_from_slice(&cmd_sn.to_be_bytes());
    bytes
}

fn is_well(initiator: &mut Initiator) {
    let command = initiator.command();
    initiator.send(command);
    let (id, _) = initiator.execute();
    initiator.complete(id, good(vec![], 0));
    assert!(is_good(&initiator.response()));
}

#[test]
fn opcodes_that_do_not_exist() {
    let mut initiator = Initiator::new();
    for opcode in [0x07, 0x0f, 0x11, 0x1c, 0x1f] {
        initiator.send_bytes(header(opcode, 0, 0));
        let TargetPdu::Reject(reject) = initiator.only() else { panic!("expected a reject") };
        assert_eq!((reject.reason, reject.header[0]), (0x05, opcode));
    }
    is_well(&mut initiator);
}

#[test]
fn opcodes_of_targets() {
    let mut initiator = Initiator::new();
    for opcode in [0x20, 0x21, 0x25, 0x31, 0x3f] {
        initiator.send_bytes(header(opcode, 0, 0));
        assert_eq!(initiator.rejected(), 0x04);
    }
    is_well(&mut initiator);
}

#[test]
fn a_command_with_a_bad_field_uses_its_number_up() {
    let mut initiator = Initiator::new();
    let cmd_sn = initiator.take_cmd_sn().0;
    let mut bad = header(0x01, cmd_sn, 0);
    // An attribute that does not exist.
    bad[1] = 0x80 | 0x07;
    initiator.send_bytes(bad.clone());
    assert_eq!(initiator.rejected(), 0x09);
    assert_eq!(initiator.numbering.exp_cmd_sn, Serial(initiator.cmd_sn));
    // Now it is a duplicate.
    initiator.send_bytes(bad);
    initiator.silence();
    is_well(&mut initiator);
    // Before its turn.
    let first = initiator.command();
    let mut early = header(0x01, initiator.take_cmd_sn().0, 0);
    early[1] = 0x80 | 0x07;
    initiator.send_bytes(early);
    assert_eq!(initiator.rejected(), 0x09);
    initiator.send(first);
    initiator.execute();
    is_well(&mut initiator);
}

#[test]
fn an_additional_header_that_is_too_short() {
    let mut initiator = Initiator::new();
    let mut bad = header(0x01, initiator.take_cmd_sn().0, 0);
    bad[4] = 1;
    bad.put_slice(&[0xff, 0xff, 1, 0]);
    initiator.send_bytes(bad);
    assert_eq!(initiator.rejected(), 0x09);
    is_well(&mut initiator);
}

#[test]
fn snack_has_nothing_to_ask_for() {
    let mut initiator = Initiator::new();
    initiator.send(InitiatorPdu::Snack(SnackRequest {
        kind: 1,
        lun: LunAddress::default(),
        initiator_task_tag: 0xffff_ffff,
        target_transfer_tag: 0xffff_ffff,
        exp_stat_sn: Serial(0),
        beg_run: 0,
        run_length: 0,
    }));
    assert_eq!(initiator.rejected(), 0x03);
    is_well(&mut initiator);
}

#[test]
fn a_second_login_ends_the_connection() {
    let mut initiator = Initiator::new();
    initiator.send(initiator.login_request("InitiatorName=iqn.x:y"));
    assert_eq!(initiator.rejected(), 0x04);
    assert_eq!(initiator.closed(), CloseReason::ProtocolError);
}

#[test]
fn more_data_than_was_allowed() {
    let mut initiator = Initiator::new();
    // 16 MiB - 1 announced, nothing sent.
    initiator.send_bytes(header(0x40, 0, 0xff_ffff));
    assert_eq!(initiator.rejected(), 0x04);
    assert_eq!(initiator.closed(), CloseReason::ProtocolError);
}

#[test]
fn more_data_than_was_allowed_during_login() {
    let mut initiator = Initiator::connected(config());
    initiator.send_bytes(header(0x43, 0, 0xff_ffff));
    assert_eq!(initiator.closed(), CloseReason::ProtocolError);
    initiator.silence();

    let mut initiator = Initiator::connected(config());
    let request = initiator.login_request(&format!("InitiatorName=iqn.x:y TargetName={TARGET}"));
    initiator.send(LoginRequest { transit: false, ..request });
    initiator.login_response();
    initiator.send_bytes(header(0x43, 0, 8193));
    let response = initiator.login_response();
    assert_eq!((response.status_class, response.status_detail), (2, 0));
    assert_eq!(initiator.closed(), CloseReason::LoginFailed);
}

#[test]
fn garbage_instead_of_a_login() {
    let request = &b"GET / HTTP/1.1\r\nHost: target.example.org\r\nAccept: */*\r\n\r\n"[..];
    let mut initiator = Initiator::connected(config());
    initiator.send_bytes(BytesMut::from(&*request.repeat(5)));
    assert_eq!(initiator.closed(), CloseReason::ProtocolError);
    initiator.silence();
    // What might still become a PDU has the time of a login for that.
    let mut initiator = Initiator::connected(config());
    initiator.send_bytes(BytesMut::from(request));
    initiator.silence();
    initiator.sleep();
    assert_eq!(initiator.closed(), CloseReason::LoginTimeout);
}

#[test]
fn a_pdu_that_stops_short_is_waited_for() {
    let mut initiator = Initiator::new();
    let ping = initiator.nop(b"to be continued");
    let bytes = initiator.bytes(ping);
    for cut in [1, 47, 48, 50, bytes.len() - 1] {
        let mut input = BytesMut::from(&bytes[..cut]);
        initiator.connection.receive(Leg::FIRST, initiator.now, &mut input);
        initiator.silence();
        input.put_slice(&bytes[cut..]);
        initiator.connection.receive(Leg::FIRST, initiator.now, &mut input);
        assert!(matches!(initiator.only(), TargetPdu::NopIn(_)), "{cut}");
        assert!(input.is_empty());
    }
}

#[test]
fn a_wrong_header_digest_ends_the_connection() {
    let mut initiator = Initiator::with(config(), "HeaderDigest=CRC32C");
    let ping = initiator.nop(b"");
    let mut bytes = initiator.bytes(ping);
    bytes[20] ^= 1;
    initiator.send_bytes(bytes);
    assert_eq!(initiator.closed(), CloseReason::HeaderDigestError);
    initiator.silence();
}

#[test]
fn a_wrong_data_digest_of_a_ping_is_rejected() {
    let mut initiator = Initiator::with(config(), "DataDigest=CRC32C");
    let ping = NopOut { immediate: false, cmd_sn: initiator.take_cmd_sn(), ..initiator.nop(&pattern(64)) };
    let mut bytes = initiator.bytes(ping);
    bytes[50] ^= 1;
    initiator.send_bytes(bytes);
    assert_eq!(initiator.rejected(), 0x02);
    is_well(&mut initiator);
}

/// One thing that happens to a connection.
#[derive(Clone, Debug)]
enum Step {
    Bytes(Vec<u8>),
    Complete(u64),
    Manage,
    Sleep,
    Logout,
}

fn any_step() -> impl Strategy<Value = Step> {
    // Opcode and flags, tags from a small set so that they meet, numbers around the window, few bytes of data.
    let tag = prop_oneof![0..4_u32, Just(u32::MAX)];
    let pdu = (
        prop::sample::select(vec![0_u8, 1, 1, 1, 2, 3, 4, 5, 5, 5, 6, 0x10, 0x25]),
        any::<(bool, u8)>(),
        tag.clone(),
        prop_oneof![tag, any::<u32>()],
        -2..20_i32,
        (0..4_u32, prop_oneof![0..3_u32, Just(512_u32)]),
        proptest::collection::vec(any::<u8>(), 0..40),
    )
        .prop_map(|(opcode, (immediate, flags), tag, word_20, sn, (words, offset), data)| {
            let cmd_sn = 0xffff_fffe_u32.wrapping_add_signed(sn);
            let mut bytes = header(opcode | if immediate { 0x40 } else { 0 }, cmd_sn, data.len() as u32);
            bytes[1] = flags;
            bytes[16..20].copy_from_slice(&tag.to_be_bytes());
            bytes[20..24].copy_from_slice(&word_20.to_be_bytes());
            bytes[32..36].copy_from_slice(&cmd_sn.wrapping_sub(1).to_be_bytes());
            bytes[36..40].copy_from_slice(&words.to_be_bytes());
            bytes[40..44].copy_from_slice(&offset.to_be_bytes());
            bytes.put_slice(&data);
            bytes.resize(48 + data.len().next_multiple_of(4), 0);
            Step::Bytes(bytes.to_vec())
        });
    prop_oneof![
        12 => pdu,
        1 => proptest::collection::vec(any::<u8>(), 0..100).prop_map(Step::Bytes),
        4 => (0..1000_u64).prop_map(Step::Complete),
        2 => Just(Step::Manage),
        1 => Just(Step::Sleep),
        1 => Just(Step::Logout),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Whatever happens: no panic, numbers in order, and an end that is an end.
    #[test]
    fn any_sequence_of_events(
        keys in prop::sample::select(vec!["", "InitialR2T=No MaxOutstandingR2T=4", "iSCSIProtocolLevel=2"]),
        steps in proptest::collection::vec(any_step(), 0..60),
    ) {
        let mut initiator = Initiator::with(config(), keys);
        let (mut commands, mut functions) = (Vec::new(), Vec::new());
        let mut input = BytesMut::new();
        for step in steps {
            match step {
                Step::Bytes(bytes) => {
                    input.put_slice(&bytes);
                    initiator.connection.receive(Leg::FIRST, initiator.now, &mut input);
                }
                Step::Complete(nth) if !commands.is_empty() => {
                    let id = commands.swap_remove(nth as usize % commands.len());
                    initiator.complete(id, good(pattern(nth as usize), nth));
                }
                Step::Manage => {
                    if let Some(id) = functions.pop() {
                        let outcome = crate::scsi::command::TaskManagementOutcome::Complete;
                        initiator.connection.managed(initiator.now, id, outcome);
                    }
                }
                Step::Sleep if initiator.connection.next_timeout().is_some() => {
                    initiator.sleep();
                }
                Step::Logout => initiator.connection.request_logout(Leg::FIRST, initiator.now, 100),
                _ => {}
            }
            initiator.heard();
            while let Some(event) = initiator.connection.poll_event() {
                match event {
                    Event::Execute(id, _) => commands.push(id),
                    Event::Manage(id, _) => functions.push(id),
                    Event::Close(_, _) => {
                        prop_assert!(initiator.connection.is_closing(Leg::FIRST));
                        prop_assert!(initiator.connection.poll_event().is_none());
                    }
                    Event::Bind(_) => prop_assert!(false, "bound already"),
                }
            }
        }
    }

    #[test]
    fn any_bytes_before_login(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut initiator = Initiator::connected(config());
        initiator.send_bytes(BytesMut::from(&bytes[..]));
        initiator.heard();
        initiator.connection.bound(initiator.now, BindOutcome::Bound { tsih: 1 });
    }
}
