//! Whole connections over loopback sockets: what peers may do to a node, and what it lets them.

mod connections;
mod memory;
mod redeclaration;
mod stage;

use super::catalog::Snapshot;
use super::limits::Limits;
use glint_target_core::lun::task_set::Abort;
use glint_target_core::pdu::target::TargetPdu;
use glint_target_core::scsi::command::TaskManagement;
use glint_testkit::initiator::{CHECK_CONDITION, GOOD, Initiator, Line, PATIENCE, Stage as LoginStage};
use stage::{Happened, PANIC, READ, Stage, TEST_UNIT_READY, WAIT};
use std::thread;
use std::time::{Duration, Instant};

/// Zeros written with unsolicited data, for a device that looks at none of it.
const WRITE: [u8; 16] = [0; 16];

/// Writes with unsolicited data; gives the status.
fn write(initiator: &mut Initiator, length: u32) -> u8 {
    let tag = initiator.write_command(&WRITE, length, true);
    initiator.send(initiator.unsolicited(tag, 0, &vec![0; length as usize], true));
    initiator.end(tag).status
}

#[test]
fn a_session_logs_in_runs_commands_and_logs_out() {
    let stage = Stage::new(Limits::default());
    let mut initiator = stage.session(1);
    assert_eq!(initiator.run(&TEST_UNIT_READY, 0).status, GOOD);
    assert_eq!(initiator.run(&READ, 1 << 20).status, GOOD);
    assert_eq!(stage.metric("glint_sessions "), Some(1.0));
    assert_eq!(initiator.ask_for_logout(0, 0), 0);
    initiator.expect_close();
    stage.until("the session is gone", |stage| stage.metric("glint_sessions ") == Some(0.0));
    assert_eq!(stage.log(), [Happened::Established(1), Happened::Lost(1)]);
    let read = r#"glint_volume_bytes_total{direction="read",lun="0",target="iqn.2026-12.test:target"}"#;
    assert_eq!(stage.metric(read), Some(f64::from(1 << 20)));
}

/// Else another initiator would meet reservations of a session that is over.
#[test]
fn the_nexus_is_lost_before_the_answer_to_a_logout_arrives() {
    let stage = Stage::new(Limits::default());
    for isid in 1..=8 {
        let mut initiator = stage.session(isid);
        assert_eq!(initiator.ask_for_logout(0, 0), 0);
        assert_eq!(stage.log().last(), Some(&Happened::Lost(u64::from(isid))));
    }
}

#[test]
fn pdus_may_come_byte_by_byte() {
    let stage = Stage::new(Limits::default());
    let mut initiator = stage.session(1);
    let mut pdu = [0; 48];
    pdu[0] = 0x40; // NOP-Out, immediate
    pdu[1] = 0x80;
    pdu[16..20].copy_from_slice(&[0, 0, 0, 9]);
    pdu[20..24].copy_from_slice(&[0xff; 4]);
    pdu[27] = 1;
    for byte in pdu {
        initiator.send_bytes(&[byte]);
    }
    match initiator.receive() {
        Some(TargetPdu::NopIn(nop)) => assert_eq!(nop.initiator_task_tag, 9),
        other => panic!("no NOP-In: {other:?}"),
    }
}

/// More answers than are kept for a peer that does not read: what was received beyond that waits and is not lost.
#[test]
fn an_initiator_that_reads_late_gets_every_answer() {
    const PINGS: u32 = 2000;
    let stage = Stage::new(Limits::default());
    let mut initiator = stage.session(1);
    let mut socket = Line::adopt(initiator.socket().try_clone().unwrap());
    let talk = thread::spawn(move || {
        for tag in 0..PINGS {
            let mut pdu = [0; 48 + 8192];
            pdu[0] = 0x40; // NOP-Out, immediate
            pdu[1] = 0x80;
            pdu[6] = 0x20; // 8192 bytes of data
            pdu[16..20].copy_from_slice(&tag.to_be_bytes());
            pdu[20..24].copy_from_slice(&[0xff; 4]);
            pdu[27] = 1;
            socket.send_bytes(&pdu);
        }
    });
    // Until nothing moves any more.
    thread::sleep(Duration::from_millis(300));
    for tag in 0..PINGS {
        match initiator.receive() {
            Some(TargetPdu::NopIn(nop)) => assert_eq!(nop.initiator_task_tag, tag),
            other => panic!("no NOP-In: {other:?}"),
        }
    }
    talk.join().unwrap();
}

