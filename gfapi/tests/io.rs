//! Reading, writing and shaping files on a healthy volume.

mod common;

use common::{BLOCK, block, connect, gluster, new_file, within};
use glint_gfapi::{Kind, OpenOptions};
use glint_testkit::gluster::VolumeSpec;

#[tokio::test]
async fn what_is_written_is_read_back() {
    let gluster = gluster(&VolumeSpec { replica: 1, ..VolumeSpec::default() });
    let volume = connect(&gluster).await;
    let file = new_file(&volume, "/deep/down/disk", 1 << 20).await;

    let parts = [block(1), block(2), block(3)];
    assert_eq!(within(5, file.write(8192, &parts, true)).await.unwrap(), 3 * BLOCK);
    within(5, file.fdatasync()).await.unwrap();
    within(5, file.fsync()).await.unwrap();
    assert_eq!(within(5, file.read(8192, 3 * BLOCK)).await.unwrap(), parts.concat());
    assert_eq!(within(5, file.read(0, BLOCK)).await.unwrap(), vec![0; BLOCK], "a hole reads as zeros");
    within(5, file.close()).await.unwrap();

    let file = volume.open("/deep/down/disk", OpenOptions::default()).await.unwrap();
    assert_eq!(file.size().await.unwrap(), 1 << 20);
    assert_eq!(file.read(8192 + 4096, BLOCK).await.unwrap(), block(2));
    // The brick has it as it is.
    let on_brick = std::fs::read(gluster.brick(0).unwrap().join("deep/down/disk")).unwrap();
    assert_eq!(on_brick[8192..8192 + BLOCK], block(1));

    assert_eq!(file.read((1 << 20) - 4096, 2 * BLOCK).await.unwrap().len(), BLOCK, "short at the end");
    assert_eq!(file.read(1 << 20, BLOCK).await.unwrap().len(), 0, "nothing beyond the end");
    assert_eq!(file.read(u64::MAX, BLOCK).await.unwrap_err().kind(), Kind::Invalid);
    assert_eq!(file.read(1, BLOCK).await.unwrap_err().kind(), Kind::Invalid, "unaligned direct I/O");
    assert_eq!(volume.create("/deep/down/disk", OpenOptions::default()).await.unwrap_err().errno(), Some(17));
    file.close().await.unwrap();
    volume.unlink("/deep/down/disk").await.unwrap();
    let gone = volume.open("/deep/down/disk", OpenOptions::default()).await.unwrap_err();
    assert_eq!(gone.kind(), Kind::Gone, "{gone}");
}
