use super::*;
use glint_target_core::login::parameters::Parameters;
use std::task::Poll;
use std::time::Duration;

fn request(initiator: &str, isid: u8) -> SessionRequest {
    SessionRequest {
        session_type: SessionType::Normal,
        initiator_name: initiator.into(),
        isid: Isid([0, 0, 0, 0, 0, isid]),
        tsih: 0,
        cid: 1,
        target_name: Some("iqn.x:target".into()),
        portal_group_tag: 1,
        relative_port: 1,
        parameters: Parameters::default(),
    }
}

fn sessions() -> Arc<Sessions> {
    Sessions::new(IntGauge::new("sessions", "for the test").unwrap())
}

async fn bind(
    sessions: &Arc<Sessions>,
    request: SessionRequest,
) -> (Result<SessionHandle, Refusal>, Arc<Orders>) {
    let orders = Arc::new(Orders::new([127, 0, 0, 1].into()));
    let limits = Limits {
        max_sessions: 3,
        max_discovery_sessions: 2,
        reinstatement: Duration::from_millis(20),
        ..Limits::default()
    };
    (Arc::clone(sessions).bind(request, Arc::clone(&orders), &limits).await, orders)
}

#[tokio::test]
async fn sessions_of_other_identities_live_side_by_side() {
    let sessions = sessions();
    let (one, _) = bind(&sessions, request("iqn.x:a", 1)).await;
    let (two, _) = bind(&sessions, request("iqn.x:a", 2)).await;
    let (three, _) = bind(&sessions, request("iqn.x:b", 1)).await;
    let (one, two, three) = (one.unwrap(), two.unwrap(), three.unwrap());
    assert!(one.tsih() != two.tsih() && two.tsih() != three.tsih() && one.tsih() != three.tsih());
    assert_eq!(sessions.gauge.get(), 3);
    let (four, _) = bind(&sessions, request("iqn.x:c", 1)).await;
    assert_eq!(four.err(), Some(Refusal::OutOfResources));
    drop(two);
    let (four, _) = bind(&sessions, request("iqn.x:c", 1)).await;
    assert!(four.is_ok());
    assert_eq!(sessions.gauge.get(), 3);
}

#[tokio::test]
async fn a_session_is_reinstated_when_the_older_has_ended() {
    let sessions = sessions();
    let (old, orders) = bind(&sessions, request("iqn.x:a", 1)).await;
    let old = old.unwrap();
    let mut anew = Box::pin(bind(&sessions, request("IQN.x:A", 1)));
    assert!(matches!(futures_util::poll!(&mut anew), Poll::Pending));
    assert_eq!(orders.dismissal(), Some(Dismissal::Reinstated));
    drop(old);
    let (new, orders) = anew.await;
    assert!(new.is_ok());
    assert_eq!(orders.dismissal(), None);
}

#[tokio::test]
async fn a_session_that_does_not_end_is_not_replaced() {
    let sessions = sessions();
    let (old, _) = bind(&sessions, request("iqn.x:a", 1)).await;
    let (new, _) = bind(&sessions, request("iqn.x:a", 1)).await;
    assert_eq!(new.err(), Some(Refusal::StillEnding));
    drop(old);
    assert!(bind(&sessions, request("iqn.x:a", 1)).await.0.is_ok());
}

#[tokio::test]
async fn a_handle_names_a_session_of_its_own_initiator() {
    let sessions = sessions();
    let (old, orders) = bind(&sessions, request("iqn.x:a", 1)).await;
    let tsih = old.as_ref().unwrap().tsih();
    let found = |request: &SessionRequest| sessions.find(request).map(|_| ());
    let unknown = SessionRequest { tsih: tsih + 1, ..request("iqn.x:a", 1) };
    assert_eq!(found(&unknown), Err(Refusal::NoSuchSession));
    let foreign = SessionRequest { tsih, ..request("iqn.x:b", 1) };
    assert_eq!(found(&foreign), Err(Refusal::NoSuchSession));
    let elsewhere = SessionRequest { tsih, portal_group_tag: 2, ..request("iqn.x:a", 1) };
    assert_eq!(found(&elsewhere), Err(Refusal::NoSuchSession));
    let other_port = SessionRequest { tsih, ..request("iqn.x:a", 2) };
    assert_eq!(found(&other_port), Err(Refusal::NoSuchSession));
    let own = SessionRequest { tsih, cid: 2, ..request("IQN.x:a", 1) };
    assert!(Arc::ptr_eq(&sessions.find(&own).unwrap(), &orders));
    drop(old);
    assert_eq!(found(&own), Err(Refusal::NoSuchSession));
}

