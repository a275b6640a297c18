//! What every backend has to do, whatever it is made of. Each backend runs each case on a fresh device of [`SIZE`] bytes.

use bytes::{Bytes, BytesMut};
use futures_util::future::join_all;
use glint_target_core::device::{BlockDevice, DeviceError, Extent};
use glint_target_core::payload::Payload;

/// Bytes of the devices under test; small, yet more than a chunk of any backend.
pub(super) const SIZE: u64 = 8 << 20;

/// Declares the suite from the list of its cases, once: as single tests for a backend, and as one run.
macro_rules! cases {
    ($dollar:tt $($case:ident),*) => {
        /// Declares the suite's tests for a backend. `$open` is `async |how: OpenOptions| -> (device, _)`; the second part is kept while
        /// the test runs.
        macro_rules! suite {
            (keeps_data: $dollar keeps:expr, $dollar open:expr) => {
                $(#[tokio::test]
                async fn $case() {
                    let (device, _kept) = ($dollar open)($crate::backend::conformance::how()).await;
                    $crate::backend::conformance::$case(&device, $dollar keeps).await;
                })*

                #[tokio::test]
                async fn refuses_writes_when_read_only() {
                    let how = $crate::backend::conformance::how();
                    let how = $crate::backend::OpenOptions { read_only: true, ..how };
                    let (device, _kept) = ($dollar open)(how).await;
                    $crate::backend::conformance::refuses_writes(&device).await;
                }
            };
        }
        pub(super) use suite;

        /// Runs every case in turn, for backends of which a fresh one is dear.
        pub(super) async fn all<D: BlockDevice>(keeps: bool, open: impl AsyncFn(super::OpenOptions) -> D) {
            $($case(&open(how()).await, keeps).await;)*
            refuses_writes(&open(super::OpenOptions { read_only: true, ..how() }).await).await;
        }
    };
}
cases!($ tells_what_it_is, begins_with_zeros, gives_back_what_was_written, refuses_what_lies_beyond_the_end,
    discarded_ranges_read_as_zeros, zeroed_ranges_read_as_zeros, maps_what_is_allocated, keeps_neighbouring_writes_apart,
    agrees_with_a_model, grows, shrinks, tells_its_space, takes_the_largest_transfer, takes_pieces_that_lie_anywhere);

/// How the suite's devices are opened.
pub(super) fn how() -> super::OpenOptions {
    super::OpenOptions { size: Some(SIZE), ..super::OpenOptions::default() }
}

/// Bytes that tell where they were written.
fn pattern(seed: u64, len: usize) -> Bytes {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..len).map(|_| next()).collect()
}

/// Cuts the bytes into pieces of odd sizes at odd addresses, as they come from a receive buffer.
fn scattered(bytes: &Bytes) -> Payload {
    let mut payload = Payload::new();
    let mut at = 0;
    for step in [48, 1, 511, 1000].into_iter().cycle() {
        if at >= bytes.len() {
            return payload;
        }
        let end = (at + step).min(bytes.len());
        let mut copy = BytesMut::from(&b"xyz"[..at % 4 % 3 + 1]);
        copy.extend_from_slice(&bytes[at..end]);
        payload.push(copy.freeze().slice(at % 4 % 3 + 1..));
        at = end;
    }
    payload
}

async fn write(device: &impl BlockDevice, offset: u64, data: &Bytes) {
    device.write(offset, &data.clone().into(), false).await.unwrap();
}

