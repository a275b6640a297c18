use super::*;
use glint_target_core::login::parameters::Parameters;
use std::task::Poll;

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
    let patience = Duration::from_millis(20);
    (Arc::clone(sessions).bind(request, Arc::clone(&orders), 3, patience).await, orders)
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
    let (old, _) = bind(&sessions, request("iqn.x:a", 1)).await;
    let tsih = old.as_ref().unwrap().tsih();
    let unknown = SessionRequest { tsih: tsih + 1, ..request("iqn.x:a", 1) };
    assert_eq!(bind(&sessions, unknown).await.0.err(), Some(Refusal::NoSuchSession));
    let foreign = SessionRequest { tsih, ..request("iqn.x:b", 1) };
    assert_eq!(bind(&sessions, foreign).await.0.err(), Some(Refusal::NoSuchSession));
    let second = SessionRequest { tsih, cid: 2, ..request("iqn.x:a", 1) };
    assert_eq!(bind(&sessions, second).await.0.err(), Some(Refusal::TooManyConnections));
    let same = SessionRequest { tsih, ..request("iqn.x:a", 1) };
    let mut again = Box::pin(bind(&sessions, same));
    assert!(matches!(futures_util::poll!(&mut again), Poll::Pending));
    drop(old);
    assert_eq!(again.await.0.unwrap().tsih(), tsih);
}

#[tokio::test]
async fn discovery_sessions_do_not_replace_each_other() {
    let sessions = sessions();
    let discovery =
        SessionRequest { session_type: SessionType::Discovery, target_name: None, ..request("iqn.x:a", 1) };
    let one = bind(&sessions, discovery.clone()).await.0;
    let two = bind(&sessions, discovery).await.0;
    assert!(one.is_ok() && two.is_ok());
}

#[tokio::test]
async fn sessions_are_revoked_by_name() {
    let sessions = sessions();
    let (one, first) = bind(&sessions, request("iqn.x:A", 1)).await;
    let (_two, second) = bind(&sessions, request("iqn.x:b", 1)).await;
    let waits = sessions.revoke(|initiator, target, _, _| initiator == "iqn.x:b" && target == "iqn.x:target");
    assert_eq!(first.dismissal(), Some(Dismissal::Revoked));
    assert_eq!(second.dismissal(), None);
    assert_eq!(waits.len(), 1);
    drop(one);
    waits.first().unwrap().cancelled().await;
}
