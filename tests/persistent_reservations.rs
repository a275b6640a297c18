//! Persistent reservations from outside: who is kept out, what outlives a `kill -9`, and what happens where it cannot be kept.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use glint_testkit::glint::{Glint, IQN_BASE};
use glint_testkit::gluster::{GlusterCluster, VolumeSpec};
use glint_testkit::initiator::{
    End, GOOD, Initiator, LOGICAL_UNIT_RESET, Port, RESERVATION_CONFLICT, TASK_ABORTED, TEST_UNIT_READY,
};
use glint_testkit::wait;

const A: &str = "iqn.2026-12.io.glint.test:a";
const B: &str = "iqn.2026-12.io.glint.test:b";
const C: &str = "iqn.2026-12.io.glint.test:c";

const LIMIT: Duration = Duration::from_secs(10);

/// Service actions of PERSISTENT RESERVE OUT.
const REGISTER: u8 = 0;
const RESERVE: u8 = 1;
const RELEASE: u8 = 2;
const CLEAR: u8 = 3;
const PREEMPT: u8 = 4;
const PREEMPT_AND_ABORT: u8 = 5;
const REGISTER_AND_IGNORE: u8 = 6;
const REGISTER_AND_MOVE: u8 = 7;

/// Flags of its parameter list.
const APTPL: u8 = 0x01;
const ALL_TG_PT: u8 = 0x04;
const SPEC_I_PT: u8 = 0x08;

/// Types.
const WRITE_EXCLUSIVE: u8 = 1;
const EXCLUSIVE_ACCESS: u8 = 3;
const WRITE_EXCLUSIVE_REGISTRANTS: u8 = 5;
const WRITE_EXCLUSIVE_ALL: u8 = 7;

/// Sense key, additional sense code and qualifier.
const INVALID_IN_LIST: (u8, u8, u8) = (5, 0x26, 0);
const INTERNAL_TARGET_FAILURE: (u8, u8, u8) = (4, 0x44, 0);
const RESERVATIONS_PREEMPTED: (u8, u8, u8) = (6, 0x2a, 3);
const RESERVATIONS_RELEASED: (u8, u8, u8) = (6, 0x2a, 4);
const REGISTRATIONS_PREEMPTED: (u8, u8, u8) = (6, 0x2a, 5);

/// What is read at the most.
const ROOM: u32 = 64 << 10;
const RESERVE_6: [u8; 6] = [0x16, 0, 0, 0, 0, 0];
const READ: [u8; 10] = [0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0];
const WRITE: [u8; 10] = [0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0];

fn target() -> String {
    format!("{IQN_BASE}:disk")
}

fn ram(name: &str) -> String {
    format!("[[target]]\nname = \"{name}\"\n[[target.lun]]\ndevice = \"ram:\"\nsize = \"16MiB\"\n\n")
}

/// A session, past the unit attention that a new nexus has.
#[track_caller]
fn ready_at(portal: SocketAddr, name: &str, isid: u8, target: &str) -> Initiator {
    let mut initiator = log_in(portal, name, isid, target);
    assert_eq!(initiator.run(&TEST_UNIT_READY, 0).condition(), (6, 0x29, 0));
    initiator
}

#[track_caller]
fn log_in(portal: SocketAddr, name: &str, isid: u8, target: &str) -> Initiator {
    Initiator::log_in(portal, Port::new(target, isid).named(name))
}

#[track_caller]
fn ready(glint: &Glint, name: &str) -> Initiator {
    ready_at(glint.portal(), name, 1, &target())
}

fn cdb(action: u8, kind: u8, length: usize) -> [u8; 10] {
    let [a, b, c, d] = (length as u32).to_be_bytes();
    [0x5f, action, kind, 0, 0, a, b, c, d, 0]
}

fn list(key: u64, second_key: u64, flags: u8) -> Vec<u8> {
    let mut list = [key.to_be_bytes(), second_key.to_be_bytes()].concat();
    list.extend_from_slice(&[0, 0, 0, 0, flags, 0, 0, 0]);
    list
}

fn out(initiator: &mut Initiator, action: u8, kind: u8, keys: (u64, u64), flags: u8) -> End {
    let list = list(keys.0, keys.1, flags);
    initiator.run_with(&cdb(action, kind, list.len()), &list)
}

