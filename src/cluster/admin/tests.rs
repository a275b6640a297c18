//! Over a local directory, with records that the test writes and heartbeats that it makes beat.

use super::*;
use crate::store::nonce;
use glint_cluster_core::membership::{Beat, BootId, Incarnation, Portal};
use glint_cluster_core::ownership::{Epoch, Holder, Wish};
use glint_cluster_core::store::{Body, Outcome};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// As the nodes', ten times as fast.
const FAST: Timing = Timing {
    beat: Duration::from_millis(100),
    fence: Duration::from_millis(400),
    dead: Duration::from_millis(600),
    drift: 10,
};

struct Bench {
    directory: TempDir,
    admin: Arc<Admin<Store>>,
    beating: Vec<JoinHandle<()>>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.beating.iter().for_each(JoinHandle::abort);
    }
}

fn node(name: &str) -> NodeId {
    NodeId::new(name).unwrap()
}

fn incarnation(name: &str, boot: u64) -> Incarnation {
    Incarnation { node: node(name), boot: BootId(boot) }
}

fn owned(name: &str, boot: u64) -> OwnerRecord {
    OwnerRecord::of(Holder::Owned(incarnation(name, boot)))
}

impl Bench {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreUrl::Local(directory.path().to_owned()), Duration::from_secs(20))
            .await
            .unwrap();
        Self { directory, admin: Arc::new(Admin::new(store, FAST)), beating: Vec::new() }
    }

    async fn set(&self, document: &str, body: Body) {
        set(&self.admin, document, body).await;
    }

    async fn node(&self, name: &str, boot: u64, left: bool) {
        let portal = Portal { tag: 1, bound: "127.0.0.1:3260".into(), advertised: vec!["a:3260".into()] };
        let record = NodeRecord {
            boot: BootId(boot),
            portals: vec![portal],
            group: 7,
            internal: "127.0.0.1:9470".into(),
            version: "0.1.0".into(),
            certificate: String::new(),
            left,
        };
        let mut body = Body::new();
        record.write(&mut body);
        self.set(&format!("node-{name}"), body).await;
    }

    async fn owner(&self, volume: &str, record: OwnerRecord) {
        own(&self.admin, volume, record).await;
    }

    fn beats(&mut self, of: Incarnation) {
        let admin = Arc::clone(&self.admin);
        self.beating.push(tokio::spawn(async move {
            for count in 0.. {
                let beat = Beat { boot: of.boot, count, unreachable: Vec::new() };
                let _ = admin.documents.directory().overwrite(&of.beat_file(), &beat.encode()).await;
                tokio::time::sleep(FAST.beat / 2).await;
            }
        }));
    }

    /// A version of a document as the bytes that lie in its file.
    fn put(&self, file: &str, bytes: &[u8]) {
        fs::write(self.directory.path().join(file), bytes).unwrap();
    }

    async fn wish(&self, volume: &str) -> Option<Wish> {
        match self.admin.documents.read(&Wish::document(volume).unwrap()).await.unwrap().found {
            Found::Body(body) => Some(Wish::read(&body).unwrap()),
            _ => None,
        }
    }

    async fn go(&self, volume: &str, to: &str, patience: Duration) -> Result<Moved, MoveError> {
        self.admin.move_volume(volume, &node(to), patience, |_| {}).await
    }

    /// Two nodes of which the first has the volume `db` as of epoch 1.
    async fn pair() -> Self {
        let mut bench = Self::new().await;
        bench.node("n1", 1, false).await;
        bench.node("n2", 2, false).await;
        bench.beats(incarnation("n1", 1));
        bench.beats(incarnation("n2", 2));
        bench.owner("db", owned("n1", 1)).await;
        bench
    }
}

async fn set(admin: &Admin<Store>, document: &str, body: Body) {
    let name = DocumentName::new(document).unwrap();
    let old = admin.documents.read(&name).await.unwrap();
    let outcome = admin.documents.compare_and_set(&name, &old, body, nonce().unwrap()).await.unwrap();
    assert!(matches!(outcome, Outcome::Won(_)), "{outcome:?}");
}

async fn own(admin: &Admin<Store>, volume: &str, record: OwnerRecord) {
    let mut body = Body::new();
    record.write(&mut body);
    set(admin, &format!("owner-{volume}"), body).await;
}

fn body(value: Value) -> Body {
    value.as_object().unwrap().clone()
}

const SOON: Duration = Duration::from_millis(700);
const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn an_empty_store_has_nothing_in_it() {
    let bench = Bench::new().await;
    let empty = Survey { nodes: Vec::new(), volumes: Vec::new(), faults: Vec::new() };
    assert_eq!(bench.admin.survey().await.unwrap(), empty);
}

#[tokio::test]
async fn a_directory_that_is_not_there_is_told_and_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let error = Admin::open(&StoreUrl::Local(path.clone())).await.err().unwrap();
    assert!(matches!(&error, AdminError::NoDirectory(_)), "{error}");
    assert!(!path.exists());
}

