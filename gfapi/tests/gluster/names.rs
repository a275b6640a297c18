//! Directories and small files.

use std::collections::BTreeSet;

use glint_gfapi::Kind;

use super::*;

#[tokio::test]
async fn names_are_given_once_and_listed_in_full() {
    for replica in [1, 3] {
        let gluster = gluster(&VolumeSpec { replica, ..VolumeSpec::default() });
        let volume = connect(&gluster).await;
        volume.mkdir_all("/store").await.unwrap();
        let contents = Bytes::from_static(b"what it says");
        volume.create_whole("/store/.a.1.x", contents.clone()).await.unwrap();
        let again = volume.create_whole("/store/.a.1.x", Bytes::new()).await.unwrap_err();
        assert_eq!(again.errno(), Some(libc::EEXIST));
        volume.link("/store/.a.1.x", "/store/a.1").await.unwrap();
        assert_eq!(volume.read_whole("/store/a.1", 4096).await.unwrap(), contents);
        assert_eq!(volume.read_whole("/store/a.1", 4).await.unwrap(), contents[..4]);
        let taken = volume.link("/store/.a.1.x", "/store/a.1").await.unwrap_err();
        assert_eq!(taken.errno(), Some(libc::EEXIST));
        for result in [
            volume.link("/store/none", "/store/a.2").await,
            volume.rename("/store/none", "/store/a.2").await,
            volume.unlink("/store/none").await,
            volume.read_whole("/store/none", 1).await.map(drop),
            volume.list("/none").await.map(drop),
        ] {
            assert_eq!(result.unwrap_err().kind(), Kind::Gone);
        }
        volume.rename("/store/a.1", "/store/b.1").await.unwrap();
        volume.unlink("/store/.a.1.x").await.unwrap();

        // More than one answer of a brick holds.
        let mut names = BTreeSet::from(["b.1".to_owned()]);
        for number in 0..600 {
            let name = format!("{number}-{}", "n".repeat(200));
            volume.overwrite_whole(&format!("/store/{name}"), Bytes::new()).await.unwrap();
            names.insert(name);
        }
        let listed = volume.list("/store").await.unwrap();
        assert_eq!(listed.len(), names.len());
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), names);
    }
}

#[tokio::test]
async fn a_small_file_is_overwritten_in_place() {
    let gluster = gluster(&VolumeSpec { replica: 1, ..VolumeSpec::default() });
    let volume = connect(&gluster).await;
    let inode = async || volume.stat("/beat").await.unwrap().inode;
    volume.overwrite_whole("/beat", vec![1; 512].into()).await.unwrap();
    let first = inode().await;
    for contents in [vec![2; 512], vec![3; 100], vec![4; 700], vec![5]] {
        volume.overwrite_whole("/beat", contents.clone().into()).await.unwrap();
        assert_eq!(volume.read_whole("/beat", 4096).await.unwrap(), contents);
    }
    assert_eq!(inode().await, first);
}
