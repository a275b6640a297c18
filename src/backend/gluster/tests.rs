//! Patience, in virtual time, over a file whose failures are scripted.

use super::fake::{FakeFile, Fate};
use super::*;
use crate::backend::conformance;
use rustix::io::Errno;
use std::time::Duration;
use tokio::time::advance;

const MIB: usize = 1 << 20;
const DEADLINE: Duration = Duration::from_secs(12);

fn abilities() -> Abilities {
    Abilities { read_only: false, discard: true, sharded: false, fenced: false }
}

fn device_with(size: usize, abilities: Abilities) -> Patient<FakeFile> {
    Patient::new(FakeFile::new(size), size as u64, abilities, DEADLINE, None)
}

fn device() -> Patient<FakeFile> {
    device_with(8 * MIB, abilities())
}

/// The same, and what becomes of its first operations.
fn fated(fates: &[Fate]) -> Patient<FakeFile> {
    let device = device();
    device.shared.file.script().fates.extend(fates);
    device
}

fn payload(byte: u8, len: usize) -> Payload {
    vec![byte; len].into()
}

/// Bricks whose disks have 4 KiB sectors.
mod large_sectors {
    use super::*;

    conformance::suite!(keeps_data: true, async |how| {
        let how: crate::backend::OpenOptions = how;
        let device = device_with(conformance::SIZE as usize, Abilities {
            read_only: how.read_only,
            discard: false,
            sharded: true,
            fenced: false,
        });
        let mut script = device.shared.file.script();
        (script.sector, script.lacks_holes) = (4096, true);
        drop(script);
        (device, ())
    });
}