#[tokio::test]
async fn the_living_the_dead_and_the_gone_are_told_apart() {
    let mut bench = Bench::pair().await;
    bench.node("n3", 3, false).await;
    bench.put(&incarnation("n3", 3).beat_file(), b"as it was");
    bench.node("n4", 4, true).await;
    bench.beats(incarnation("n4", 4));
    bench.node("n5", 5, false).await;
    bench.set("numbers", body(json!({"nodes": {"n1": {"group": 7, "ports": {"1": 12}}}}))).await;
    let survey = bench.admin.survey().await.unwrap();
    let states: Vec<_> = survey.nodes.iter().map(|node| (node.id.as_str(), node.state)).collect();
    let expected = [
        ("n1", NodeState::Alive),
        ("n2", NodeState::Alive),
        ("n3", NodeState::Dead),
        ("n4", NodeState::Left),
        ("n5", NodeState::Dead),
    ];
    assert_eq!(states, expected);
    assert_eq!(survey.nodes[0].ports, [(1, 12)].into());
    // One that has no numbers yet is not told what it would be given.
    assert_eq!(survey.nodes[1].ports, [].into());
    assert_eq!(survey.faults, Vec::<String>::new());
}

#[tokio::test]
async fn who_owns_what_is_told_by_who_lives() {
    let bench = Bench::pair().await;
    bench.owner("former", owned("n1", 0)).await;
    bench.owner("gone", owned("n9", 9)).await;
    bench.owner("free", OwnerRecord::of(Holder::Released(None))).await;
    let pinned =
        OwnerRecord { pinned: true, fences: false, ..OwnerRecord::of(Holder::Released(Some(node("n2")))) };
    bench.owner("due", pinned.clone()).await;
    let survey = bench.admin.survey().await.unwrap();
    let states: Vec<_> = survey.volumes.iter().map(|volume| (volume.name.as_str(), volume.state)).collect();
    let expected = [
        ("db", VolumeState::Owned),
        ("due", VolumeState::Released),
        ("former", VolumeState::OwnerDead),
        ("free", VolumeState::Released),
        ("gone", VolumeState::OwnerDead),
    ];
    assert_eq!(states, expected);
    assert_eq!(survey.volumes[1].seen, Some(Seen { epoch: Epoch(1), record: pinned }));
}

#[tokio::test]
async fn what_cannot_be_read_is_told_and_the_rest_is_there() {
    let bench = Bench::pair().await;
    let newer = b"glint-document 2 crc32c=00000000 bytes=3\n{}\n";
    bench.put("node-n3.1", b"glint-document 1 crc32c=00000000 bytes=3\n{}\n");
    bench.put("node-n4.1", newer);
    bench.set("node-n5", body(json!({"boot": 7}))).await;
    bench.put("owner-a.4", b"");
    bench.put("owner-b.5", newer);
    bench.set("owner-c", body(json!({"owner": "n1"}))).await;
    bench.put("numbers.1", newer);
    bench.put("wish-db.1", b"?");
    // Files that are not ours.
    bench.put("node-N.1", b"?");
    bench.put("README", b"?");
    let survey = bench.admin.survey().await.unwrap();
    let nodes: Vec<_> = survey.nodes.iter().map(|node| (node.id.as_str(), node.state)).collect();
    let expected = [
        ("n1", NodeState::Alive),
        ("n2", NodeState::Alive),
        ("n3", NodeState::Damaged),
        ("n4", NodeState::Unreadable),
        ("n5", NodeState::Damaged),
    ];
    assert_eq!(nodes, expected);
    assert!(survey.nodes.iter().all(|node| node.fault.is_some() == node.record.is_none()), "{survey:?}");
    assert!(survey.nodes[3].fault.as_ref().unwrap().contains("format 2"), "{survey:?}");
    let volumes: Vec<_> = survey
        .volumes
        .iter()
        .map(|volume| (volume.name.as_str(), volume.state, volume.seen.as_ref().map(|seen| seen.epoch.0)))
        .collect();
    let expected = [
        ("a", VolumeState::Damaged, Some(4)),
        ("b", VolumeState::Unreadable, None),
        ("c", VolumeState::Damaged, Some(1)),
        ("db", VolumeState::Owned, Some(1)),
    ];
    assert_eq!(volumes, expected);
    assert_eq!(survey.faults.len(), 2, "{survey:?}");
    for word in ["numbers", "wish-db"] {
        assert!(survey.faults.iter().any(|fault| fault.contains(word)), "{word}: {survey:?}");
    }
}

#[tokio::test]
async fn a_volume_that_is_there_stays() {
    let bench = Bench::pair().await;
    let moved = bench.go("db", "n1", LONG).await.unwrap();
    assert!(moved.was_there, "{moved:?}");
    assert_eq!(bench.wish("db").await, None);
}

