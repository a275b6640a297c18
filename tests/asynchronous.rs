//! What glint says unasked (RFC 7143 §11.9), and what one session does to the commands of another.
// What these helpers find wrong fails the test that called them.
#![allow(clippy::expect_used, clippy::panic)]

use std::process::Command;
use std::thread;
use std::time::Duration;

use glint_testkit::glint::{Glint, IQN_BASE};
use glint_testkit::http;
use glint_testkit::initiator::{
    CHECK_CONDITION, CLEAR_TASK_SET, End, GOOD, Initiator, LOGICAL_UNIT_RESET, Port, RESERVATION_CONFLICT,
    TARGET_COLD_RESET, TASK_ABORTED, TEST_UNIT_READY, TargetPdu,
};
use glint_testkit::process::Process;
use glint_testkit::wait;

const LIMIT: Duration = Duration::from_secs(15);
const WRITE_4_KIB: [u8; 10] = [0x2a, 0, 0, 0, 0, 0, 0, 0, 8, 0];
const READ_4_KIB: [u8; 10] = [0x28, 0, 0, 0, 0, 0, 0, 0, 8, 0];

/// Short limits, and targets of one RAM disk each.
fn config(targets: &[&str]) -> String {
    let mut text =
        "[limits]\nlogout_timeout = \"2s\"\nmax_discovery_sessions = 2\nmax_sessions = 4\n".to_owned();
    targets.iter().for_each(|target| text += target);
    text
}

const DISK: &str = "\n[[target]]\nname = \"disk\"\n[[target.lun]]\ndevice = \"ram:\"\nsize = \"16MiB\"\n";
const OTHER: &str = "\n[[target]]\nname = \"other\"\n[[target.lun]]\ndevice = \"ram:\"\nsize = \"16MiB\"\n";

fn start() -> Glint {
    Glint::serve().start_with_config(&config(&[DISK, OTHER]))
}

fn session_with(glint: &Glint, target: &str, port: u8) -> Initiator {
    let mut initiator = Initiator::log_in(glint.portal(), Port::new(&format!("{IQN_BASE}:{target}"), port));
    initiator.attentions();
    initiator
}

fn session(glint: &Glint, port: u8) -> Initiator {
    session_with(glint, "disk", port)
}

/// Sense key, ASC and ASCQ of an event.
#[track_caller]
fn event(initiator: &mut Initiator) -> (u8, u8, u8) {
    let message = initiator.message();
    assert_eq!(message.event, 0);
    let (length, sense) = message.data.split_at(2);
    assert_eq!(usize::from(length[0]) << 8 | usize::from(length[1]), sense.len());
    (sense[2] & 0x0f, sense[12], sense[13])
}

#[test]
fn a_new_unit_and_one_that_grows_are_told_at_once() {
    let mut glint = start();
    let (mut initiator, mut bystander) = (session(&glint, 1), session_with(&glint, "other", 1));
    let grown = DISK.replace("16MiB", "32MiB\"\ngrow = true\n#");
    glint.reconfigure(&config(&[&grown, OTHER]));
    assert_eq!(event(&mut initiator), (0x06, 0x2a, 0x09));
    // The unit attention that says the same has still to be told.
    assert_eq!(initiator.attentions(), [(0x2a, 0x09)]);
    let second = "[[target.lun]]\nnumber = 1\ndevice = \"ram:\"\nsize = \"1MiB\"\n";
    glint.reconfigure(&config(&[&grown, second, OTHER]));
    assert_eq!(event(&mut initiator), (0x06, 0x3f, 0x0e));
    assert_eq!(initiator.attentions(), [(0x3f, 0x0e)]);
    // Nobody else hears of it.
    assert_eq!(bystander.run(&READ_4_KIB, 4096).status, GOOD);
    glint.assert_alive();
}

fn reads(glint: &Glint) -> f64 {
    let (_, metrics) = http::get(glint.api(), "/metrics");
    http::metric(&metrics, "glint_volume_operations_total", &["op=\"read\""])
}

/// A libiscsi that reads. iscsi-perf itself never ends once it has had a unit attention, so it is watched from here.
fn busy(glint: &Glint) -> Process {
    let mut busy = Process::start(
        Command::new("iscsi-perf")
            .args(["-m", "4", "-x", "0", "-t", "30", &glint.url("disk")])
            .env("LIBISCSI_DEBUG", "2"),
    );
    busy.wait_for_line("that it reads", LIMIT, |line| line.contains("will run"));
    busy
}