#[track_caller]
fn done(initiator: &mut Initiator, action: u8, kind: u8, keys: (u64, u64), flags: u8) {
    out(initiator, action, kind, keys, flags).good();
}

/// An iSCSI TransportID of a port.
fn transport_id(name: &str, isid: u8) -> Vec<u8> {
    let mut id = vec![0x45, 0, 0, 0];
    id.extend_from_slice(format!("{name},i,0x8000000000{isid:02x}\0").as_bytes());
    id.resize(id.len().next_multiple_of(4), 0);
    id[3] = id.len() as u8 - 4;
    id
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn persistent_in(initiator: &mut Initiator, action: u8) -> Vec<u8> {
    initiator.run(&[0x5e, action, 0, 0, 0, 0, 0, 0x10, 0, 0], ROOM).good()
}

/// PRGENERATION, and all keys.
fn keys(initiator: &mut Initiator) -> (u64, Vec<u64>) {
    let data = persistent_in(initiator, 0);
    assert_eq!(number(&data[4..8]) as usize, data.len() - 8);
    (number(&data[..4]), data[8..].chunks(8).map(number).collect())
}

/// Key and type.
fn reservation(initiator: &mut Initiator) -> Option<(u64, u8)> {
    let data = persistent_in(initiator, 1);
    (data.len() > 8).then(|| (number(&data[8..16]), data[21]))
}

/// What READ FULL STATUS tells of a registration.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Registration {
    port: String,
    target_port: u16,
    key: u64,
    /// Of the reservation that it holds.
    kind: Option<u8>,
}

fn registration(name: &str, target_port: u16, key: u64, kind: Option<u8>) -> Registration {
    Registration { port: format!("{name},i,0x800000000001"), target_port, key, kind }
}

fn full_status(initiator: &mut Initiator) -> Vec<Registration> {
    let data = persistent_in(initiator, 3);
    let mut rest = &data[8..];
    let mut all = Vec::new();
    while !rest.is_empty() {
        let length = number(&rest[20..24]) as usize;
        let name = rest[28..24 + length].split(|byte| *byte == 0).next().unwrap();
        all.push(Registration {
            port: String::from_utf8(name.to_vec()).unwrap(),
            target_port: number(&rest[18..20]) as u16,
            key: number(&rest[..8]),
            kind: (rest[12] & 1 == 1).then_some(rest[13]),
        });
        rest = &rest[24 + length..];
    }
    all.sort();
    all
}

fn reads(initiator: &mut Initiator) -> u8 {
    initiator.run(&READ, ROOM).status
}

fn writes(initiator: &mut Initiator) -> u8 {
    initiator.run_with(&WRITE, &[0x5a; 512]).status
}

