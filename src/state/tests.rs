//! Documents outlive what they have to, and damage is told.

use super::envelope::{MOST_BYTES, seal};
use super::{StateDir, StateError, unit_directory};
use bytes::Bytes;
use glint_target_core::lun::memory::{Document, MemoryError, UnitMemory};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const NAA: [u8; 8] = [0x3a, 0, 0, 0, 0, 0, 0, 1];
const NAME: &str = "3a00000000000001";

fn file(directory: &Path) -> PathBuf {
    directory.join("units").join(NAME).join("reservations")
}

async fn recall(state: &StateDir) -> Result<Option<Bytes>, MemoryError> {
    state.unit(NAA).await.unwrap().recall(Document::Reservations).await
}

#[tokio::test]
async fn documents_are_kept_apart_and_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("not/yet/there");
    let state = StateDir::open(&path).unwrap();
    let unit = state.unit(NAA).await.unwrap();
    let other = state.unit([0x3a, 0, 0, 0, 0, 0, 0, 2]).await.unwrap();
    assert_eq!(unit.recall(Document::Reservations).await, Ok(None));
    for contents in ["{\"first\":1}", "", "a\nb\n"] {
        unit.keep(Document::Reservations, contents.into()).await.unwrap();
        assert_eq!(unit.recall(Document::Reservations).await, Ok(Some(contents.into())));
    }
    unit.keep(Document::ModeParameters, "pages".into()).await.unwrap();
    assert_eq!(other.recall(Document::Reservations).await, Ok(None));
    drop((unit, other, state));

    let state = StateDir::open(&path).unwrap();
    assert_eq!(recall(&state).await, Ok(Some("a\nb\n".into())));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(file(&path).parent().unwrap()), mode(&file(&path))), (0o700, 0o700, 0o600));
}

#[tokio::test]
async fn what_a_crash_has_left_half_written_is_not_looked_at() {
    let directory = tempfile::tempdir().unwrap();
    let state = StateDir::open(directory.path()).unwrap();
    let unit = state.unit(NAA).await.unwrap();
    unit.keep(Document::Reservations, "old".into()).await.unwrap();
    fs::write(file(directory.path()).with_extension("new"), "half of a docu").unwrap();
    assert_eq!(recall(&state).await, Ok(Some("old".into())));
    unit.keep(Document::Reservations, "new".into()).await.unwrap();
    assert_eq!(recall(&state).await, Ok(Some("new".into())));
}

#[tokio::test]
async fn any_damage_is_told_and_what_is_damaged_is_put_aside() {
    let directory = tempfile::tempdir().unwrap();
    let state = StateDir::open(directory.path()).unwrap();
    let unit = state.unit(NAA).await.unwrap();
    unit.keep(Document::Reservations, "{\"key\":\"0x1\"}".into()).await.unwrap();
    let path = file(directory.path());
    let whole = fs::read(&path).unwrap();
    let flipped = (0..whole.len()).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x04;
        bytes
    });
    let cut = (0..whole.len()).map(|len| whole[..len].to_vec());
    let strange = [
        seal("mode-parameters", NAME, b"x"),
        seal("reservations", "3a00000000000002", b"x"),
        String::from_utf8(whole.clone()).unwrap().replace("\"version\":1", "\"version\":2").into_bytes(),
        vec![b'x'; MOST_BYTES + 9000],
    ];
    for bytes in flipped.chain(cut).chain(strange) {
        fs::write(&path, &bytes).unwrap();
        match recall(&state).await {
            Err(MemoryError::Damaged(told)) => assert!(told.starts_with(path.to_str().unwrap()), "{told}"),
            other => panic!("{other:?} of {:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(300)])),
        }
    }
    for (name, contents) in [("damaged", "first"), ("damaged-2", "second")] {
        fs::write(&path, contents).unwrap();
        recall(&state).await.unwrap_err();
        unit.keep(Document::Reservations, "fresh".into()).await.unwrap();
        assert_eq!(fs::read_to_string(path.with_extension(name)).unwrap(), contents);
        assert_eq!(recall(&state).await, Ok(Some("fresh".into())));
    }
}

#[tokio::test]
async fn too_much_is_refused_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let state = StateDir::open(directory.path()).unwrap();
    let unit = state.unit(NAA).await.unwrap();
    unit.keep(Document::Reservations, vec![b'x'; MOST_BYTES].into()).await.unwrap();
    let refused = unit.keep(Document::Reservations, vec![b'y'; MOST_BYTES + 1].into()).await;
    assert!(matches!(refused, Err(MemoryError::Store(_))));
    assert_eq!(recall(&state).await.unwrap().unwrap().len(), MOST_BYTES);
}

#[tokio::test]
async fn a_unit_belongs_to_one_process_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let one = StateDir::open(directory.path()).unwrap();
    // As another process would: with descriptors of its own.
    let two = StateDir::open(directory.path()).unwrap();
    let unit = one.unit(NAA).await.unwrap();
    match two.unit(NAA).await {
        Err(StateError::InUse(path)) => assert_eq!(path, file(directory.path()).with_file_name("lock")),
        other => panic!("{other:?}"),
    }
    two.unit([0x3a, 0, 0, 0, 0, 0, 0, 2]).await.unwrap();
    // The same process may open it once more before it has let go.
    let again = one.unit(NAA).await.unwrap();
    drop(unit);
    assert!(two.unit(NAA).await.is_err());
    drop(again);
    two.unit(NAA).await.unwrap();
}

#[test]
fn a_directory_that_cannot_be_made_is_told() {
    let told = StateDir::open(Path::new("/dev/null/glint")).unwrap_err().to_string();
    assert!(told.starts_with("/dev/null/glint/units: "), "{told}");
}

#[tokio::test]
async fn what_was_kept_is_not_forgotten_when_the_directory_is_out_of_reach() {
    let directory = tempfile::tempdir().unwrap();
    let refused =
        |naa| matches!(StateDir::check_without(directory.path(), naa), Err(StateError::OutOfReach(_)));
    assert!(!refused(NAA), "nothing is there yet");
    let state = StateDir::open(directory.path()).unwrap();
    let unit = state.unit(NAA).await.unwrap();
    assert!(!refused(NAA), "nothing was kept yet");
    unit.keep(Document::ModeParameters, "pages".into()).await.unwrap();
    assert!(refused(NAA));
    assert!(!refused([0x3a, 0, 0, 0, 0, 0, 0, 2]));
    StateDir::check_without(Path::new("/dev/null/glint"), NAA).unwrap();
}

/// What is being kept when nobody waits for it any more is kept under the lock: else it could undo what the next process keeps.
#[tokio::test]
async fn the_lock_is_held_until_the_last_document_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let open = || StateDir::open(directory.path()).unwrap();
    let unit = open().unit(NAA).await.unwrap();
    // Whoever opens it to write is held up until somebody reads.
    let new = unit_directory(&directory.path().join("units"), NAA).join("reservations.new");
    rustix::fs::mknodat(rustix::fs::CWD, &new, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    let mut keeping = unit.keep(Document::Reservations, Bytes::from_static(b"old"));
    assert!(futures_util::poll!(keeping.as_mut()).is_pending());
    tokio::task::yield_now().await;
    drop(keeping);
    drop(unit);
    let second = open().unit(NAA).await.map(drop);
    let read = tokio::task::spawn_blocking(move || fs::read(new)).await.unwrap();
    assert!(read.unwrap().ends_with(b"old"));
    assert!(matches!(second, Err(StateError::InUse(_))), "{second:?}");
    for _ in 0..400 {
        if open().unit(NAA).await.is_ok() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("the lock is never given back");
}
