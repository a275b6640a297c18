//! Mandatory locks that preempt each other.

use std::time::{Duration, Instant};

use glint_gfapi::{Error, File, LockOwner, OpenOptions, Volume};
use tokio::time::sleep;

use super::*;

const EBUSY: Option<i32> = Some(libc::EBUSY);
const EAGAIN: Option<i32> = Some(libc::EAGAIN);

fn owner(name: &str) -> LockOwner {
    LockOwner::new(name.as_bytes().to_vec()).unwrap()
}

fn volumes() -> [VolumeSpec; 2] {
    [VolumeSpec { replica: 1, ..VolumeSpec::default() }, VolumeSpec::default()]
}

async fn open(volume: &Volume, path: &str) -> File {
    volume.open(path, OpenOptions::default()).await.unwrap()
}

async fn fenced(volume: &Volume, path: &str, name: &str) -> File {
    let file = open(volume, path).await;
    within(20, file.fence(&owner(name))).await.unwrap();
    file
}

async fn write(file: &File, number: u64) -> Result<(), Error> {
    within(20, file.write(0, &[block(number)], false)).await.map(drop)
}

async fn read(file: &File) -> Result<Bytes, Error> {
    within(20, file.read(0, BLOCK)).await
}

/// All I/O of the file is refused: how.
async fn assert_refused(file: &File) {
    assert_eq!(write(file, 99).await.unwrap_err().errno(), EBUSY);
    assert_eq!(read(file).await.unwrap_err().errno(), EAGAIN);
    assert_eq!(file.discard(0, 4096).await.unwrap_err().errno(), EAGAIN);
    assert_eq!(file.zerofill(0, 4096).await.unwrap_err().errno(), EAGAIN);
    assert_eq!(file.truncate(0).await.unwrap_err().errno(), EAGAIN);
}

#[tokio::test]
async fn who_asks_last_has_the_file_and_the_former_holder_is_refused() {
    for spec in volumes() {
        let gluster = gluster(&spec);
        let (first, second) = (connect(&gluster).await, connect(&gluster).await);
        new_file(&first, "disk", 1 << 20).await.close().await.unwrap();
        new_file(&first, "other", 1 << 20).await.close().await.unwrap();

        let former = fenced(&first, "disk", "first 1").await;
        write(&former, 1).await.unwrap();
        // Another file of the same client under another owner is in nobody's way.
        let other = fenced(&first, "other", "first 7").await;
        for number in 2..20 {
            write(&other, number).await.unwrap();
            write(&former, number).await.unwrap();
            assert_eq!(read(&former).await.unwrap(), block(number));
        }

        let holder = fenced(&second, "disk", "second 2").await;
        assert_refused(&former).await;
        write(&holder, 30).await.unwrap();
        assert_eq!(read(&holder).await.unwrap(), block(30));

        // The same client under a newer owner, and taken back under the same.
        let again = fenced(&first, "disk", "first 3").await;
        assert_refused(&former).await;
        assert_refused(&holder).await;
        write(&again, 31).await.unwrap();
        holder.fence(&owner("second 2")).await.unwrap();
        assert_refused(&again).await;
        assert_eq!(read(&holder).await.unwrap(), block(31));
        write(&other, 32).await.unwrap();
    }
}

#[tokio::test]
async fn who_holds_no_lock_is_refused_whether_or_not_another_does() {
    for spec in volumes() {
        let gluster = gluster(&spec);
        let (first, second) = (connect(&gluster).await, connect(&gluster).await);
        let early = new_file(&second, "disk", 1 << 20).await;
        write(&early, 1).await.unwrap();
        let holder = fenced(&first, "disk", "first 1").await;
        write(&holder, 2).await.unwrap();
        let late = open(&second, "disk").await;
        assert_refused(&early).await;
        assert_refused(&late).await;
        assert_refused(&open(&first, "disk").await).await;

        within(20, holder.close()).await.unwrap();
        assert_refused(&early).await;
        assert_refused(&late).await;
        // The rule is the file's, and a brick that starts finds it there.
        for brick in 0..spec.replica {
            gluster.kill_brick(brick).unwrap();
        }
        gluster.start_force().unwrap();
        let after = connect(&gluster).await;
        assert_refused(&open(&after, "disk").await).await;
        assert_eq!(read(&fenced(&after, "disk", "after 1").await).await.unwrap(), block(2));
    }
}