async fn read(device: &impl BlockDevice, offset: u64, len: usize) -> Bytes {
    let bytes = device.read(offset, len).await.unwrap();
    assert_eq!(bytes.len(), len);
    bytes
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

pub(super) async fn tells_what_it_is(device: &impl BlockDevice, _keeps: bool) {
    let geometry = device.geometry();
    assert_eq!(geometry.size, SIZE);
    assert!(geometry.physical_block.is_power_of_two() && geometry.physical_block >= 512);
    assert!(geometry.optimal_io == 0 || geometry.optimal_io.is_power_of_two());
    let capabilities = device.capabilities();
    assert!(!capabilities.read_only);
    assert!(capabilities.max_transfer >= 1 << 20);
    assert!(capabilities.discard.is_none_or(|discard| discard.granularity.is_power_of_two()));
}

pub(super) async fn begins_with_zeros(device: &impl BlockDevice, _keeps: bool) {
    for offset in [0, 512, 65_536 - 512, SIZE / 2, SIZE - 4096] {
        assert!(is_zero(&read(device, offset, 4096).await));
    }
    assert!(is_zero(&read(device, 0, 1 << 20).await));
    assert!(read(device, SIZE, 0).await.is_empty());
}

pub(super) async fn gives_back_what_was_written(device: &impl BlockDevice, keeps: bool) {
    let places =
        [(0, 512), (512, 4096), (65_536 - 512, 1024), (131_072, 131_072), (SIZE - 512, 512), (3584, 512)];
    for (index, (offset, len)) in places.into_iter().enumerate() {
        let data = pattern(index as u64 + 1, len);
        device.write(offset, &data.clone().into(), index % 2 == 1).await.unwrap();
        let found = read(device, offset, len).await;
        assert!(!keeps || found == data, "{len} bytes at {offset}");
    }
    device.flush().await.unwrap();
    assert_eq!(read(device, SIZE - 512, 512).await == pattern(5, 512), keeps);
    device.write(0, &Payload::new(), true).await.unwrap();
}

pub(super) async fn takes_pieces_that_lie_anywhere(device: &impl BlockDevice, keeps: bool) {
    for (seed, offset, len) in [(1, 512, 512), (2, 4096, 8192), (3, 65_024, 300_544), (4, SIZE - 1024, 1024)]
    {
        let data = pattern(seed, len);
        device.write(offset, &scattered(&data), seed % 2 == 0).await.unwrap();
        let found = read(device, offset, len).await;
        assert!(!keeps || found == data, "{len} bytes at {offset}");
    }
}

pub(super) async fn refuses_what_lies_beyond_the_end(device: &impl BlockDevice, _keeps: bool) {
    let beyond = Err(DeviceError::OutOfRange);
    let data: Payload = pattern(1, 1024).into();
    for offset in [SIZE - 512, SIZE, SIZE + 512, u64::MAX - 511] {
        assert_eq!(device.read(offset, 1024).await.map(drop), beyond);
        assert_eq!(device.write(offset, &data, false).await, beyond);
        assert_eq!(device.discard(offset, 1024).await, beyond);
        assert_eq!(device.write_zeroes(offset, 1024).await, beyond);
        assert_eq!(device.allocation_map(offset, 1024, 8).await.map(drop), beyond);
    }
    assert!(is_zero(&read(device, SIZE - 512, 512).await));
    assert_eq!(device.geometry().size, SIZE);
}

pub(super) async fn discarded_ranges_read_as_zeros(device: &impl BlockDevice, keeps: bool) {
    write(device, 0, &pattern(1, 1 << 20)).await;
    for (offset, len) in [(512, 512), (4096, 4096), (65_536, 262_144), (500_224, 100_352)] {
        device.discard(offset, len).await.unwrap();
        assert!(is_zero(&read(device, offset, len as usize).await), "{len} bytes at {offset}");
        if keeps {
            assert_eq!(
                read(device, offset - 512, 512).await,
                pattern(1, 1 << 20)[offset as usize - 512..][..512]
            );
        }
    }
    device.discard(0, SIZE).await.unwrap();
    device.discard(SIZE, 0).await.unwrap();
    assert!(is_zero(&read(device, 0, 1 << 20).await));
    assert_eq!(device.geometry().size, SIZE);
}

pub(super) async fn zeroed_ranges_read_as_zeros(device: &impl BlockDevice, keeps: bool) {
    write(device, 0, &pattern(1, 1 << 20)).await;
    for (offset, len) in [(512, 512), (4096, 4096), (65_536, 262_144), (500_224, 100_352)] {
        device.write_zeroes(offset, len).await.unwrap();
        assert!(is_zero(&read(device, offset, len as usize).await), "{len} bytes at {offset}");
        if keeps {
            let after = (offset + len) as usize;
            assert_eq!(read(device, after as u64, 512).await, pattern(1, 1 << 20)[after..][..512]);
        }
    }
    device.write_zeroes(0, SIZE).await.unwrap();
    assert!(is_zero(&read(device, 0, 1 << 20).await));
    assert_eq!(device.geometry().size, SIZE);
}

/// Whether the runs follow one another from `start` to no more than `end`, none of them empty.
fn is_gapless(map: &[Extent], start: u64, end: u64) -> bool {
    let mut at = start;
    map.iter().all(|extent| {
        let follows = extent.range.start == at && extent.range.end > at;
        at = extent.range.end;
        follows
    }) && at <= end
}

pub(super) async fn maps_what_is_allocated(device: &impl BlockDevice, keeps: bool) {
    let capabilities = device.capabilities();
    let all = async || device.allocation_map(0, SIZE, 1000).await.unwrap();
    let mapped_at = async |offset| {
        let map = device.allocation_map(offset, 512, 1).await.unwrap();
        assert!(is_gapless(&map, offset, offset + 512) && map.len() == 1);
        map[0].mapped
    };
    if !capabilities.allocation_map {
        assert_eq!(all().await, [Extent { range: 0..SIZE, mapped: true }]);
        return;
    }
    assert_eq!(all().await, [Extent { range: 0..SIZE, mapped: false }]);
    write(device, 1 << 20, &pattern(1, 262_144)).await;
    write(device, 3 << 20, &pattern(2, 262_144)).await;
    device.flush().await.unwrap();
    let map = all().await;
    assert!(is_gapless(&map, 0, SIZE) && map.last().is_some_and(|last| last.range.end == SIZE), "{map:?}");
    assert_eq!(mapped_at(1 << 20).await, keeps);
    assert!(!mapped_at(2 << 20).await);
    let short = device.allocation_map(0, SIZE, 2).await.unwrap();
    assert!(is_gapless(&short, 0, SIZE) && short.len() <= 2);
    assert!(device.allocation_map(0, SIZE, 0).await.unwrap().is_empty());
    if capabilities.discard.is_some() {
        device.discard(1 << 20, 262_144).await.unwrap();
        device.flush().await.unwrap();
        assert!(!mapped_at(1 << 20).await);
        assert_eq!(mapped_at(3 << 20).await, keeps);
    }
}

pub(super) async fn keeps_neighbouring_writes_apart(device: &impl BlockDevice, keeps: bool) {
    for round in 0..8 {
        let block = |index: u64| pattern(round * 100 + index, 512);
        let writes = (0..32).map(|index| async move {
            device.write(8192 + index * 512, &scattered(&block(index)), false).await.unwrap();
        });
        join_all(writes).await;
        for index in 0..32 {
            let found = read(device, 8192 + index * 512, 512).await;
            assert!(!keeps || found == block(index), "round {round}, block {index}");
        }
    }
}

pub(super) async fn agrees_with_a_model(device: &impl BlockDevice, keeps: bool) {
    let blocks = 512u64;
    let mut model = vec![0u8; blocks as usize * 512];
    let base = SIZE - blocks * 512;
    let dice = pattern(42, 4 * 250);
    for (step, dice) in dice.chunks_exact(4).enumerate() {
        let first = u64::from(dice[1]) * 2 % blocks;
        let count = (u64::from(dice[2]) % 48 + 1).min(blocks - first);
        let (at, len) = (first as usize * 512, count as usize * 512);
        let offset = base + at as u64;
        match dice[0] % 8 {
            0..=2 => {
                let data = pattern(step as u64, len);
                device.write(offset, &data.clone().into(), dice[3] % 4 == 0).await.unwrap();
                model[at..at + len].copy_from_slice(&data);
            }
            3 => {
                device.discard(offset, len as u64).await.unwrap();
                model[at..at + len].fill(0);
            }
            4 => {
                device.write_zeroes(offset, len as u64).await.unwrap();
                model[at..at + len].fill(0);
            }
            5 => device.flush().await.unwrap(),
            _ => {
                let found = read(device, offset, len).await;
                assert!(!keeps || found == model[at..at + len], "step {step}: {len} bytes at {offset}");
            }
        }
    }
    let found = read(device, base, model.len()).await;
    assert!(!keeps || found == model);
}

pub(super) async fn grows(device: &impl BlockDevice, keeps: bool) {
    let data = pattern(1, 4096);
    write(device, SIZE - 4096, &data).await;
    device.resize(SIZE * 2).await.unwrap();
    assert_eq!(device.geometry().size, SIZE * 2);
    let found = read(device, SIZE - 4096, 8192).await;
    assert!(!keeps || found[..4096] == data);
    assert!(is_zero(&found[4096..]));
    write(device, SIZE * 2 - 4096, &data).await;
    let found = read(device, SIZE * 2 - 4096, 4096).await;
    assert!(!keeps || found == data);
    assert_eq!(device.read(SIZE * 2, 512).await, Err(DeviceError::OutOfRange));
}

pub(super) async fn shrinks(device: &impl BlockDevice, keeps: bool) {
    let data = pattern(1, 8192);
    write(device, SIZE / 2 - 4096, &data).await;
    write(device, SIZE - 8192, &data).await;
    match device.resize(SIZE / 2).await {
        // A device that cannot do it safely leaves everything as it was.
        Err(DeviceError::Unsupported) => {
            assert_eq!(device.geometry().size, SIZE);
            assert_eq!(read(device, SIZE - 8192, 8192).await, data);
            return;
        }
        result => result.unwrap(),
    }
    assert_eq!(device.geometry().size, SIZE / 2);
    for offset in [SIZE / 2, SIZE - 8192, SIZE / 2 - 4096] {
        assert_eq!(device.read(offset, 8192).await, Err(DeviceError::OutOfRange));
        assert_eq!(device.write(offset, &data.clone().into(), false).await, Err(DeviceError::OutOfRange));
    }
    let found = read(device, SIZE / 2 - 4096, 4096).await;
    assert!(!keeps || found == data[..4096]);
    // What was cut off is gone for good.
    device.resize(SIZE).await.unwrap();
    for offset in [SIZE / 2, SIZE - 8192] {
        assert!(is_zero(&read(device, offset, 8192).await));
    }
}

pub(super) async fn tells_its_space(device: &impl BlockDevice, keeps: bool) {
    let Some(before) = device.space().await.unwrap() else { return };
    assert!(before.free <= before.total && before.used <= before.total, "{before:?}");
    write(device, 0, &pattern(1, 1 << 20)).await;
    device.flush().await.unwrap();
    let after = device.space().await.unwrap().unwrap();
    assert!(!keeps || after.used >= before.used + (1 << 20), "{before:?} {after:?}");
    assert_eq!((after.total, after.shared), (before.total, before.shared));
}

pub(super) async fn takes_the_largest_transfer(device: &impl BlockDevice, keeps: bool) {
    let len = (device.capabilities().max_transfer as usize).min(SIZE as usize - 4096);
    let data = pattern(1, len);
    device.write(4096, &data.clone().into(), true).await.unwrap();
    let found = read(device, 4096, len).await;
    assert!(!keeps || found == data);
}

pub(super) async fn refuses_writes(device: &impl BlockDevice) {
    let refused = Err(DeviceError::ReadOnly);
    assert!(device.capabilities().read_only);
    assert_eq!(device.write(0, &pattern(1, 512).into(), false).await, refused);
    assert_eq!(device.discard(0, 512).await, refused);
    assert_eq!(device.write_zeroes(0, 512).await, refused);
    assert!(is_zero(&read(device, 0, 4096).await));
    device.flush().await.unwrap();
}
