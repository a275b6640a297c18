//! Whatever initiators do, and wherever they go away, nothing of it stays behind: no session, no buffer, no descriptor, no thread, no
//! reservation.
// What these helpers find wrong fails the test that called them.
#![allow(clippy::expect_used, clippy::panic)]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use glint_testkit::glint::{Glint, IQN_BASE};
use glint_testkit::http;
use glint_testkit::initiator::{
    CHECK_CONDITION, CLEAR_TASK_SET, GOOD, Initiator, LOGICAL_UNIT_RESET, Port, Stage, TASK_ABORTED,
    TEST_UNIT_READY, TargetPdu,
};
use glint_testkit::wait;

const LIMIT: Duration = Duration::from_secs(20);
/// The default of `command_window`.
const WINDOW: u32 = 128;

const READ_1_MIB: [u8; 10] = [0x28, 0, 0, 0, 0, 0, 0, 0x08, 0, 0];
const WRITE_8_KIB: [u8; 10] = [0x2a, 0, 0, 0, 0, 0, 0, 0, 16, 0];
const RESERVE: [u8; 6] = [0x16, 0, 0, 0, 0, 0];
/// WRITE SAME(16) of 8 MiB: long enough to go away meanwhile.
const LONG_WRITE: [u8; 16] = [0x93, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0];

fn port(number: u8) -> Port {
    Port::new(&format!("{IQN_BASE}:disk"), number)
}

/// A glint that does not wait for long for initiators that are silent.
fn start() -> Glint {
    Glint::serve().start_with_config(
        "[limits]\nlogin_timeout = \"2s\"\nnop_interval = \"1s\"\nnop_timeout = \"1s\"\n\n\
         [[target]]\nname = \"disk\"\n[[target.lun]]\ndevice = \"ram:\"\nsize = \"64MiB\"\n",
    )
}

/// What must be no more than before when all initiators are gone.
#[derive(Debug)]
struct Held {
    open_files: usize,
    threads: usize,
    gauges: Vec<u64>,
}

impl Held {
    /// Threads that wait for work may have ended meanwhile.
    fn is_no_more_than(&self, before: &Held) -> bool {
        self.gauges == before.gauges && self.open_files <= before.open_files && self.threads <= before.threads
    }
}

const GAUGES: [&str; 6] = [
    "glint_sessions",
    "glint_connections",
    "glint_bytes_in_flight",
    "glint_bytes_gathered",
    "glint_bytes_solicited",
    "glint_volume_queue_depth",
];

fn held(glint: &Glint) -> Held {
    let (status, metrics) = http::get(glint.api(), "/metrics");
    assert_eq!(status, 200);
    for gauge in GAUGES {
        assert!(metrics.contains(&format!("\n{gauge}")), "no metric {gauge}");
    }
    Held {
        open_files: glint.open_files(),
        threads: glint.status("Threads:").parse().expect("a number of threads"),
        gauges: GAUGES.iter().map(|gauge| http::metric(&metrics, gauge, &[]) as u64).collect(),
    }
}

/// What is held when nobody is there.
#[track_caller]
fn baseline(glint: &Glint) -> Held {
    let mut before = held(glint);
    wait::until("nobody is there", LIMIT, || {
        before = held(glint);
        before.gauges.iter().all(|value| *value == 0)
    });
    before
}

