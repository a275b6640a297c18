//! Copies by ROD tokens, as Windows makes them, and what tokens must not do.

use super::lab::*;
use super::limits;
use crate::scsi::asc;
use crate::scsi::command::{DeviceServer, Outcome};
use crate::scsi::sense::{Asc, SenseKey, Status};
use crate::testing::{poll, sense_of};
use SenseKey::{CopyAborted, IllegalRequest};
use proptest::prelude::*;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// Makes a token by initiator 1.
fn token_of(lab: &Lab, unit: usize, of: &[(u64, u32)]) -> Vec<u8> {
    let list = populate(0, 0, 0, of);
    lab.good(unit, &token_command(0x10, 1, &list), &list);
    token_told(lab, unit, 1)
}

fn token_told(lab: &Lab, unit: usize, list_id: u32) -> Vec<u8> {
    let told = lab.good(unit, &receive_4(0x07, list_id), &[]);
    assert_eq!(told[..6], [0, 0, 2, 0x22, 0x10, 0x01]);
    assert_eq!(told[32..38], [0, 0, 2, 2, 0, 0]);
    assert_eq!(told.len(), 38 + 512);
    told[38..].to_vec()
}

fn write(lab: &Lab, unit: usize, offset: u64, token: &[u8], to: &[(u64, u32)]) -> Option<(SenseKey, Asc)> {
    let list = write_using(0, offset, token, to);
    sense_of(&lab.run(unit, &token_command(0x11, 2, &list), &list))
}

/// COPY OPERATION STATUS and TRANSFER COUNT in blocks of the last write.
fn told(lab: &Lab, unit: usize) -> (u8, u64) {
    let told = lab.good(unit, &receive_4(0x07, 2), &[]);
    assert_eq!((told[4], told[15]), (0x11, 0xf1));
    (told[5], u64::from_be_bytes(told[16..24].try_into().unwrap()))
}

#[test]
fn windows_copies_a_file() {
    let lab = Lab::new();
    // A file in three fragments; RTV zero, the default timeout.
    let of = [(100, 2048), (5000, 1), (9000, 4000)];
    let list = populate(0, 0, 0, &of);
    lab.good(A, &token_command(0x10, 0xcafe_babe, &list), &list);
    let token = token_told(&lab, A, 0xcafe_babe);
    assert_eq!(token[..8], [0x00, 0x80, 0x00, 0x01, 0, 0, 0x01, 0xf8]);
    assert_eq!(token[16..24], [0xe4, 0, 0, 0, 1, 3, 0, 8]);
    assert_eq!(token[24..32], lab.units[A].config().identity.naa());
    assert_eq!(token[48..64], (6049_u128 * 512).to_be_bytes());
    let file: Vec<u8> = of
        .iter()
        .flat_map(|(lba, blocks)| lab.data(A)[*lba as usize * 512..][..*blocks as usize * 512].to_vec())
        .collect();
    // In two writes, to a unit of the other target; the second one begins where the first one has ended.
    let mut want = lab.data(D);
    want[1000 * 512..][..3000 * 512].copy_from_slice(&file[..3000 * 512]);
    want[8000 * 512..][..49 * 512].copy_from_slice(&file[3000 * 512..3049 * 512]);
    want[5000 * 512..][..3000 * 512].copy_from_slice(&file[3049 * 512..]);
    assert_eq!(write(&lab, D, 0, &token, &[(1000, 3000)]), None);
    assert_eq!(told(&lab, D), (0x01, 3000));
    assert_eq!(write(&lab, D, 3000, &token, &[(8000, 49), (5000, 3000)]), None);
    assert_eq!(told(&lab, D), (0x01, 3049));
    assert!(lab.data(D) == want);
    assert!(lab.units.iter().all(|unit| unit.tasks().is_empty()));
}