#[tokio::test(start_paused = true)]
async fn a_short_absence_is_ridden_out() {
    let away = [Fate::Fails(Errno::NOTCONN); 6];
    for (operation, name) in
        [("read", "read"), ("write", "write"), ("flush", "fdatasync"), ("discard", "discard")]
    {
        let device = fated(&away);
        let begun = Instant::now();
        let result = match operation {
            "read" => device.read(0, 4096).await.map(drop),
            "write" => device.write(0, &payload(1, 4096), false).await,
            "flush" => device.flush().await,
            _ => device.discard(0, 4096).await,
        };
        assert_eq!(result, Ok(()), "{operation}");
        assert_eq!(device.shared.file.names(), [name; 7]);
        assert!(
            begun.elapsed() > Duration::from_secs(1) && begun.elapsed() < DEADLINE,
            "{:?}",
            begun.elapsed()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn patience_ends_below_the_initiators_timers_and_begins_anew() {
    let device = fated(&[Fate::Fails(Errno::NOTCONN); 1000]);
    for _ in 0..2 {
        let begun = Instant::now();
        assert_eq!(device.read(0, 4096).await, Err(DeviceError::Unreachable));
        assert_eq!(device.write(0, &payload(1, 512), true).await, Err(DeviceError::Unreachable));
        assert_eq!(device.flush().await, Err(DeviceError::Unreachable));
        assert!(begun.elapsed() <= 3 * DEADLINE, "{:?}", begun.elapsed());
        assert!(begun.elapsed() > 3 * DEADLINE - Duration::from_secs(4), "{:?}", begun.elapsed());
    }
    device.shared.file.script().fates.clear();
    assert_eq!(device.flush().await, Ok(()), "an unreachable store latches nothing");
    assert_eq!(device.write(0, &payload(1, 512), true).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_hangs_is_given_up_in_time() {
    let hang = Fate::Takes(Duration::from_secs(1800));
    let device = fated(&[hang, hang]);
    let begun = Instant::now();
    assert_eq!(device.read(0, 4096).await, Err(DeviceError::Unreachable));
    assert_eq!(device.flush().await, Err(DeviceError::Unreachable));
    assert_eq!(begun.elapsed(), 2 * DEADLINE);
}

#[tokio::test(start_paused = true)]
async fn a_write_given_up_lands_before_later_ones_to_the_same_bytes() {
    let device = fated(&[Fate::Takes(Duration::from_secs(20))]);
    assert_eq!(device.write(0, &payload(1, 4096), false).await, Err(DeviceError::Unreachable));
    let begun = Instant::now();
    assert_eq!(device.write(512, &payload(2, 512), false).await, Ok(()));
    assert_eq!(begun.elapsed(), Duration::from_secs(8), "it waited for the first");
    let bytes = device.read(0, 4096).await.unwrap();
    assert_eq!((bytes[0], bytes[512], bytes[1024]), (1, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_write_given_up_lands_before_the_file_is_cut() {
    let device = fated(&[Fate::Takes(Duration::from_secs(20))]);
    let end = (8 * MIB - 4096) as u64;
    assert_eq!(device.write(end, &payload(1, 4096), false).await, Err(DeviceError::Unreachable));
    let begun = Instant::now();
    assert_eq!(device.resize(MIB as u64).await, Ok(()));
    assert_eq!(begun.elapsed(), Duration::from_secs(8), "it waited for the write");
    assert_eq!(device.geometry().size, MIB as u64);
    assert_eq!(device.shared.file.names(), ["write", "size", "truncate"]);
}

#[tokio::test]
async fn a_file_in_shards_is_not_cut() {
    let device = device_with(8 * MIB, Abilities { sharded: true, ..abilities() });
    assert_eq!(device.resize(4 * MIB as u64).await, Err(DeviceError::Unsupported));
    assert_eq!(device.geometry().size, 8 * MIB as u64);
    assert_eq!(device.shared.file.names(), [""; 0], "the bricks were not even asked");
}

#[tokio::test(start_paused = true)]
async fn a_cut_that_fails_leaves_the_size() {
    let device = fated(&[Fate::Fails(Errno::IO)]);
    assert_eq!(device.resize(MIB as u64).await, Err(DeviceError::Medium));
    assert_eq!(device.geometry().size, 8 * MIB as u64);
    assert_eq!(device.write(4 * MIB as u64, &payload(1, 4096), false).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn an_aborted_write_lands_before_later_ones_to_the_same_bytes() {
    let device = fated(&[Fate::Takes(Duration::from_secs(3))]);
    let (first, other) = (payload(1, 4096), payload(3, 4096));
    tokio::select! {
        biased;
        result = device.write(0, &first, false) => panic!("{result:?}"),
        () = tokio::time::sleep(Duration::from_secs(1)) => {}
    }
    assert_eq!(device.write(8192, &other, false).await, Ok(()));
    let begun = Instant::now();
    assert_eq!(device.write(0, &payload(2, 4096), false).await, Ok(()));
    assert_eq!(begun.elapsed(), Duration::from_secs(2));
    assert_eq!(device.read(0, 1024).await.unwrap(), vec![2; 1024]);
}

#[tokio::test(start_paused = true)]
async fn a_write_blocked_by_one_that_hangs_is_given_up_in_time() {
    let device = fated(&[Fate::Takes(Duration::from_secs(1800))]);
    assert_eq!(device.write(0, &payload(1, 512), false).await, Err(DeviceError::Unreachable));
    let begun = Instant::now();
    assert_eq!(device.write(0, &payload(2, 512), false).await, Err(DeviceError::Unreachable));
    assert_eq!(begun.elapsed(), DEADLINE);
    assert_eq!(device.write(4096, &payload(2, 512), false).await, Ok(()));
    advance(Duration::from_secs(1800)).await;
    assert_eq!(device.write(0, &payload(2, 512), false).await, Ok(()));
}

#[tokio::test]
async fn a_failed_flush_latches() {
    for errno in [Errno::IO, Errno::BADFD, Errno::NOSPC] {
        let device = fated(&[Fate::Fails(errno)]);
        let failed = DeviceError::FlushFailed;
        assert_eq!(device.flush().await, Err(failed));
        assert_eq!(device.flush().await, Err(failed));
        assert_eq!(device.read(0, 512).await, Err(failed));
        assert_eq!(device.write(0, &payload(1, 512), false).await, Err(failed));
        assert_eq!(device.discard(0, 512).await, Err(failed));
        assert_eq!(device.write_zeroes(0, 512).await, Err(failed));
        assert_eq!(device.allocation_map(0, 512, 1).await, Err(failed));
        assert_eq!(device.shared.file.names(), ["fdatasync"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_flush_that_fails_after_its_caller_left_latches_too() {
    let device = fated(&[Fate::Fails(Errno::NOTCONN), Fate::Fails(Errno::IO)]);
    tokio::select! {
        biased;
        result = device.flush() => panic!("{result:?}"),
        () = tokio::time::sleep(Duration::from_millis(10)) => {}
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(device.write(0, &payload(1, 512), false).await, Err(DeviceError::FlushFailed));
}

#[tokio::test]
async fn fua_is_one_write_or_a_write_and_a_flush() {
    let plain = device();
    plain.write(0, &payload(1, 4096), true).await.unwrap();
    plain.write(0, &payload(1, 4096), false).await.unwrap();
    assert_eq!(plain.shared.file.names(), ["write dsync", "write"]);
    let sharded = device_with(MIB, Abilities { sharded: true, ..abilities() });
    sharded.write(0, &payload(1, 4096), true).await.unwrap();
    assert_eq!(sharded.shared.file.names(), ["write", "fdatasync"]);
    sharded.shared.file.script().fates.extend([Fate::Stops(4096), Fate::Fails(Errno::IO)]);
    assert_eq!(sharded.write(0, &payload(1, 4096), true).await, Err(DeviceError::FlushFailed));
}

#[tokio::test]
async fn errors_are_classified() {
    let table = [
        (Errno::IO, DeviceError::Medium),
        (Errno::NOSPC, DeviceError::NoSpace),
        (Errno::DQUOT, DeviceError::NoSpace),
        (Errno::ROFS, DeviceError::ReadOnly),
        (Errno::NOENT, DeviceError::Gone),
        (Errno::STALE, DeviceError::Gone),
        (Errno::BUSY, DeviceError::Gone),
        (Errno::BADFD, DeviceError::Gone),
        (Errno::NOMEM, DeviceError::Busy),
        (Errno::PERM, DeviceError::Medium),
        (Errno::INVAL, DeviceError::Medium),
    ];
    for (errno, error) in table {
        let device = fated(&[Fate::Fails(errno); 2]);
        assert_eq!(device.write(0, &payload(1, 4096), false).await, Err(error), "{errno}");
        assert_eq!(device.read(0, 4096).await, Err(error), "{errno}");
    }
}

#[tokio::test]
async fn a_fenced_file_that_is_refused_has_another_owner() {
    for errno in [Errno::BUSY, Errno::AGAIN, Errno::BADF, Errno::BADFD] {
        let device = device_with(8 * MIB, Abilities { fenced: true, ..abilities() });
        device.shared.file.script().fates.extend([Fate::Fails(errno); 4]);
        let lost = Err(DeviceError::OwnershipLost);
        assert_eq!(device.write(0, &payload(1, 4096), false).await, lost, "{errno}");
        assert_eq!(device.read(0, 4096).await.map(drop), lost, "{errno}");
        assert_eq!(device.flush().await, lost, "{errno}");
        assert_eq!(device.discard(0, 4096).await, lost, "{errno}");
        assert_eq!(device.flush().await, Ok(()), "{errno}: no flush has failed for good");
    }
}

#[tokio::test]
async fn large_transfers_are_split_and_run_side_by_side() {
    let device = device();
    let data: Vec<u8> = (0..3 * MIB + 512).map(|index| (index / 512) as u8).collect();
    device.write(512, &data.clone().into(), false).await.unwrap();
    assert_eq!(device.read(512, data.len()).await.unwrap(), data);
    let script = device.shared.file.script();
    let lengths: Vec<_> = script.calls.iter().map(|(_, _, len)| *len as usize).collect();
    assert_eq!(lengths, [MIB, MIB, MIB, 512, MIB, MIB, MIB, 512]);
    assert_eq!(script.most_at_once, 4);
}

#[tokio::test]
async fn all_parts_of_a_write_are_waited_for() {
    let device = fated(&[Fate::Fails(Errno::IO)]);
    assert_eq!(device.write(0, &payload(1, 2 * MIB), false).await, Err(DeviceError::Medium));
    assert_eq!(device.read(MIB as u64, 512).await.unwrap(), vec![1; 512]);
}

#[tokio::test]
async fn partial_writes_go_on_where_they_stopped() {
    let device = fated(&[Fate::Stops(1024), Fate::Stops(512)]);
    let data: Vec<u8> = (0..8192).map(|index| (index / 512) as u8).collect();
    device.write(4096, &data.clone().into(), false).await.unwrap();
    assert_eq!(device.read(4096, 8192).await.unwrap(), data);
    let device = fated(&[Fate::Stops(1024), Fate::Stops(0)]);
    assert_eq!(device.write(4096, &data.into(), false).await, Err(DeviceError::Medium));
}

#[tokio::test]
async fn a_short_read_is_tried_once_more() {
    let device = fated(&[Fate::Stops(512)]);
    assert_eq!(device.read(0, 4096).await.unwrap().len(), 4096);
    assert_eq!(device.shared.file.names(), ["read", "size", "read"]);
    device.shared.file.script().bytes.truncate(4096);
    assert_eq!(device.read(2048, 4096).await, Err(DeviceError::Medium));
}

#[tokio::test]
async fn bricks_that_take_no_small_writes_get_merged_ones() {
    let device = device();
    device.shared.file.script().sector = 4096;
    device.write(0, &payload(1, 4096), false).await.unwrap();
    device.write(512, &payload(2, 512), true).await.unwrap();
    device.write(3584, &payload(3, 1024), false).await.unwrap();
    let bytes = device.read(0, 8192).await.unwrap();
    let expected =
        [(0, 1), (511, 1), (512, 2), (1023, 2), (1024, 1), (3583, 1), (3584, 3), (4607, 3), (4608, 0)];
    for (at, byte) in expected {
        assert_eq!(bytes[at], byte, "at {at}");
    }
    let names = device.shared.file.names();
    assert_eq!(names, ["write", "write dsync", "read", "write dsync", "read", "write", "read"]);
}

#[tokio::test]
async fn a_merged_write_never_makes_the_file_longer() {
    let device = device_with(4096 + 512, abilities());
    device.shared.file.script().sector = 4096;
    assert_eq!(device.write(4096, &payload(1, 512), false).await, Err(DeviceError::Unsupported));
    assert_eq!(device.shared.file.script().bytes.len(), 4096 + 512);
}

#[tokio::test]
async fn what_bricks_cannot_clear_is_written() {
    let device = device();
    device.write(0, &payload(1, 3 * MIB), false).await.unwrap();
    {
        let mut script = device.shared.file.script();
        script.lacks_holes = true;
        script.calls.clear();
    }
    device.discard(512, 2 * MIB as u64).await.unwrap();
    device.write_zeroes(2 * MIB as u64 + 512, 512).await.unwrap();
    device.write_zeroes(2 * MIB as u64 + 1024, 512).await.unwrap();
    let names = device.shared.file.names();
    assert_eq!(
        names,
        ["discard", "write", "write", "zerofill", "write", "write"],
        "zerofill is not tried again"
    );
    let bytes = device.read(0, 3 * MIB).await.unwrap();
    let zeros = 512..2 * MIB + 1536;
    assert!(bytes.iter().enumerate().all(|(at, byte)| (*byte == 0) == zeros.contains(&at)));
}

#[tokio::test]
async fn clearing_goes_in_pieces() {
    let size = 200 * MIB;
    let device = device_with(size, abilities());
    device.discard(0, size as u64).await.unwrap();
    device.write_zeroes(0, size as u64).await.unwrap();
    let script = device.shared.file.script();
    let lengths: Vec<_> = script.calls.iter().map(|(_, _, len)| *len as usize / MIB).collect();
    assert_eq!(lengths, [64, 64, 64, 8, 64, 64, 64, 8]);
}
