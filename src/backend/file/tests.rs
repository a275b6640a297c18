use super::*;
use crate::backend::ring;
use crate::backend::threads::IoThreads;
use crate::backend::{Backend, Device, Place, conformance, open};
use crate::config::{DeviceSpec, FileIo, Provisioning};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::Receiver;
use std::time::Duration;
use tempfile::TempDir;

fn context(file_io: FileIo) -> BackendContext {
    BackendContext::new(Duration::from_secs(5), file_io).unwrap()
}

fn spec(path: &Path) -> DeviceSpec {
    DeviceSpec::File(path.to_owned())
}

async fn open_at(path: &Path, how: &OpenOptions) -> Result<FileDevice, String> {
    opened(open(&spec(path), how, &context(FileIo::Threads)).await)
}

fn opened(opened: Result<Device, OpenError>) -> Result<FileDevice, String> {
    match opened {
        Ok(Device { place: Place::Always(Backend::File(device)), .. }) => Ok(device),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[tokio::test]
async fn a_fully_provisioned_device_gives_nothing_back() {
    let directory = tempfile::tempdir().unwrap();
    let how = OpenOptions { provisioning: Provisioning::Full, ..sized(1 << 20) };
    let device = open(&spec(&directory.path().join("disk.img")), &how, &context(FileIo::Auto)).await.unwrap();
    let capabilities = device.capabilities();
    assert!(capabilities.discard.is_none() && !capabilities.allocation_map);
}

/// A device in a directory that goes away with the second part.
async fn in_directory(directory: TempDir, how: OpenOptions) -> (FileDevice, TempDir) {
    let path = directory.path().join("disk.img");
    if how.read_only {
        File::create(&path).unwrap().set_len(conformance::SIZE).unwrap();
    }
    (open_at(&path, &how).await.unwrap(), directory)
}

/// The same on a thread that has a ring.
async fn by_ring(directory: TempDir, how: OpenOptions) -> (FileDevice, TempDir) {
    let (device, directory) = in_directory(directory, how.clone()).await;
    drop(device);
    tokio::spawn(ring::serve());
    tokio::task::yield_now().await;
    let how = OpenOptions { size: None, ..how };
    let device = open(&spec(&directory.path().join("disk.img")), &how, &context(FileIo::IoUring)).await;
    (opened(device).unwrap(), directory)
}

/// Through the page cache: what file systems without direct I/O get.
fn buffered((mut device, kept): (FileDevice, TempDir)) -> (FileDevice, TempDir) {
    let shared = Arc::get_mut(&mut device.shared).unwrap();
    sys::disable_direct_io(&shared.file).unwrap();
    shared.direct = None;
    (device, kept)
}

/// Direct I/O in units of 4 KiB: smaller writes have to read what lies around them.
fn merging((mut device, kept): (FileDevice, TempDir)) -> (FileDevice, TempDir) {
    let shared = Arc::get_mut(&mut device.shared).unwrap();
    shared.direct = Some(DirectIo { memory: 4096, offset: 4096 });
    (device, kept)
}

/// A file system in memory, which lacks ZERO_RANGE and says nothing of alignment.
fn in_memory() -> TempDir {
    TempDir::new_in("/dev/shm").unwrap()
}

/// The conformance suites on devices that the function opens.
macro_rules! suites {
    ($way:ident: $open:path) => {
        mod $way {
            use super::*;

            conformance::suite!(keeps_data: true, async |how| $open(TempDir::new().unwrap(), how).await);

            mod through_the_cache {
                use super::*;
                conformance::suite!(keeps_data: true, async |how| buffered($open(TempDir::new().unwrap(), how).await));
            }

            mod with_merging {
                use super::*;
                conformance::suite!(keeps_data: true, async |how| merging($open(TempDir::new().unwrap(), how).await));
            }

            mod on_tmpfs {
                use super::*;
                conformance::suite!(keeps_data: true, async |how| $open(in_memory(), how).await);
            }
        }
    };
}
suites!(by_threads: super::in_directory);
suites!(through_rings: super::by_ring);

/// With threads that never do anything.
fn without_threads((mut device, kept): (FileDevice, TempDir)) -> (FileDevice, TempDir) {
    device.threads = Share::of(Arc::new(IoThreads::new(0)));
    (device, kept)
}

#[tokio::test]
async fn a_ring_needs_no_thread_for_reads_and_writes() {
    for device in [
        by_ring(TempDir::new().unwrap(), sized(1 << 20)).await,
        buffered(by_ring(TempDir::new().unwrap(), sized(1 << 20)).await),
        by_ring(in_memory(), sized(1 << 20)).await,
    ] {
        let (device, _kept) = without_threads(device);
        let all = async {
            for (at, fua) in [(0, false), (512 << 10, device.shared.direct.is_some())] {
                let data: Payload = vec![at as u8 + 1; 64 << 10].into();
                device.write(at, &data, fua).await.unwrap();
                assert_eq!(device.read(at, 64 << 10).await.unwrap(), data.to_bytes());
            }
        };
        tokio::time::timeout(Duration::from_secs(20), all).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_does_not_answer_fails_by_the_deadline() {
    let (device, _kept) = without_threads(in_directory(TempDir::new().unwrap(), sized(1 << 20)).await);
    let data: Payload = vec![1; 4096].into();
    let unreachable = Err(DeviceError::Unreachable);
    assert_eq!(device.read(0, 512).await, Err(DeviceError::Unreachable));
    assert_eq!(device.write(0, &data, false).await, unreachable);
    assert_eq!(device.write(0, &data, false).await, unreachable, "the first still holds its lock");
    assert_eq!(device.discard(8192, 4096).await, unreachable);
    assert_eq!(device.flush().await, unreachable);
}

/// Two files on one disk and one on another, by threads.
async fn on_two_disks() -> ([FileDevice; 3], [TempDir; 2]) {
    let directories = [TempDir::new().unwrap(), in_memory()];
    let context = context(FileIo::Threads);
    let open = async |directory: &TempDir, name| {
        opened(open(&spec(&directory.path().join(name)), &sized(1 << 20), &context).await).unwrap()
    };
    let [one, other] = &directories;
    ([open(one, "a.img").await, open(one, "b.img").await, open(other, "a.img").await], directories)
}

/// Calls on a device that end when the other end is dropped; more than there are threads.
fn hang<'a>(device: &'a FileDevice, ended: &Arc<Mutex<Receiver<()>>>) -> Vec<BoxFuture<'a, ()>> {
    let call = || {
        let ended = ended.clone();
        let job = move || drop(ended.lock().map(|ended| ended.recv()));
        let mut call = device.threads.run(job).map(drop).boxed();
        assert!((&mut call).now_or_never().is_none());
        call
    };
    (0..100).map(|_| call()).collect()
}

#[tokio::test]
async fn what_hangs_holds_up_neither_its_neighbours_nor_other_disks() {
    let ([hung, neighbour, far], _kept) = on_two_disks().await;
    let (end, ended) = std::sync::mpsc::channel();
    let ended = Arc::new(Mutex::new(ended));
    let data: Payload = vec![1; 4096].into();
    let works = async |device: &FileDevice| {
        device.write(0, &data, false).await?;
        device.discard(0, 4096).await?;
        device.flush().await
    };
    // However many calls hang on one volume.
    let mut hanging = hang(&hung, &ended);
    assert_eq!(works(&neighbour).await, Ok(()));
    assert_eq!(works(&far).await, Ok(()));
    // However many volumes of one disk hang.
    hanging.extend(hang(&neighbour, &ended));
    assert_eq!(works(&far).await, Ok(()));
    drop((hanging, end));
    assert_eq!(works(&hung).await, Ok(()));
}

#[tokio::test]
async fn files_share_what_is_known_of_their_file_system() {
    let ([one, neighbour, far], _kept) = on_two_disks().await;
    assert!(Arc::ptr_eq(&one.store_room, &neighbour.store_room));
    assert!(!Arc::ptr_eq(&one.store_room, &far.store_room));
    let before = one.space().await.unwrap().unwrap();
    one.write(0, &vec![1; 64 << 10].into(), false).await.unwrap();
    let space = one.space().await.unwrap().unwrap();
    assert!(space.used >= before.used + (64 << 10), "{before:?} {space:?}");
    let beside = neighbour.space().await.unwrap().unwrap();
    // From here on whoever asks waits in vain.
    tokio::time::pause();
    for (device, known) in [(one, space), (neighbour, beside)] {
        let (device, _kept) = without_threads((device, TempDir::new().unwrap()));
        let again = tokio::time::timeout(Duration::from_secs(1), device.space()).await;
        assert_eq!(again.unwrap(), Ok(Some(known)));
    }
}

#[tokio::test]
async fn a_directory_may_have_a_quota_of_its_own() {
    let (directory, context) = (TempDir::new().unwrap(), context(FileIo::Threads));
    let open = async |name| {
        opened(open(&spec(&directory.path().join(name)), &sized(1 << 20), &context).await).unwrap()
    };
    let (one, other) = (open("a/disk.img").await, open("b/disk.img").await);
    assert!(!Arc::ptr_eq(&one.store_room, &other.store_room));
}

#[tokio::test]
async fn a_file_cut_under_a_ring_is_a_medium_error() {
    let (device, kept) = by_ring(TempDir::new().unwrap(), sized(1 << 20)).await;
    File::options().write(true).open(kept.path().join("disk.img")).unwrap().set_len(4096).unwrap();
    assert_eq!(device.read(0, 4096).await.unwrap().len(), 4096);
    assert_eq!(device.read(4096, 4096).await, Err(DeviceError::Medium));
    assert_eq!(device.read(0, 8192).await, Err(DeviceError::Medium));
}

#[tokio::test]
async fn a_write_that_is_given_up_holds_its_lock_to_its_end() {
    let (device, _kept) = by_ring(TempDir::new().unwrap(), sized(1 << 20)).await;
    let (old, new): (Payload, Payload) = (vec![1; 4096].into(), vec![2; 4096].into());
    let mut given_up = Box::pin(device.write(0, &old, false));
    assert!(futures_util::poll!(&mut given_up).is_pending());
    drop(given_up);
    let mut next = Box::pin(device.write(0, &new, false));
    // The ring has not had its turn yet.
    assert!(futures_util::poll!(&mut next).is_pending());
    assert!(futures_util::poll!(Box::pin(device.locks.lock(0..1))).is_pending());
    next.await.unwrap();
    assert_eq!(device.read(0, 4096).await.unwrap(), new.to_bytes());
}

#[tokio::test]
async fn a_cut_waits_for_what_is_under_way_and_lets_nothing_new_begin() {
    let (device, _kept) = in_directory(TempDir::new().unwrap(), sized(1 << 20)).await;
    let under_way = device.locks.lock(1 << 19..1 << 20).await;
    let mut cut = Box::pin(device.resize(1 << 18));
    assert!(futures_util::poll!(&mut cut).is_pending());
    let data: Payload = vec![1; 4096].into();
    assert_eq!(device.write(1 << 19, &data, false).await, Err(DeviceError::OutOfRange));
    assert_eq!(device.write(0, &data, false).await, Ok(()), "others are not held up");
    assert_eq!(sys::size(&device.shared.file), Ok(1 << 20));
    drop(under_way);
    assert_eq!(cut.await, Ok(()));
    assert_eq!(sys::size(&device.shared.file), Ok(1 << 18));
}

#[tokio::test]
async fn a_cut_that_is_given_up_while_it_waits_changes_nothing() {
    let (device, _kept) = in_directory(TempDir::new().unwrap(), sized(1 << 20)).await;
    let under_way = device.locks.lock(1 << 19..1 << 20).await;
    let mut cut = Box::pin(device.resize(1 << 18));
    assert!(futures_util::poll!(&mut cut).is_pending());
    assert_eq!(device.geometry().size, 1 << 18);
    drop(cut);
    assert_eq!(device.geometry().size, 1 << 20);
    drop(under_way);
    let data: Payload = vec![1; 4096].into();
    assert_eq!(device.write(1 << 19, &data, false).await, Ok(()));
    assert_eq!(sys::size(&device.shared.file), Ok(1 << 20));
}

#[tokio::test]
async fn a_larger_file_is_cut_only_when_told() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("disk.img");
    drop(open_at(&path, &sized(1 << 20)).await.unwrap());
    assert!(open_at(&path, &sized(1 << 19)).await.unwrap_err().contains("`shrink`"));
    assert_eq!(path.metadata().unwrap().len(), 1 << 20);
    let device = open_at(&path, &OpenOptions { shrink: true, ..sized(1 << 19) }).await.unwrap();
    assert_eq!((device.geometry().size, path.metadata().unwrap().len()), (1 << 19, 1 << 19));
}

#[tokio::test]
async fn the_physical_block_size_may_be_told_otherwise() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("disk.img");
    for (told, physical_block) in [(None, 4096), (Some(512), 512), (Some(16384), 16384)] {
        let how = OpenOptions { physical_block_size: told, ..sized(1 << 20) };
        let device = open(&spec(&path), &how, &context(FileIo::Auto)).await.unwrap();
        assert_eq!(device.geometry().physical_block, physical_block);
    }
}

