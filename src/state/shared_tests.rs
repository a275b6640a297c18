use super::*;
use glint_cluster_core::store::DirectoryError;
use std::collections::BTreeMap;
use std::time::Instant;

const NAA: [u8; 8] = [0x3a, 0, 0, 0, 0, 0, 0, 1];
const NAME: &str = "unit-3a00000000000001-reservations";

/// Files in memory, which any number of nodes look at.
#[derive(Clone, Default)]
struct Memory(Arc<std::sync::Mutex<Files>>, Arc<std::sync::Mutex<Trouble>>);

type Files = BTreeMap<String, Bytes>;

/// What becomes of the next links.
#[derive(Default)]
struct Trouble {
    /// So many have no answer.
    unanswered: u32,
    /// Those of them that are not made, until somebody makes them.
    late: Option<Vec<(String, String)>>,
}

impl Memory {
    fn with<T>(&self, act: impl FnOnce(&mut Files) -> T) -> T {
        act(&mut self.0.lock().unwrap())
    }

    /// All links for some time are without an answer, and made later if `late`.
    fn lose(&self, late: bool) {
        *self.1.lock().unwrap() = Trouble { unanswered: 100, late: late.then(Vec::new) };
    }

    /// From now on there is an answer; what is late is made.
    fn catch_up(&self) {
        let Trouble { late, .. } = std::mem::take(&mut *self.1.lock().unwrap());
        for (from, to) in late.unwrap_or_default() {
            self.with(|files| {
                files.get(&from).cloned().map(|file| files.entry(to).or_insert(file)).map(drop)
            });
        }
    }

    fn damage(&self, file: &str) {
        self.with(|files| files.insert(file.into(), Bytes::from_static(b"not what was written")));
    }
}

impl Directory for Memory {
    async fn list(&self) -> Result<Vec<String>, DirectoryError> {
        Ok(self.with(|files| files.keys().cloned().collect()))
    }

    async fn read(&self, name: &str, _most: usize) -> Result<Bytes, DirectoryError> {
        self.with(|files| files.get(name).cloned().ok_or(DirectoryError::Missing))
    }

    async fn create(&self, name: &str, contents: &[u8]) -> Result<(), DirectoryError> {
        self.overwrite(name, contents).await
    }

    async fn link(&self, from: &str, to: &str) -> Result<(), DirectoryError> {
        let mut trouble = self.1.lock().unwrap();
        let is_lost = trouble.unanswered > 0;
        trouble.unanswered = trouble.unanswered.saturating_sub(1);
        if is_lost && let Some(late) = &mut trouble.late {
            late.push((from.into(), to.into()));
            return Err(DirectoryError::Unknown("it is late".into()));
        }
        drop(trouble);
        let linked = self.with(|files| {
            if files.contains_key(to) {
                return Err(DirectoryError::Exists);
            }
            let file = files.get(from).cloned().ok_or(DirectoryError::Missing)?;
            files.insert(to.into(), file);
            Ok(())
        });
        if is_lost { Err(DirectoryError::Unknown("the answer is lost".into())) } else { linked }
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), DirectoryError> {
        self.with(|files| {
            let file = files.remove(from).ok_or(DirectoryError::Missing)?;
            files.insert(to.into(), file);
            Ok(())
        })
    }

    async fn unlink(&self, name: &str) -> Result<(), DirectoryError> {
        self.with(|files| files.remove(name).map(drop).ok_or(DirectoryError::Missing))
    }

    async fn sync(&self, _name: &str) -> Result<(), DirectoryError> {
        Ok(())
    }

    async fn overwrite(&self, name: &str, contents: &[u8]) -> Result<(), DirectoryError> {
        self.with(|files| files.insert(name.into(), Bytes::copy_from_slice(contents)));
        Ok(())
    }

    fn now(&self) -> Instant {
        Instant::now()
    }
}

async fn claim(memory: &Memory, epoch: u64) -> Result<SharedDocuments<Memory>, MemoryError> {
    let documents = Arc::new(Documents::new(memory.clone(), Default::default()));
    SharedDocuments::claim(documents, NAA, Epoch(epoch)).await
}

#[tokio::test]
async fn what_one_owner_keeps_the_next_one_recalls() {
    let memory = Memory::default();
    let first = claim(&memory, 1).await.unwrap();
    assert_eq!(first.recall(Document::Reservations).await, Ok(None));
    let all = [Bytes::from_static(b"{\"key\":1}"), Bytes::new(), Bytes::from_static(&[0, 0xff, 0x80])];
    for contents in all {
        let owner = claim(&memory, 2).await.unwrap();
        owner.keep(Document::Reservations, contents.clone()).await.unwrap();
        owner.keep(Document::ModeParameters, Bytes::from_static(b"pages")).await.unwrap();
        assert_eq!(owner.recall(Document::Reservations).await, Ok(Some(contents.clone())));
        let next = claim(&memory, 3).await.unwrap();
        assert_eq!(next.recall(Document::Reservations).await, Ok(Some(contents)));
        assert_eq!(next.recall(Document::MediumCondition).await, Ok(None));
    }
}

#[tokio::test]
async fn a_former_owner_changes_nothing() {
    let memory = Memory::default();
    let former = claim(&memory, 1).await.unwrap();
    former.keep(Document::Reservations, "old".into()).await.unwrap();
    let owner = claim(&memory, 2).await.unwrap();
    // Also what had never been kept.
    for document in Document::ALL {
        assert!(matches!(former.keep(document, "late".into()).await, Err(MemoryError::Store(_))));
    }
    assert_eq!(owner.recall(Document::Reservations).await, Ok(Some("old".into())));
    owner.keep(Document::Reservations, "new".into()).await.unwrap();
    assert!(former.keep(Document::Reservations, "later".into()).await.is_err());
    assert_eq!(claim(&memory, 3).await.unwrap().recall(Document::Reservations).await, Ok(Some("new".into())));
}

#[tokio::test]
async fn a_damaged_document_is_not_taken_over() {
    let memory = Memory::default();
    let owner = claim(&memory, 1).await.unwrap();
    owner.keep(Document::Reservations, "old".into()).await.unwrap();
    memory.damage(&format!("{NAME}.2"));
    assert!(matches!(claim(&memory, 2).await.err(), Some(MemoryError::Damaged(_))));
}

#[tokio::test]
async fn an_owner_without_an_answer_goes_on_from_what_it_finds() {
    for is_late in [false, true] {
        let memory = Memory::default();
        let owner = claim(&memory, 1).await.unwrap();
        owner.keep(Document::Reservations, "old".into()).await.unwrap();
        memory.lose(is_late);
        let kept = owner.keep(Document::Reservations, "new".into()).await;
        assert_eq!(kept.is_ok(), !is_late, "{kept:?}");
        memory.catch_up();
        owner.keep(Document::Reservations, "newer".into()).await.unwrap();
        assert_eq!(owner.recall(Document::Reservations).await, Ok(Some("newer".into())));
        let next = claim(&memory, 2).await.unwrap();
        assert_eq!(next.recall(Document::Reservations).await, Ok(Some("newer".into())));
    }
}

#[test]
fn digits_are_read_as_they_are_written() {
    assert_eq!(unhex("00ff80"), Some(Bytes::from_static(&[0, 0xff, 0x80])));
    assert_eq!(unhex(""), Some(Bytes::new()));
    for wrong in ["0", "0g", "é"] {
        assert_eq!(unhex(wrong), None);
    }
}
