use super::*;
use crate::payload::Payload;
use crate::pdu::fields::{BHS_LEN, RESERVED_TAG, Serial};
use crate::pdu::target::{CollapsedStatus, DataIn, Residual, ScsiResponse, TaskManagementResponse};
use crate::scsi::lun_address::LunAddress;
use bytes::BytesMut;
use proptest::prelude::*;

const NUMBERING: Numbering =
    Numbering { stat_sn: Serial(3), exp_cmd_sn: Serial(4), max_cmd_sn: Serial(0xffff_ffff) };

fn data_in(pieces: &[usize]) -> TargetPdu {
    let mut data = Payload::new();
    pieces.iter().enumerate().for_each(|(n, len)| data.push(vec![n as u8; *len].into()));
    TargetPdu::DataIn(DataIn {
        is_final: true,
        status: Some(CollapsedStatus { status: 0, residual: Residual::Underflow(9) }),
        lun: LunAddress::default(),
        initiator_task_tag: 1,
        target_transfer_tag: RESERVED_TAG,
        data_sn: 0,
        buffer_offset: 0,
        data,
    })
}

fn sense(len: usize) -> TargetPdu {
    TargetPdu::ScsiResponse(ScsiResponse {
        initiator_task_tag: 2,
        response: 0,
        status: 2,
        residual: Residual::None,
        bidirectional_read_residual: Residual::None,
        exp_data_sn: 0,
        sense: std::iter::repeat_n(0x70, len).collect(),
    })
}

fn managed() -> TargetPdu {
    TargetPdu::TaskManagement(TaskManagementResponse { initiator_task_tag: 3, response: 0 })
}

/// Where each slice of the vector is, and its length.
fn slices(queue: &TransmitQueue) -> Vec<(*const u8, usize)> {
    let mut vector = [IoSlice::new(&[]); 64];
    let filled = queue.chunks_vectored(&mut vector);
    vector[..filled].iter().map(|slice| (slice.as_ptr(), slice.len())).collect()
}

/// All bytes, taken by vectored writes of `vector` slices that write at most `most` bytes each.
fn drain(queue: &mut TransmitQueue, vector: usize, most: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while !queue.is_empty() {
        let mut slices = [IoSlice::new(&[]); 16];
        let filled = queue.chunks_vectored(&mut slices[..vector]);
        let bytes: Vec<u8> =
            slices[..filled].iter().flat_map(|slice| slice.iter().copied()).take(most).collect();
        assert!(bytes.starts_with(&queue.chunk()[..queue.chunk().len().min(most)]) && !bytes.is_empty());
        queue.advance(bytes.len());
        out.extend_from_slice(&bytes);
        assert_eq!(queue.remaining(), queue.len());
    }
    out
}

#[test]
fn responses_without_payload_are_one_slice() {
    let mut queue = TransmitQueue::new();
    for pdu in [managed(), sense(18), data_in(&[36]), managed()] {
        queue.push(&pdu, NUMBERING, Digest::None, Digest::None);
    }
    assert_eq!(slices(&queue).len(), 1);
    assert_eq!(queue.len(), 48 + (48 + 20) + (48 + 36) + 48);
}

#[test]
fn payload_goes_out_from_where_it_is() {
    let pdu = data_in(&[4096, 8192]);
    let TargetPdu::DataIn(DataIn { data, .. }) = &pdu else { panic!("not Data-In") };
    let mut queue = TransmitQueue::new();
    queue.push(&pdu, NUMBERING, Digest::Crc32c, Digest::Crc32c);
    queue.push(&managed(), NUMBERING, Digest::Crc32c, Digest::Crc32c);
    let found = slices(&queue);
    assert_eq!(found.iter().map(|(_, len)| *len).collect::<Vec<_>>(), [52, 4096, 8192, 4 + 52]);
    assert_eq!([found[1].0, found[2].0], [data.pieces()[0].as_ptr(), data.pieces()[1].as_ptr()]);
}

#[test]
fn status_travels_with_the_last_data() {
    let mut out = BytesMut::new();
    data_in(&[5]).encode(NUMBERING, Digest::None, Digest::None, &mut out);
    assert_eq!(out.len(), BHS_LEN + 8);
    assert_eq!(out[..8], [0x25, 0x83, 0, 0, 0, 0, 0, 5]);
    assert_eq!(out[24..36], [0, 0, 0, 3, 0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(out[44..], [0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0]);

    let TargetPdu::DataIn(mut data) = data_in(&[5]) else { panic!("not Data-In") };
    data.status = None;
    data.is_final = false;
    out.clear();
    TargetPdu::DataIn(data).encode(NUMBERING, Digest::None, Digest::None, &mut out);
    // StatSN and the residual count are reserved.
    assert_eq!((&out[..4], &out[24..28], &out[44..48]), (&[0x25, 0, 0, 0][..], &[0; 4][..], &[0; 4][..]));
}

#[test]
fn the_arena_stays_small_when_the_queue_never_empties() {
    let mut queue = TransmitQueue::new();
    queue.push(&data_in(&[4096]), NUMBERING, Digest::None, Digest::None);
    for _ in 0..10_000 {
        queue.push(&data_in(&[4096]), NUMBERING, Digest::None, Digest::None);
        queue.advance(BHS_LEN + 4096);
        assert_eq!(queue.len(), BHS_LEN + 4096);
    }
    assert!(queue.arena.capacity() <= 4 * ARENA_KEPT, "{}", queue.arena.capacity());
}

#[test]
fn memory_of_a_burst_is_given_back() {
    let mut queue = TransmitQueue::new();
    (0..10_000).for_each(|_| queue.push(&managed(), NUMBERING, Digest::None, Digest::None));
    assert!(queue.arena.capacity() >= 480_000);
    queue.advance(queue.len() + 1);
    assert!(queue.is_empty() && queue.chunk().is_empty());
    assert!(queue.arena.capacity() <= ARENA_KEPT);
}

fn pdu() -> impl Strategy<Value = TargetPdu> {
    prop_oneof![
        Just(managed()),
        (0..=252_usize).prop_map(sense),
        prop::collection::vec(prop_oneof![0..9_usize, 500..520_usize, 4096..4100_usize], 0..4)
            .prop_map(|pieces| data_in(&pieces)),
    ]
}

fn digest() -> impl Strategy<Value = Digest> {
    prop_oneof![Just(Digest::None), Just(Digest::Crc32c)]
}

proptest! {
    /// Whatever is queued and however it is written, the bytes are those of the plain encoder.
    #[test]
    fn the_bytes_are_those_of_encode(
        pdus in prop::collection::vec((pdu(), digest(), digest()), 1..12),
        vector in 1..16_usize,
        most in prop_oneof![Just(usize::MAX), 1..9000_usize],
        ahead in 0..20_000_usize,
    ) {
        let mut queue = TransmitQueue::new();
        let mut expected = BytesMut::new();
        let mut written = Vec::new();
        for (pdu, header_digest, data_digest) in &pdus {
            queue.push(pdu, NUMBERING, *header_digest, *data_digest);
            pdu.encode(NUMBERING, *header_digest, *data_digest, &mut expected);
            // Some is written while more is queued.
            let taken = queue.chunk()[..queue.chunk().len().min(ahead)].to_vec();
            queue.advance(taken.len());
            written.extend_from_slice(&taken);
        }
        prop_assert_eq!(queue.len() + written.len(), expected.len());
        written.extend(drain(&mut queue, vector, most));
        prop_assert_eq!(written, expected);
    }
}