/// The document of the only unit that has one.
fn document(state: &Path) -> PathBuf {
    let units =
        fs::read_dir(state.join("units")).unwrap().map(|unit| unit.unwrap().path().join("reservations"));
    let mut all: Vec<_> = units.filter(|document| document.exists()).collect();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn what_was_registered_with_aptpl_outlives_a_kill() {
    let mut glint = Glint::with_volume("disk=ram:,size=16MiB");
    let mut a = ready(&glint, A);
    let mut b = ready(&glint, B);
    let capabilities = persistent_in(&mut a, 2);
    assert_eq!((capabilities[2] & 1, capabilities[3] & 1), (1, 0), "able to persist, and nothing does");
    done(&mut a, REGISTER, 0, (0, 0xaaaa), APTPL);
    done(&mut b, REGISTER, 0, (0, 0xbbbb), APTPL);
    done(&mut a, RESERVE, EXCLUSIVE_ACCESS, (0xaaaa, 0), 0);
    let before = full_status(&mut a);
    assert_eq!(
        before,
        [registration(A, 1, 0xaaaa, Some(EXCLUSIVE_ACCESS)), registration(B, 1, 0xbbbb, None)]
    );
    glint.kill();
    glint.start_again();

    // Nobody gets in before the holder is back.
    let mut c = ready(&glint, C);
    assert_eq!((reads(&mut c), writes(&mut c)), (RESERVATION_CONFLICT, RESERVATION_CONFLICT));
    assert_eq!(full_status(&mut c), before);
    let mut b = ready(&glint, B);
    assert_eq!((reads(&mut b), writes(&mut b)), (RESERVATION_CONFLICT, RESERVATION_CONFLICT));
    assert_eq!(keys(&mut b), (0, vec![0xaaaa, 0xbbbb]), "PRGENERATION begins anew");
    assert_eq!(reservation(&mut b), Some((0xaaaa, EXCLUSIVE_ACCESS)));
    assert_eq!(persistent_in(&mut b, 2)[3] & 1, 1, "PTPL_A");
    let mut a = ready(&glint, A);
    assert_eq!((reads(&mut a), writes(&mut a)), (GOOD, GOOD));
    // Another port of the same initiator is somebody else.
    let mut other_port = ready_at(glint.portal(), A, 2, &target());
    assert_eq!(reads(&mut other_port), RESERVATION_CONFLICT);

    // What changes afterwards is kept as well.
    done(&mut b, PREEMPT, EXCLUSIVE_ACCESS, (0xbbbb, 0xaaaa), 0);
    assert_eq!(a.run(&TEST_UNIT_READY, 0).condition(), REGISTRATIONS_PREEMPTED);
    glint.kill();
    glint.start_again();
    let mut a = ready(&glint, A);
    assert_eq!(reads(&mut a), RESERVATION_CONFLICT);
    assert_eq!(full_status(&mut a), [registration(B, 1, 0xbbbb, Some(EXCLUSIVE_ACCESS))]);
}

#[test]
fn what_was_registered_without_aptpl_is_gone_after_a_restart() {
    let mut glint = Glint::with_volume("disk=ram:,size=16MiB");
    let mut a = ready(&glint, A);
    // The last APTPL counts, for all of it.
    done(&mut a, REGISTER, 0, (0, 1), APTPL);
    done(&mut a, REGISTER, 0, (1, 2), 0);
    done(&mut a, RESERVE, WRITE_EXCLUSIVE, (2, 0), 0);
    glint.kill();
    glint.start_again();
    let mut b = ready(&glint, B);
    assert_eq!((keys(&mut b), reservation(&mut b)), ((0, vec![]), None));
    assert_eq!(writes(&mut b), GOOD);
}

#[test]
fn what_cannot_be_kept_fails_and_changes_nothing() {
    let glint = Glint::with_volume("disk=ram:,size=16MiB");
    let mut a = ready(&glint, A);
    let mut b = ready(&glint, B);
    done(&mut a, REGISTER, 0, (0, 1), APTPL);
    done(&mut a, RESERVE, WRITE_EXCLUSIVE, (1, 0), 0);
    let kept = fs::read(document(&glint.state_dir())).unwrap();

    let unit = document(&glint.state_dir()).parent().unwrap().to_path_buf();
    let away = unit.with_extension("away");
    let pid = rustix::process::Pid::from_raw(glint.id().cast_signed());
    let limit = |bytes| {
        let limit = rustix::process::Rlimit { current: bytes, maximum: None };
        rustix::process::prlimit(pid, rustix::process::Resource::Fsize, limit).unwrap();
    };
    // No room for as much as a byte, and then no place at all.
    let breaks: [[&dyn Fn(); 2]; 2] = [
        [&|| limit(Some(0)), &|| limit(None)],
        [&|| fs::rename(&unit, &away).unwrap(), &|| fs::rename(&away, &unit).unwrap()],
    ];
    for [break_it, mend_it] in breaks {
        let before = (keys(&mut a), full_status(&mut a));
        break_it();
        for (action, keys) in [(REGISTER, (0, 2)), (REGISTER_AND_IGNORE, (0, 2))] {
            assert_eq!(out(&mut b, action, 0, keys, APTPL).condition(), INTERNAL_TARGET_FAILURE);
        }
        for (action, keys) in [(REGISTER, (1, 3)), (RELEASE, (1, 0)), (CLEAR, (1, 0))] {
            let answer = out(&mut a, action, WRITE_EXCLUSIVE, keys, APTPL);
            assert_eq!(answer.condition(), INTERNAL_TARGET_FAILURE, "{action}");
        }
        assert_eq!((keys(&mut a), full_status(&mut a)), before);
        assert_eq!(b.run(&TEST_UNIT_READY, 0).status, GOOD, "nobody is told of what did not happen");
        assert_eq!((writes(&mut a), writes(&mut b)), (GOOD, RESERVATION_CONFLICT));
        mend_it();
        assert_eq!(fs::read(document(&glint.state_dir())).unwrap(), kept);
    }
    wait::until("the log tells of it", LIMIT, || glint.log().contains("could not be kept"));
    done(&mut b, REGISTER, 0, (0, 2), APTPL);
    assert_eq!(keys(&mut b).1, [1, 2]);
    assert_ne!(fs::read(document(&glint.state_dir())).unwrap(), kept);
}

#[test]
fn a_volume_whose_document_is_damaged_is_refused_and_others_serve() {
    let both = ram("disk") + &ram("other");
    let mut glint = Glint::serve().start_with_config(&both);
    let mut a = ready(&glint, A);
    done(&mut a, REGISTER, 0, (0, 1), APTPL);
    done(&mut a, RESERVE, EXCLUSIVE_ACCESS, (1, 0), 0);
    glint.kill();
    let document = document(&glint.state_dir());
    let whole = fs::read(&document).unwrap();
    let mut damaged = whole.clone();
    let last = damaged.len() - 4;
    damaged[last] ^= 1;
    fs::write(&document, &damaged).unwrap();
    let told = glint.fail_to_start_again();
    for part in
        ["volume disk, LUN 0: its reservations cannot be recalled", "checksum", document.to_str().unwrap()]
    {
        assert!(told.contains(part), "no {part:?} in:\n{told}");
    }

    // Without it the other is served; it does not come in by a reload either, and disturbs nobody.
    glint.write_config(&ram("other"));
    glint.start_again();
    let other = format!("{IQN_BASE}:other");
    let mut session = ready_at(glint.portal(), A, 1, &other);
    glint.reconfigure(&both);
    glint.wait_for_log("its reservations cannot be recalled", LIMIT);
    session.run(&READ, ROOM).good();
    let mut refused = log_in(glint.portal(), B, 1, &target());
    assert_eq!(refused.run(&TEST_UNIT_READY, 0).condition(), (5, 0x25, 0), "no such logical unit");

    // Repaired, it comes with its reservation.
    fs::write(&document, &whole).unwrap();
    glint.reconfigure(&both);
    glint.wait_for_log("configuration reloaded failed=0", LIMIT);
    let mut b = ready(&glint, B);
    assert_eq!(reads(&mut b), RESERVATION_CONFLICT);
}

#[test]
fn two_processes_do_not_share_what_a_unit_remembers() {
    let glint = Glint::with_volume("disk=ram:,size=16MiB");
    let state = glint.state_dir().display().to_string();
    let serve = |state: &str| {
        let arguments = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--api",
            "off",
            "--state-dir",
            state,
            "--volume",
            "disk=ram:,size=1MiB",
        ];
        glint_testkit::glint::run(&arguments).failure()
    };
    let told = serve(&state);
    assert!(told.contains("volume disk, LUN 0: another glint process serves this unit"), "{told}");
    let mut a = ready(&glint, A);
    done(&mut a, REGISTER, 0, (0, 1), APTPL);
}