#[test]
fn a_token_for_blocks_of_another_size() {
    let lab = Lab::new();
    // To larger blocks: the last one is filled up with zeros. 13 blocks of 512 are one of 4096 and a part.
    let token = token_of(&lab, A, &[(10, 5), (40, 8)]);
    let mut want = lab.data(C);
    let data = [&lab.data(A)[10 * 512..15 * 512], &lab.data(A)[40 * 512..48 * 512]].concat();
    want[7 * 4096..9 * 4096].fill(0);
    want[7 * 4096..][..13 * 512].copy_from_slice(&data);
    assert_eq!(write(&lab, C, 0, &token, &[(7, 4)]), None);
    assert_eq!(told(&lab, C), (0x03, 2), "partial ROD token usage");
    assert!(lab.data(C) == want);
    // To smaller blocks, in fragments that split those of the token.
    let token = token_of(&lab, C, &[(100, 2)]);
    let mut want = lab.data(B);
    let data = lab.data(C)[100 * 4096..102 * 4096].to_vec();
    want[0..3 * 512].copy_from_slice(&data[2 * 512..5 * 512]);
    want[20 * 512..31 * 512].copy_from_slice(&data[5 * 512..]);
    assert_eq!(write(&lab, B, 2, &token, &[(0, 3), (20, 40)]), None);
    assert_eq!(told(&lab, B), (0x03, 14));
    assert!(lab.data(B) == want);
}

#[test]
fn whatever_changes_a_block_revokes_its_token() {
    let lab = Lab::new();
    let token = || token_of(&lab, A, &[(1000, 100), (3000, 8)]);
    let revoked = Some((IllegalRequest, asc::TOKEN_REVOKED));
    let copy = lid1(0, 0x18, &[lab.cscd(B), lab.cscd(A)], &[from_to(0, 1099, 1)]);
    let mut unmap = vec![0, 22, 0, 16, 0, 0, 0, 0];
    unmap.extend_from_slice(&ranges(&[(3007, 1)]));
    let by_token = write_using(0, 0, &zero_token(), &[(999, 2)]);
    let changes: [(&str, Vec<u8>, Vec<u8>); 8] = [
        ("WRITE(10)", vec![0x2a, 0, 0, 0, 0x04, 0x4b, 0, 0, 1, 0], vec![0; 512]),
        ("WRITE SAME(10)", vec![0x41, 0, 0, 0, 0x0b, 0xb8, 0, 0, 1, 0], vec![0; 512]),
        ("UNMAP", vec![0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0], unmap),
        ("COMPARE AND WRITE", vec![0x89, 0, 0, 0, 0, 0, 0, 0, 3, 0xe8, 0, 0, 0, 1, 0, 0], vec![0; 1024]),
        ("ORWRITE", vec![0x8b, 0, 0, 0, 0, 0, 0, 0, 3, 0xe8, 0, 0, 0, 1, 0, 0], vec![0; 512]),
        ("EXTENDED COPY", extended_copy(&copy).to_vec(), copy),
        ("WRITE USING TOKEN", token_command(0x11, 3, &by_token).to_vec(), by_token),
        ("FORMAT UNIT", vec![0x04, 0, 0, 0, 0, 0], vec![]),
    ];
    for (what, cdb, data) in changes {
        let token = token();
        assert_eq!(write(&lab, B, 0, &token, &[(0, 108)]), None, "{what}");
        let mut change = pin!(lab.start(A, &cdb, &data));
        while poll(change.as_mut()).is_pending() {
            lab.crew.step();
        }
        assert_eq!(write(&lab, B, 0, &token, &[(0, 108)]), revoked, "{what}");
    }
    // What changes nothing of it, or nothing at all, does not.
    let token = token();
    lab.good(A, &[0x2a, 0, 0, 0, 0x04, 0x4c, 0, 0, 1, 0], &[1; 512]);
    lab.good(A, &[0x28, 0, 0, 0, 0x03, 0xe8, 0, 0, 1, 0], &[]);
    assert_eq!(write(&lab, A, 0, &token, &[(1100, 108)]), None);
    assert_eq!(write(&lab, A, 0, &token, &[(1020, 1)]), None, "read before it is changed");
    assert_eq!(write(&lab, A, 0, &token, &[(1020, 1)]), revoked);
    assert!(!lab.units[A].watches().any(), "what is revoked is watched no longer");
}

