//! Two nodes that serve one volume: either portal, one set of data, and a node that ends is made up for.
#![allow(clippy::expect_used, clippy::panic)]

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use glint_testkit::data;
use glint_testkit::glint::{self, Glint};
use glint_testkit::tools::{libiscsi, qemu_img};
use glint_testkit::wait;
use serde_json::Value;
use tempfile::TempDir;

const SIZE: usize = 16 << 20;

/// Their names. A name may begin as those of documents in the store do.
const NODES: [&str; 2] = ["n1", "node-2"];

/// What they share, and the nodes.
struct Pair {
    place: TempDir,
    nodes: [Glint; 2],
}

impl Pair {
    fn start() -> Self {
        let place = tempfile::Builder::new().prefix("glint-cluster-").tempdir().expect("a directory");
        let start = |name: &str| {
            let disk = place.path().join("disk.img");
            Glint::serve()
                .volume(&format!("d=file:{},size=16MiB", disk.display()))
                .argument("--node")
                .argument(name)
                .argument("--store")
                .argument(&place.path().join("store").display().to_string())
                .argument("--internal")
                .argument("127.0.0.1:0")
                .start()
        };
        let nodes = NODES.map(start);
        Self { place, nodes }
    }

    fn store(&self) -> String {
        self.place.path().join("store").display().to_string()
    }

    fn portal(&self, index: usize) -> SocketAddr {
        self.nodes[index].portal()
    }

    fn file(&self, name: &str) -> String {
        self.place.path().join(name).display().to_string()
    }

    /// Writes all of the volume through a node.
    fn write(&self, index: usize, image: &[u8]) {
        let source = self.file("source.img");
        fs::write(&source, image).expect("the source is written");
        qemu_img(&["convert", "-n", "-f", "raw", "-O", "raw", &source, &self.nodes[index].url("d")]);
    }

    /// Reads all of it through a node.
    fn read(&self, index: usize) -> Vec<u8> {
        let copy = self.file("copy.img");
        qemu_img(&["convert", "-f", "raw", "-O", "raw", &self.nodes[index].url("d"), &copy]);
        fs::read(&copy).expect("the copy is there")
    }

    #[track_caller]
    fn assert_holds(&self, index: usize, image: &[u8]) {
        assert!(self.read(index) == image, "{} reads something else than what was written", NODES[index]);
    }

    fn overview(&self) -> Value {
        let told = glint::run(&["nodes", "--store", &self.store(), "--json"]).success();
        serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error} in {told}"))
    }

    fn owner(&self) -> String {
        let told = self.overview();
        told["volumes"][0]["owner"].as_str().unwrap_or_else(|| panic!("no owner in {told}")).to_owned()
    }

    fn other(owner: &str) -> (usize, usize) {
        if owner == NODES[0] { (0, 1) } else { (1, 0) }
    }

    fn disk(&self) -> Vec<u8> {
        fs::read(Path::new(&self.file("disk.img"))).expect("the volume's file is there")
    }
}

#[test]
fn both_nodes_show_one_volume_and_tell_of_each_other() {
    let pair = Pair::start();
    let image = data::noise(1, SIZE);
    pair.write(0, &image);
    pair.assert_holds(1, &image);
    let image = data::noise(2, SIZE);
    pair.write(1, &image);
    pair.assert_holds(0, &image);

    let told = pair.overview();
    for (index, name) in NODES.into_iter().enumerate() {
        let (node, portal) = (&told["nodes"][index], pair.portal(index));
        assert_eq!((&node["id"], &node["state"]), (&name.into(), &"alive".into()), "{told}");
        assert_eq!(node["portals"][0]["bound"], portal.to_string(), "{told}");
    }
    let volume = &told["volumes"][0];
    assert_eq!((&volume["name"], &volume["state"]), (&"d".into(), &"owned".into()), "{told}");
    assert_eq!(told["faults"], Value::Array(Vec::new()));
    let people = glint::run(&["nodes", "--store", &pair.store()]).success();
    assert!(people.contains("NODE") && people.contains(&pair.portal(1).to_string()), "{people}");

    // A node hears of the other's portals within moments.
    for index in [0, 1] {
        let discover = || libiscsi("iscsi-ls", &[&format!("iscsi://{}", pair.portal(index))]);
        wait::until("a discovery tells both portals", Duration::from_secs(10), || {
            let told = discover();
            [0, 1].iter().all(|other| told.contains(&pair.portal(*other).to_string()))
        });
    }
}

#[test]
fn a_volume_is_moved_by_hand() {
    let pair = Pair::start();
    let image = data::noise(3, SIZE);
    pair.write(0, &image);
    let owner = pair.owner();
    let (_, other) = Pair::other(&owner);
    let to = NODES[other];
    let store = pair.store();
    let moved = glint::run(&["move", "--store", &store, "d", to]).success();
    assert!(moved.contains(&format!("d moved from {owner} to {to} in ")), "{moved}");
    assert_eq!(pair.owner(), to);
    pair.assert_holds(0, &image);
    pair.assert_holds(1, &image);
    let again = glint::run(&["move", "--store", &store, "d", to]).success();
    assert!(again.contains("already"), "{again}");
    for (volume, node, told) in [("d", "n3", "there are: n1, node-2"), ("e", "n1", "there are: d")] {
        let error = glint::run(&["move", "--store", &store, volume, node]).failure();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn a_node_that_ends_hands_its_volume_over() {
    let mut pair = Pair::start();
    let image = data::noise(4, SIZE);
    pair.write(0, &image);
    let (owner, other) = Pair::other(&pair.owner());
    let status = pair.nodes[owner].terminate();
    assert_eq!(status.code(), Some(0), "{}", pair.nodes[owner].log());
    let begun = Instant::now();
    pair.assert_holds(other, &image);
    // Well below the time after which a silent node counts as dead.
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let told = pair.overview();
    assert_eq!(told["nodes"][owner]["state"], "left", "{told}");
    assert_eq!(pair.owner(), NODES[other]);
    // And it comes back.
    pair.nodes[owner].start_again();
    pair.assert_holds(owner, &image);
}

#[test]
fn a_node_that_dies_is_made_up_for() {
    let mut pair = Pair::start();
    let image = data::noise(5, SIZE);
    pair.write(1, &image);
    let (owner, other) = Pair::other(&pair.owner());
    pair.nodes[owner].kill();
    let begun = Instant::now();
    pair.assert_holds(other, &image);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    let told = pair.overview();
    assert_eq!(told["nodes"][owner]["state"], "dead", "{told}");
    assert_eq!(pair.owner(), NODES[other]);
    let image = data::noise(6, SIZE);
    pair.write(other, &image);
    pair.nodes[owner].start_again();
    pair.assert_holds(owner, &image);
    assert!(pair.disk() == image, "what was flushed is not in the file");
}
