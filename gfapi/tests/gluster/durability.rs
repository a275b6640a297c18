//! An acknowledged write has reached the bricks.

use std::time::Duration;

use crate::{block, config, gluster, within};
use glint_gfapi::{OpenOptions, Volume, VolumeConfig};
use glint_testkit::gluster::{GlusterVolume, VolumeSpec};
use tokio::time::timeout;

/// Whether a write through the page caches is acknowledged within `patience` although the only brick does not
/// move.
async fn acknowledged_without_the_brick(
    gluster: &GlusterVolume,
    config: VolumeConfig,
    path: &str,
    patience: Duration,
) -> bool {
    let volume = within(30, Volume::connect(config)).await.unwrap();
    let cached = OpenOptions { direct: false, ..OpenOptions::default() };
    let file = volume.create(path, cached).await.unwrap();
    file.write(0, &[block(0)], false).await.unwrap();
    gluster.pause_brick(0).unwrap();
    let data = [block(1)];
    let mut write = Box::pin(file.write(0, &data, false));
    let early = timeout(patience, &mut write).await;
    gluster.resume_brick(0).unwrap();
    let acknowledged = early.is_ok();
    match early {
        Ok(written) => written.unwrap(),
        Err(_) => within(30, &mut write).await.unwrap(),
    };
    drop(write);
    within(30, file.close()).await.unwrap();
    acknowledged
}

#[tokio::test]
async fn writes_are_acknowledged_by_the_bricks_alone() {
    let gluster = gluster(&VolumeSpec { replica: 1, ..VolumeSpec::default() });
    assert!(
        !acknowledged_without_the_brick(&gluster, config(&gluster), "ours", Duration::from_secs(1)).await
    );

    // Shows that this test can tell: GlusterFS on its own acknowledges from memory.
    let mut stock = config(&gluster);
    stock.options.clear();
    assert!(acknowledged_without_the_brick(&gluster, stock, "stock", Duration::from_secs(20)).await);
}
