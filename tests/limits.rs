//! What a volume may do in a second, seen from outside: limits hold, and nobody else is held up by them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use glint_target_core::pdu::fields::{RESERVED_TAG, Serial};
use glint_target_core::pdu::initiator::{InitiatorPdu, ScsiCommand, TaskManagementRequest};
use glint_target_core::scsi::lun_address::LunAddress;
use glint_testkit::glint::{Glint, IQN_BASE};
use glint_testkit::http::{get, metric};
use glint_testkit::initiator::{Initiator, LOGICAL_UNIT_RESET, Port, TEST_UNIT_READY, TargetPdu};
use glint_testkit::wait;
use std::time::{Duration, Instant};

const ABORT_TASK: u8 = 1;
const FUNCTION_COMPLETE: u8 = 0;

/// At once, on a busy machine. What waits for a limit waits longer in these tests.
const AT_ONCE: Duration = Duration::from_secs(2);

/// A target with a volume that has these keys as LUN 0, and one without limits as LUN 1.
fn disk(limits: &str) -> String {
    format!(
        "[[target]]\nname = \"disk\"\n[[target.lun]]\ndevice = \"ram:\"\nsize = \"64MiB\"\n{limits}\n\
         [[target.lun]]\nnumber = 1\ndevice = \"ram:\"\nsize = \"64MiB\"\n"
    )
}

fn glint(limits: &str) -> Glint {
    Glint::serve().start_with_config(&disk(limits))
}

/// A session without pending unit attentions.
fn session(glint: &Glint, isid: u8) -> Initiator {
    let keys = "InitialR2T=Yes\0ImmediateData=Yes\0";
    let port = Port { keys: keys.into(), ..Port::new(&format!("{IQN_BASE}:disk"), isid) };
    let mut session = Initiator::log_in(glint.portal(), port);
    session.attentions();
    loop {
        let tag = begin(&mut session, 1, &TEST_UNIT_READY, 0);
        if session.end(tag).status == 0 {
            return session;
        }
    }
}

fn cdb(opcode: u8, bytes: u32) -> [u8; 10] {
    let [_, _, high, low] = (bytes / 512).to_be_bytes();
    [opcode, 0, 0, 0, 0, 0, 0, high, low, 0]
}

/// Sends a command to a LUN; gives its tag.
fn begin(session: &mut Initiator, lun: u16, cdb: &[u8], read: u32) -> u32 {
    let command = ScsiCommand { lun: LunAddress::from_number(lun), ..session.prepare(cdb, read) };
    session.send_command(command)
}

fn begin_read(session: &mut Initiator, lun: u16, bytes: u32) -> u32 {
    begin(session, lun, &cdb(0x28, bytes), bytes)
}

/// Keeps this many reads of a size in flight on LUN 0 and on LUN 1 for a time, and counts those that ended after the first half second,
/// for a second each.
fn load(session: &mut Initiator, depths: [usize; 2], bytes: u32, seconds: f64) -> [f64; 2] {
    let mut tags: [Vec<u32>; 2] = [Vec::new(), Vec::new()];
    for (lun, depth) in [(0_u16, depths[0]), (1, depths[1])] {
        tags[usize::from(lun)] = (0..depth).map(|_| begin_read(session, lun, bytes)).collect();
    }
    let start = Instant::now();
    let warm = Duration::from_millis(500);
    let mut counts = [0_u32; 2];
    while start.elapsed() < warm + Duration::from_secs_f64(seconds) {
        let ended = match session.receive() {
            Some(TargetPdu::DataIn(data)) if data.status.is_some() => data.initiator_task_tag,
            Some(TargetPdu::DataIn(_)) => continue,
            other => panic!("no data: {other:?}"),
        };
        let lun = usize::from(!tags[0].contains(&ended));
        counts[lun] += u32::from(start.elapsed() >= warm);
        let next = begin_read(session, lun as u16, bytes);
        *tags[lun].iter_mut().find(|tag| **tag == ended).unwrap() = next;
    }
    counts.map(|count| f64::from(count) / seconds)
}

#[track_caller]
fn about(measured: f64, wanted: f64) {
    assert!((wanted * 0.85..wanted * 1.15).contains(&measured), "{measured} instead of {wanted}");
}

/// Sends a task management function; how long its answer took, and what came before that.
#[track_caller]
fn manage(session: &mut Initiator, function: u8, tag: u32) -> (Duration, Vec<TargetPdu>) {
    let request = TaskManagementRequest {
        immediate: true,
        function,
        lun: LunAddress::from_number(0),
        initiator_task_tag: 0xfeed,
        referenced_task_tag: tag,
        cmd_sn: session.cmd_sn(),
        exp_stat_sn: session.exp_stat_sn,
        ref_cmd_sn: Serial(session.cmd_sn().0.wrapping_sub(1)),
        exp_data_sn: 0,
    };
    let start = Instant::now();
    session.send(InitiatorPdu::TaskManagement(request));
    let mut before = Vec::new();
    loop {
        match session.receive().expect("an answer") {
            TargetPdu::TaskManagement(answer) => {
                assert_eq!(answer.response, FUNCTION_COMPLETE);
                return (start.elapsed(), before);
            }
            other => before.push(other),
        }
    }
}