fn sized(size: u64) -> OpenOptions {
    OpenOptions { size: Some(size), ..OpenOptions::default() }
}

fn fresh() -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a/b/disk.img");
    (directory, path)
}

#[tokio::test]
async fn a_missing_file_is_made_with_its_directories() {
    let (_directory, path) = fresh();
    assert!(open_at(&path, &OpenOptions::default()).await.unwrap_err().contains("size"));
    assert!(!path.parent().unwrap().exists());
    drop(open_at(&path, &sized(1 << 30)).await.unwrap());
    let metadata = std::fs::metadata(&path).unwrap();
    assert_eq!(metadata.len(), 1 << 30);
    assert!(metadata.blocks() * 512 < 1 << 20, "thin");
    assert_eq!(metadata.mode() & 0o777, 0o600);
}

#[tokio::test]
async fn preallocation_takes_the_space_at_once() {
    let (_directory, path) = fresh();
    drop(open_at(&path, &OpenOptions { preallocate: true, ..sized(4 << 20) }).await.unwrap());
    assert!(std::fs::metadata(&path).unwrap().blocks() * 512 >= 4 << 20);
}

#[tokio::test]
async fn a_file_that_cannot_have_its_size_is_not_left_behind() {
    let (_directory, path) = fresh();
    let error = open_at(&path, &OpenOptions { preallocate: true, ..sized(1 << 60) }).await.unwrap_err();
    assert!(error.contains("space"), "{error}");
    assert!(!path.exists());
}