#[tokio::test]
async fn x_a4() {
    for spec in volumes() {
        let replica = spec.replica;
        let gluster = gluster(
            &spec
                .option("debug.delay-gen", "posix")
                .option("delay-gen.delay-percentage", "100")
                .option("delay-gen.delay-duration", "2000000")
                .option("delay-gen.enable", "writev"),
        );
        let (first, second) = (connect(&gluster).await, connect(&gluster).await);
        new_file(&first, "disk", 1 << 20).await.close().await.unwrap();
        let former = fenced(&first, "disk", "first 1").await;
        let begun = Instant::now();
        let writing = tokio::spawn(async move {
            let result = write(&former, 1).await;
            eprintln!("{replica}: write 1 ends {:?} {result:?}", begun.elapsed());
            let result = write(&former, 2).await;
            eprintln!("{replica}: write 2 ends {:?} {result:?}", begun.elapsed());
        });
        sleep(Duration::from_millis(500)).await;
        let holder = open(&second, "disk").await;
        eprintln!("{replica}: opened {:?}", begun.elapsed());
        holder.fence(&owner("second 2")).await.unwrap();
        eprintln!("{replica}: granted {:?}", begun.elapsed());
        let at_grant = read(&holder).await.unwrap();
        eprintln!("{replica}: read {:?} has write {}", begun.elapsed(), at_grant == block(1));
        writing.await.unwrap();
        sleep(Duration::from_millis(2500)).await;
        let later = read(&holder).await.unwrap();
        eprintln!("{replica}: later {:?} has write {}", begun.elapsed(), later == block(1));
    }
}

#[tokio::test]
async fn x_restart() {
    for spec in volumes() {
        let replica = spec.replica;
        let gluster = gluster(&spec);
        let (first, second) = (connect(&gluster).await, connect(&gluster).await);
        new_file(&first, "disk", 1 << 20).await.close().await.unwrap();
        let former = fenced(&first, "disk", "first 1").await;
        let holder = fenced(&second, "disk", "second 2").await;
        write(&holder, 2).await.unwrap();
        gluster.kill_brick(0).unwrap();
        sleep(Duration::from_millis(500)).await;
        eprintln!(
            "{replica}: down: holder {:?} {:?}",
            write(&holder, 3).await,
            read(&holder).await.map(drop)
        );
        eprintln!(
            "{replica}: down: former {:?} {:?}",
            write(&former, 4).await,
            read(&former).await.map(drop)
        );
        gluster.start_force().unwrap();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(12) {
            eprintln!(
                "{replica}: {:?}: holder {:?} {:?}",
                begun.elapsed(),
                write(&holder, 5).await.map_err(|e| e.errno()),
                read(&holder).await.map(drop).map_err(|e| e.errno())
            );
            eprintln!(
                "{replica}: {:?}: former {:?} {:?}",
                begun.elapsed(),
                write(&former, 6).await.map_err(|e| e.errno()),
                read(&former).await.map(drop).map_err(|e| e.errno())
            );
            sleep(Duration::from_millis(1000)).await;
        }
        if replica == 3 {
            gluster.kill_brick(1).unwrap();
            sleep(Duration::from_millis(500)).await;
            eprintln!(
                "{replica}: brick 1 down: holder {:?} {:?}",
                write(&holder, 3).await,
                read(&holder).await.map(drop)
            );
            eprintln!(
                "{replica}: brick 1 down: former {:?} {:?}",
                write(&former, 4).await,
                read(&former).await.map(drop)
            );
        }
        eprintln!("{replica}: refence {:?}", within(30, holder.fence(&owner("second 2"))).await);
        eprintln!("{replica}: then holder {:?} {:?}", write(&holder, 7).await, read(&holder).await.map(drop));
        let fresh = open(&second, "disk").await;
        eprintln!("{replica}: fresh fence {:?}", within(30, fresh.fence(&owner("second 2"))).await);
        eprintln!("{replica}: then fresh {:?} {:?}", write(&fresh, 7).await, read(&fresh).await.map(drop));
        eprintln!("{replica}: then holder {:?} {:?}", write(&holder, 7).await, read(&holder).await.map(drop));
    }
}
