use super::*;
use crate::pdu::fields::{RESERVED_TAG, Serial};
use crate::pdu::initiator::{DataOut, InitiatorPdu};
use crate::scsi::lun_address::LunAddress;
use bytes::BufMut;

const BOTH: [Digest; 2] = [Digest::None, Digest::Crc32c];

fn data_out(data: &[u8]) -> InitiatorPdu {
    InitiatorPdu::DataOut(DataOut {
        is_final: true,
        lun: LunAddress::from_number(0),
        initiator_task_tag: 7,
        target_transfer_tag: RESERVED_TAG,
        exp_stat_sn: Serial(1),
        data_sn: 0,
        buffer_offset: 0,
        data: Bytes::copy_from_slice(data),
    })
}

fn encoded(data: &[u8], header_digest: Digest, data_digest: Digest) -> BytesMut {
    let mut out = BytesMut::new();
    data_out(data).encode(header_digest, data_digest, &mut out);
    out
}

fn decoder(limit: u32, header_digest: Digest, data_digest: Digest) -> FrameDecoder {
    let mut decoder = FrameDecoder::new(limit);
    decoder.set_digests(header_digest, data_digest);
    decoder
}

#[test]
fn pdus_that_arrive_byte_by_byte() {
    for (header_digest, data_digest) in BOTH.into_iter().flat_map(|h| BOTH.map(|d| (h, d))) {
        let mut stream = BytesMut::new();
        for len in 0..10 {
            stream.extend_from_slice(&encoded(&b"0123456789"[..len], header_digest, data_digest));
        }
        let mut decoder = decoder(9, header_digest, data_digest);
        let mut input = BytesMut::new();
        let mut found = Vec::new();
        for byte in stream {
            let missing = decoder.missing(input.len());
            input.put_u8(byte);
            let frame = decoder.decode(&mut input).unwrap();
            assert!(missing == 1 || missing > 1 && frame.is_none());
            found.extend(frame);
        }
        let lengths: Vec<usize> = found.iter().map(|frame| frame.data.len()).collect();
        assert_eq!(lengths, (0..10).collect::<Vec<_>>());
        assert!(found.iter().all(|frame| b"0123456789".starts_with(&frame.data)));
    }
}

#[test]
fn data_is_split_from_the_buffer() {
    let mut input = encoded(&[0xa5; 4096], Digest::Crc32c, Digest::Crc32c);
    let place = input[BHS_LEN + DIGEST_LEN..].as_ptr();
    let frame = decoder(4096, Digest::Crc32c, Digest::Crc32c).decode(&mut input).unwrap().unwrap();
    assert_eq!(frame.data.as_ptr(), place);
    assert_eq!(frame.data, [0xa5; 4096][..]);
}

#[test]
fn announced_data_costs_nothing() {
    let whole = encoded(&[1; 1 << 16], Digest::None, Digest::None);
    let mut input = BytesMut::with_capacity(BHS_LEN);
    input.extend_from_slice(&whole[..BHS_LEN]);
    let capacity = input.capacity();
    let mut decoder = decoder(1 << 16, Digest::None, Digest::None);
    assert_eq!(decoder.decode(&mut input), Ok(None));
    assert!(input.capacity() <= capacity);
    assert_eq!(decoder.missing(input.len()), 1 << 16);
    assert_eq!(decoder.missing(1 << 15), 1 << 15);
}

#[test]
fn too_much_data_is_refused_when_it_is_announced() {
    for header_digest in BOTH {
        let mut whole = encoded(&[1; 513], header_digest, Digest::None);
        let bhs = *whole.first_chunk().unwrap();
        whole.truncate(BHS_LEN + DIGEST_LEN);
        let mut decoder = decoder(512, header_digest, Digest::None);
        let error = FrameError::DataSegmentTooLong { bhs, length: 513, limit: 512 };
        for _ in 0..3 {
            assert_eq!(decoder.decode(&mut whole), Err(error.clone()));
        }
    }
    let mut bhs = [0; BHS_LEN];
    bhs[5..8].fill(0xff);
    let error = FrameError::DataSegmentTooLong { bhs, length: 0xff_ffff, limit: 262_144 };
    assert_eq!(FrameDecoder::new(262_144).decode(&mut BytesMut::from(&bhs[..])), Err(error));
}

#[test]
fn a_length_is_believed_only_when_its_digest_fits() {
    let mut whole = encoded(&[1; 8], Digest::Crc32c, Digest::None);
    whole[5] = 0xff;
    let mut decoder = decoder(512, Digest::Crc32c, Digest::None);
    for _ in 0..3 {
        assert_eq!(decoder.decode(&mut whole), Err(FrameError::HeaderDigest));
    }
}

#[test]
fn decoding_goes_on_after_a_data_digest_error() {
    let mut input = encoded(b"wrong", Digest::None, Digest::Crc32c);
    let bhs = *input.first_chunk().unwrap();
    input[BHS_LEN] ^= 1;
    input.extend_from_slice(&encoded(b"right", Digest::None, Digest::Crc32c));
    let mut decoder = decoder(512, Digest::None, Digest::Crc32c);
    assert_eq!(decoder.decode(&mut input), Err(FrameError::DataDigest { bhs }));
    assert_eq!(decoder.decode(&mut input).unwrap().unwrap().data, "right");
    assert_eq!(decoder.decode(&mut input), Ok(None));
}

#[test]
fn padding_may_hold_anything_but_is_digested() {
    let mut input = encoded(b"12345", Digest::None, Digest::None);
    input[BHS_LEN + 5..].fill(0xee);
    assert_eq!(FrameDecoder::new(512).decode(&mut input).unwrap().unwrap().data, "12345");

    let mut input = encoded(b"12345", Digest::None, Digest::Crc32c);
    input[BHS_LEN + 6] ^= 0x80;
    let error = decoder(512, Digest::None, Digest::Crc32c).decode(&mut input).unwrap_err();
    assert!(matches!(error, FrameError::DataDigest { .. }));
}

#[test]
fn the_longest_additional_header_is_taken() {
    for header_digest in BOTH {
        let mut input = BytesMut::zeroed(BHS_LEN);
        input[4] = 0xff;
        input.resize(BHS_LEN + 1020, 0x5a);
        if header_digest == Digest::Crc32c {
            let digest = digest::crc32c([&input[..]]);
            input.extend_from_slice(&digest);
        }
        let mut decoder = decoder(0, header_digest, Digest::None);
        let last = input.split_off(input.len() - 1);
        assert_eq!(decoder.decode(&mut input), Ok(None));
        input.unsplit(last);
        let frame = decoder.decode(&mut input).unwrap().unwrap();
        assert_eq!(frame.ahs, [0x5a; 1020][..]);
        assert!(input.is_empty());
    }
}
