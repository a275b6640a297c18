//! Several connections in one session, over loopback sockets and several workers.

use super::initiator::{Initiator, PATIENCE};
use super::stage::{Happened, READ, Stage, TEST_UNIT_READY, WAIT};
use super::{GOOD, Limits};
use crate::server::catalog::Snapshot;
use glint_target_core::pdu::target::{LoginResponse, TargetPdu};
use std::time::Duration;

/// A session whose connections number their commands together.
struct Session {
    legs: Vec<Initiator>,
    tsih: u16,
    cmd_sn: u32,
    next_tag: u32,
}

impl Session {
    /// With connections of CID 0, 1 and so on.
    fn of(stage: &Stage, connections: u16) -> Self {
        let mut first = Initiator::connect(stage.address);
        let answer = first.login(1);
        assert_eq!(answer.status_class, 0);
        let mut session = Self { legs: vec![first], tsih: answer.tsih, cmd_sn: 1, next_tag: 1 };
        for cid in 1..connections {
            let (joined, answer) = session.join(stage, cid);
            assert_eq!((answer.status_class, answer.tsih), (0, session.tsih));
            session.legs.push(joined);
        }
        session
    }

    /// Asks for one more connection.
    fn join(&self, stage: &Stage, cid: u16) -> (Initiator, LoginResponse) {
        let mut joining = self.newcomer(stage, cid);
        let answer = joining.login(1);
        (joining, answer)
    }

    fn newcomer(&self, stage: &Stage, cid: u16) -> Initiator {
        let mut newcomer = Initiator::connect(stage.address);
        (newcomer.tsih, newcomer.cid, newcomer.cmd_sn) = (self.tsih, cid, self.cmd_sn);
        newcomer
    }

    /// Does something on one of the connections.
    fn on<T>(&mut self, leg: usize, what: impl FnOnce(&mut Initiator) -> T) -> T {
        let initiator = self.legs.get_mut(leg).unwrap();
        (initiator.cmd_sn, initiator.next_tag) = (self.cmd_sn, self.next_tag);
        let result = what(initiator);
        (self.cmd_sn, self.next_tag) = (initiator.cmd_sn, initiator.next_tag);
        result
    }

    fn works_on(&mut self, legs: &[usize]) {
        for leg in legs {
            assert_eq!(self.on(*leg, |it| it.run(TEST_UNIT_READY, 0)).0, GOOD, "on {leg}");
        }
    }
}

fn connections(stage: &Stage) -> Option<f64> {
    stage.metric("glint_connections ")
}

fn waiting(stage: &Stage) -> usize {
    stage.log().iter().filter(|what| **what == Happened::Waiting).count()
}

#[test]
fn connections_of_a_session_share_its_commands() {
    let stage = Stage::new(Limits::default());
    let mut session = Session::of(&stage, 4);
    assert_eq!((connections(&stage), stage.metric("glint_sessions ")), (Some(4.0), Some(1.0)));
    session.works_on(&[0, 1, 2, 3, 0]);
    assert_eq!(session.on(2, |it| it.run(READ, 1 << 20)).0, GOOD);
    for leg in 0..4 {
        assert_eq!(session.on(leg, |it| it.write_as_asked(600_000)), GOOD);
    }
    // What comes before its turn waits for what is on its way elsewhere.
    session.cmd_sn += 1;
    let early = session.on(1, |it| it.command(TEST_UNIT_READY, 0));
    let answer = session.legs[1].socket.set_read_timeout(Some(Duration::from_millis(100)));
    assert!(answer.is_ok() && session.legs[1].socket.peek(&mut [0]).is_err());
    session.legs[1].socket.set_read_timeout(Some(PATIENCE)).unwrap();
    session.cmd_sn -= 2;
    let late = session.on(3, |it| it.command(TEST_UNIT_READY, 0));
    assert_eq!(session.legs[1].status(early).0, GOOD);
    assert_eq!(session.legs[3].status(late).0, GOOD);
    session.cmd_sn += 1;
    session.works_on(&[0, 1, 2, 3]);
    assert_eq!(stage.log(), [Happened::Established(1)]);
    session.on(2, Initiator::logout);
    assert!(matches!(session.legs[2].receive(), Some(TargetPdu::Logout(it)) if it.response == 0));
    session.legs.iter_mut().for_each(Initiator::expect_close);
    stage.until("all is gone", |stage| connections(stage) == Some(0.0));
    stage.until("the session is gone", |stage| stage.metric("glint_sessions ") == Some(0.0));
}

