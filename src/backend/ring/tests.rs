use super::super::buffers::BufferPool;
use super::super::range_lock::RangeLock;
use super::*;
use std::io::{Read, Write};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

fn read(file: &Arc<File>, len: usize) -> Transfer {
    let buffer = Arc::new(BufferPool::default()).take(len);
    Transfer { file: Arc::clone(file), offset: 0, what: What::Read(buffer), lock: None, patience: PATIENCE }
}

async fn seat() -> tokio::task::JoinHandle<()> {
    let serving = tokio::spawn(serve());
    tokio::task::yield_now().await;
    serving
}

/// A file whose reads wait until something is written to the other.
fn pipe() -> (Arc<File>, File) {
    let (read, write) = rustix::pipe::pipe().unwrap();
    (Arc::new(File::from(read)), File::from(write))
}

fn bytes(done: &Done) -> &[u8] {
    match &done.transfer.what {
        What::Read(buffer) => buffer.as_ref(),
        What::Write { .. } => &[],
    }
}

#[tokio::test]
async fn without_a_ring_a_transfer_comes_back() {
    let (file, other) = pipe();
    assert!(begin(read(&file, 16)).is_err());
    let serving = seat().await;
    assert!(begin(read(&file, 16)).is_ok());
    drop(other);
    serving.abort();
    let _ = serving.await;
    assert!(begin(read(&file, 16)).is_err());
}

#[tokio::test]
async fn more_than_the_queue_holds_are_all_done() {
    let _serving = seat().await;
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[7; 64]).unwrap();
    let file = Arc::new(file);
    let waiting: Vec<_> = (0..2000).map(|_| begin(read(&file, 64)).unwrap()).collect();
    for done in waiting {
        let done = done.await.unwrap();
        assert_eq!((&done.result, bytes(&done)), (&Ok(64), &[7; 64][..]));
    }
}

#[tokio::test]
async fn one_that_hangs_holds_up_no_other() {
    let _serving = seat().await;
    let (hangs, mut other) = pipe();
    let mut hanging: Vec<_> = (0..100).map(|_| begin(read(&hangs, 1)).unwrap()).collect();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[7; 64]).unwrap();
    let file = Arc::new(file);
    for _ in 0..100 {
        let done = tokio::time::timeout(Duration::from_secs(20), begin(read(&file, 64)).unwrap()).await;
        assert_eq!(done.unwrap().unwrap().result, Ok(64));
    }
    assert!(hanging.iter_mut().all(|hanging| hanging.try_recv().is_err()));
    other.write_all(&[9; 100]).unwrap();
    for hanging in hanging {
        assert_eq!(bytes(&hanging.await.unwrap()), [9]);
    }
}

#[tokio::test]
async fn what_nobody_waits_for_keeps_its_memory_and_its_lock_to_the_end() {
    let _serving = seat().await;
    let (file, mut other) = pipe();
    let (locks, pool) = (Arc::new(RangeLock::default()), Arc::new(BufferPool::default()));
    let buffer = pool.take(4096);
    let address = buffer.as_ref().as_ptr();
    let lock = Some(locks.lock(0..1).await);
    drop(
        begin(Transfer { file: file.clone(), offset: 0, what: What::Read(buffer), lock, patience: PATIENCE })
            .unwrap(),
    );
    tokio::time::sleep(Duration::from_millis(20)).await;
    let mut next = Box::pin(locks.lock(0..1));
    assert!(futures_util::poll!(&mut next).is_pending());
    assert_ne!(pool.take(4096).as_ref().as_ptr(), address);
    other.write_all(&[5; 4096]).unwrap();
    next.await;
    let held: Vec<_> = (0..2).map(|_| pool.take(4096)).collect();
    let again = held.iter().find(|buffer| buffer.as_ref().as_ptr() == address).unwrap();
    assert_eq!(again.as_ref(), [5; 4096]);
}

#[tokio::test]
async fn a_transfer_may_be_awaited_on_another_thread() {
    let _serving = seat().await;
    let (file, mut other) = pipe();
    let done = begin(read(&file, 4)).unwrap();
    let waiting = tokio::task::spawn_blocking(|| done.blocking_recv());
    tokio::time::sleep(Duration::from_millis(5)).await;
    other.write_all(b"abcd").unwrap();
    assert_eq!(bytes(&waiting.await.unwrap().unwrap()), b"abcd");
}

#[tokio::test]
async fn writes_of_many_pieces_keep_their_order() {
    let _serving = seat().await;
    let mut file = tempfile::tempfile().unwrap();
    let data: Vec<u8> = (0..2000u32).map(|index| index as u8).collect();
    let mut payload = Payload::new();
    data.chunks(2).for_each(|piece| payload.push(piece.to_vec().into()));
    let shared = Arc::new(file.try_clone().unwrap());
    let write = |data| Transfer {
        file: shared.clone(),
        offset: 0,
        what: What::Write { data, durable: true },
        lock: None,
        patience: PATIENCE,
    };
    assert_eq!(begin(write(payload.clone())).unwrap().await.unwrap().result, Ok(2000));
    let mut found = Vec::new();
    file.read_to_end(&mut found).unwrap();
    assert!(found == data);
    // More than one call takes.
    data.chunks(2).for_each(|piece| payload.push(piece.to_vec().into()));
    assert!(begin(write(payload)).is_err());
}

#[test]
fn a_ring_that_goes_waits_for_what_it_has_in_flight() {
    let (file, mut other) = pipe();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let done = runtime.block_on(async {
        seat().await;
        begin(read(&file, 4))
    });
    let mut done = done.unwrap();
    let writes = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        other.write_all(b"abcd").unwrap();
    });
    drop(runtime);
    assert_eq!(bytes(&done.try_recv().unwrap()), b"abcd");
    writes.join().unwrap();
}

#[tokio::test]
async fn who_waits_too_long_is_told_and_the_transfer_goes_on() {
    let _serving = seat().await;
    let (file, mut other) = pipe();
    let locks = Arc::new(RangeLock::default());
    let lock = Some(locks.lock(0..1).await);
    let patience = Duration::from_millis(300);
    let began = std::time::Instant::now();
    let (patient, hasty) = (read(&file, 4), Transfer { lock, patience, ..read(&file, 4) });
    let (hasty, mut patient) = (begin(hasty).unwrap(), begin(patient).unwrap());
    assert!(hasty.await.is_err());
    assert!(began.elapsed() >= patience);
    assert!(patient.try_recv().is_err());
    let mut next = Box::pin(locks.lock(0..1));
    assert!(futures_util::poll!(&mut next).is_pending());
    other.write_all(b"abcdefgh").unwrap();
    next.await;
    assert_eq!(patient.await.unwrap().result, Ok(4));
}
