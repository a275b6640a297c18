//! Reading, writing and shaping files on a healthy volume.

use crate::{BLOCK, block, connect, gluster, new_file, within};
use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Wake, Waker},
    thread::{self, ThreadId},
};

use bytes::Bytes;
use futures_util::future::try_join_all;
use glint_gfapi::{CompletionQueue, File, Kind, OpenOptions};
use glint_testkit::gluster::VolumeSpec;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

const MIB: u64 = 1 << 20;

fn single() -> VolumeSpec {
    VolumeSpec { replica: 1, ..VolumeSpec::default() }
}

#[tokio::test]
async fn what_is_written_is_read_back() {
    let gluster = gluster(&single());
    let volume = connect(&gluster).await;
    let file = new_file(&volume, "/deep/down/disk", MIB).await;

    let parts = [block(1), Bytes::new(), block(2), block(3)];
    assert_eq!(within(30, file.write(8192, &parts, true)).await.unwrap(), 3 * BLOCK);
    within(30, file.fdatasync()).await.unwrap();
    within(30, file.fsync()).await.unwrap();
    assert_eq!(within(30, file.read(8192, 3 * BLOCK)).await.unwrap(), parts.concat());
    assert_eq!(within(30, file.read(0, BLOCK)).await.unwrap(), vec![0; BLOCK], "a hole reads as zeros");
    within(30, file.close()).await.unwrap();

    let file = volume.open("/deep/down/disk", OpenOptions::default()).await.unwrap();
    assert_eq!(file.size().await.unwrap(), MIB);
    assert_eq!(file.read(8192 + 4096, BLOCK).await.unwrap(), block(2));
    // The brick has it as it is.
    let on_brick = std::fs::read(gluster.brick(0).unwrap().join("deep/down/disk")).unwrap();
    assert_eq!(on_brick[8192..8192 + BLOCK], block(1));

    assert_eq!(file.read(MIB - 4096, 2 * BLOCK).await.unwrap().len(), BLOCK, "short at the end");
    assert_eq!(file.read(MIB, BLOCK).await.unwrap().len(), 0, "nothing beyond the end");
    assert_eq!(file.read(0, 0).await.unwrap().len(), 0);
    assert_eq!(file.get_xattr("trusted.nobody.set.it").await.unwrap(), None);
    assert!(file.get_xattr("trusted.gfid").await.is_ok());
}

#[tokio::test]
async fn what_cannot_be_is_an_error_of_its_kind() {
    let gluster = gluster(&single());
    let volume = connect(&gluster).await;
    let file = new_file(&volume, "/dir/disk", MIB).await;
    file.write(8192, &[block(1)], false).await.unwrap();

    assert_eq!(file.read(u64::MAX, BLOCK).await.unwrap_err().kind(), Kind::Invalid);
    assert_eq!(file.read(8193, BLOCK).await.unwrap_err().kind(), Kind::Invalid, "unaligned direct I/O");
    assert_eq!(file.write(8193, &[block(1)], false).await.unwrap_err().kind(), Kind::Invalid);
    assert_eq!(file.read(0, usize::MAX).await.unwrap_err().kind(), Kind::OutOfMemory);

    let read_only = OpenOptions { read_only: true, ..OpenOptions::default() };
    let reader = volume.open("/dir/disk", read_only).await.unwrap();
    assert_eq!(reader.read(8192, BLOCK).await.unwrap(), block(1));
    assert!(reader.write(8192, &[block(1)], false).await.is_err());

    let exists = volume.create("/dir/disk", OpenOptions::default()).await.unwrap_err();
    assert_eq!(exists.errno(), Some(libc::EEXIST));
    assert_eq!(volume.create("/dir/disk/x", OpenOptions::default()).await.unwrap_err().kind(), Kind::Invalid);
    assert_eq!(volume.open("/dir", OpenOptions::default()).await.unwrap_err().kind(), Kind::Invalid);
    assert_eq!(volume.open("/d\0", OpenOptions::default()).await.unwrap_err().kind(), Kind::Invalid);
    volume.mkdir_all("/dir").await.unwrap();
    assert!(!volume.stat("/dir").await.unwrap().is_file);
    assert!(volume.stat("/dir/disk").await.unwrap().is_file);

    volume.unlink("/dir/disk").await.unwrap();
    let gone = volume.open("/dir/disk", OpenOptions::default()).await.unwrap_err();
    assert_eq!(gone.kind(), Kind::Gone, "{gone}");
    assert_eq!(volume.unlink("/dir/disk").await.unwrap_err().kind(), Kind::Gone);
}

/// The threads that woke a task.
#[derive(Default)]
struct WokenBy(Mutex<Vec<ThreadId>>);

impl Wake for WokenBy {
    fn wake(self: Arc<Self>) {
        self.0.lock().unwrap().push(thread::current().id());
    }
}

fn a_task_is_woken_by_its_own_thread(file: &File, queue: &CompletionQueue) {
    let woken_by = Arc::new(WokenBy::default());
    let waker = Waker::from(Arc::clone(&woken_by));
    let mut read = pin!(file.read(0, BLOCK));
    if read.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        let half_a_minute = Timespec { tv_sec: 30, tv_nsec: 0 };
        assert_eq!(poll(&mut [PollFd::new(queue, PollFlags::IN)], Some(&half_a_minute)), Ok(1));
        assert_eq!(*woken_by.0.lock().unwrap(), [], "woken before the queue was drained");
        assert_eq!(queue.drain(), 1);
        assert_eq!(*woken_by.0.lock().unwrap(), [thread::current().id()]);
        assert!(read.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    }
}

