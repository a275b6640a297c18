//! A process that has a file and stands still, and goes on when another has taken the file from it.

use std::{
    hash::{BuildHasher, RandomState},
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use glint_gfapi::{File, LockOwner, OpenOptions};
use tokio::time::sleep;

use super::*;

/// Writes that are under way at a time, each in a place of its own.
const LANES: u64 = 8;
/// What a write does not take while the process runs.
const STANDSTILL: Duration = Duration::from_millis(900);
/// After how many refusals a place is given up.
const REFUSALS: u64 = 4;
/// From one place to the next.
const STRIDE: u64 = 1 << 16;
/// Where the writer finds the volume, and what its lock owner is to be.
const ADDRESS: &str = "GLINT_TEST_GLUSTER_ADDRESS";
const OWNER: &str = "GLINT_TEST_LOCK_OWNER";

/// A block whose number can be told.
fn numbered(number: u64) -> Bytes {
    number.to_le_bytes().repeat(BLOCK / 8).into()
}

/// The number of a block; fails where it is made of two.
fn number_of(block: &Bytes) -> u64 {
    let number = u64::from_le_bytes(block[..8].try_into().unwrap());
    assert_eq!(*block, numbered(number), "a torn block");
    number
}

async fn fenced(volume: &Volume, owner: &str) -> File {
    let file = volume.open("disk", OpenOptions::default()).await.unwrap();
    within(20, file.fence(&LockOwner::new(owner.as_bytes()).unwrap())).await.unwrap();
    file
}

/// What became of the writes to one place.
#[derive(Debug, Default)]
struct Lane {
    begun: u64,
    acknowledged: u64,
    refused: u64,
    /// Acknowledged after one was refused.
    late: u64,
}

/// Writes 1, 2, 3 ... and, once refused, tries a few times more.
async fn write_lane(file: &File, lane: u64, ended: &AtomicBool) -> Lane {
    let mut told = Lane::default();
    while !ended.load(Ordering::Relaxed) {
        if told.refused == 0 {
            told.begun += 1;
        }
        let at = Instant::now();
        match file.write(lane * STRIDE, &[numbered(told.begun)], false).await {
            // Across the standstill. Who has a lease tells nobody of what it hears after that.
            Ok(_) if at.elapsed() > STANDSTILL => {}
            Ok(_) if told.refused > 0 => told.late += 1,
            Ok(_) => told.acknowledged = told.begun,
            Err(_) => {
                told.refused += 1;
                if told.refused == REFUSALS {
                    break;
                }
            }
        }
    }
    told
}

/// The process that is stopped: writes until its input ends, and tells what became of it.
#[tokio::test]
#[ignore = "no test: the tests below run it as a process of its own"]
async fn writer() {
    let (address, owner) = (std::env::var(ADDRESS).unwrap(), std::env::var(OWNER).unwrap());
    let volume = Volume::connect(VolumeConfig::new("blocks", vec![Host::new(address)])).await.unwrap();
    let file = fenced(&volume, &owner).await;
    let ended = Arc::new(AtomicBool::new(false));
    thread::spawn({
        let ended = Arc::clone(&ended);
        move || {
            let _ = std::io::stdin().read(&mut [0]);
            ended.store(true, Ordering::Relaxed);
        }
    });
    println!("writes");
    let lanes = join_all((0..LANES).map(|lane| write_lane(&file, lane, &ended))).await;
    // As who has lost a file does: until it is closed, replication keeps its lock for another second.
    file.close().await.unwrap();
    while !ended.load(Ordering::Relaxed) {
        sleep(Duration::from_millis(10)).await;
    }
    for Lane { begun, acknowledged, refused, late } in lanes {
        println!("lane {begun} {acknowledged} {refused} {late}");
    }
    std::io::stdout().flush().unwrap();
    // Taking the client down would take long.
    std::process::exit(0);
}

struct Writer {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Writer {
    /// Ready when it writes.
    fn start(gluster: &GlusterVolume, owner: &str) -> Self {
        let nobody = ["--reuid=65532", "--regid=65532", "--clear-groups", "--no-new-privs"];
        let mut process = Command::new("setpriv")
            .args(nobody)
            .arg(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "frozen::writer"])
            .env(ADDRESS, gluster.cluster().address().to_string())
            .env(OWNER, owner)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        let mut writer = Self { process, input, output };
        while writer.line() != "writes" {}
        writer
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "the writer has died");
        // The harness's own words may stand before it.
        line.trim_end().rsplit("... ").next().unwrap().to_owned()
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args(["-s", signal, &self.process.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    fn end(mut self) -> Vec<Lane> {
        drop(self.input.take());
        let mut lanes = Vec::new();
        while lanes.len() < LANES as usize {
            let line = self.line();
            let Some(numbers) = line.strip_prefix("lane ") else { continue };
            let numbers: Vec<u64> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
            let [begun, acknowledged, refused, late] = numbers[..] else { panic!("{line}") };
            lanes.push(Lane { begun, acknowledged, refused, late });
        }
        lanes
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn read_lanes(file: &File) -> Vec<u64> {
    let mut numbers = Vec::new();
    for lane in 0..LANES {
        numbers.push(number_of(&within(20, file.read(lane * STRIDE, BLOCK)).await.unwrap()));
    }
    numbers
}

/// What is in the places now: where the next holder has written, that; elsewhere what the former wrote last, be it acknowledged or under way when it
/// stopped.
fn assert_right(now: &[u64], written: &[Option<u64>], former: &[Lane]) {
    for ((now, written), former) in now.iter().zip(written).zip(former) {
        match written {
            Some(written) => assert_eq!(now, written),
            None => assert!((former.acknowledged..=former.begun).contains(now), "{now} after {former:?}"),
        }
    }
}

/// One life: it writes, stands still, is replaced, and wakes up. Tells how long the next holder took.
async fn replace(gluster: &GlusterVolume, volume: &Volume, round: u64) -> Duration {
    let writer = Writer::start(gluster, &format!("frozen {round}"));
    let random = RandomState::new().hash_one(round);
    sleep(Duration::from_millis(300 + random % 1000)).await;
    writer.signal("STOP");
    let begun = Instant::now();
    let holder = fenced(volume, &format!("next {round}")).await;
    let took = begun.elapsed();
    let found = read_lanes(&holder).await;
    let mut written = vec![None; LANES as usize];
    let mut slowest = Duration::ZERO;
    for number in 1..=400_u64 {
        // Every other place keeps what the former holder wrote there last.
        let lane = number % (LANES / 2) * 2;
        let at = Instant::now();
        within(20, holder.write(lane * STRIDE, &[numbered(number << 32)], false)).await.unwrap();
        assert_eq!(number_of(&within(20, holder.read(lane * STRIDE, BLOCK)).await.unwrap()), number << 32);
        slowest = slowest.max(at.elapsed());
        written[lane as usize] = Some(number << 32);
        if number == 100 {
            writer.signal("CONT");
        }
        sleep(Duration::from_millis(3)).await;
    }
    let lanes = writer.end();
    assert!(
        lanes.iter().all(|lane| lane.acknowledged > 0 && lane.refused == REFUSALS && lane.late == 0),
        "{lanes:?}"
    );
    assert_right(&found, &vec![None; LANES as usize], &lanes);
    gluster.wait_healed().unwrap();
    assert_right(&read_lanes(&holder).await, &written, &lanes);
    within(20, holder.close()).await.unwrap();
    for brick in (0..).map_while(|number| gluster.brick(number)) {
        let on_brick = Bytes::from(std::fs::read(brick.join("disk")).unwrap());
        let at = |lane| (lane * STRIDE) as usize;
        let numbers: Vec<_> =
            (0..LANES).map(|lane| number_of(&on_brick.slice(at(lane)..at(lane) + BLOCK))).collect();
        assert_right(&numbers, &written, &lanes);
    }
    println!("round {round}: taken in {took:?}; slowest write and read of the next holder {slowest:?}");
    took
}

/// What a process without privileges may do as well: the next writer starts while the one before stands still.
async fn replace_by_a_process(gluster: &GlusterVolume) {
    let former = Writer::start(gluster, "former");
    former.signal("STOP");
    let begun = Instant::now();
    let next = Writer::start(gluster, "next");
    println!("taken by another process in {:?}, its start included", begun.elapsed());
    former.signal("CONT");
    sleep(Duration::from_secs(1)).await;
    assert!(former.end().iter().all(|lane| lane.refused == REFUSALS && lane.late == 0));
    // The former one's last lock may be in its way for a second.
    sleep(Duration::from_secs(2)).await;
    let lanes = next.end();
    assert!(lanes.iter().all(|lane| lane.refused == 0 && lane.begun > 1), "{lanes:?}");
}

/// On a replicated volume it stands still with the lock that replication keeps for a run of writes.
#[tokio::test]
async fn a_holder_that_stands_still_is_replaced_and_refused_when_it_wakes() {
    for (spec, rounds) in
        [(VolumeSpec::default(), 4), (VolumeSpec { replica: 1, ..VolumeSpec::default() }, 1)]
    {
        let gluster = gluster(&spec);
        let volume = connect(&gluster).await;
        new_file(&volume, "disk", LANES * STRIDE).await.close().await.unwrap();
        within(30, replace_by_a_process(&gluster)).await;
        for round in 0..rounds {
            let took = replace(&gluster, &volume, round).await;
            assert!(took < Duration::from_secs(11), "{took:?}");
        }
    }
}