/// Whoever lost a reservation because the directory could not be read would let in those whom it keeps out.
#[test]
fn a_volume_is_not_served_without_what_was_kept_of_it() {
    let builder = Glint::serve().unprivileged();
    let state = builder.dir().join("state");
    fs::create_dir(&state).unwrap();
    std::os::unix::fs::chown(&state, Some(65532), Some(65532)).unwrap();
    let mut glint = builder.volume("disk=ram:,size=16MiB").start();
    let mut a = ready(&glint, A);
    done(&mut a, REGISTER, 0, (0, 1), APTPL);
    done(&mut a, RESERVE, EXCLUSIVE_ACCESS, (1, 0), 0);
    glint.kill();
    let units = glint.state_dir().join("units");
    let mode = |bits| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&units, fs::Permissions::from_mode(bits)).unwrap();
    };
    for bits in [0o500, 0o000] {
        mode(bits);
        let told = glint.fail_to_start_again();
        assert!(told.contains("may hold what was kept of this unit"), "{told}");
    }
    mode(0o700);
    glint.start_again();
    let mut b = ready(&glint, B);
    assert_eq!(reads(&mut b), RESERVATION_CONFLICT);
}

#[test]
fn all_target_ports_and_listed_initiators_are_registered_at_once() {
    let glint = Glint::serve().second_group().start_with_config(&ram("disk"));
    let mut a = ready(&glint, A);
    let mut a_2 = ready_at(glint.portal_2(), A, 1, &target());
    let mut c = ready(&glint, C);

    done(&mut a, REGISTER, 0, (0, 0xa), ALL_TG_PT);
    assert_eq!(full_status(&mut c), [registration(A, 1, 0xa, None), registration(A, 2, 0xa, None)]);
    // Each of them is a registration of its own.
    done(&mut a_2, REGISTER, 0, (0xa, 0xa2), 0);
    done(&mut a, RESERVE, WRITE_EXCLUSIVE, (0xa, 0), 0);
    assert_eq!((writes(&mut a), writes(&mut a_2)), (GOOD, RESERVATION_CONFLICT));
    done(&mut a, RELEASE, WRITE_EXCLUSIVE, (0xa, 0), 0);
    assert_eq!(full_status(&mut c), [registration(A, 1, 0xa, None), registration(A, 2, 0xa2, None)]);
    assert_eq!(
        out(&mut a, REGISTER, 0, (0xa, 0), ALL_TG_PT).status,
        RESERVATION_CONFLICT,
        "not both have this key"
    );
    done(&mut a, REGISTER_AND_IGNORE, 0, (0, 0), ALL_TG_PT);
    assert_eq!(full_status(&mut c), []);

    // B is not even logged in.
    let mut parameters = list(0, 0xc, SPEC_I_PT | ALL_TG_PT);
    let ids = [transport_id(A, 1), transport_id(B, 1)].concat();
    parameters.extend_from_slice(&(ids.len() as u32).to_be_bytes());
    parameters.extend_from_slice(&ids);
    c.run_with(&cdb(REGISTER, 0, parameters.len()), &parameters).good();
    let all = [A, B, C].into_iter().flat_map(|name| [1, 2].map(|port| registration(name, port, 0xc, None)));
    assert_eq!(full_status(&mut c), all.collect::<Vec<_>>());
    done(&mut c, RESERVE, WRITE_EXCLUSIVE_REGISTRANTS, (0xc, 0), 0);
    let mut b_2 = ready_at(glint.portal_2(), B, 1, &target());
    assert_eq!((writes(&mut a), writes(&mut b_2)), (GOOD, GOOD));
    let mut stranger = ready_at(glint.portal_2(), B, 9, &target());
    assert_eq!((reads(&mut stranger), writes(&mut stranger)), (GOOD, RESERVATION_CONFLICT));
    // Registered already: no one else can be named.
    assert_eq!(c.run_with(&cdb(REGISTER, 0, parameters.len()), &parameters).status, RESERVATION_CONFLICT);
    parameters[..8].copy_from_slice(&0xc_u64.to_be_bytes());
    assert_eq!(c.run_with(&cdb(REGISTER, 0, parameters.len()), &parameters).condition(), INVALID_IN_LIST);
}