#[tokio::test]
async fn many_operations_complete_through_a_queue_and_without_one() {
    const BLOCKS: u64 = 256;
    let gluster = gluster(&VolumeSpec::default());
    let mut config = crate::config(&gluster);
    config.submit_threads = 2;
    let volume = glint_gfapi::Volume::connect(config).await.unwrap();
    let file = new_file(&volume, "disk", BLOCKS * BLOCK as u64).await;

    let queue = CompletionQueue::attach_current_thread().unwrap();
    a_task_is_woken_by_its_own_thread(&file, &queue);
    let offset = |number| number * BLOCK as u64;
    let io = async {
        let written = try_join_all((0..BLOCKS).map(|number| {
            let (file, data) = (&file, [block(number)]);
            async move { file.write(offset(number), &data, false).await }
        }));
        assert_eq!(within(30, written).await.unwrap(), vec![BLOCK; BLOCKS as usize]);
        let read = try_join_all((0..BLOCKS).map(|number| file.read(offset(number), BLOCK)));
        for (number, data) in (0..).zip(within(30, read).await.unwrap()) {
            assert_eq!(data, block(number), "block {number}");
        }
    };
    tokio::select! {
        () = io => {}
        end = queue.run() => panic!("{end:?}"),
    }

    // Without the queue, operations go on: they wake their tasks directly.
    let all = within(30, file.read(0, (BLOCKS * BLOCK as u64) as usize)).await.unwrap();
    assert_eq!(all.slice(BLOCK..2 * BLOCK), block(1));
}

#[tokio::test]
async fn files_grow_shrink_and_have_holes() {
    let gluster = gluster(&VolumeSpec::default());
    let volume = connect(&gluster).await;
    let file = new_file(&volume, "disk", 8 * MIB).await;
    // A brick may need a block for the file's attributes.
    let allocated = async || file.stat().await.unwrap().allocated & !(MIB - 1);
    assert_eq!(allocated().await, 0);
    assert_eq!(file.seek_data(0).await.unwrap(), None);
    assert_eq!(file.seek_hole(0).await.unwrap(), Some(0));

    let mib = Bytes::from(vec![0xa5; MIB as usize]);
    file.write(2 * MIB, &[mib.clone(), mib.clone(), mib.clone()], true).await.unwrap();
    assert_eq!(file.seek_data(0).await.unwrap(), Some(2 * MIB));
    assert_eq!(file.seek_hole(2 * MIB).await.unwrap(), Some(5 * MIB));
    assert_eq!(file.seek_hole(8 * MIB).await.unwrap(), None, "beyond the end");
    assert_eq!(allocated().await, 3 * MIB);

    file.discard(3 * MIB, MIB).await.unwrap();
    assert_eq!(file.seek_hole(2 * MIB).await.unwrap(), Some(3 * MIB));
    assert_eq!(file.seek_data(3 * MIB).await.unwrap(), Some(4 * MIB));
    assert_eq!(allocated().await, 2 * MIB);
    file.zerofill(2 * MIB, MIB).await.unwrap();
    let zeros = Bytes::from(vec![0; 2 * MIB as usize]);
    assert_eq!(file.read(2 * MIB, 2 * MIB as usize).await.unwrap(), zeros);
    assert_eq!(file.read(4 * MIB, MIB as usize).await.unwrap(), mib);
    assert_eq!(file.size().await.unwrap(), 8 * MIB, "neither changes the size");

    file.truncate(4 * MIB + 4096).await.unwrap();
    assert_eq!(file.size().await.unwrap(), 4 * MIB + 4096);
    file.truncate(16 * MIB).await.unwrap();
    let tail = file.read(4 * MIB, MIB as usize).await.unwrap();
    assert_eq!(tail.slice(..4096), mib.slice(..4096));
    assert!(tail.slice(4096..).iter().all(|byte| *byte == 0), "what was cut off does not come back");

    file.fallocate(true, 16 * MIB, MIB).await.unwrap();
    assert_eq!(file.size().await.unwrap(), 16 * MIB);
    file.fallocate(false, 16 * MIB, MIB).await.unwrap();
    assert_eq!(file.size().await.unwrap(), 17 * MIB);
}

#[tokio::test]
async fn a_sharded_volume_says_so_and_keeps_its_data() {
    let plain = gluster(&single());
    let sharded = plain.cluster().create_volume("shards", &VolumeSpec { sharded: true, ..single() }).unwrap();
    assert!(!connect(&plain).await.is_sharded().await.unwrap());
    let volume = connect(&sharded).await;
    assert!(volume.is_sharded().await.unwrap());

    let file = new_file(&volume, "disk", 16 * MIB).await;
    let across = 4 * MIB - 4096;
    file.write(across, &[block(1), block(2)], false).await.unwrap();
    file.fdatasync().await.unwrap();
    assert_eq!(file.read(across, 2 * BLOCK).await.unwrap(), [block(1), block(2)].concat());
    assert_eq!(file.size().await.unwrap(), 16 * MIB);
    let error = file.seek_data(0).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unsupported, "{error}");
    sharded.delete().unwrap();
}