#[test]
fn garbage_ends_its_connection_and_disturbs_no_other() {
    let stage = Stage::new(Limits::default());
    let mut good = stage.session(1);
    let mut before_login = stage.connect(9);
    before_login.send_bytes(&[0xa5; 4096]);
    before_login.expect_close();
    let mut after_login = stage.session(2);
    // Length of AHS and data at their greatest, and digits of no meaning.
    after_login.send_bytes(&[0xff; 4096]);
    after_login.expect_close();
    assert_eq!(good.run(&TEST_UNIT_READY, 0).status, GOOD);
    stage.until("one connection is left", |stage| stage.metric("glint_connections ") == Some(1.0));
}

#[test]
fn a_pdu_that_is_rejected_is_counted() {
    let stage = Stage::new(Limits::default());
    let mut initiator = stage.session(1);
    let mut snack = [0; 48];
    snack[0] = 0x10;
    snack[1] = 0x80;
    initiator.send_bytes(&snack);
    assert!(matches!(initiator.receive(), Some(TargetPdu::Reject(_))));
    stage.until("it is counted", |stage| stage.metric("glint_pdu_errors_total{") == Some(1.0));
    assert_eq!(initiator.run(&TEST_UNIT_READY, 0).status, GOOD);
}

#[test]
fn who_does_not_log_in_is_shown_out() {
    let stage = Stage::with(Limits::default(), 1 << 20, Duration::from_millis(150));
    let mut silent = stage.connect(9);
    let mut endless = stage.connect(9);
    let start = Instant::now();
    silent.expect_close();
    // Goes on negotiating for as long as it is let.
    let (mut names, mut answered) = (endless.port_mut().names(), true);
    while answered && start.elapsed() < PATIENCE {
        let login = endless.login_request(LoginStage::Operational, false, &std::mem::take(&mut names));
        answered = endless.try_send(&login).is_ok() && endless.receive().is_some();
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(start.elapsed() < PATIENCE);
    stage.until("both are gone", |stage| stage.metric("glint_connections ") == Some(0.0));
    stage.until("both are counted", |stage| {
        stage.metric(r#"glint_logins_failed_total{reason="timeout"}"#) == Some(2.0)
    });
}

#[test]
fn one_connection_too_many_is_closed_at_once() {
    let stage = Stage::new(Limits { max_connections: 2, ..Limits::default() });
    let mut first = stage.session(1);
    let mut second = stage.session(2);
    stage.connect(9).expect_close();
    assert_eq!(first.run(&TEST_UNIT_READY, 0).status, GOOD);
    drop(first);
    stage.until("there is room again", |stage| stage.metric("glint_connections ") == Some(1.0));
    let mut third = stage.session(3);
    assert_eq!(third.run(&TEST_UNIT_READY, 0).status, GOOD);
    assert_eq!(second.run(&TEST_UNIT_READY, 0).status, GOOD);
}

#[test]
fn silent_connections_make_room_for_initiators() {
    let stage = Stage::new(Limits { max_connections: 4, ..Limits::default() });
    let mut logged_in = stage.session(1);
    let mut silent: Vec<_> = (0..3).map(|_| stage.connect(9)).collect();
    stage.until("all places are taken", |stage| stage.metric("glint_connections ") == Some(4.0));
    let mut late = stage.session(2);
    silent.first_mut().unwrap().expect_close();
    silent.extend((0..100).map(|_| stage.connect(9)));
    assert_eq!(late.run(&TEST_UNIT_READY, 0).status, GOOD);
    assert_eq!(logged_in.run(&TEST_UNIT_READY, 0).status, GOOD, "who has logged in keeps the place");
    stage.until("the others have made room", |stage| {
        stage.metric("glint_connections ").is_some_and(|open| open <= 4.0)
    });
}

#[test]
fn one_session_too_many_is_out_of_resources() {
    let stage = Stage::new(Limits { max_sessions: 1, ..Limits::default() });
    let mut first = stage.session(1);
    let mut second = stage.connect(2);
    let answer = second.login();
    assert_eq!((answer.status_class, answer.status_detail), (0x03, 0x02));
    second.expect_close();
    assert_eq!(first.run(&TEST_UNIT_READY, 0).status, GOOD);
    assert_eq!(stage.metric(r#"glint_logins_failed_total{reason="out_of_resources"}"#), Some(1.0));
    assert_eq!(stage.metric(r#"glint_logins_failed_total{reason="rejected"}"#), None);
}

#[test]
fn a_blocked_session_blocks_no_other() {
    let stage = Stage::new(Limits::default());
    // More sessions than workers, so that some share a thread with a blocked one.
    let mut blocked: Vec<_> = (1..=4).map(|isid| stage.session(isid)).collect();
    let tags: Vec<_> = blocked.iter_mut().map(|initiator| initiator.command(&WAIT, 0)).collect();
    stage.until("all wait", |stage| {
        stage.log().iter().filter(|what| **what == Happened::Waiting).count() == 4
    });
    for isid in 5..=8 {
        assert_eq!(stage.session(isid).run(&READ, 4096).status, GOOD);
    }
    // Also in the session itself others go past.
    assert_eq!(blocked.first_mut().unwrap().run(&READ, 4096).status, GOOD);
    stage.device.gate.add_permits(4);
    for (initiator, tag) in blocked.iter_mut().zip(tags) {
        assert_eq!(initiator.end(tag).status, GOOD);
    }
}

#[test]
fn a_session_is_reinstated_after_the_end_of_what_it_had_in_flight() {
    let stage = Stage::new(Limits::default());
    let mut old = stage.session(1);
    old.command(&WAIT, 0);
    stage.until("it waits", |stage| stage.log().contains(&Happened::Waiting));
    let mut new = stage.connect(1);
    new.send_login(LoginStage::Operational, true);
    old.expect_close();
    assert!(new.is_silent(), "not yet: the old command may take effect still");
    stage.device.gate.add_permits(1);
    assert_eq!(new.login_response().status_class, 0);
    assert_eq!(new.run(&TEST_UNIT_READY, 0).status, GOOD);
    use Happened::{Established, Lost, Managed, Released, Waiting};
    let aborted = Managed(1, TaskManagement::ITNexusReset);
    assert_eq!(stage.log(), [Established(1), Waiting, aborted, Released, Lost(1), Established(2)]);
}

#[test]
fn a_session_that_cannot_end_is_not_replaced() {
    let limits = Limits { reinstatement: Duration::from_millis(100), ..Limits::default() };
    let stage = Stage::new(limits);
    let mut old = stage.session(1);
    old.command(&WAIT, 0);
    stage.until("it waits", |stage| stage.log().contains(&Happened::Waiting));
    let answer = stage.connect(1).login();
    assert_eq!((answer.status_class, answer.status_detail), (0x03, 0x01));
    stage.device.gate.add_permits(1);
    stage.until("the old session has ended", |stage| stage.log().contains(&Happened::Lost(1)));
    stage.session(1);
}

#[test]
fn a_command_that_panics_fails_alone() {
    let stage = Stage::new(Limits::default());
    let mut initiator = stage.session(1);
    let end = initiator.run(&PANIC, 0);
    assert_eq!((end.status, end.condition()), (CHECK_CONDITION, (0x04, 0x44, 0x00)));
    assert_eq!(initiator.run(&TEST_UNIT_READY, 0).status, GOOD);
    assert_eq!(stage.session(2).run(&READ, 512).status, GOOD);
}

#[test]
fn a_peer_that_reads_nothing_costs_a_bounded_buffer_and_a_timer() {
    let limits = Limits {
        write_stall: Duration::from_millis(300),
        bytes_per_connection: 4 << 20,
        ..Limits::default()
    };
    let stage = Stage::with(limits, 8 << 20, Duration::from_secs(30));
    let mut good = stage.session(1);
    let mut slow = stage.session(2);
    // 64 MiB of answers, of which the node holds no more than its share.
    for _ in 0..64 {
        slow.command(&READ, 1 << 20);
    }
    assert_eq!(good.run(&READ, 1 << 20).status, GOOD);
    stage.until("the slow peer is gone", |stage| stage.log().contains(&Happened::Lost(2)));
    stage.until("its bytes are free", |stage| stage.node.budget.free() == 8 << 20);
    assert_eq!(good.run(&READ, 1 << 20).status, GOOD);
}

#[test]
fn peers_that_read_nothing_leave_room_for_others() {
    let limits = Limits { bytes_per_connection: 2 << 20, ..Limits::default() };
    let stage = Stage::with(limits, 8 << 20, Duration::from_secs(30));
    // Each asks for 16 MiB, and the node has 8.
    let mut slow: Vec<_> = (2..=9).map(|isid| stage.session(isid)).collect();
    for initiator in &mut slow {
        for _ in 0..64 {
            initiator.command(&READ, 256 << 10);
        }
    }
    let mut good = stage.session(1);
    let start = Instant::now();
    for _ in 0..20 {
        assert_eq!(good.run(&READ, 512 << 10).status, GOOD);
    }
    assert!(start.elapsed() < Duration::from_secs(10), "waited for {:?}", start.elapsed());
}

#[test]
fn reads_that_exceed_the_budget_take_turns() {
    let limits = Limits { bytes_per_connection: 1 << 20, ..Limits::default() };
    let stage = Stage::with(limits, 2 << 20, Duration::from_secs(30));
    let threads: Vec<_> = (1..=4)
        .map(|isid| {
            let mut initiator = stage.session(isid);
            std::thread::spawn(move || {
                let tags: Vec<_> = (0..16).map(|_| initiator.command(&READ, 1 << 20)).collect();
                tags.into_iter().all(|tag| initiator.end(tag).status == GOOD)
            })
        })
        .collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    stage.until("all is given back", |stage| stage.node.budget.free() == 2 << 20);
}

#[test]
fn who_moves_much_at_a_time_is_heard_afterwards() {
    let stage = Stage::new(Limits::default());
    let mut initiator = stage.session(1);
    for _ in 0..20 {
        // As much as one turn moves: nothing is read before the next.
        assert_eq!(initiator.run(&[0x28], 1 << 20).good().len(), 1 << 20);
        assert_eq!(initiator.run(&TEST_UNIT_READY, 0).status, GOOD);
    }
}

/// Commands that wait for room are known to the connection alone, and end like those whose data is on its way.
#[test]
fn what_waits_for_room_is_aborted_by_others() {
    const READS: usize = 32;
    let stage = Stage::new(Limits { bytes_per_connection: 1 << 20, ..Limits::default() });
    let mut initiator = stage.session(1);
    for _ in 0..READS {
        initiator.command(&READ, 1 << 20);
    }
    stage.until("its responses fill the line", |stage| stage.metric("glint_bytes_in_flight ") > Some(0.0));
    thread::sleep(Duration::from_millis(200));
    let obeyed = stage.device.notices.abort(0, |_| Some(Abort::TaskAborted), |_| {});
    stage.runtime.block_on(async { tokio::time::timeout(PATIENCE, obeyed.all()).await }).unwrap();
    let mut ends = [0, 0];
    while ends.iter().sum::<usize>() < READS {
        let status = match initiator.receive() {
            Some(TargetPdu::ScsiResponse(response)) => Some(response.status),
            Some(TargetPdu::DataIn(data)) => data.status.map(|status| status.status),
            other => panic!("no response: {other:?}"),
        };
        match status {
            None => {}
            Some(GOOD) => ends[0] += 1,
            Some(0x40) => ends[1] += 1,
            Some(other) => panic!("status {other:02x}h"),
        }
    }
    assert!(ends[0] > 0 && ends[1] > 0, "{ends:?}");
    stage.until("all is given back", |stage| stage.metric("glint_bytes_in_flight ") == Some(0.0));
}

#[test]
fn nobody_waits_for_a_connection_that_has_ended_but_for_its_commands() {
    let stage = Stage::new(Limits::default());
    let mut gone = stage.session(1);
    gone.command(&WAIT, 0);
    stage.until("it waits", |stage| stage.log().contains(&Happened::Waiting));
    drop(gone);
    stage.until("it ends", |stage| stage.log().contains(&Happened::Managed(1, TaskManagement::ITNexusReset)));
    let obeyed = stage.device.notices.abort(0, |_| Some(Abort::Silent), |_| {});
    stage.runtime.block_on(async { tokio::time::timeout(PATIENCE, obeyed.all()).await }).unwrap();
    stage.device.gate.add_permits(1);
}

#[test]
fn a_cold_reset_ends_the_sessions_of_all_initiators() {
    let stage = Stage::new(Limits::default());
    let mut own = stage.session(1);
    let mut other = stage.session(2);
    assert_eq!(other.run(&TEST_UNIT_READY, 0).status, GOOD);
    let mut reset = [0; 48];
    reset[0] = 0x42; // Task management, immediate
    reset[1] = 0x80 | 7;
    reset[19] = 9;
    reset[20..24].copy_from_slice(&[0xff; 4]);
    reset[27] = 1;
    own.send_bytes(&reset);
    assert!(matches!(own.receive(), Some(TargetPdu::TaskManagement(it)) if it.response == 0));
    own.expect_close();
    assert!(matches!(other.receive(), Some(TargetPdu::AsyncMessage(it)) if it.event == 3));
    other.expect_close();
    stage.until("no session is left", |stage| stage.metric("glint_sessions ") == Some(0.0));
}

#[test]
fn drain_asks_for_logout_and_answers_what_is_in_flight() {
    let stage = Stage::new(Limits::default());
    let mut busy = stage.session(1);
    let tag = busy.command(&WAIT, 0);
    let mut logging_in = stage.connect(9);
    stage.until("it waits", |stage| stage.log().contains(&Happened::Waiting));
    let node = stage.node.clone();
    let drained = stage.runtime.spawn(async move { node.drain().await });
    logging_in.expect_close();
    assert_eq!(busy.message().event, 1);
    assert_eq!(
        stage.node.readiness().obstacles(),
        ["a volume is not open", "a portal is not bound", "draining"]
    );
    stage.device.gate.add_permits(1);
    assert_eq!(busy.end(tag).status, GOOD);
    assert_eq!(busy.ask_for_logout(0, 0), 0);
    stage.runtime.block_on(async { tokio::time::timeout(PATIENCE, drained).await }).unwrap().unwrap();
    stage.connect(9).expect_close();
}

#[test]
fn cut_ends_sessions_whose_initiators_do_not_listen() {
    let stage = Stage::new(Limits::default());
    let mut deaf = stage.session(1);
    let cut = async { tokio::time::timeout(PATIENCE, stage.node.cut()).await };
    stage.runtime.block_on(cut).unwrap();
    deaf.expect_close();
    assert_eq!(stage.log(), [Happened::Established(1), Happened::Lost(1)]);
}

#[test]
fn sessions_of_a_target_that_is_removed_are_ended() {
    let stage = Stage::new(Limits::default());
    let mut initiator = stage.session(1);
    let ended = stage.node.publish(Snapshot::empty());
    assert_eq!(ended.len(), 1);
    stage.runtime.block_on(async { tokio::time::timeout(PATIENCE, ended[0].cancelled()).await }).unwrap();
    initiator.expect_close();
    let answer = stage.connect(1).login();
    assert_eq!((answer.status_class, answer.status_detail), (0x02, 0x03));
}
