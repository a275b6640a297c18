use super::*;
use crate::cluster::clock;
use futures_util::FutureExt;
use glint_cluster_core::forwarding::Freshness;
use glint_cluster_core::membership::{BootId, NodeId};
use glint_cluster_core::ownership::Route;
use glint_target_core::payload::Payload;
use glint_target_core::scsi::command::{Cdb, TaskAttribute};
use glint_target_core::scsi::lun_address::LunAddress;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const HOLD: Duration = Duration::from_secs(5);

fn hub() -> Arc<Hub> {
    let me = Incarnation { node: NodeId::new("n1").unwrap(), boot: BootId(1) };
    let patience = Patience { hold: HOLD, freshness: Freshness { age: Duration::from_secs(1), drift: 10 } };
    let (tidings, _) = tokio::sync::mpsc::unbounded_channel();
    let next = AtomicU64::new(1000);
    let hub =
        Hub::new(me, patience, tidings, Box::new(move || NexusId(next.fetch_add(1, Ordering::Relaxed))));
    hub.standing().set_until(Some(clock::now() + Duration::from_secs(60)));
    hub
}

fn waiting(tag: u32, class: Class) -> Waiting {
    let nexus = Nexus {
        id: NexusId(1),
        initiator_name: "iqn.2026-12.io.example:one".into(),
        isid: [0; 6],
        target_name: "iqn.2026-12.io.example:disk".into(),
        portal_group_tag: 1,
        relative_port: 1,
        proofs: Vec::new(),
    };
    let command = Command {
        lun: LunAddress::from_number(0),
        tag: TaskTag(tag),
        attribute: TaskAttribute::Simple,
        priority: 0,
        cdb: Cdb([0x2a, 0, 0, 0, 0, 0, 0, 0, 0, 0][..].into()),
        data_out: Payload::new(),
        data_out_beyond: 0,
        data_in_room: 0,
    };
    Waiting { nexus: Arc::new(nexus), command, since: clock::now(), class, is_repeatable: false }
}

fn to(route: Route) -> Routes {
    Routes { probe: route.clone(), medium: route }
}

fn step(place: &mut Place<'_>) -> Option<Step> {
    place.next().now_or_never()
}

#[test]
fn a_command_waits_until_there_is_an_owner() {
    let (hub, outbound) = (hub(), Outbound::new(hub().patience()));
    let mut place = outbound.arrive(&hub, &Routes::default(), waiting(1, Class::Medium));
    assert!(step(&mut place).is_none() && outbound.waits());
    assert!(outbound.go_on(&hub, &Routes::default()), "it waits for ownership");
    assert!(!outbound.go_on(&hub, &to(Route::Here(Epoch(3)))));
    assert!(matches!(step(&mut place), Some(Step::Execute)));
}

#[test]
fn what_only_asks_has_nobody_take_over() {
    let (hub, outbound) = (hub(), Outbound::new(hub().patience()));
    let mut place = outbound.arrive(&hub, &Routes::default(), waiting(1, Class::Probe));
    assert!(!outbound.go_on(&hub, &Routes::default()));
    assert!(!outbound.go_on(&hub, &Routes { probe: Route::Local, medium: Route::Wait }));
    assert!(matches!(step(&mut place), Some(Step::Local)));
}

#[test]
fn nothing_goes_anywhere_after_a_lapse() {
    let (hub, outbound) = (hub(), Outbound::new(hub().patience()));
    hub.standing().set_until(None);
    let mut place = outbound.arrive(&hub, &to(Route::Here(Epoch(3))), waiting(1, Class::Medium));
    assert!(matches!(step(&mut place), Some(Step::NotReady(Reason::Unavailable))));
}

#[test]
fn a_command_does_not_wait_for_ever() {
    let (hub, outbound) = (hub(), Outbound::new(hub().patience()));
    let old = Waiting { since: clock::now() - HOLD, ..waiting(1, Class::Medium) };
    let mut place = outbound.arrive(&hub, &Routes::default(), old);
    assert!(matches!(step(&mut place), Some(Step::NotReady(Reason::Transitioning))));
}

#[test]
fn what_waits_is_aborted_by_its_tag_or_all_of_it() {
    let (hub, outbound) = (hub(), Outbound::new(hub().patience()));
    let arrive = |tag| outbound.arrive(&hub, &Routes::default(), waiting(tag, Class::Medium));
    let mut places = [arrive(1), arrive(2), arrive(3)];
    assert_eq!(outbound.abort(NexusId(2), None), (0, false), "of another nexus");
    assert_eq!(outbound.abort(NexusId(1), Some(TaskTag(2))), (1, false));
    assert_eq!(outbound.abort(NexusId(1), Some(TaskTag(2))), (0, false));
    let steps = places.each_mut().map(step);
    assert!(matches!(steps, [None, Some(Step::Answer(Outcome::Aborted)), None]));
    assert_eq!(outbound.abort(NexusId(1), None), (2, false));
    assert!(!outbound.waits());
}

#[test]
fn a_command_whose_session_has_gone_is_forgotten() {
    let (hub, outbound) = (hub(), Outbound::new(hub().patience()));
    let place = outbound.arrive(&hub, &Routes::default(), waiting(1, Class::Medium));
    drop(place);
    assert!(!outbound.waits());
    assert_eq!(outbound.abort(NexusId(1), None), (0, false));
}
