//! `kill -9`, and a drain, in the midst of SANITIZE and of FORMAT UNIT; a store that fails them. What becomes of the medium outlives glint.
// What these helpers find wrong fails the test that called them.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use glint_testkit::glint::{Glint, IQN_BASE};
use glint_testkit::initiator::{GOOD, Initiator, Port, TEST_UNIT_READY};
use glint_testkit::wait;

const SIZE: u64 = 256 << 20;
const LIMIT: Duration = Duration::from_secs(120);

/// SANITIZE, OVERWRITE with IMMED: two passes of a pattern of four bytes.
const OVERWRITE: [u8; 10] = [0x48, 0x81, 0, 0, 0, 0, 0, 0, 8, 0];
const PATTERN: [u8; 8] = [2, 0, 0, 4, 0x5a, 0x11, 0x5a, 0x22];
const EXIT_FAILURE_MODE: [u8; 10] = [0x48, 0x1f, 0, 0, 0, 0, 0, 0, 0, 0];
/// FORMAT UNIT with FMTDATA; FOV, IP and IMMED; a pattern.
const FORMAT: [u8; 6] = [0x04, 0x10, 0, 0, 0, 0];
const INITIALIZATION: [u8; 12] = [0, 0x8a, 0, 0, 0, 1, 0, 4, 0xf0, 0x01, 0xf0, 0x02];

/// What is read at the most.
const ROOM: u32 = 512;
const UNIT_ATTENTION: u8 = 0x6;
const SANITIZING: (u8, u8, u8) = (0x2, 0x04, 0x1b);
const SANITIZE_FAILED: (u8, u8, u8) = (0x3, 0x31, 0x03);
const FORMATTING: (u8, u8, u8) = (0x2, 0x04, 0x04);
const FORMAT_CORRUPTED: (u8, u8, u8) = (0x3, 0x31, 0x00);

/// READ(10) of a block.
fn read(block: u64) -> [u8; 10] {
    let [.., a, b, c, d] = block.to_be_bytes();
    [0x28, 0, a, b, c, d, 0, 0, 1, 0]
}

fn session(glint: &Glint) -> Initiator {
    let mut initiator = Initiator::log_in(glint.portal(), Port::new(&format!("{IQN_BASE}:disk"), 1));
    // Past what a new nexus is told first; what follows may be no good either.
    while initiator.run(&TEST_UNIT_READY, 0).condition().0 == UNIT_ATTENTION {}
    initiator
}

/// A volume on a file, and where that is; its last block holds something else than zeros and patterns.
fn start() -> (Glint, PathBuf) {
    let builder = Glint::serve();
    let file = builder.dir().join("volume.img");
    let glint = builder.volume(&format!("disk=file:{},size=256MiB", file.display())).start();
    let mut last = read(SIZE / 512 - 1);
    last[0] = 0x2a;
    assert_eq!(session(&glint).run_with(&last, &[0xee; 512]).status, GOOD);
    (glint, file)
}

/// The last block in the file.
fn last_block(file: &Path) -> [u8; 512] {
    let mut block = [0; 512];
    let mut file = File::open(file).unwrap();
    file.seek(SeekFrom::End(-512)).unwrap();
    file.read_exact(&mut block).unwrap();
    block
}

/// Begin an operation, and wait until some of it is done.
#[track_caller]
fn begin(glint: &Glint, cdb: &[u8], list: &[u8], told: (u8, u8, u8)) {
    let mut initiator = session(glint);
    assert_eq!(initiator.run_with(cdb, list).status, GOOD);
    // Without a rest, for a fast store is done soon.
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        let answer = initiator.run(&TEST_UNIT_READY, 0);
        assert_eq!(answer.condition(), told, "{answer:02x?}");
        // SKSV, and PROGRESS INDICATION.
        assert_eq!(answer.sense[15], 0x80);
        if answer.sense[16..18] != [0, 0] {
            return;
        }
    }
    panic!("no progress in {LIMIT:?}");
}

/// Wait until an operation has come to its end, and look at the first and the last block.
#[track_caller]
fn finish(glint: &Glint, told: (u8, u8, u8), pattern: &[u8]) {
    let mut initiator = session(glint);
    wait::until("all of it is done", LIMIT, || {
        let answer = initiator.run(&TEST_UNIT_READY, 0);
        assert!(answer.status == GOOD || answer.condition() == told, "{answer:02x?}");
        answer.status == GOOD
    });
    for block in [0, SIZE / 512 - 1] {
        assert_eq!(initiator.run(&read(block), ROOM).good(), pattern.repeat(512 / pattern.len()));
    }
}

