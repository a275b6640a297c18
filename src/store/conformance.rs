//! What every directory under the document store has to do, and how the store itself fares on it.
//!
//! Each check gets several clients of one directory, as several nodes have them.

use bytes::Bytes;
use glint_cluster_core::store::{
    Body, Directory, DirectoryError, DocumentName, Documents, Found, Nonce, Outcome, Timing,
};
use std::collections::BTreeSet;
use std::sync::Arc;

fn owned<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

async fn names(directory: &impl Directory) -> BTreeSet<String> {
    directory.list().await.unwrap().into_iter().collect()
}

/// All checks, with at least two clients of one directory that is empty.
pub async fn all<D: Directory + 'static>(clients: Vec<Arc<D>>) {
    let [one, two, ..] = clients.as_slice() else { panic!("two clients are needed") };
    let (shared_one, shared_two) = (one, two);
    let (one, two) = (&**one, &**two);
    contents_are_exclusive_and_whole(one, two).await;
    what_is_missing_is_told(one).await;
    names_move_and_go(one, two).await;
    what_is_overwritten_is_seen_at_once(one, two).await;
    for name in names(one).await {
        one.unlink(&name).await.unwrap();
    }
    a_name_is_given_once(&clients).await;
    listings_have_all_that_stays(shared_one, shared_two).await;
    let before = names(one).await;
    one.sync("race.1").await.unwrap();
    assert_eq!(names(one).await, before, "nothing is left of it");
    let (before, clock) = (one.now(), std::time::Instant::now());
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    assert!(one.now() - before >= clock.elapsed() / 2, "its clock goes on");
}

async fn contents_are_exclusive_and_whole(one: &impl Directory, two: &impl Directory) {
    let contents: Vec<u8> = (0..100_000_u32).map(|at| (at % 251) as u8).collect();
    one.create(".a.1.x", &contents).await.unwrap();
    assert_eq!(two.create(".a.1.x", b"other").await, Err(DirectoryError::Exists));
    one.create("empty", b"").await.unwrap();
    for directory in [one.read(".a.1.x", 200_000).await, two.read(".a.1.x", 200_000).await] {
        assert_eq!(directory.unwrap(), contents);
    }
    assert_eq!(two.read(".a.1.x", 10).await.unwrap(), contents[..10]);
    assert_eq!(two.read("empty", 10).await.unwrap(), Bytes::new());
}

async fn what_is_missing_is_told(one: &impl Directory) {
    let missing = Err(DirectoryError::Missing);
    assert_eq!(one.read("none", 10).await, Err(DirectoryError::Missing));
    assert_eq!(one.link("none", "other").await, missing);
    assert_eq!(one.rename("none", "other").await, missing);
    assert_eq!(one.unlink("none").await, missing);
    assert!(matches!(one.create(&"n".repeat(300), b"").await, Err(DirectoryError::Refused(_))));
}

async fn names_move_and_go(one: &impl Directory, two: &impl Directory) {
    two.link(".a.1.x", "a.1").await.unwrap();
    assert_eq!(one.link("empty", "a.1").await, Err(DirectoryError::Exists));
    assert_eq!(one.read("a.1", 200_000).await.unwrap().len(), 100_000);
    two.rename("a.1", "a.1.damaged").await.unwrap();
    assert_eq!(one.read("a.1", 10).await, Err(DirectoryError::Missing), "it has another name now");
    two.unlink(".a.1.x").await.unwrap();
    assert_eq!(one.read(".a.1.x", 10).await, Err(DirectoryError::Missing));
    assert_eq!(names(one).await, owned(["a.1.damaged", "empty"]));
    assert_eq!(one.read("a.1.damaged", 10).await.unwrap().len(), 10);
}

async fn what_is_overwritten_is_seen_at_once(one: &impl Directory, two: &impl Directory) {
    for count in 0..30_u8 {
        one.overwrite("beat", &[count; 512]).await.unwrap();
        assert_eq!(two.read("beat", 1024).await.unwrap(), [count; 512][..]);
    }
    one.overwrite("beat", b"short").await.unwrap();
    assert_eq!(two.read("beat", 1024).await.unwrap(), b"short"[..]);
}

