//! Every PDU that can be said comes back as it was said, whatever the digests.
#![allow(clippy::unwrap_used)]

mod fields;
mod initiator;
mod target;

use bytes::{Bytes, BytesMut};
use fields::{data, digest};
use glint_target_core::login::parameters::Digest;
use glint_target_core::pdu::error::PduError;
use glint_target_core::pdu::fields::{BHS_LEN, Serial};
use glint_target_core::pdu::frame::{Frame, FrameDecoder};
use glint_target_core::pdu::initiator::InitiatorPdu;
use glint_target_core::pdu::target::{DataIn, Numbering, TargetPdu};
use initiator::initiator_pdu;
use proptest::collection::vec;
use proptest::prelude::*;
use target::target_pdu;

/// The only frame in `bytes`.
fn frame(mut bytes: BytesMut, header_digest: Digest, data_digest: Digest) -> Frame {
    let mut decoder = FrameDecoder::new(4096);
    decoder.set_digests(header_digest, data_digest);
    let frame = decoder.decode(&mut bytes).unwrap().unwrap();
    assert!(bytes.is_empty());
    frame
}

proptest! {
    #[test]
    fn initiator_pdus(pdu in initiator_pdu(), header_digest in digest(), data_digest in digest()) {
        let mut bytes = BytesMut::new();
        pdu.encode(header_digest, data_digest, &mut bytes);
        prop_assert_eq!(InitiatorPdu::parse(frame(bytes, header_digest, data_digest)).unwrap(), pdu);
    }

    #[test]
    fn target_pdus(
        pdu in target_pdu(),
        numbers in any::<[u32; 3]>(),
        header_digest in digest(),
        data_digest in digest(),
    ) {
        let [stat_sn, exp_cmd_sn, max_cmd_sn] = numbers.map(Serial);
        let numbering = Numbering { stat_sn, exp_cmd_sn, max_cmd_sn };
        let mut bytes = BytesMut::new();
        pdu.encode(numbering, header_digest, data_digest, &mut bytes);
        let (again, numbers) = TargetPdu::parse(frame(bytes, header_digest, data_digest)).unwrap();
        let without_status = matches!(&pdu, TargetPdu::DataIn(DataIn { status: None, .. }));
        let stat_sn = if without_status { Serial(0) } else { stat_sn };
        prop_assert_eq!(numbers, Numbering { stat_sn, ..numbering });
        prop_assert_eq!(again, pdu);
    }

    /// Any bytes at all: a PDU or a refusal that carries the header, and what is taken for a PDU has one meaning.
    #[test]
    fn garbage(bytes in vec(any::<u8>(), BHS_LEN), opcode in 0..0x40_u8, ahs in vec(any::<u8>(), 0..6), data in data()) {
        let mut bhs = [0; BHS_LEN];
        bhs.copy_from_slice(&bytes);
        bhs[0] = bhs[0] & 0xc0 | opcode;
        let ahs: Bytes = ahs.iter().flat_map(|byte| [0, byte & 7, byte >> 5, *byte]).collect();
        let frame_in = Frame { bhs, ahs, data };
        match InitiatorPdu::parse(frame_in.clone()) {
            Err(PduError { bhs: told, .. }) => prop_assert_eq!(told, bhs),
            Ok(pdu) => {
                let mut bytes = BytesMut::new();
                pdu.encode(Digest::None, Digest::None, &mut bytes);
                prop_assert_eq!(InitiatorPdu::parse(frame(bytes, Digest::None, Digest::None)).unwrap(), pdu);
            }
        }
        match TargetPdu::parse(frame_in) {
            Err(PduError { bhs: told, .. }) => prop_assert_eq!(told, bhs),
            Ok((pdu, numbering)) => {
                let mut bytes = BytesMut::new();
                pdu.encode(numbering, Digest::None, Digest::None, &mut bytes);
                prop_assert_eq!(TargetPdu::parse(frame(bytes, Digest::None, Digest::None)).unwrap().0, pdu);
            }
        }
    }
}
