use super::super::null::NullDevice;
use super::super::{BackendContext, Device, OpenOptions, open};
use super::*;
use crate::config::{DeviceSpec, FileIo};
use bytes::Bytes;
use glint_target_core::device::BlockDevice;
use glint_target_core::payload::Payload;
use std::sync::atomic::AtomicUsize;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const PATIENCE: Duration = Duration::from_millis(200);

fn switch() -> (Arc<Switch>, UnboundedReceiver<u64>) {
    let (refusals, refused) = unbounded_channel();
    (Switch::new(null(4096).told(), refusals, PATIENCE), refused)
}

fn null(size: u64) -> Backend {
    Backend::Null(NullDevice::new(size, false))
}

/// Is refused in the first openings, so many.
async fn refused_at_first(switch: &Switch, openings: u64) -> Result<u64, DeviceError> {
    let act = |opened: OpenBackend| async move {
        match opened.0.opening {
            opening if opening <= openings => Err(DeviceError::OwnershipLost),
            opening => Ok(opening),
        }
    };
    switch.with(act).await
}

async fn ram(size: u64) -> Device {
    let context = BackendContext::new(Duration::from_secs(5), FileIo::Threads).unwrap();
    open(&DeviceSpec::Ram, &OpenOptions { size: Some(size), ..OpenOptions::default() }, &context)
        .await
        .unwrap()
}

#[tokio::test]
async fn there_is_nothing_behind_it_until_it_is_opened_and_after_it_is_closed() {
    let (refusals, _refused) = unbounded_channel();
    let switched = ram(8192).await.switched(refusals, PATIENCE);
    let (device, switch) = (switched.device(), switched.switch());
    assert_eq!(device.geometry().size, 8192, "as it was probed");
    assert_eq!(device.read(0, 512).await, Err(DeviceError::OwnershipLost));
    switch.open(ram(16384).await, 1);
    assert_eq!(device.geometry().size, 16384);
    device.write(0, &Payload::from(vec![7; 512]), false).await.unwrap();
    assert_eq!(device.read(0, 512).await, Ok(Bytes::from(vec![7; 512])));
    switch.close();
    assert_eq!(device.flush().await, Err(DeviceError::OwnershipLost));
    assert_eq!(device.geometry().size, 16384, "as it was seen last");
}

#[tokio::test]
async fn what_was_refused_goes_on_when_it_is_opened_again() {
    let (switch, mut refused) = switch();
    switch.open_backend(null(4096), 5);
    let waits = {
        let switch = Arc::clone(&switch);
        tokio::spawn(async move { refused_at_first(&switch, 1).await })
    };
    assert_eq!(refused.recv().await, Some(5), "the epoch is told");
    switch.open_backend(null(4096), 5);
    assert_eq!(waits.await.unwrap(), Ok(2));
}

#[tokio::test]
async fn what_was_refused_fails_when_it_is_closed() {
    let (switch, mut refused) = switch();
    switch.open_backend(null(4096), 5);
    let waits = {
        let switch = Arc::clone(&switch);
        tokio::spawn(async move { refused_at_first(&switch, 1).await })
    };
    refused.recv().await.unwrap();
    switch.close();
    assert_eq!(waits.await.unwrap(), Err(DeviceError::OwnershipLost));
}

#[tokio::test]
async fn what_was_refused_does_not_wait_for_ever() {
    let (switch, mut refused) = switch();
    switch.open_backend(null(4096), 5);
    assert_eq!(refused_at_first(&switch, 1).await, Err(DeviceError::Transitioning));
    assert_eq!(refused.try_recv(), Ok(5));
    assert!(refused.try_recv().is_err(), "once for each attempt");
}

#[tokio::test]
async fn what_is_on_its_way_keeps_it_open() {
    let (switch, _refused) = switch();
    switch.open_backend(null(4096), 5);
    let (calls, release) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let runs = {
        let (switch, calls, release) = (Arc::clone(&switch), Arc::clone(&calls), Arc::clone(&release));
        tokio::spawn(async move {
            let act = |opened: OpenBackend| {
                let (calls, release) = (Arc::clone(&calls), Arc::clone(&release));
                async move {
                    calls.fetch_add(1, Ordering::SeqCst);
                    release.notified().await;
                    Ok(Arc::strong_count(&opened.0))
                }
            };
            switch.with(act).await
        })
    };
    while calls.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    switch.close();
    release.notify_one();
    assert_eq!(runs.await.unwrap(), Ok(1), "it is the last that has it");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

/// Whether the switch has closed: asked now, not waited for.
fn has_closed(switch: &Switch) -> bool {
    switch.closed().now_or_never().is_some()
}

#[tokio::test]
async fn it_has_closed_when_nothing_is_on_its_way() {
    let (switch, _refused) = switch();
    assert!(has_closed(&switch), "it was never open");
    switch.open_backend(null(4096), 5);
    let (begun, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let runs = {
        let (switch, begun, release) = (Arc::clone(&switch), Arc::clone(&begun), Arc::clone(&release));
        tokio::spawn(async move {
            let act = |_opened: OpenBackend| async {
                begun.notify_one();
                release.notified().await;
                // Held until here.
                drop(_opened);
                Ok(())
            };
            switch.with(act).await
        })
    };
    begun.notified().await;
    switch.open_backend(null(4096), 6);
    switch.close();
    assert!(!has_closed(&switch), "something is on its way to an opening before the last");
    release.notify_one();
    runs.await.unwrap().unwrap();
    switch.closed().await;
    switch.open_backend(null(4096), 7);
    switch.close();
    switch.closed().await;
}

#[tokio::test]
async fn it_has_not_closed_while_a_change_that_nobody_waits_for_may_land() {
    let (switch, _refused) = switch();
    let directory = tempfile::tempdir().unwrap();
    let spec = DeviceSpec::File(directory.path().join("disk.img"));
    let context = BackendContext::new(Duration::from_secs(5), FileIo::Threads).unwrap();
    let how = OpenOptions { size: Some(1 << 20), clustered: true, ..OpenOptions::default() };
    switch.open(open(&spec, &how, &context).await.unwrap(), 5);
    let locks = match &*switch.opened.load() {
        Some(opened) => match &opened.backend {
            Backend::File(file) => file.locks(),
            other => panic!("{other:?}"),
        },
        None => panic!("it is open"),
    };
    // What a change holds until the store has answered.
    let change = locks.lock(4096..8192).await;
    switch.close();
    assert!(!has_closed(&switch));
    drop(change);
    switch.closed().await;
}