#[test]
fn a_reservation_moves_to_a_port_that_is_not_there_yet() {
    let glint = Glint::serve().second_group().start_with_config(&ram("disk"));
    let mut a = ready(&glint, A);
    done(&mut a, REGISTER, 0, (0, 0xa), 0);
    done(&mut a, RESERVE, EXCLUSIVE_ACCESS, (0xa, 0), 0);
    let to = |name: &str, target_port: u16, unregister: bool| {
        let mut list = [0xa_u64.to_be_bytes(), 0xb_u64.to_be_bytes()].concat();
        list.extend_from_slice(&[0, u8::from(unregister) << 1]);
        list.extend_from_slice(&target_port.to_be_bytes());
        let id = transport_id(name, 1);
        list.extend_from_slice(&(id.len() as u32).to_be_bytes());
        list.extend_from_slice(&id);
        (cdb(REGISTER_AND_MOVE, 0, list.len()), list)
    };
    for (name, target_port) in [(A, 2), (B, 3)] {
        let (cdb, list) = to(name, target_port, false);
        assert_eq!(a.run_with(&cdb, &list).condition(), INVALID_IN_LIST, "{name} {target_port}");
    }
    let (cdb, list) = to(B, 2, true);
    a.run_with(&cdb, &list).good();
    assert_eq!(full_status(&mut a), [registration(B, 2, 0xb, Some(EXCLUSIVE_ACCESS))]);
    assert_eq!(reads(&mut a), RESERVATION_CONFLICT);
    assert_eq!(reads(&mut ready(&glint, B)), RESERVATION_CONFLICT, "B through the other target port");
    let mut b = ready_at(glint.portal_2(), B, 1, &target());
    assert_eq!((reads(&mut b), writes(&mut b)), (GOOD, GOOD));
}