#[test]
fn a_change_in_the_midst_of_a_write_is_noticed() {
    let lab = Lab::new();
    let token = token_of(&lab, A, &[(0, 20_000)]);
    let list = write_using(0, 0, &token, &[(0, 20_000)]);
    let mut running = pin!(lab.start(B, &token_command(0x11, 2, &list), &list));
    lab.units[B].device().hold(true);
    for _ in 0..20 {
        assert!(poll(running.as_mut()).is_pending());
    }
    // The token may be gone meanwhile: it is in use.
    pass(Duration::from_secs(1000));
    token_of(&lab, C, &[(0, 1)]);
    lab.good(A, &[0x2a, 0, 0, 0, 0x40, 0, 0, 0, 1, 0], &[0xee; 512]);
    lab.units[B].device().hold(false);
    let outcome = (0..100).find_map(|_| match poll(running.as_mut()) {
        Poll::Ready(Outcome::Done(response)) => Some(response),
        _ => None,
    });
    assert_eq!(sense_of(&outcome.unwrap()), Some((CopyAborted, asc::TOKEN_REVOKED)));
    let (status, blocks) = told(&lab, B);
    assert_eq!(status, 0x02);
    let bytes = blocks as usize * 512;
    assert!(lab.data(B)[..bytes] == lab.data(A)[..bytes]);
    assert!(bytes < 0x4000 * 512, "what was changed was not copied");
}

#[test]
fn a_token_waits_for_writes_that_are_under_way() {
    let lab = Lab::new();
    lab.units[A].device().hold(true);
    let mut written = pin!(lab.start(A, &[0x2a, 0, 0, 0, 0, 8, 0, 0, 1, 0], &[0x77; 512]));
    assert!(poll(written.as_mut()).is_pending());
    let list = populate(0, 0, 0, &[(0, 16)]);
    let mut populated = pin!(lab.start(A, &token_command(0x10, 1, &list), &list));
    assert!(poll(populated.as_mut()).is_pending());
    lab.units[A].device().hold(false);
    assert!(poll(written.as_mut()).is_ready());
    assert!(poll(populated.as_mut()).is_ready());
    let token = token_told(&lab, A, 1);
    assert_eq!(write(&lab, B, 0, &token, &[(0, 16)]), None);
    assert_eq!(lab.data(B)[8 * 512..9 * 512], [0x77; 512]);
}

fn zero_token() -> Vec<u8> {
    let mut token = vec![0; 512];
    token[..8].copy_from_slice(&[0xff, 0xff, 0x00, 0x01, 0, 0, 0x01, 0xf8]);
    token
}

#[test]
fn zeros_without_a_source() {
    let lab = Lab::new();
    let mut want = lab.data(B);
    want[5 * 512..15 * 512].fill(0);
    want[100 * 512..20_100 * 512].fill(0);
    assert_eq!(write(&lab, B, u64::MAX, &zero_token(), &[(5, 10), (100, 20_000)]), None);
    assert_eq!(told(&lab, B), (0x01, 20_010));
    assert!(lab.data(B) == want);
}

#[test]
fn tokens_end_by_time_or_when_told() {
    let lab = Lab::new();
    let unknown = Some((IllegalRequest, asc::TOKEN_UNKNOWN));
    let token = token_of(&lab, A, &[(0, 8)]);
    pass(Duration::from_secs(29));
    assert_eq!(write(&lab, B, 0, &token, &[(0, 8)]), None);
    pass(Duration::from_secs(29));
    assert_eq!(write(&lab, B, 0, &token, &[(0, 8)]), None, "its time had begun anew");
    pass(Duration::from_secs(30));
    assert_eq!(write(&lab, B, 0, &token, &[(0, 8)]), Some((IllegalRequest, asc::TOKEN_EXPIRED)));
    assert_eq!(write(&lab, B, 0, &token, &[(0, 8)]), unknown);
    assert!(!lab.units[A].watches().any());
    // DEL_TKN.
    let token = token_of(&lab, A, &[(0, 8)]);
    let list = write_using(0x02, 0, &token, &[(0, 8)]);
    lab.good(B, &token_command(0x11, 2, &list), &list);
    assert_eq!(write(&lab, B, 0, &token, &[(0, 8)]), unknown);
    // The longest time.
    let list = populate(0x02, 300, 0x0080_ffff, &[(0, 8)]);
    lab.good(A, &token_command(0x10, 1, &list), &list);
    let token = token_told(&lab, A, 1);
    assert_eq!(token[..4], [0x00, 0x80, 0x00, 0x01]);
    pass(Duration::from_secs(299));
    assert_eq!(write(&lab, B, 0, &token, &[(0, 8)]), None);
    // A unit that is gone.
    lab.targets[0].remove_unit(0);
    lab.settle();
    let gone = Some((CopyAborted, asc::COPY_TARGET_DEVICE_NOT_REACHABLE));
    assert_eq!(write(&lab, B, 0, &token, &[(0, 8)]), gone);
}

