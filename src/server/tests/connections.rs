//! Several connections in one session, over loopback sockets and several workers.

use super::stage::{Happened, READ, Stage, TEST_UNIT_READY, WAIT};
use super::{Limits, LoginStage, WRITE};
use crate::server::catalog::Snapshot;
use glint_testkit::initiator::{GOOD, Initiator, PATIENCE};
use std::time::Duration;

fn works_on(session: &mut [Initiator], legs: &[usize]) {
    for leg in legs {
        assert_eq!(session[*leg].run(&TEST_UNIT_READY, 0).status, GOOD, "on {leg}");
    }
}

/// Hears that another connection was dropped.
#[track_caller]
fn hears_of_loss(on: &mut Initiator, cid: u16) {
    let message = on.message();
    assert_eq!((message.event, message.parameters), (2, [cid, 2, 20]));
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
    let mut session = stage.session_of(4);
    assert_eq!((connections(&stage), stage.metric("glint_sessions ")), (Some(4.0), Some(1.0)));
    works_on(&mut session, &[0, 1, 2, 3, 0]);
    assert_eq!(session[2].run(&READ, 1 << 20).status, GOOD);
    for on in &mut session {
        assert_eq!(on.run_asked(&WRITE, &[0; 600_000]).status, GOOD);
    }
    // What comes before its turn waits for what is on its way elsewhere.
    session[0].skip(1);
    let early = session[1].command(&TEST_UNIT_READY, 0);
    assert!(session[1].is_silent());
    session[0].skip(-2);
    let late = session[3].command(&TEST_UNIT_READY, 0);
    assert_eq!(session[1].end(early).status, GOOD);
    assert_eq!(session[3].end(late).status, GOOD);
    session[0].skip(1);
    works_on(&mut session, &[0, 1, 2, 3]);
    assert_eq!(stage.log(), [Happened::Established(1)]);
    assert_eq!(session[2].ask_for_logout(0, 0), 0);
    session.iter_mut().for_each(|on| on.expect_close());
    stage.until("all is gone", |stage| connections(stage) == Some(0.0));
    stage.until("the session is gone", |stage| stage.metric("glint_sessions ") == Some(0.0));
}