#[test]
fn registrations_stay_with_their_ports_when_a_portal_group_comes() {
    let mut glint = Glint::serve().second_group().start_with_config(&ram("disk"));
    let mut a_2 = ready_at(glint.portal_2(), A, 1, &target());
    done(&mut a_2, REGISTER, 0, (0, 0xa), APTPL);
    done(&mut a_2, RESERVE, EXCLUSIVE_ACCESS, (0xa, 0), 0);
    glint.kill();
    glint.omit_first_portal(true);
    glint.write_config(&ram("disk"));
    glint.start_again();
    let mut a_2 = ready_at(glint.portal_2(), A, 1, &target());
    assert_eq!(reads(&mut a_2), GOOD);
    assert_eq!(full_status(&mut a_2), [registration(A, 2, 0xa, Some(EXCLUSIVE_ACCESS))]);
    glint.omit_first_portal(false);
    glint.reconfigure(&ram("disk"));
    wait::until("the other portal is there", LIMIT, || std::net::TcpStream::connect(glint.portal()).is_ok());
    assert_eq!(reads(&mut a_2), GOOD);
    assert_eq!(reads(&mut ready(&glint, A)), RESERVATION_CONFLICT);
}

/// TAS of the Control mode page.
fn set_tas(initiator: &mut Initiator, tas: bool) {
    let page = initiator.run(&[0x1a, 0x08, 0x0a, 0, 0xff, 0], ROOM).good();
    let mut list = page.clone();
    list[0] = 0;
    list[2] = 0;
    list[9] = list[9] & !0x40 | u8::from(tas) << 6;
    let cdb = [0x15, 0x10, 0, 0, list.len() as u8, 0];
    initiator.run_with(&cdb, &list).good();
}

#[test]
fn preempt_and_abort_ends_what_the_store_has_under_way() {
    let cluster = GlusterCluster::start().unwrap();
    let volume = cluster.create_volume("vol", &VolumeSpec { replica: 1, ..VolumeSpec::default() }).unwrap();
    let glint = Glint::serve().volume(&format!("disk={},size=64MiB", volume.uri("/disk.img"))).start();
    let mut a = ready(&glint, A);
    set_tas(&mut a, true);
    for round in 0..2_u8 {
        let mut b = log_in(glint.portal(), B, 1, &target());
        while b.run(&TEST_UNIT_READY, 0).status != GOOD {}
        done(&mut a, REGISTER_AND_IGNORE, 0, (0, 0xa), 0);
        done(&mut b, REGISTER_AND_IGNORE, 0, (0, 0xb), 0);
        done(&mut b, RESERVE, WRITE_EXCLUSIVE_REGISTRANTS, (0xb, 0), 0);
        volume.pause_brick(0).unwrap();
        let held = b.command_with(&WRITE, &[round + 1; 512]);
        assert_eq!(b.end_within(held, Duration::from_millis(500)), None, "the store is not paused");
        // One whose data has not come is among them.
        let withheld = b.write_command(&[0x2a, 0, 0, 0, 0, 8, 0, 0, 64, 0], 64 * 512, false);
        let asked = b.r2t();
        let list = list(0xa, 0xb, 0);
        let preempt = a.command_with(&cdb(PREEMPT_AND_ABORT, WRITE_EXCLUSIVE_REGISTRANTS, list.len()), &list);
        let early = a.end_within(preempt, Duration::from_secs(1));
        volume.resume_brick(0).unwrap();
        assert_eq!(early, None, "it was told as done while a write could still take effect");
        a.end(preempt).good();
        // Whatever B's write did is done: from here on nothing of B changes what A writes.
        a.run_with(&WRITE, &[0xaa; 512]).good();
        assert_eq!(b.end(held).status, TASK_ABORTED);
        b.answer(&asked, &[0xbb; 64 * 512]);
        let late = b.end_within(withheld, Duration::from_secs(1));
        assert!(late.is_none_or(|end| matches!(end.status, TASK_ABORTED | RESERVATION_CONFLICT)));
        assert_eq!(a.run(&READ, ROOM).good(), [0xaa; 512]);
        assert_eq!(a.run(&[0x28, 0, 0, 0, 0, 8, 0, 0, 1, 0], ROOM).good(), [0; 512]);
        assert_eq!(b.run(&TEST_UNIT_READY, 0).condition(), REGISTRATIONS_PREEMPTED);
        assert_eq!(writes(&mut b), RESERVATION_CONFLICT);
        assert_eq!(full_status(&mut a), [registration(A, 1, 0xa, Some(WRITE_EXCLUSIVE_REGISTRANTS))]);
        done(&mut a, CLEAR, 0, (0xa, 0), 0);
        b.vanish_by_reset();
    }
}

