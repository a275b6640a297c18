use super::*;
use glint_cluster_core::forwarding::{Freshness, Patience};
use glint_cluster_core::membership::{BootId, Incarnation};
use glint_target_core::scsi::command::NexusId;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

fn node(name: &str) -> NodeId {
    NodeId::new(name).unwrap()
}

fn group(number: u16, state: AccessState) -> PortGroup {
    PortGroup { number, state, is_preferred: false, ports: vec![number] }
}

fn groups() -> (Arc<Groups>, Arc<Hub>, UnboundedReceiver<Tidings>) {
    let age = Duration::from_secs(1);
    let patience = Patience { hold: age, freshness: Freshness { age, drift: 10 } };
    let (tell, tidings) = unbounded_channel();
    let me = Incarnation { node: node("n1"), boot: BootId(1) };
    let hub = Hub::new(me, patience, tell, Box::new(|| NexusId(1)));
    (Groups::new("disk".into(), 1, &hub), hub, tidings)
}

#[test]
fn a_change_of_states_is_told_once_and_a_change_of_ports_is_none() {
    let (groups, _hub, _tidings) = groups();
    let states = |own, other| vec![(group(1, own), node("n1")), (group(2, other), node("n2"))];
    let (optimized, other) = (AccessState::ActiveOptimized, AccessState::ActiveNonOptimized);
    assert!(groups.set(states(optimized, other)));
    assert!(!groups.set(states(optimized, other)));
    let mut moved = states(optimized, other);
    moved[1].0.ports.push(7);
    assert!(!groups.set(moved));
    assert_eq!((groups.change(), groups.own(), groups.groups()[1].ports.len()), (Change::Implicit, 1, 2));
}

#[test]
fn an_initiator_moves_a_volume_to_a_node_that_can_have_it() {
    let (groups, _hub, mut tidings) = groups();
    groups.set(vec![
        (group(1, AccessState::ActiveOptimized), node("n1")),
        (group(2, AccessState::ActiveNonOptimized), node("n2")),
        (group(3, AccessState::Unavailable), node("n3")),
    ]);
    assert_eq!(groups.optimize(1), Ok(()), "it is there");
    assert!(groups.optimize(3).is_err() && groups.optimize(4).is_err());
    assert!(tidings.try_recv().is_err());
    assert_eq!(groups.optimize(2), Ok(()));
    assert!(
        matches!(tidings.try_recv(), Ok(Tidings::Move(volume, to)) if &*volume == "disk" && to == node("n2"))
    );
    groups.set(vec![(group(2, AccessState::ActiveOptimized), node("n2"))]);
    assert_eq!(groups.change(), Change::Explicit);
}