/// Eight link at once, from all clients, again and again.
async fn a_name_is_given_once<D: Directory + 'static>(clients: &[Arc<D>]) {
    for round in 1..=20 {
        let mut linkers = Vec::new();
        for (number, directory) in clients.iter().cycle().take(8).cloned().enumerate() {
            let from = format!(".race.{round}.{number:032x}");
            directory.create(&from, number.to_string().as_bytes()).await.unwrap();
            linkers.push(tokio::spawn(async move {
                let linked = directory.link(&from, &format!("race.{round}")).await;
                directory.unlink(&from).await.unwrap();
                linked
            }));
        }
        let mut winners = Vec::new();
        for (number, linker) in linkers.into_iter().enumerate() {
            match linker.await.unwrap() {
                Ok(()) => winners.push(number),
                Err(error) => assert_eq!(error, DirectoryError::Exists, "round {round}"),
            }
        }
        let [winner] = winners.as_slice() else { panic!("round {round}: {winners:?} have won") };
        for directory in clients {
            let contents = directory.read(&format!("race.{round}"), 10).await.unwrap();
            assert_eq!(contents, winner.to_string().into_bytes());
        }
    }
}

/// Many names stay while others come and go; and a listing is longer than one answer of a brick.
async fn listings_have_all_that_stays<D: Directory + 'static>(one: &Arc<D>, two: &Arc<D>) {
    let stays: BTreeSet<String> =
        (0..200).map(|number| format!("stays-{}.{number}", "x".repeat(150))).collect();
    for name in &stays {
        one.overwrite(name, b"").await.unwrap();
    }
    let others = two.clone();
    let bustle = tokio::spawn(async move {
        for number in 0..100 {
            let name = format!("comes.{number}");
            others.create(&name, b"").await.unwrap();
            others.unlink(&name).await.unwrap();
        }
    });
    let mut listings = 0;
    while !bustle.is_finished() || listings == 0 {
        let listed = names(&**one).await;
        let missing: Vec<_> = stays.difference(&listed).collect();
        assert!(missing.is_empty(), "listing {listings} lacks {missing:?}");
        listings += 1;
    }
    bustle.await.unwrap();
    assert_eq!(one.list().await.unwrap().len(), names(&**one).await.len(), "none is told twice");
}

fn number(found: &Found) -> u64 {
    match found {
        Found::Nothing => 0,
        Found::Body(body) => body.get("number").and_then(serde_json::Value::as_u64).unwrap(),
        Found::Damaged(what) => panic!("{what}"),
    }
}

/// Each client adds 1 to a number in one document, `times` times all in all.
pub async fn count_together<D: Directory + 'static>(clients: Vec<D>, times: u64) {
    let document = DocumentName::new("counter").unwrap();
    let share = times / clients.len() as u64;
    let mut writers = Vec::new();
    for (writer, directory) in clients.into_iter().enumerate() {
        let document = document.clone();
        writers.push(tokio::spawn(async move {
            let documents = Documents::new(directory, Timing::default());
            let mut won = 0;
            let mut attempt = 0_u128;
            while won < share {
                let old = documents.read(&document).await.unwrap();
                let mut body = Body::new();
                body.insert("number".into(), (number(&old.found) + 1).into());
                attempt += 1;
                let nonce = Nonce((writer as u128 + 1) << 64 | attempt);
                match documents.compare_and_set(&document, &old, body, nonce).await.unwrap() {
                    // Overtaken: it was in place, or is of a number that had been collected, which takes minutes.
                    Outcome::Won(_) | Outcome::Overtaken => won += 1,
                    Outcome::Lost => {}
                    Outcome::Unknown(why) => panic!("{why}"),
                }
            }
            documents
        }));
    }
    let mut documents = Vec::new();
    for writer in writers {
        documents.push(writer.await.unwrap());
    }
    for documents in &documents {
        let state = documents.read(&document).await.unwrap();
        assert_eq!((number(&state.found), state.version), (times, times));
    }
}