#[tokio::test]
async fn data_outlives_the_device_and_its_size_is_kept() {
    let (_directory, path) = fresh();
    let device = open_at(&path, &sized(1 << 20)).await.unwrap();
    device.write(4096, &vec![7; 4096].into(), false).await.unwrap();
    device.flush().await.unwrap();
    drop(device);
    assert!(open_at(&path, &sized(1 << 19)).await.unwrap_err().contains("1MiB"));
    assert!(open_at(&path, &sized(1 << 21)).await.unwrap_err().contains("grow"));
    let device = open_at(&path, &OpenOptions { grow: true, ..sized(1 << 21) }).await.unwrap();
    assert_eq!(device.geometry().size, 1 << 21);
    assert_eq!(device.read(4096, 4096).await.unwrap(), vec![7; 4096]);
    drop(device);
    assert_eq!(open_at(&path, &OpenOptions::default()).await.unwrap().geometry().size, 1 << 21);
}

#[tokio::test]
async fn one_file_has_one_writer() {
    let (_directory, path) = fresh();
    let first = open_at(&path, &sized(1 << 20)).await.unwrap();
    assert!(open_at(&path, &sized(1 << 20)).await.unwrap_err().contains("in use"));
    let reading = OpenOptions { read_only: true, ..OpenOptions::default() };
    assert!(open_at(&path, &reading).await.unwrap_err().contains("in use"));
    drop(first);
    let (one, two) = (open_at(&path, &reading).await, open_at(&path, &reading).await);
    assert!(one.is_ok() && two.is_ok());
}