#[test]
fn iops_hold_and_a_neighbour_in_the_same_session_is_not_slowed() {
    let glint = glint("max_iops = 1000\niops_burst = 50");
    let mut session = session(&glint, 1);
    let [_, alone] = load(&mut session, [0, 1], 4096, 1.0);
    // Its commands in flight end with it.
    drop(session);
    let mut session = self::session(&glint, 1);
    let [limited, neighbour] = load(&mut session, [32, 1], 4096, 3.0);
    about(limited, 1000.0);
    assert!(neighbour > alone / 2.0, "{neighbour} a second beside it, {alone} alone");
    let text = get(glint.api(), "/metrics").1;
    let (limited, free) = (&["lun=\"0\""][..], &["lun=\"1\""][..]);
    assert!(metric(&text, "glint_volume_throttled_total", limited) > 2500.0, "{text}");
    assert!(metric(&text, "glint_volume_throttled_seconds_total", limited) > 30.0, "{text}");
    assert_eq!(metric(&text, "glint_volume_throttled_total", free), 0.0, "{text}");
}

#[test]
fn sessions_share_a_limit() {
    let glint = glint("max_iops = 1000\niops_burst = 50");
    let counts: Vec<f64> = std::thread::scope(|scope| {
        let glint = &glint;
        let loads: Vec<_> = (1..=2)
            .map(|isid| scope.spawn(move || load(&mut session(glint, isid), [16, 0], 4096, 2.0)[0]))
            .collect();
        loads.into_iter().map(|load| load.join().unwrap()).collect()
    });
    about(counts.iter().sum(), 1000.0);
    assert!(counts.iter().all(|count| *count > 350.0), "{counts:?}");
}

#[test]
fn bandwidth_holds() {
    let glint = glint("max_read_bytes_per_second = \"8MiB\"");
    let mut session = session(&glint, 1);
    let [reads, _] = load(&mut session, [8, 0], 64 << 10, 3.0);
    about(reads, 128.0);
}

#[test]
fn throttled_commands_are_aborted_at_once() {
    let glint = glint("max_iops = 1\niops_burst = 1");
    let mut session = session(&glint, 1);
    // More than the window has places: who waits lends his.
    let first = begin_read(&mut session, 0, 512);
    session.end(first).good();
    let waiting: Vec<_> = (0..128).map(|_| begin_read(&mut session, 0, 512)).collect();
    // What is heard tells of the places that were lent.
    session.send_ping(b"where are we?");
    while !matches!(session.receive(), Some(TargetPdu::NopIn(_))) {}
    let heard = session.heard;
    assert!(heard.max_cmd_sn.0.wrapping_sub(session.cmd_sn().0) < 1 << 16, "{heard:?}");
    let start = Instant::now();
    let beside = begin(&mut session, 1, &TEST_UNIT_READY, 0);
    while session.ended_tag() != beside {}
    assert!(start.elapsed() < AT_ONCE, "another unit waited {:?}", start.elapsed());

    let (took, before) = manage(&mut session, ABORT_TASK, waiting[127]);
    assert!(took < AT_ONCE && before.len() <= 3, "{took:?}, {before:?}");
    let (took, _) = manage(&mut session, LOGICAL_UNIT_RESET, RESERVED_TAG);
    assert!(took < AT_ONCE, "{took:?}");
    // Those that were aborted took nothing, and nothing is heard of them.
    assert!(session.receive_within(Duration::from_millis(2500)).is_none());
    let start = Instant::now();
    begin_read(&mut session, 0, 512);
    session.receive();
    assert!(start.elapsed() < AT_ONCE);
}

trait Ends {
    fn ended_tag(&mut self) -> u32;
}

impl Ends for Initiator {
    /// The tag of the command that ends next, well or not.
    fn ended_tag(&mut self) -> u32 {
        match self.receive() {
            Some(TargetPdu::DataIn(data)) => data.initiator_task_tag,
            Some(TargetPdu::ScsiResponse(response)) => response.initiator_task_tag,
            other => panic!("no end: {other:?}"),
        }
    }
}

#[test]
fn a_write_is_asked_for_no_data_before_it_may_go_on_and_a_reload_lets_it() {
    let mut glint = glint("max_write_bytes_per_second = \"64KiB\"\nwrite_bytes_burst = \"64KiB\"");
    let mut session = session(&glint, 1);
    let large = vec![7; 1 << 20];
    // It is larger than the burst, and goes on because all of that is there: then 15 s are owed.
    session.run_asked(&cdb(0x2a, 1 << 20), &large).good();
    let write = session.write_command(&cdb(0x2a, 1 << 20), 1 << 20, false);
    assert!(session.receive_within(Duration::from_millis(500)).is_none());
    // Reads and what moves no blocks go on.
    assert_eq!(session.run(&cdb(0x28, 512), 512).good(), large[..512]);
    session.run(&TEST_UNIT_READY, 0).good();

    glint.reconfigure(&disk(""));
    let start = Instant::now();
    assert_eq!(session.serve(write, &large).status, 0);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    session.run_asked(&cdb(0x2a, 1 << 20), &large).good();
    glint.reconfigure(&disk("max_iops = 1\niops_burst = 1"));
    wait::until("the new limit holds", Duration::from_secs(10), || {
        let start = Instant::now();
        (0..3).for_each(|_| drop(session.run(&cdb(0x28, 512), 512).good()));
        start.elapsed() > Duration::from_millis(1500)
    });
    glint.assert_alive();
}