fn goes_on(glint: &Glint) {
    for _ in 0..3 {
        let before = reads(glint);
        wait::until("more is read", LIMIT, || reads(glint) > before + 100.0);
    }
}

#[test]
fn libiscsi_goes_on_through_events() {
    let mut glint = start();
    let mut busy = busy(&glint);
    let second = "[[target.lun]]\nnumber = 1\ndevice = \"ram:\"\nsize = \"1MiB\"\n";
    glint.reconfigure(&config(&[DISK, second, OTHER]));
    busy.wait_for_line("the event", LIMIT, |line| line.contains("AsyncMsg/SCSI Async Event"));
    goes_on(&glint);
    glint.assert_alive();
}

/// It logs out and in again, which is a negotiation too.
#[test]
fn libiscsi_goes_on_when_it_is_asked_to_negotiate() {
    let mut glint = start();
    let mut busy = busy(&glint);
    glint.reconfigure(&longer());
    busy.wait_for_line("the event", LIMIT, |line| line.contains("target requests parameter"));
    busy.wait_for_line("a new login", LIMIT, |line| line.contains("reconnect was successful"));
    goes_on(&glint);
    glint.assert_alive();
}

#[test]
fn sessions_of_a_removed_target_are_asked_to_log_out() {
    let mut glint = start();
    let (mut polite, mut deaf) = (session(&glint, 1), session(&glint, 2));
    let mut bystander = session_with(&glint, "other", 1);
    glint.reconfigure(&config(&[OTHER]));
    for initiator in [&mut polite, &mut deaf] {
        let message = initiator.message();
        assert_eq!((message.event, message.parameters), (1, [0, 0, 2]));
    }
    // There is time to come to an end with what is under way.
    assert_eq!(polite.run_with(&WRITE_4_KIB, &[1; 4096]).status, GOOD);
    polite.log_out();
    let message = deaf.message();
    assert_eq!((message.event, message.parameters), (3, [0, 2, 20]));
    assert!(deaf.receive().is_none());
    assert_eq!(bystander.run(&READ_4_KIB, 4096).status, GOOD);
    glint.assert_alive();
}

#[test]
fn an_initiator_that_is_admitted_no_longer_is_told_the_end_of_its_session() {
    let mut glint = start();
    let mut initiator = session(&glint, 1);
    let closed =
        DISK.replace("[[target.lun]]", "initiators = [\"iqn.2026-12.io.glint.test:no\"]\n[[target.lun]]");
    glint.reconfigure(&config(&[&closed, OTHER]));
    let message = initiator.message();
    assert_eq!((message.event, message.parameters), (3, [0, 2, 20]));
    assert!(initiator.receive().is_none());
    glint.assert_alive();
}

/// The size of the PDUs that initiators may send, changed.
const LONGER: usize = 512 << 10;
const DECLARED: &str = "MaxRecvDataSegmentLength=524288\0";

fn longer() -> String {
    config(&[DISK, OTHER]).replace("[limits]\n", "[limits]\nmax_recv_data_segment = \"512KiB\"\n")
}

#[test]
fn another_size_of_pdus_is_told_to_initiators_that_ask_when_they_are_asked_to() {
    let mut glint = start();
    let (mut polite, mut deaf) = (session(&glint, 1), session(&glint, 2));
    let mut discovery = Initiator::log_in(glint.portal(), Port::discovery(3));
    glint.reconfigure(&longer());
    for initiator in [&mut polite, &mut deaf] {
        let message = initiator.message();
        assert_eq!((message.event, message.parameters), (4, [0, 0, 2]));
    }
    assert_eq!(polite.text(""), DECLARED);
    assert_eq!(polite.text(""), "");
    let data: Vec<u8> = (0..LONGER).map(|at| (at % 251) as u8).collect();
    // As much comes back as this initiator takes.
    assert!(polite.ping(&data)[..] == data[..256 << 10]);
    assert_eq!(polite.run_with(&WRITE_4_KIB, &[1; 4096]).status, GOOD);
    // Reading the same again is no news, and two seconds of silence change nothing.
    glint.reconfigure(&longer());
    thread::sleep(Duration::from_millis(2500));
    assert!(polite.is_silent() && deaf.is_silent() && discovery.is_silent());
    assert_eq!(deaf.run(&READ_4_KIB, 4096).status, GOOD);
    assert!(deaf.ping(&data[..256 << 10])[..] == data[..256 << 10]);
    // What it has not been told it may not do.
    deaf.send_ping(&data);
    assert!(matches!(deaf.receive(), Some(TargetPdu::Reject(reject)) if reject.reason == 0x04));
    // A new login is told at once.
    let mut later = Initiator::connect(glint.portal(), Port::new(&format!("{IQN_BASE}:disk"), 4));
    let told = later.login().data;
    assert!(String::from_utf8_lossy(&told).contains(DECLARED), "{told:?}");
    assert!(later.ping(&data)[..] == data[..256 << 10]);
    glint.assert_alive();
}