#[test]
fn a_token_opens_nothing_to_those_who_do_not_reach_its_unit() {
    let lab = Lab::new();
    let token = token_of(&lab, D, &[(0, 8)]);
    let other = nexus(20, 2, 0, &[]);
    lab.targets[0].nexus_established(&other);
    let list = write_using(0, 0, &token, &[(0, 8)]);
    let write = || loop {
        let response = lab.run_as(&other, A, &token_command(0x11, 2, &list), &list);
        match sense_of(&response) {
            Some((SenseKey::UnitAttention, _)) => {}
            other => return other,
        }
    };
    let before = lab.data(A);
    assert_eq!(write(), Some((CopyAborted, asc::COPY_TARGET_DEVICE_NOT_REACHABLE)));
    assert_eq!(lab.data(A), before);
    lab.targets[1].nexus_established(&nexus(21, 2, 1, &[]));
    assert_eq!(write(), None, "handed over to an initiator that may read the blocks itself");
}

#[test]
fn reservations_hold_for_tokens() {
    let lab = Lab::new();
    let token = token_of(&lab, A, &[(0, 8)]);
    let other = nexus(20, 2, 0, &[]);
    lab.targets[0].nexus_established(&other);
    while lab.run_as(&other, A, &[0x16, 0, 0, 0, 0, 0], &[]).status != Status::Good {}
    assert_eq!(write(&lab, B, 0, &token, &[(0, 8)]), Some((CopyAborted, asc::THIRD_PARTY_DEVICE_FAILURE)));
    let list = populate(0, 0, 0, &[(0, 8)]);
    assert_eq!(lab.run(A, &token_command(0x10, 1, &list), &list).status, Status::ReservationConflict);
}

#[test]
fn in_the_background() {
    let lab = Lab::new();
    let list = populate(0x01, 0, 0, &[(0, 4096)]);
    lab.good(A, &token_command(0x10, 1, &list), &list);
    let under_way = lab.good(A, &receive_4(0x07, 1), &[]);
    assert_eq!((under_way.len(), under_way[5]), (36, 0x12));
    lab.crew.finish();
    let token = token_told(&lab, A, 1);
    let list = write_using(0x01, 0, &token, &[(0, 4096)]);
    lab.good(B, &token_command(0x11, 2, &list), &list);
    assert_eq!(told(&lab, B).0, 0x12);
    lab.crew.finish();
    assert_eq!(told(&lab, B), (0x01, 4096));
    assert!(lab.data(B)[..2 << 20] == lab.data(A)[..2 << 20]);
}