#[tokio::test]
async fn discovery_sessions_do_not_replace_each_other() {
    let sessions = sessions();
    let discovery =
        SessionRequest { session_type: SessionType::Discovery, target_name: None, ..request("iqn.x:a", 1) };
    let one = bind(&sessions, discovery.clone()).await.0;
    let two = bind(&sessions, discovery.clone()).await.0;
    assert!(one.is_ok() && two.is_ok());
    // And take in no connection of who knows whom.
    let joining = SessionRequest { tsih: two.as_ref().unwrap().tsih(), cid: 2, ..discovery };
    assert_eq!(sessions.find(&joining).err(), Some(Refusal::NoSuchSession));
}

#[tokio::test]
async fn discovery_sessions_have_a_limit_of_their_own() {
    let sessions = sessions();
    let discovery =
        SessionRequest { session_type: SessionType::Discovery, target_name: None, ..request("iqn.x:a", 1) };
    let mut normal = Vec::new();
    for isid in 0..3 {
        normal.push(bind(&sessions, request("iqn.x:a", isid)).await.0.unwrap());
    }
    let one = bind(&sessions, discovery.clone()).await.0.unwrap();
    let _two = bind(&sessions, discovery.clone()).await.0.unwrap();
    assert_eq!(bind(&sessions, discovery.clone()).await.0.err(), Some(Refusal::OutOfResources));
    assert_eq!(bind(&sessions, request("iqn.x:a", 9)).await.0.err(), Some(Refusal::OutOfResources));
    drop(one);
    assert_eq!(bind(&sessions, request("iqn.x:a", 9)).await.0.err(), Some(Refusal::OutOfResources));
    assert!(bind(&sessions, discovery).await.0.is_ok());
    normal.pop();
    assert!(bind(&sessions, request("iqn.x:a", 9)).await.0.is_ok());
}

#[tokio::test]
async fn sessions_are_revoked_by_name() {
    let sessions = sessions();
    let (withdrawn, first) = bind(&sessions, request("iqn.x:A", 1)).await;
    let (_stays, second) = bind(&sessions, request("iqn.x:b", 1)).await;
    let elsewhere = SessionRequest { target_name: Some("iqn.x:Gone".into()), ..request("iqn.x:b", 1) };
    let (gone, third) = bind(&sessions, elsewhere).await;
    let waits = sessions.revoke(|initiator, target, _, _| match (initiator, target) {
        (_, "iqn.x:gone") => Standing::TargetGone,
        ("iqn.x:b", "iqn.x:target") => Standing::Admitted,
        _ => Standing::Withdrawn,
    });
    assert_eq!((first.dismissal(), first.take_drain()), (Some(Dismissal::Revoked), false));
    assert_eq!((second.dismissal(), second.take_drain()), (None, false));
    assert_eq!((third.dismissal(), third.take_drain()), (None, true));
    assert_eq!(waits.len(), 2);
    drop((withdrawn, gone));
    for wait in waits {
        wait.cancelled().await;
    }
}

#[tokio::test]
async fn a_target_that_was_reset_loses_its_sessions() {
    let sessions = sessions();
    let (_one, of_target) = bind(&sessions, request("iqn.x:a", 1)).await;
    let elsewhere = SessionRequest { target_name: Some("iqn.x:other".into()), ..request("iqn.x:a", 1) };
    let (_two, of_other) = bind(&sessions, elsewhere).await;
    let discovery =
        SessionRequest { session_type: SessionType::Discovery, target_name: None, ..request("iqn.x:a", 1) };
    let (_three, discovering) = bind(&sessions, discovery).await;
    sessions.reset("IQN.x:target");
    assert_eq!(of_target.dismissal(), Some(Dismissal::TargetReset));
    assert_eq!((of_other.dismissal(), discovering.dismissal()), (None, None));
}