#[tokio::test]
async fn what_cannot_be_moved_is_told_and_leaves_no_wish() {
    let bench = Bench::pair().await;
    bench.node("n3", 3, false).await;
    bench.node("n4", 4, true).await;
    bench.put("owner-a.1", b"");
    bench.put("owner-b.1", b"glint-document 2 crc32c=00000000 bytes=3\n{}\n");
    let error = async |volume: &str, to: &str| bench.go(volume, to, LONG).await.unwrap_err();
    assert!(matches!(error("db", "n3").await, MoveError::NodeDead(_)));
    assert!(matches!(error("db", "n4").await, MoveError::NodeLeft(_)));
    assert!(matches!(error("db", "n7").await, MoveError::NoNode { known, .. } if known.len() == 4));
    assert!(matches!(error("c", "n2").await, MoveError::NoVolume { known, .. } if known == ["a", "b", "db"]));
    assert!(matches!(error("D B", "n2").await, MoveError::NoVolume { .. }));
    assert!(matches!(error("a", "n2").await, MoveError::VolumeDamaged(_)));
    assert!(matches!(error("b", "n2").await, MoveError::Document(_, why) if why.contains("format 2")));
    for volume in ["db", "a", "b", "c"] {
        assert_eq!(bench.wish(volume).await, None);
    }
}

#[tokio::test]
async fn a_wish_that_nobody_minds_is_late_and_stays() {
    let bench = Bench::pair().await;
    let error = bench.go("db", "n2", SOON).await.unwrap_err();
    assert!(matches!(&error, MoveError::Late { now, .. } if now.contains("n1 has it")), "{error}");
    assert_eq!(bench.wish("db").await, Some(Wish { epoch: Epoch(1), to: node("n2") }));
    let survey = bench.admin.survey().await.unwrap();
    assert_eq!(survey.volumes[0].wish, Some(node("n2")));
    // With another epoch it is void.
    bench.owner("db", owned("n1", 1)).await;
    assert_eq!(bench.admin.survey().await.unwrap().volumes[0].wish, None);
}

/// Plays the nodes: does `next` once there is a wish about this epoch.
fn play(bench: &Bench, about: u64, next: Vec<OwnerRecord>) -> JoinHandle<()> {
    let admin = Arc::clone(&bench.admin);
    tokio::spawn(async move {
        let document = Wish::document("db").unwrap();
        loop {
            if let Found::Body(body) = admin.documents.read(&document).await.unwrap().found
                && Wish::read(&body).unwrap().as_of(Epoch(about)) == Some(&node("n2"))
            {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        for record in next {
            own(&admin, "db", record).await;
            tokio::time::sleep(LOOK_AT_LEAST).await;
        }
    })
}

/// Longer than a look at the record takes to come round.
const LOOK_AT_LEAST: Duration = Duration::from_millis(600);

#[tokio::test]
async fn a_move_is_waited_for() {
    let bench = Bench::pair().await;
    // A wish of long ago is replaced.
    bench.set("wish-db", body(json!({"epoch": 0, "to": "n1", "of a newer glint": 1}))).await;
    let released = OwnerRecord { pinned: true, ..OwnerRecord::of(Holder::Released(Some(node("n2")))) };
    let nodes = play(&bench, 1, vec![released, OwnerRecord { pinned: true, ..owned("n2", 2) }]);
    let mut steps = Vec::new();
    let tell = |step: &str| steps.push(step.to_owned());
    let moved = bench.admin.move_volume("db", &node("n2"), LONG, tell).await.unwrap();
    nodes.await.unwrap();
    assert_eq!((moved.seen.epoch, moved.from.clone(), moved.was_there), (Epoch(3), Some(node("n1")), false));
    assert!(moved.took >= LOOK_AT_LEAST, "{moved:?}");
    let told = steps.join("; ");
    for word in ["n1 has it (epoch 1)", "asked", "released to n2 (epoch 2)"] {
        assert!(told.contains(word), "{word} in {told}");
    }
}

#[tokio::test]
async fn what_went_elsewhere_in_between_is_asked_for_again() {
    let bench = Bench::pair().await;
    let first = play(&bench, 1, vec![owned("n3", 3)]);
    let then = play(&bench, 2, vec![owned("n2", 2)]);
    let moved = bench.go("db", "n2", LONG).await.unwrap();
    first.await.unwrap();
    then.await.unwrap();
    assert_eq!((moved.seen.epoch, moved.from), (Epoch(3), Some(node("n1"))));
}

#[tokio::test]
async fn what_a_former_process_of_the_node_has_is_not_there_yet() {
    let bench = Bench::pair().await;
    bench.owner("db", owned("n2", 1)).await;
    let error = bench.go("db", "n2", SOON).await.unwrap_err();
    assert!(matches!(error, MoveError::Late { .. }), "{error}");
}