#[track_caller]
fn assert_nothing_is_left(glint: &Glint, before: &Held, limit: Duration) {
    let deadline = Instant::now() + limit;
    loop {
        let now = held(glint);
        if now.is_no_more_than(before) {
            return;
        }
        assert!(Instant::now() < deadline, "left behind: {now:?}, was {before:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// A session that begins, does a little and ends well.
fn visit(portal: SocketAddr, number: u8) {
    let mut initiator = Initiator::log_in(portal, port(number));
    initiator.attentions();
    assert_eq!(initiator.run(&READ_1_MIB, 1 << 20).status, GOOD);
    initiator.log_out();
}

#[test]
fn a_thousand_logins_and_logouts() {
    let mut glint = start();
    (0..50).for_each(|_| visit(glint.portal(), 1));
    let (before, resident) = (baseline(&glint), glint.resident_kib());
    thread::scope(|scope| {
        for port in 0..4 {
            let portal = glint.portal();
            scope.spawn(move || (0..250).for_each(|_| visit(portal, port)));
        }
    });
    assert_nothing_is_left(&glint, &before, LIMIT);
    // Allocators keep some of what was freed, but a thousand sessions must not show.
    let grown = glint.resident_kib().saturating_sub(resident);
    assert!(grown < 16 << 10, "{grown} KiB more than before");
    glint.assert_alive();
}

/// Writes in all phases and reads, some at a time, until told to stop. TAS is set, so that every command must come to an end that is
/// told, whatever resets there are.
fn load(portal: SocketAddr, number: u8, stop: &AtomicBool) -> [usize; 3] {
    let mut initiator = Initiator::log_in(portal, port(number));
    let mut ends = [0; 3];
    while !stop.load(Ordering::Relaxed) {
        let reads = [initiator.command(&READ_1_MIB, 1 << 20), initiator.command(&READ_1_MIB, 1 << 20)];
        let asked = initiator.write_command(&WRITE_8_KIB, 8192, false);
        let unasked = initiator.write_command(&WRITE_8_KIB, 8192, true);
        initiator.send(initiator.unsolicited(unasked, 0, &[0; 8192], true));
        let whole = initiator.command_with(&WRITE_8_KIB, &[0; 8192]);
        let mut open = vec![reads[0], reads[1], asked, unasked, whole];
        while !open.is_empty() {
            let (tag, status) = match initiator.receive() {
                Some(TargetPdu::ReadyToTransfer(r2t)) => {
                    initiator.answer(&r2t, &[0; 8192]);
                    continue;
                }
                Some(TargetPdu::ScsiResponse(it)) => (it.initiator_task_tag, it.status),
                Some(TargetPdu::DataIn(it)) => match it.status {
                    Some(status) => (it.initiator_task_tag, status.status),
                    None => continue,
                },
                other => panic!("not expected: {other:?}"),
            };
            let at = open.iter().position(|open| *open == tag).expect("each command ends once");
            open.remove(at);
            ends[match status {
                GOOD => 0,
                CHECK_CONDITION => 1,
                TASK_ABORTED => 2,
                other => panic!("status {other:02x}h"),
            }] += 1;
        }
    }
    initiator.attentions();
    assert_eq!(initiator.window(), WINDOW, "a command holds its place in the window");
    initiator.log_out();
    ends
}

#[test]
fn a_thousand_resets_under_load() {
    let mut glint = start();
    let portal = glint.portal();
    visit(portal, 1);
    let before = baseline(&glint);
    let stop = AtomicBool::new(false);
    let ends = thread::scope(|scope| {
        let stop = &stop;
        let loads: Vec<_> = (2..5).map(|port| scope.spawn(move || load(portal, port, stop))).collect();
        let mut initiator = Initiator::log_in(portal, port(1));
        for round in 0..1000 {
            // What it has under way itself ends in silence.
            initiator.write_command(&WRITE_8_KIB, 8192, true);
            let function = if round % 4 == 0 { CLEAR_TASK_SET } else { LOGICAL_UNIT_RESET };
            assert_eq!(initiator.manage(function), 0);
        }
        stop.store(true, Ordering::Relaxed);
        initiator.attentions();
        assert_eq!(initiator.window(), WINDOW, "a command holds its place in the window");
        initiator.log_out();
        loads.into_iter().map(|load| load.join().expect("the load goes on")).collect::<Vec<_>>()
    });
    let total = |at: usize| ends.iter().filter_map(|ends| ends.get(at)).sum::<usize>();
    assert!(total(0) > 0 && total(1) > 0 && total(2) > 0, "it was no test: {ends:?}");
    assert_nothing_is_left(&glint, &before, LIMIT);
    glint.assert_alive();
}

/// Brings a connection to a stage, or a session to a phase.
type Scene = (&'static str, fn(SocketAddr, u8) -> Initiator);

fn session(portal: SocketAddr, number: u8) -> Initiator {
    let mut initiator = Initiator::log_in(portal, port(number));
    initiator.attentions();
    initiator
}

const SCENES: &[Scene] = &[
    ("connected", |portal, number| Initiator::connect(portal, port(number))),
    ("in the midst of a header", |portal, number| {
        let mut initiator = Initiator::connect(portal, port(number));
        initiator.send_bytes(&[0x43, 0x87, 0, 0, 0]);
        initiator
    }),
    ("in security negotiation", |portal, number| {
        let mut initiator = Initiator::connect(portal, port(number));
        let keys = initiator.port_mut().names() + "AuthMethod=None\0";
        initiator.send(initiator.login_request(Stage::Security, false, &keys));
        assert_eq!(initiator.login_response().status_class, 0);
        initiator
    }),
    ("in operational negotiation", |portal, number| {
        let mut initiator = Initiator::connect(portal, port(number));
        initiator.send_login(Stage::Operational, false);
        assert_eq!(initiator.login_response().status_class, 0);
        initiator
    }),
    ("logged in, the response not read", |portal, number| {
        let mut initiator = Initiator::connect(portal, port(number));
        initiator.send_login(Stage::Operational, true);
        initiator
    }),
    ("logged in", session),
    ("in discovery", |portal, number| Initiator::log_in(portal, Port::discovery(number))),
    ("a command without its data", |portal, number| {
        let mut initiator = session(portal, number);
        initiator.write_command(&WRITE_8_KIB, 8192, true);
        initiator
    }),
    ("in the midst of data-out", |portal, number| {
        let mut initiator = session(portal, number);
        let tag = initiator.write_command(&WRITE_8_KIB, 8192, true);
        initiator.send(initiator.unsolicited(tag, 0, &[1; 4096], false));
        // And in the midst of a PDU: the header of a Data-Out of 4096 bytes, and one of them.
        let mut rest = [0; 49];
        rest[0] = 0x05;
        rest[1] = 0x80;
        rest[6] = 0x10;
        initiator.send_bytes(&rest);
        initiator
    }),
    ("R2Ts outstanding", |portal, number| {
        let mut initiator = session(portal, number);
        for _ in 0..8 {
            initiator.write_command(&WRITE_8_KIB, 8192, false);
        }
        for _ in 0..8 {
            initiator.r2t();
        }
        initiator
    }),
    ("responses not taken", |portal, number| {
        let mut initiator = session(portal, number);
        for _ in 0..32 {
            initiator.command(&READ_1_MIB, 1 << 20);
        }
        initiator
    }),
    ("long writes that wait for each other", |portal, number| {
        let mut initiator = session(portal, number);
        for _ in 0..16 {
            initiator.command_with(&LONG_WRITE, &[7; 512]);
        }
        initiator
    }),
    ("in logout", |portal, number| {
        let mut initiator = session(portal, number);
        initiator.command_with(&LONG_WRITE, &[7; 512]);
        initiator.send_logout(0, 0).expect("glint takes what it is sent");
        initiator
    }),
    ("with a reservation", |portal, number| {
        let mut initiator = Initiator::log_in(portal, port(number));
        // Past the unit attention, and the reservation of one that is just being ended.
        wait::until("the unit is reserved", LIMIT, || initiator.run(&RESERVE, 0).status == GOOD);
        initiator
    }),
];

/// By a TCP reset, and by an end of what they say while they still listen.
#[test]
fn sessions_that_vanish() {
    let mut glint = start();
    let portal = glint.portal();
    visit(portal, 1);
    let before = baseline(&glint);
    for (what, scene) in SCENES {
        for port in 0..3 {
            scene(portal, port).vanish_by_reset();
        }
        wait_until_usable(&glint, what);
        let leaving = scene(portal, 0);
        leaving.vanish_by_shutdown();
        wait_until_usable(&glint, what);
        drop(leaving);
        assert_nothing_is_left(&glint, &before, LIMIT);
    }
    glint.assert_alive();
}

/// They stay connected and never say a word again.
#[test]
fn sessions_that_fall_silent() {
    let mut glint = start();
    let portal = glint.portal();
    visit(portal, 1);
    let before = baseline(&glint);
    // The reservation comes last, when the others have had their commands.
    let silent: Vec<_> =
        SCENES.iter().enumerate().map(|(port, (_, scene))| scene(portal, port as u8)).collect();
    // Who takes no responses is waited for longest: as long as `write_stall`, 30 s.
    assert_nothing_is_left(&glint, &before, Duration::from_secs(50));
    drop(silent);
    visit(portal, 1);
    assert_nothing_is_left(&glint, &before, LIMIT);
    glint.assert_alive();
}

/// A new session finds no reservation and no lock of an old one.
#[track_caller]
fn wait_until_usable(glint: &Glint, what: &str) {
    wait::until(&format!("the unit is usable after: {what}"), LIMIT, || {
        let mut initiator = Initiator::log_in(glint.portal(), port(99));
        let _ = initiator.run(&TEST_UNIT_READY, 0);
        let end = initiator.run_with(&WRITE_8_KIB, &[0; 8192]);
        initiator.log_out();
        end.status == GOOD
    });
}
