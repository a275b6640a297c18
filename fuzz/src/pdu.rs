//! The codec: framing, parsers, encoders, the transmit queue.

use bytes::{Buf, Bytes, BytesMut};
use glint_target_core::login::parameters::Digest;
use glint_target_core::pdu::frame::{Frame, FrameDecoder, FrameError};
use glint_target_core::pdu::initiator::InitiatorPdu;
use glint_target_core::pdu::target::TargetPdu;
use glint_target_core::pdu::transmit::TransmitQueue;

/// Limits of a data segment in bytes.
const LIMITS: [u32; 4] = [0, 512, 8192, 0xff_ffff];
/// With and without each digest.
const DIGESTS: [(Digest, Digest); 4] = [
    (Digest::None, Digest::None),
    (Digest::Crc32c, Digest::None),
    (Digest::None, Digest::Crc32c),
    (Digest::Crc32c, Digest::Crc32c),
];

/// Takes: one byte that selects the digests (bits 0 and 1) and the limit (bits 2 and 3), one byte that tells how many bytes
/// arrive at a time, then a stream of PDUs.
pub fn pdu(data: &[u8]) {
    let [select, at_a_time, stream @ ..] = data else { return };
    let digests = DIGESTS[usize::from(select & 3)];
    let limit = LIMITS[usize::from(select >> 2 & 3)];
    let mut decoder = FrameDecoder::new(limit);
    decoder.set_digests(digests.0, digests.1);

    let mut input = BytesMut::new();
    for arrived in stream.chunks(usize::from(*at_a_time) + 1) {
        input.extend_from_slice(arrived);
        loop {
            let before = input.len();
            match decoder.decode(&mut input) {
                Ok(None) => {
                    assert!(decoder.missing(input.len()) >= 1);
                    break;
                }
                Ok(Some(frame)) => {
                    assert!(frame.data.len() <= limit as usize && frame.ahs.len().is_multiple_of(4));
                    check_initiator(&frame);
                    check_target(&frame);
                }
                Err(FrameError::DataDigest { .. }) => assert!(input.len() < before),
                Err(error @ (FrameError::HeaderDigest | FrameError::DataSegmentTooLong { .. })) => {
                    assert_eq!(decoder.decode(&mut input), Err(error));
                    assert_eq!(input.len(), before);
                    return;
                }
            }
        }
    }
}

/// The one frame of these bytes.
fn only_frame(mut bytes: BytesMut, (header_digest, data_digest): (Digest, Digest)) -> Frame {
    let mut decoder = FrameDecoder::new(0xff_ffff);
    decoder.set_digests(header_digest, data_digest);
    let frame = decoder.decode(&mut bytes).expect("sound digests").expect("a whole PDU");
    assert!(bytes.is_empty());
    frame
}

/// What is taken for a PDU means the same after it is encoded.
fn check_initiator(frame: &Frame) {
    match InitiatorPdu::parse(frame.clone()) {
        Err(error) => assert_eq!(error.bhs, frame.bhs),
        Ok(pdu) => {
            for digests in DIGESTS {
                let mut bytes = BytesMut::new();
                pdu.encode(digests.0, digests.1, &mut bytes);
                assert_eq!(InitiatorPdu::parse(only_frame(bytes, digests)).as_ref(), Ok(&pdu));
            }
        }
    }
}

/// The same for what targets send, and the transmit queue agrees.
fn check_target(frame: &Frame) {
    let Ok((pdu, numbering)) = TargetPdu::parse(frame.clone()) else { return };
    let mut queue = TransmitQueue::new();
    for digests in DIGESTS {
        let mut bytes = BytesMut::new();
        pdu.encode(numbering, digests.0, digests.1, &mut bytes);
        queue.push(&pdu, numbering, digests.0, digests.1);
        assert_eq!(queue.len(), bytes.len());
        let queued: Bytes = queue.copy_to_bytes(queue.len());
        assert_eq!(queued, bytes);
        let (again, _) = TargetPdu::parse(only_frame(bytes, digests)).expect("what was parsed before");
        assert_eq!(again, pdu);
    }
}