#[tokio::test]
async fn what_is_no_file_is_refused() {
    let error = open_at(Path::new("/dev/zero"), &OpenOptions::default()).await.unwrap_err();
    assert!(error.contains("neither"), "{error}");
    let (directory, _) = fresh();
    assert!(open_at(directory.path(), &OpenOptions::default()).await.is_err());
    let below_a_file = directory.path().join("file");
    std::fs::write(&below_a_file, b"x").unwrap();
    assert!(open_at(&below_a_file.join("disk.img"), &sized(4096)).await.is_err());
}

#[tokio::test]
async fn a_size_that_direct_io_cannot_cover_is_served_through_the_cache() {
    let (_directory, path) = fresh();
    let device = open_at(&path, &sized(4096 + 512)).await.unwrap();
    device.write(4096, &vec![1; 512].into(), true).await.unwrap();
    assert_eq!(device.read(4096, 512).await.unwrap(), vec![1; 512]);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 4096 + 512);
}

#[tokio::test]
async fn a_file_cut_under_the_device_is_a_medium_error() {
    let (_directory, path) = fresh();
    let device = open_at(&path, &sized(1 << 20)).await.unwrap();
    File::options().write(true).open(&path).unwrap().set_len(4096).unwrap();
    assert_eq!(device.read(0, 4096).await.unwrap().len(), 4096);
    assert_eq!(device.read(4096, 4096).await, Err(DeviceError::Medium));
    assert_eq!(device.read(0, 8192).await, Err(DeviceError::Medium));
}

#[tokio::test]
async fn after_a_failed_flush_nothing_goes_on() {
    let (_directory, path) = fresh();
    let device = open_at(&path, &sized(1 << 20)).await.unwrap();
    device.shared.latch.set();
    let failed = DeviceError::FlushFailed;
    assert_eq!(device.flush().await, Err(failed));
    assert_eq!(device.read(0, 512).await, Err(failed));
    assert_eq!(device.write(0, &vec![1; 512].into(), false).await, Err(failed));
    assert_eq!(device.discard(0, 512).await, Err(failed));
    drop(device);
    assert!(open_at(&path, &OpenOptions::default()).await.unwrap().flush().await.is_ok());
}