#[test]
fn a_drain_asks_for_logout_and_tells_the_end() {
    let mut glint = start();
    let mut deaf = session(&glint, 1);
    let hears = thread::spawn(move || {
        let told = [deaf.message().event, deaf.message().event];
        (told, deaf.receive().is_none())
    });
    assert_eq!(glint.terminate().code(), Some(0), "{}", glint.log());
    assert_eq!(hears.join().unwrap(), ([1, 3], true));
}

#[test]
fn a_cold_reset_ends_all_sessions_of_its_target() {
    let mut glint = start();
    let (mut own, mut other) = (session(&glint, 1), session(&glint, 2));
    let mut bystander = session_with(&glint, "other", 1);
    assert_eq!(own.manage(TARGET_COLD_RESET), 0);
    assert!(own.receive().is_none());
    assert_eq!(other.message().event, 3);
    assert!(other.receive().is_none());
    assert_eq!(bystander.run(&READ_4_KIB, 4096).status, GOOD);
    let mut again = session(&glint, 1);
    assert_eq!(again.run(&READ_4_KIB, 4096).status, GOOD);
    glint.assert_alive();
}

/// A session with one write that was asked for its data and one whose data is half there.
fn with_writes_on_their_way(glint: &Glint, port: u8) -> (Initiator, [u32; 2], impl FnOnce(&mut Initiator)) {
    let mut initiator = session(glint, port);
    let asked = initiator.write_command(&WRITE_4_KIB, 4096, false);
    let r2t = initiator.r2t();
    let unasked = initiator.write_command(&WRITE_4_KIB, 4096, true);
    initiator.send(initiator.unsolicited(unasked, 0, &[0xee; 2048], false));
    // So that all of it has arrived.
    initiator.window();
    (initiator, [asked, unasked], move |initiator: &mut Initiator| initiator.answer(&r2t, &[0; 4096]))
}

#[track_caller]
fn ended(initiator: &mut Initiator) -> (u32, u8) {
    match initiator.receive() {
        Some(TargetPdu::ScsiResponse(response)) => (response.initiator_task_tag, response.status),
        other => panic!("no response: {other:?}"),
    }
}

#[test]
fn writes_on_their_way_are_aborted_by_the_functions_of_others() {
    let mut glint = start();
    for (function, attention) in [(CLEAR_TASK_SET, None), (LOGICAL_UNIT_RESET, Some((0x29, 0x03)))] {
        let mut by = session(&glint, 1);
        let (mut victim, tags, late) = with_writes_on_their_way(&glint, 2);
        assert_eq!(by.manage(function), 0);
        // TAS is set: they are told, each once.
        let mut told = [ended(&mut victim), ended(&mut victim)];
        told.sort_unstable();
        assert_eq!(told, tags.map(|tag| (tag, TASK_ABORTED)));
        // What comes late is dropped without a word.
        late(&mut victim);
        assert_eq!(victim.window(), 128);
        assert_eq!(victim.attentions(), Vec::from_iter(attention));
        by.attentions();
        let end = by.run(&READ_4_KIB, 4096);
        assert_eq!(end.status, GOOD);
        victim.log_out();
        by.log_out();
    }
    glint.assert_alive();
}

/// MODE SELECT(6) of the Control page with TAS clear.
fn clear_tas(initiator: &mut Initiator) {
    let mut page = initiator.run(&[0x1a, 0x08, 0x0a, 0, 16, 0], 16).data;
    assert_eq!((page.len(), page[4] & 0x3f, page[9] & 0x40), (16, 0x0a, 0x40), "{page:02x?}");
    // What is reserved for MODE SELECT.
    page[..4].fill(0);
    page[4] &= 0x3f;
    page[9] &= !0x40;
    let end = initiator.run_with(&[0x15, 0x10, 0, 0, 16, 0], &page);
    assert_eq!(end.status, GOOD, "{end:02x?}");
}

