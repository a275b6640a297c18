//! The codec against what real initiators and a real target said: every PDU is parsed and encodes to the same bytes.
#![allow(clippy::panic, clippy::expect_used)]

use bytes::BytesMut;
use glint_target_core::login::parameters::Digest;
use glint_target_core::pdu::frame::{Frame, FrameDecoder, FrameError};
use glint_target_core::pdu::initiator::InitiatorPdu;
use glint_target_core::pdu::target::TargetPdu;
use glint_target_core::pdu::{fields::BHS_LEN, opcode};
use std::path::Path;

struct Capture {
    name: &'static str,
    header_digest: Digest,
    data_digest: Digest,
}

const fn plain(name: &'static str) -> Capture {
    Capture { name, header_digest: Digest::None, data_digest: Digest::None }
}

const CAPTURES: [Capture; 13] = [
    plain("libiscsi-discovery-0"),
    plain("libiscsi-discovery-1"),
    plain("libiscsi-mutual-chap-0"),
    Capture { name: "libiscsi-digests-0", header_digest: Digest::Crc32c, data_digest: Digest::None },
    plain("libiscsi-tests-pr-0"),
    plain("libiscsi-tests-pr-1"),
    plain("libiscsi-tests-pr-2"),
    plain("libiscsi-tests-pr-3"),
    plain("qemu-img-0"),
    plain("linux-kernel-0"),
    Capture { name: "linux-kernel-1", header_digest: Digest::Crc32c, data_digest: Digest::Crc32c },
    plain("linux-kernel-digest-refused-0"),
    plain("linux-kernel-digest-refused-1"),
];

fn read(name: &str, side: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/wire/{name}.{side}.bin"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn is_login(first: u8) -> bool {
    [opcode::LOGIN_REQUEST, opcode::LOGIN_RESPONSE].contains(&(first & opcode::MASK))
}

/// The frames of a stream with the bytes of each, digests in use after the last login PDU.
fn frames(capture: &Capture, stream: &[u8]) -> Vec<(Frame, Vec<u8>, (Digest, Digest))> {
    let mut decoder = FrameDecoder::new(0xff_ffff);
    let mut input = BytesMut::from(stream);
    let mut found = Vec::new();
    while let Some(first) = input.first().copied() {
        let digests = match is_login(first) {
            true => (Digest::None, Digest::None),
            false => (capture.header_digest, capture.data_digest),
        };
        decoder.set_digests(digests.0, digests.1);
        let before = input.clone();
        let frame = decoder.decode(&mut input).expect("no error").expect("a whole PDU");
        found.push((frame, before[..before.len() - input.len()].to_vec(), digests));
    }
    found
}

#[test]
fn initiator_pdus_encode_to_the_bytes_they_came_from() {
    let mut count = 0;
    for capture in &CAPTURES {
        for (frame, bytes, (header_digest, data_digest)) in frames(capture, &read(capture.name, "initiator"))
        {
            let pdu = InitiatorPdu::parse(frame).unwrap();
            let mut again = BytesMut::new();
            pdu.encode(header_digest, data_digest, &mut again);
            assert_eq!(again, bytes, "{}: {pdu:?}", capture.name);
            count += 1;
        }
    }
    assert!(count > 300, "{count} PDUs");
}

#[test]
fn target_pdus_encode_to_the_bytes_they_came_from() {
    let mut count = 0;
    for capture in &CAPTURES {
        for (frame, bytes, (header_digest, data_digest)) in frames(capture, &read(capture.name, "target")) {
            let (pdu, numbering) = TargetPdu::parse(frame).unwrap();
            let mut again = BytesMut::new();
            pdu.encode(numbering, header_digest, data_digest, &mut again);
            assert_eq!(again, bytes, "{}: {pdu:?}", capture.name);
            count += 1;
        }
    }
    assert!(count > 200, "{count} PDUs");
}

#[test]
fn every_truncation_waits_for_more() {
    for capture in &CAPTURES {
        for (frame, bytes, (header_digest, data_digest)) in frames(capture, &read(capture.name, "initiator"))
        {
            // All header bytes, then every boundary and some of the data of long ones.
            let cuts = (0..bytes.len()).filter(|cut| *cut < 200 || bytes.len() - cut < 16 || cut % 997 == 0);
            for cut in cuts {
                let mut decoder = FrameDecoder::new(0xff_ffff);
                decoder.set_digests(header_digest, data_digest);
                let mut input = BytesMut::from(&bytes[..cut]);
                assert_eq!(decoder.decode(&mut input), Ok(None), "{} cut at {cut}", capture.name);
                input.extend_from_slice(&bytes[cut..]);
                assert_eq!(decoder.decode(&mut input), Ok(Some(frame.clone())));
                assert!(input.is_empty());
            }
        }
    }
}

#[test]
fn every_flipped_bit_is_seen_by_the_digests() {
    let capture = CAPTURES.iter().find(|capture| capture.name == "linux-kernel-1").unwrap();
    let frames = frames(capture, &read(capture.name, "initiator"));
    let (frame, bytes, digests) = frames
        .iter()
        .find(|(frame, _, digests)| digests.1 == Digest::Crc32c && (1..2000).contains(&frame.data.len()))
        .unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let mut input = BytesMut::from(&bytes[..]);
        // A changed length may ask for more bytes than there are.
        input.resize(bytes.len() + 2048, 0);
        let mut decoder = FrameDecoder::new(0xff_ffff);
        decoder.set_digests(digests.0, digests.1);
        let expected = match bit / 8 {
            0..BHS_LEN | 48..52 => FrameError::HeaderDigest,
            _ => FrameError::DataDigest { bhs: frame.bhs },
        };
        assert_eq!(decoder.decode(&mut input), Err(expected), "bit {bit}");
    }
}
