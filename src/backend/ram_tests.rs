use super::*;
use crate::backend::{BackendContext, conformance, open};
use crate::config::DeviceSpec;

conformance::suite!(keeps_data: true, async |how| {
    let context = BackendContext::new(std::time::Duration::from_secs(5), crate::config::FileIo::Auto).unwrap();
    (open(&DeviceSpec::Ram, &how, &context).await.unwrap(), ())
});

fn allocated(device: &RamDevice) -> usize {
    let store = device.store();
    let groups = store.groups.iter().filter_map(|group| group.get());
    groups.flat_map(|group| group.iter()).filter(|chunk| !chunk.lock().unwrap().is_empty()).count()
}

#[tokio::test]
async fn memory_is_taken_by_writes_and_given_back_by_discards() {
    let device = RamDevice::new(1 << 44, false);
    assert_eq!(allocated(&device), 0);
    device.write((1 << 44) - 512, &vec![1; 512].into(), false).await.unwrap();
    device.write(CHUNK - 512, &vec![1; 1024].into(), false).await.unwrap();
    assert_eq!(allocated(&device), 3);
    device.discard(0, 2 * CHUNK).await.unwrap();
    assert_eq!(allocated(&device), 1);
    device.resize(1 << 30).await.unwrap();
    assert_eq!(allocated(&device), 0);
}

#[tokio::test]
async fn a_read_within_a_chunk_shares_it_and_keeps_what_it_saw() {
    let device = RamDevice::new(1 << 20, false);
    device.write(0, &vec![1; 4096].into(), false).await.unwrap();
    let (one, two) = (device.read(0, 4096).await.unwrap(), device.read(0, 4096).await.unwrap());
    assert_eq!(one.as_ptr(), two.as_ptr());
    device.write(0, &vec![2; 4096].into(), false).await.unwrap();
    assert_eq!(one, vec![1; 4096]);
    assert_eq!(device.read(0, 4096).await.unwrap(), vec![2; 4096]);
}

#[tokio::test]
async fn what_shrank_away_does_not_come_back() {
    let device = RamDevice::new(1 << 20, false);
    device.write(0, &vec![1; 1 << 20].into(), false).await.unwrap();
    device.resize(100 * 512).await.unwrap();
    device.resize(1 << 20).await.unwrap();
    assert_eq!(device.read(100 * 512, 512).await.unwrap(), vec![0; 512]);
    assert_eq!(device.read(0, 100 * 512).await.unwrap(), vec![1; 100 * 512]);
}
