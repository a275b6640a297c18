//! What logins declare changes while connections are there.

use super::stage::{Stage, TEST_UNIT_READY};
use super::{Limits, LoginStage};
use glint_target_core::session::connection::ConnectionConfig;
use glint_testkit::initiator::{GOOD, Initiator};

fn declare(stage: &Stage, length: u32) {
    let mut config = ConnectionConfig::clone(&stage.node.connection_config.load());
    config.offer.max_recv_data_segment_length = length;
    stage.node.set_limits(Limits::default(), config);
}

#[track_caller]
fn assert_asks(on: &mut Initiator) {
    let message = on.message();
    assert_eq!((message.event, message.parameters), (4, [0, 0, 5]));
}

#[test]
fn each_connection_of_each_session_is_asked_to_negotiate_once() {
    let stage = Stage::new(Limits::default());
    let mut session = stage.session_of(3);
    session.push(stage.session(2));
    declare(&stage, 1 << 20);
    session.iter_mut().for_each(assert_asks);
    declare(&stage, 1 << 20);
    assert!(session.iter_mut().all(|on| on.is_silent()));
    // In whatever order they ask; one does not.
    for nth in [2, 0, 3] {
        assert_eq!(session[nth].text(""), "MaxRecvDataSegmentLength=1048576\0", "on {nth}");
    }
    for on in &mut session {
        assert_eq!(on.run(&TEST_UNIT_READY, 0).status, GOOD);
        assert!(on.is_silent());
    }
}

#[test]
fn one_that_is_about_to_log_in_was_told_the_old_and_hears_of_the_new() {
    let stage = Stage::new(Limits::default());
    let mut late = stage.connect(1);
    late.send_login(LoginStage::Operational, false);
    let told = late.login_response().data;
    assert!(String::from_utf8_lossy(&told).contains("MaxRecvDataSegmentLength=262144\0"), "{told:?}");
    declare(&stage, 512 << 10);
    assert!(late.is_silent());
    let rest = late.login_request(LoginStage::Operational, true, "");
    late.send(rest);
    assert_eq!(late.login_response().status_class, 0);
    assert_asks(&mut late);
    assert_eq!(late.text(""), "MaxRecvDataSegmentLength=524288\0");
    assert_eq!(late.run(&TEST_UNIT_READY, 0).status, GOOD);
}