/// What the storage tests of a failover cluster's validation do to a shared disk, from two nodes.
#[test]
fn the_sequence_of_a_cluster_validation() {
    const KIND: u8 = WRITE_EXCLUSIVE_REGISTRANTS;
    const KEY_A: u64 = 0x0001_0000_734d_0001;
    const KEY_B: u64 = 0x0002_0000_734d_0002;
    let glint = Glint::with_volume("disk=ram:,size=64MiB");
    let mut a = ready(&glint, A);
    let mut b = ready(&glint, B);

    // Begin clean, whatever was left: unregistering one who is not registered is no error.
    done(&mut a, REGISTER_AND_IGNORE, 0, (0, 0), 0);
    done(&mut b, REGISTER_AND_IGNORE, 0, (0, 0), 0);
    assert_eq!((keys(&mut a), reservation(&mut a)), ((0, vec![]), None));
    // Without a registration nothing can be reserved, released, cleared or preempted.
    for (action, second_key) in [(RESERVE, 0), (RELEASE, 0), (CLEAR, 0), (PREEMPT, KEY_B)] {
        assert_eq!(out(&mut a, action, KIND, (KEY_A, second_key), 0).status, RESERVATION_CONFLICT);
    }

    // A registers, reserves, and reads its own keys back.
    done(&mut a, REGISTER_AND_IGNORE, 0, (0, KEY_A), 0);
    done(&mut a, RESERVE, KIND, (KEY_A, 0), 0);
    done(&mut a, RESERVE, KIND, (KEY_A, 0), 0);
    assert_eq!((keys(&mut b), reservation(&mut b)), ((1, vec![KEY_A]), Some((KEY_A, KIND))));
    assert_eq!((reads(&mut b), writes(&mut b)), (GOOD, RESERVATION_CONFLICT));

    // B registers: it may write then, and neither reserve nor release what A holds.
    done(&mut b, REGISTER_AND_IGNORE, 0, (0, KEY_B), 0);
    assert_eq!((reads(&mut b), writes(&mut b)), (GOOD, GOOD));
    assert_eq!(out(&mut b, RESERVE, KIND, (KEY_B, 0), 0).status, RESERVATION_CONFLICT);
    done(&mut b, RELEASE, KIND, (KEY_B, 0), 0);
    assert_eq!(reservation(&mut b), Some((KEY_A, KIND)));
    assert_eq!(out(&mut b, PREEMPT, KIND, (KEY_A, KEY_A), 0).status, RESERVATION_CONFLICT, "not its own key");

    // B arbitrates and wins.
    done(&mut b, PREEMPT, KIND, (KEY_B, KEY_A), 0);
    assert_eq!(keys(&mut b), (3, vec![KEY_B]));
    assert_eq!(reservation(&mut b), Some((KEY_B, KIND)));
    assert_eq!(a.run(&TEST_UNIT_READY, 0).condition(), REGISTRATIONS_PREEMPTED);
    assert_eq!((reads(&mut a), writes(&mut a)), (GOOD, RESERVATION_CONFLICT));
    assert_eq!(out(&mut a, RESERVE, KIND, (KEY_A, 0), 0).status, RESERVATION_CONFLICT);

    // A comes back as a member; B defends its reservation by changing its key, and hands it over.
    done(&mut a, REGISTER_AND_IGNORE, 0, (0, KEY_A), 0);
    done(&mut b, REGISTER, 0, (KEY_B, KEY_B + 1), 0);
    assert_eq!(reservation(&mut a), Some((KEY_B + 1, KIND)));
    assert_eq!(out(&mut b, RELEASE, KIND, (KEY_B, 0), 0).status, RESERVATION_CONFLICT, "the old key");
    done(&mut b, RELEASE, KIND, (KEY_B + 1, 0), 0);
    assert_eq!(a.run(&TEST_UNIT_READY, 0).condition(), RESERVATIONS_RELEASED);
    assert_eq!(reservation(&mut a), None);
    done(&mut a, RESERVE, KIND, (KEY_A, 0), 0);

    // A disk is taken into use and given back: CLEAR ends all of it.
    done(&mut a, CLEAR, KIND, (KEY_A, 0), 0);
    assert_eq!(b.run(&TEST_UNIT_READY, 0).condition(), RESERVATIONS_PREEMPTED);
    assert_eq!((keys(&mut b).1, reservation(&mut b)), (vec![], None));

    // The shared volumes of newer clusters: all that are registered hold it, and the last one ends it.
    for (node, key) in [(&mut a, KEY_A), (&mut b, KEY_B)] {
        done(node, REGISTER_AND_IGNORE, 0, (0, key), 0);
        done(node, RESERVE, WRITE_EXCLUSIVE_ALL, (key, 0), 0);
    }
    assert_eq!(reservation(&mut a), Some((0, WRITE_EXCLUSIVE_ALL)));
    done(&mut a, REGISTER_AND_IGNORE, 0, (0, 0), 0);
    assert_eq!((writes(&mut a), writes(&mut b)), (RESERVATION_CONFLICT, GOOD));
    // A reset of the disk ends none of it.
    assert_eq!(b.manage(LOGICAL_UNIT_RESET), 0);
    for node in [&mut a, &mut b] {
        assert_eq!(node.run(&TEST_UNIT_READY, 0).condition().0, 6);
    }
    assert_eq!((writes(&mut a), writes(&mut b)), (RESERVATION_CONFLICT, GOOD));
    done(&mut b, REGISTER_AND_IGNORE, 0, (0, 0), 0);
    assert_eq!((writes(&mut a), writes(&mut b)), (GOOD, GOOD));
}