#[test]
fn connections_beyond_what_was_agreed_on_are_refused() {
    let stage = Stage::new(Limits::default());
    let mut session = Session::of(&stage, 4);
    let (mut fifth, answer) = session.join(&stage, 4);
    assert_eq!((answer.status_class, answer.status_detail), (0x02, 0x06));
    fifth.expect_close();
    session.works_on(&[0, 3]);
    let mut alone = Initiator::connect(stage.address);
    alone.max_connections = 1;
    let tsih = alone.login(2).tsih;
    let mut second = Initiator::connect(stage.address);
    (second.tsih, second.cid) = (tsih, 1);
    let answer = second.login(2);
    assert_eq!((answer.status_class, answer.status_detail), (0x02, 0x06));
    assert_eq!(alone.run(TEST_UNIT_READY, 0).0, GOOD);
    assert_eq!(stage.metric(r#"glint_logins_failed_total{reason="too_many_connections"}"#), Some(2.0));
}

#[test]
fn a_session_that_is_not_there_is_not_joined() {
    let stage = Stage::new(Limits::default());
    let mut session = Session::of(&stage, 1);
    session.tsih ^= 0x4000;
    let answer = session.join(&stage, 1).1;
    assert_eq!((answer.status_class, answer.status_detail), (0x02, 0x0a));
    session.tsih ^= 0x4000;
    // Of another initiator port.
    let answer = session.newcomer(&stage, 1).login(7);
    assert_eq!((answer.status_class, answer.status_detail), (0x02, 0x0a));
    session.works_on(&[0]);
    session.on(0, Initiator::logout);
    session.legs[0].expect_close();
    stage.until("the session is gone", |stage| stage.metric("glint_sessions ") == Some(0.0));
    let answer = session.join(&stage, 1).1;
    assert_eq!((answer.status_class, answer.status_detail), (0x02, 0x0a));
}

#[test]
fn a_lost_connection_takes_its_tasks_with_it_and_no_others() {
    let stage = Stage::new(Limits::default());
    let mut session = Session::of(&stage, 3);
    let kept = session.on(1, |it| it.command(WAIT, 0));
    session.on(2, |it| it.command(WAIT, 0));
    stage.until("both wait", |stage| waiting(stage) == 2);
    session.legs.remove(2);
    stage.until("it is gone", |stage| connections(stage) == Some(2.0));
    session.works_on(&[0, 1]);
    stage.device.gate.add_permits(2);
    assert_eq!(session.legs[1].status(kept).0, GOOD);
    // The one that the session began with, too.
    session.legs.remove(0);
    stage.until("it is gone", |stage| connections(stage) == Some(1.0));
    session.works_on(&[0]);
    let (joined, answer) = session.join(&stage, 0);
    assert_eq!((answer.status_class, answer.tsih), (0, session.tsih));
    session.legs.push(joined);
    session.works_on(&[0, 1]);
    session.legs.clear();
    stage.until("the session is gone", |stage| stage.metric("glint_sessions ") == Some(0.0));
    let aborts = stage.log().iter().filter(|what| matches!(what, Happened::Managed(..))).count();
    assert_eq!(aborts, 1, "of the command that was lost");
    assert_eq!(stage.log().last(), Some(&Happened::Lost(1)));
}

#[test]
fn a_connection_is_reinstated_when_its_commands_have_ended() {
    let stage = Stage::new(Limits::default());
    let mut session = Session::of(&stage, 2);
    session.on(1, |it| it.command(WAIT, 0));
    stage.until("it waits", |stage| waiting(stage) == 1);
    let mut again = session.newcomer(&stage, 1);
    again.send_login(1, true);
    session.legs[1].expect_close();
    session.works_on(&[0]);
    again.socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(again.socket.peek(&mut [0]).is_err(), "not yet: the old command may take effect still");
    again.socket.set_read_timeout(Some(PATIENCE)).unwrap();
    stage.device.gate.add_permits(1);
    assert!(matches!(again.receive(), Some(TargetPdu::Login(answer)) if answer.status_class == 0));
    session.legs[1] = again;
    session.works_on(&[0, 1, 0, 1]);
    assert!(!stage.log().contains(&Happened::Lost(1)));
}

#[test]
fn the_only_connection_of_a_session_is_reinstated() {
    let stage = Stage::new(Limits::default());
    let mut session = Session::of(&stage, 1);
    session.works_on(&[0]);
    // Never to arrive.
    session.cmd_sn += 3;
    let (again, answer) = session.join(&stage, 0);
    assert_eq!((answer.status_class, answer.tsih), (0, session.tsih));
    session.legs[0].expect_close();
    session.legs[0] = again;
    session.works_on(&[0, 0]);
    assert_eq!(stage.log(), [Happened::Established(1)]);
    stage.until("one is left", |stage| connections(stage) == Some(1.0));
}

#[test]
fn a_connection_that_cannot_end_is_not_replaced() {
    let limits = Limits { reinstatement: Duration::from_millis(100), ..Limits::default() };
    let stage = Stage::new(limits);
    let mut session = Session::of(&stage, 1);
    session.on(0, |it| it.command(WAIT, 0));
    stage.until("it waits", |stage| waiting(stage) == 1);
    let (mut refused, answer) = session.join(&stage, 0);
    assert_eq!((answer.status_class, answer.status_detail), (0x03, 0x01));
    refused.expect_close();
    stage.device.gate.add_permits(1);
    stage.until("nothing is left", |stage| stage.log().contains(&Happened::Lost(1)));
    stage.until("nor any connection", |stage| connections(stage) == Some(0.0));
}

#[test]
fn one_connection_logs_another_out() {
    let stage = Stage::new(Limits::default());
    let mut session = Session::of(&stage, 3);
    session.on(0, |it| it.log_out(1, 2));
    assert!(matches!(session.legs[0].receive(), Some(TargetPdu::Logout(it)) if it.response == 0));
    session.legs[2].expect_close();
    session.works_on(&[0, 1]);
    session.on(0, |it| it.log_out(2, 1));
    assert!(matches!(session.legs[0].receive(), Some(TargetPdu::Logout(it)) if it.response == 2));
    session.on(0, |it| it.log_out(1, 0));
    assert!(matches!(session.legs[0].receive(), Some(TargetPdu::Logout(it)) if it.response == 0));
    session.legs[0].expect_close();
    session.works_on(&[1]);
    stage.until("one is left", |stage| connections(stage) == Some(1.0));
}

#[test]
fn garbage_on_one_connection_ends_that_one() {
    use std::io::Write;
    let stage = Stage::new(Limits::default());
    let mut session = Session::of(&stage, 2);
    session.legs[1].socket.write_all(&[0xff; 4096]).unwrap();
    session.legs[1].expect_close();
    session.works_on(&[0]);
}

#[test]
fn a_connection_that_is_not_read_ends_alone() {
    let limits = Limits { write_stall: Duration::from_millis(300), ..Limits::default() };
    let stage = Stage::new(limits);
    let mut session = Session::of(&stage, 2);
    // More than the system takes for it.
    session.on(1, |it| it.command(READ, 16 << 20));
    stage.until("it is gone", |stage| connections(stage) == Some(1.0));
    assert_eq!(stage.metric("glint_sessions "), Some(1.0));
    session.works_on(&[0]);
}

#[test]
fn drain_and_reinstatement_reach_a_session_whose_first_connection_has_gone() {
    let stage = Stage::new(Limits::default());
    let mut session = Session::of(&stage, 2);
    session.legs.remove(0);
    stage.until("it is gone", |stage| connections(stage) == Some(1.0));
    // The same initiator port begins anew.
    let mut anew = Session::of(&stage, 2);
    session.legs[0].expect_close();
    anew.works_on(&[0, 1]);
    anew.legs.remove(0);
    stage.until("it is gone", |stage| connections(stage) == Some(1.0));
    let node = stage.node.clone();
    let drained = stage.runtime.spawn(async move { node.drain().await });
    match anew.legs[0].receive() {
        Some(TargetPdu::AsyncMessage(message)) => assert_eq!(message.event, 1),
        other => panic!("no logout request: {other:?}"),
    }
    anew.on(0, Initiator::logout);
    assert!(matches!(anew.legs[0].receive(), Some(TargetPdu::Logout(_))));
    stage.runtime.block_on(async { tokio::time::timeout(PATIENCE, drained).await }).unwrap().unwrap();
}

#[test]
fn cut_reaches_all_connections() {
    let stage = Stage::new(Limits::default());
    let mut session = Session::of(&stage, 3);
    session.legs.remove(0);
    stage.until("it is gone", |stage| connections(stage) == Some(2.0));
    stage.runtime.block_on(async { tokio::time::timeout(PATIENCE, stage.node.cut()).await }).unwrap();
    for leg in &mut session.legs {
        assert!(matches!(leg.receive(), Some(TargetPdu::AsyncMessage(message)) if message.event == 3));
        leg.expect_close();
    }
    assert_eq!(stage.log().last(), Some(&Happened::Lost(1)));
}

/// Another in its place would keep a target that is served no longer.
#[test]
fn a_target_that_goes_asks_all_connections_to_log_out() {
    let stage = Stage::new(Limits::default());
    let mut session = Session::of(&stage, 3);
    session.legs.remove(0);
    stage.until("it is gone", |stage| connections(stage) == Some(2.0));
    let mut late = session.newcomer(&stage, 5);
    assert!(late.negotiate_on(1));
    let ended = stage.node.publish(Snapshot::empty());
    for leg in &mut session.legs {
        assert!(matches!(leg.receive(), Some(TargetPdu::AsyncMessage(message)) if message.event == 1));
    }
    let answer = late.login(1);
    assert_ne!(answer.status_class, 0);
    for leg in 0..2 {
        let cid = session.legs[leg].cid;
        session.on(leg, |it| it.log_out(1, cid));
        session.legs[leg].expect_close();
    }
    let all_ended = futures_util::future::join_all(ended.iter().map(|ended| ended.cancelled()));
    stage.runtime.block_on(async { tokio::time::timeout(PATIENCE, all_ended).await }).unwrap();
}