#[test]
fn without_tas_they_end_in_silence_and_a_unit_attention_tells_of_it() {
    let mut glint = start();
    let mut by = session(&glint, 1);
    clear_tas(&mut by);
    let (mut victim, _, late) = with_writes_on_their_way(&glint, 2);
    assert_eq!(by.manage(CLEAR_TASK_SET), 0);
    late(&mut victim);
    assert_eq!(victim.window(), 128);
    assert_eq!(victim.attentions(), [(0x2f, 0x00)]);
    assert_eq!(by.attentions(), []);
    glint.assert_alive();
}

fn persistent_reserve_out(action: u8, kind: u8, key: u64, service_key: u64) -> ([u8; 10], [u8; 24]) {
    let mut parameters = [0; 24];
    parameters[..8].copy_from_slice(&key.to_be_bytes());
    parameters[8..16].copy_from_slice(&service_key.to_be_bytes());
    ([0x5f, action, kind, 0, 0, 0, 0, 0, 24, 0], parameters)
}

#[track_caller]
fn reserve_out(initiator: &mut Initiator, action: u8, key: u64, service_key: u64) -> End {
    // Write Exclusive, Registrants Only.
    let (cdb, parameters) = persistent_reserve_out(action, 5, key, service_key);
    initiator.run_with(&cdb, &parameters)
}

#[test]
fn preempt_and_abort_ends_writes_on_their_way() {
    let mut glint = start();
    let mut by = session(&glint, 1);
    let (mut victim, tags, late) = with_writes_on_their_way(&glint, 2);
    assert_eq!(reserve_out(&mut by, 0, 0, 0xa).status, GOOD);
    // The victim registers while its writes are on their way.
    assert_eq!(reserve_out(&mut victim, 0, 0, 0xb).status, GOOD);
    assert_eq!(reserve_out(&mut by, 1, 0xa, 0).status, GOOD);
    assert_eq!(reserve_out(&mut by, 5, 0xa, 0xb).status, GOOD);
    let mut told = [ended(&mut victim), ended(&mut victim)];
    told.sort_unstable();
    assert_eq!(told, tags.map(|tag| (tag, TASK_ABORTED)));
    late(&mut victim);
    // REGISTRATIONS PREEMPTED; and it is kept out.
    assert_eq!(victim.attentions(), [(0x2a, 0x05)]);
    assert_eq!(victim.run_with(&WRITE_4_KIB, &[1; 4096]).status, RESERVATION_CONFLICT);
    assert_eq!(by.run_with(&WRITE_4_KIB, &[1; 4096]).status, GOOD);
    glint.assert_alive();
}

#[test]
fn aca_is_refused() {
    let mut glint = start();
    let mut initiator = session(&glint, 1);
    // NACA in the CONTROL byte: INVALID FIELD IN CDB, pointing at it.
    let end = initiator.run(&[0, 0, 0, 0, 0, 0x04], 0);
    assert_eq!((end.status, end.condition()), (CHECK_CONDITION, (0x05, 0x24, 0x00)));
    assert_eq!(end.sense.get(15..18), Some(&[0xca, 0x00, 0x05][..]), "{:02x?}", end.sense);
    // CLEAR ACA: function not supported.
    assert_eq!(initiator.manage(3), 5);
    assert_eq!(initiator.run(&TEST_UNIT_READY, 0).status, GOOD);
    glint.assert_alive();
}

#[test]
fn discovery_takes_no_place_of_sessions() {
    let mut glint = start();
    let portal = glint.portal();
    let discoveries: Vec<_> = (0..2).map(|port| Initiator::log_in(portal, Port::discovery(port))).collect();
    assert_eq!(Initiator::try_log_in(portal, Port::discovery(3)).err(), Some((3, 2)));
    let sessions: Vec<_> = (0..4).map(|port| session(&glint, port)).collect();
    drop(discoveries);
    wait::until("there is room for discovery", LIMIT, || {
        Initiator::try_log_in(portal, Port::discovery(3)).is_ok()
    });
    drop(sessions);
    glint.assert_alive();
}