#[test]
fn sessions_that_vanish_keep_registrations_and_lose_what_reserve_6_gave_them() {
    let glint = Glint::with_volume("disk=ram:,size=16MiB");
    let mut a = ready(&glint, A);
    let mut b = ready(&glint, B);
    a.run(&RESERVE_6, 0).good();
    assert_eq!((reads(&mut b), b.run(&RESERVE_6, 0).status), (RESERVATION_CONFLICT, RESERVATION_CONFLICT));
    assert_eq!(out(&mut b, REGISTER, 0, (0, 1), 0).status, RESERVATION_CONFLICT);
    a.vanish_by_reset();
    wait::until("the reservation has ended with its session", LIMIT, || reads(&mut b) == GOOD);
    // A logout ends it as well.
    let mut a = ready(&glint, A);
    a.run(&RESERVE_6, 0).good();
    a.log_out();
    wait::until("the reservation has ended with its session", LIMIT, || reads(&mut b) == GOOD);

    let mut a = ready(&glint, A);
    done(&mut a, REGISTER, 0, (0, 1), 0);
    done(&mut a, RESERVE, EXCLUSIVE_ACCESS, (1, 0), 0);
    // While one is registered, RESERVE(6) of a holder does nothing, and conflicts for others (SPC-4 5.12.3).
    a.run(&RESERVE_6, 0).good();
    assert_eq!(b.run(&RESERVE_6, 0).status, RESERVATION_CONFLICT);
    a.vanish_by_reset();
    for _ in 0..20 {
        assert_eq!(reads(&mut b), RESERVATION_CONFLICT);
        std::thread::sleep(Duration::from_millis(20));
    }
    // The same port, and another of the same initiator.
    assert_eq!(reads(&mut ready_at(glint.portal(), A, 2, &target())), RESERVATION_CONFLICT);
    let mut a = ready(&glint, A);
    assert_eq!((reads(&mut a), writes(&mut a)), (GOOD, GOOD));
    assert_eq!(keys(&mut a).1, [1]);
}