#[test]
fn lists_that_are_wrong() {
    let lab = Lab::new();
    let parameters = Some((IllegalRequest, asc::INVALID_FIELD_IN_PARAMETER_LIST));
    let length = Some((IllegalRequest, asc::PARAMETER_LIST_LENGTH_ERROR));
    let beyond = Some((IllegalRequest, asc::LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE));
    let many = Some((IllegalRequest, asc::TOO_MANY_SEGMENT_DESCRIPTORS));
    let run = |action, list: &[u8]| sense_of(&lab.run(A, &token_command(action, 1, list), list));
    let good = populate(0, 0, 0, &[(0, 8)]);
    assert_eq!(run(0x10, &good), None);
    assert_eq!(run(0x10, &[]), None);
    assert_eq!(run(0x10, &good[..15]), length);
    for (at, byte) in [(1, 0x1d), (15, 15)] {
        let mut list = good.clone();
        list[at] = byte;
        assert_eq!(run(0x10, &list), parameters, "{at}");
    }
    assert_eq!(run(0x10, &populate(0, 301, 0, &[(0, 8)])), parameters);
    for rod_type in [0, 0x0001_0000, 0x0080_0002, 0xffff_0001] {
        assert_eq!(run(0x10, &populate(0x02, 0, rod_type, &[(0, 8)])), parameters);
    }
    let most = limits::RANGES as usize;
    let apart: Vec<_> = (0..=most as u64).map(|at| (at * 2, 1)).collect();
    assert_eq!(run(0x10, &populate(0, 0, 0, &apart)), many);
    assert_eq!(run(0x10, &populate(0, 0, 0, &apart[1..])), None);
    assert_eq!(run(0x10, &populate(0, 0, 0, &[(8, 8), (0, 9)])), parameters, "the same block twice");
    assert_eq!(run(0x10, &populate(0, 0, 0, &[(0, 1 << 20)])), beyond);
    assert_eq!(run(0x10, &populate(0, 0, 0, &[(u64::MAX, u32::MAX)])), beyond);

    let token = token_of(&lab, B, &[(0, 8)]);
    let good = write_using(0, 0, &token, &[(0, 8)]);
    assert_eq!(run(0x11, &good), None);
    assert_eq!(run(0x11, &[]), None);
    assert_eq!(run(0x11, &good[..535]), length);
    for (at, byte) in [(1, 0x25), (1, 0x27), (535, 15)] {
        let mut list = good.clone();
        list[at] = byte;
        assert_eq!(run(0x11, &list), parameters, "{at}");
    }
    for offset in [8, 9, u64::MAX / 512 + 1, u64::MAX] {
        assert_eq!(run(0x11, &write_using(0, offset, &token, &[(0, 8)])), parameters, "{offset}");
    }
    assert_eq!(run(0x11, &write_using(0, 0, &token, &apart)), many);
    assert_eq!(run(0x11, &write_using(0, 0, &token, &[(0, 8), (7, 1)])), parameters);
    assert_eq!(run(0x11, &write_using(0, 0, &token, &[(24_575, 2)])), beyond);
    for (at, byte, code) in [
        (22, 0, asc::INVALID_TOKEN_LENGTH),
        (16, 0x12, asc::UNSUPPORTED_TOKEN_TYPE),
        (24, token[8] ^ 1, asc::TOKEN_UNKNOWN),
    ] {
        let mut list = good.clone();
        list[at] = byte;
        assert_eq!(run(0x11, &list), Some((IllegalRequest, code)));
    }
    lab.fails(A, &receive_4(0x07, 77), &[], IllegalRequest, asc::INVALID_FIELD_IN_CDB);
}

#[test]
fn one_initiator_cannot_crowd_out_the_tokens_of_another() {
    let lab = Lab::new();
    let other = nexus(20, 2, 0, &[]);
    lab.targets[0].nexus_established(&other);
    let theirs = token_of(&lab, B, &[(0, 1)]);
    let list = populate(0, 300, 0, &[(0, 1)]);
    for _ in 0..600 {
        while lab.run_as(&other, A, &token_command(0x10, 1, &list), &list).status != Status::Good {}
    }
    let tokens = lab.targets[0].copies().tokens().len();
    assert!((2..=257).contains(&tokens), "{tokens}");
    assert_eq!(write(&lab, C, 0, &theirs, &[(0, 1)]), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A token with any bit changed is no token, and any list is answered.
    #[test]
    fn nothing_but_the_token_itself_will_do(
        at in 0..512_usize,
        change in 1..=u8::MAX,
        noise in prop::collection::vec((0..600_usize, any::<u8>()), 0..4),
        cut in prop_oneof![Just(usize::MAX), 0..600_usize],
    ) {
        let lab = Lab::new();
        let token = token_of(&lab, A, &[(0, 64)]);
        let before = lab.data(B);
        let mut forged = token.clone();
        forged[at] ^= change;
        let is_zeros = forged[..4] == [0xff, 0xff, 0x00, 0x01];
        prop_assert!(is_zeros || write(&lab, B, 0, &forged, &[(0, 64)]).is_some());
        prop_assert!(is_zeros || lab.data(B) == before);
        for action in [0x10, 0x11] {
            let mut list = match action {
                0x10 => populate(0, 0, 0, &[(0, 8), (100, 8)]),
                _ => write_using(0, 0, &token, &[(0, 8), (100, 8)]),
            };
            for (at, byte) in &noise {
                if let Some(place) = list.get_mut(*at) {
                    *place = *byte;
                }
            }
            list.truncate(cut);
            sense_of(&lab.run(B, &token_command(action, 3, &list), &list));
            lab.crew.finish();
        }
        prop_assert!(lab.units.iter().all(|unit| unit.tasks().is_empty()));
    }
}