#[test]
fn a_sanitizing_goes_on_after_a_kill_and_after_a_drain() {
    let (mut glint, file) = start();
    begin(&glint, &OVERWRITE, &PATTERN, SANITIZING);
    glint.kill();
    assert_eq!(last_block(&file), [0xee; 512], "it was done before it could be interrupted");
    glint.start_again();
    let mut initiator = session(&glint);
    assert_eq!(initiator.run(&read(0), ROOM).condition(), SANITIZING);
    assert_eq!(initiator.run(&EXIT_FAILURE_MODE, 0).condition(), SANITIZING);
    // REQUEST SENSE tells it, and neither INQUIRY nor REPORT LUNS minds.
    let sense = initiator.run(&[0x03, 0, 0, 0, 18, 0], ROOM).good();
    assert_eq!((sense[2], sense[12], sense[13], sense[15]), (0x2, 0x04, 0x1b, 0x80));
    initiator.run(&[0x12, 0, 0, 0, 36, 0], ROOM).good();
    assert_eq!(glint.terminate().code(), Some(0), "{}", glint.log());
    glint.start_again();
    finish(&glint, SANITIZING, &PATTERN[4..]);
    glint.kill();
    glint.start_again();
    assert_eq!(session(&glint).run(&read(1), ROOM).good(), PATTERN[4..].repeat(128));
}

#[test]
fn a_medium_whose_formatting_was_killed_is_to_be_formatted_again() {
    let (mut glint, file) = start();
    begin(&glint, &FORMAT, &INITIALIZATION, FORMATTING);
    glint.kill();
    assert_eq!(last_block(&file), [0xee; 512], "it was done before it could be interrupted");
    for _ in 0..2 {
        glint.start_again();
        let mut initiator = session(&glint);
        assert_eq!(initiator.run(&TEST_UNIT_READY, 0).condition(), FORMAT_CORRUPTED);
        assert_eq!(initiator.run(&read(0), ROOM).condition(), FORMAT_CORRUPTED);
        // What needs no medium goes.
        initiator.run(&[0x1a, 0, 0x3f, 0, 255, 0], ROOM).good();
        glint.kill();
    }
    glint.start_again();
    assert_eq!(session(&glint).run_with(&FORMAT, &INITIALIZATION).status, GOOD);
    finish(&glint, FORMATTING, &INITIALIZATION[8..]);
    glint.kill();
    glint.start_again();
    assert_eq!(session(&glint).run(&read(1), ROOM).good(), INITIALIZATION[8..].repeat(128));
}

#[test]
fn a_sanitizing_that_the_store_fails_stays_failed_until_it_is_ended() {
    let builder = Glint::serve();
    let place = builder.dir().join("small");
    fs::create_dir(&place).unwrap();
    let volume = format!("disk=file:{}/volume.img,size=64MiB", place.display());
    let mut glint = builder.small_file_system(&place, "16m").volume(&volume).start();
    let fails = |glint: &Glint, cdb: [u8; 10]| {
        let mut initiator = session(glint);
        assert_eq!(initiator.run_with(&cdb, &PATTERN).status, GOOD);
        wait::until("it has failed", LIMIT, || match initiator.run(&TEST_UNIT_READY, 0).condition() {
            SANITIZING => false,
            sense => {
                assert_eq!(sense, SANITIZE_FAILED);
                true
            }
        });
        assert_eq!(initiator.run(&read(0), ROOM).condition(), SANITIZE_FAILED);
    };
    // AUSE: EXIT FAILURE MODE ends it.
    let unrestricted = {
        let mut cdb = OVERWRITE;
        cdb[1] |= 0x20;
        cdb
    };
    fails(&glint, unrestricted);
    glint.kill();
    glint.start_again();
    let mut initiator = session(&glint);
    assert_eq!(initiator.run(&read(0), ROOM).condition(), SANITIZE_FAILED);
    assert_eq!(initiator.run(&EXIT_FAILURE_MODE, 0).status, GOOD);
    initiator.run(&read(0), ROOM).good();
    glint.kill();
    glint.start_again();
    session(&glint).run(&read(0), ROOM).good();
    // Without it only one that does not fail: the blocks can be given back.
    fails(&glint, OVERWRITE);
    glint.kill();
    glint.start_again();
    let mut initiator = session(&glint);
    assert_eq!(initiator.run(&EXIT_FAILURE_MODE, 0).condition(), (0x5, 0x24, 0x00));
    assert_eq!(initiator.run(&TEST_UNIT_READY, 0).condition(), SANITIZE_FAILED);
    assert_eq!(initiator.run(&[0x48, 0x02, 0, 0, 0, 0, 0, 0, 0, 0], 0).status, GOOD);
    assert_eq!(initiator.run(&read(0), ROOM).good(), [0; 512]);
    glint.kill();
    glint.start_again();
    session(&glint).run(&read(0), ROOM).good();
}