#[test]
fn connections_beyond_what_was_agreed_on_are_refused() {
    let stage = Stage::new(Limits::default());
    let mut session = stage.session_of(4);
    let (mut fifth, answer) = session[0].join(4);
    assert_eq!((answer.status_class, answer.status_detail), (0x02, 0x06));
    fifth.expect_close();
    works_on(&mut session, &[0, 3]);
    let mut alone = stage.connect(2);
    alone.port_mut().keys = "MaxConnections=1\0".into();
    alone.login();
    let answer = alone.join(1).1;
    assert_eq!((answer.status_class, answer.status_detail), (0x02, 0x06));
    assert_eq!(alone.run(&TEST_UNIT_READY, 0).status, GOOD);
    assert_eq!(stage.metric(r#"glint_logins_failed_total{reason="too_many_connections"}"#), Some(2.0));
}

#[test]
fn a_session_that_is_not_there_is_not_joined() {
    let stage = Stage::new(Limits::default());
    let mut session = stage.session_of(1);
    let mut newcomer = session[0].newcomer(1);
    newcomer.set_tsih(session[0].tsih() ^ 0x4000);
    let answer = newcomer.login();
    assert_eq!((answer.status_class, answer.status_detail), (0x02, 0x0a));
    // Of another initiator port.
    let mut newcomer = session[0].newcomer(1);
    newcomer.port_mut().isid = 7;
    let answer = newcomer.login();
    assert_eq!((answer.status_class, answer.status_detail), (0x02, 0x0a));
    works_on(&mut session, &[0]);
    assert_eq!(session[0].ask_for_logout(0, 0), 0);
    session[0].expect_close();
    stage.until("the session is gone", |stage| stage.metric("glint_sessions ") == Some(0.0));
    let answer = session[0].join(1).1;
    assert_eq!((answer.status_class, answer.status_detail), (0x02, 0x0a));
}

#[test]
fn a_lost_connection_takes_its_tasks_with_it_and_no_others() {
    let stage = Stage::new(Limits::default());
    let mut session = stage.session_of(3);
    let kept = session[1].command(&WAIT, 0);
    session[2].command(&WAIT, 0);
    stage.until("both wait", |stage| waiting(stage) == 2);
    session.remove(2);
    stage.until("it is gone", |stage| connections(stage) == Some(2.0));
    hears_of_loss(&mut session[0], 2);
    works_on(&mut session, &[0, 1]);
    stage.device.gate.add_permits(2);
    assert_eq!(session[1].end(kept).status, GOOD);
    // The one that the session began with, too.
    session.remove(0);
    stage.until("it is gone", |stage| connections(stage) == Some(1.0));
    hears_of_loss(&mut session[0], 0);
    works_on(&mut session, &[0]);
    let (joined, answer) = session[0].join(0);
    assert_eq!((answer.status_class, answer.tsih), (0, session[0].tsih()));
    session.push(joined);
    works_on(&mut session, &[0, 1]);
    session.clear();
    stage.until("the session is gone", |stage| stage.metric("glint_sessions ") == Some(0.0));
    let aborts = stage.log().iter().filter(|what| matches!(what, Happened::Managed(..))).count();
    assert_eq!(aborts, 1, "of the command that was lost");
    assert_eq!(stage.log().last(), Some(&Happened::Lost(1)));
}

#[test]
fn a_connection_is_reinstated_when_its_commands_have_ended() {
    let stage = Stage::new(Limits::default());
    let mut session = stage.session_of(2);
    session[1].command(&WAIT, 0);
    stage.until("it waits", |stage| waiting(stage) == 1);
    let mut again = session[0].newcomer(1);
    again.send_login(LoginStage::Operational, true);
    session[1].expect_close();
    works_on(&mut session, &[0]);
    assert!(again.is_silent(), "not yet: the old command may take effect still");
    stage.device.gate.add_permits(1);
    assert_eq!(again.login_response().status_class, 0);
    session[1] = again;
    works_on(&mut session, &[0, 1, 0, 1]);
    assert!(!stage.log().contains(&Happened::Lost(1)));
}

#[test]
fn the_only_connection_of_a_session_is_reinstated() {
    let stage = Stage::new(Limits::default());
    let mut session = stage.session_of(1);
    works_on(&mut session, &[0]);
    // Never to arrive.
    session[0].skip(3);
    let (again, answer) = session[0].join(0);
    assert_eq!((answer.status_class, answer.tsih), (0, session[0].tsih()));
    session[0].expect_close();
    session[0] = again;
    works_on(&mut session, &[0, 0]);
    assert_eq!(stage.log(), [Happened::Established(1)]);
    stage.until("one is left", |stage| connections(stage) == Some(1.0));
}

#[test]
fn a_connection_that_cannot_end_is_not_replaced() {
    let limits = Limits { reinstatement: Duration::from_millis(100), ..Limits::default() };
    let stage = Stage::new(limits);
    let mut session = stage.session_of(1);
    session[0].command(&WAIT, 0);
    stage.until("it waits", |stage| waiting(stage) == 1);
    let (mut refused, answer) = session[0].join(0);
    assert_eq!((answer.status_class, answer.status_detail), (0x03, 0x01));
    refused.expect_close();
    stage.device.gate.add_permits(1);
    stage.until("nothing is left", |stage| stage.log().contains(&Happened::Lost(1)));
    stage.until("nor any connection", |stage| connections(stage) == Some(0.0));
}

#[test]
fn one_connection_logs_another_out() {
    let stage = Stage::new(Limits::default());
    let mut session = stage.session_of(3);
    assert_eq!(session[0].ask_for_logout(1, 2), 0);
    session[2].expect_close();
    works_on(&mut session, &[0, 1]);
    assert_eq!(session[0].ask_for_logout(2, 1), 2);
    assert_eq!(session[0].ask_for_logout(1, 0), 0);
    session[0].expect_close();
    works_on(&mut session, &[1]);
    stage.until("one is left", |stage| connections(stage) == Some(1.0));
}

#[test]
fn garbage_on_one_connection_ends_that_one() {
    let stage = Stage::new(Limits::default());
    let mut session = stage.session_of(2);
    session[1].send_bytes(&[0xff; 4096]);
    session[1].expect_close();
    hears_of_loss(&mut session[0], 1);
    works_on(&mut session, &[0]);
}

#[test]
fn a_connection_that_is_not_read_ends_alone() {
    let limits = Limits { write_stall: Duration::from_millis(300), ..Limits::default() };
    let stage = Stage::new(limits);
    let mut session = stage.session_of(2);
    // More than the system takes for it.
    session[1].command(&READ, 16 << 20);
    stage.until("it is gone", |stage| connections(stage) == Some(1.0));
    assert_eq!(stage.metric("glint_sessions "), Some(1.0));
    hears_of_loss(&mut session[0], 1);
    works_on(&mut session, &[0]);
}

#[test]
fn drain_and_reinstatement_reach_a_session_whose_first_connection_has_gone() {
    let stage = Stage::new(Limits::default());
    let mut session = stage.session_of(2);
    session.remove(0);
    stage.until("it is gone", |stage| connections(stage) == Some(1.0));
    // The same initiator port begins anew.
    let mut anew = stage.session_of(2);
    session[0].expect_close();
    works_on(&mut anew, &[0, 1]);
    anew.remove(0);
    stage.until("it is gone", |stage| connections(stage) == Some(1.0));
    let node = stage.node.clone();
    let drained = stage.runtime.spawn(async move { node.drain().await });
    hears_of_loss(&mut anew[0], 0);
    assert_eq!(anew[0].message().event, 1);
    assert_eq!(anew[0].ask_for_logout(0, 0), 0);
    stage.runtime.block_on(async { tokio::time::timeout(PATIENCE, drained).await }).unwrap().unwrap();
}

#[test]
fn cut_reaches_all_connections() {
    let stage = Stage::new(Limits::default());
    let mut session = stage.session_of(3);
    session.remove(0);
    stage.until("it is gone", |stage| connections(stage) == Some(2.0));
    hears_of_loss(&mut session[0], 0);
    stage.runtime.block_on(async { tokio::time::timeout(PATIENCE, stage.node.cut()).await }).unwrap();
    for on in &mut session {
        assert_eq!(on.message().event, 3);
        on.expect_close();
    }
    assert_eq!(stage.log().last(), Some(&Happened::Lost(1)));
}

/// Another in its place would keep a target that is served no longer.
#[test]
fn a_target_that_goes_asks_all_connections_to_log_out() {
    let stage = Stage::new(Limits::default());
    let mut session = stage.session_of(3);
    session.remove(0);
    stage.until("it is gone", |stage| connections(stage) == Some(2.0));
    hears_of_loss(&mut session[0], 0);
    let mut late = session[0].newcomer(5);
    late.send_login(LoginStage::Operational, false);
    assert_eq!(late.login_response().status_class, 0);
    let ended = stage.node.publish(Snapshot::empty());
    for on in &mut session {
        assert_eq!(on.message().event, 1);
    }
    late.send_login(LoginStage::Operational, true);
    assert_ne!(late.login_response().status_class, 0);
    for on in &mut session {
        let cid = on.cid();
        assert_eq!(on.ask_for_logout(1, cid), 0);
        on.expect_close();
    }
    let all_ended = futures_util::future::join_all(ended.iter().map(|ended| ended.cancelled()));
    stage.runtime.block_on(async { tokio::time::timeout(PATIENCE, all_ended).await }).unwrap();
}
