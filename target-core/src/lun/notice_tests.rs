//! Who is told what, and when it counts as done.

use super::*;
use crate::scsi::asc;
use crate::testing::{finish, poll};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};

const ONE: NexusId = NexusId(1);
const TWO: NexusId = NexusId(2);

fn listen(notices: &Arc<Notices>, nexus: NexusId) -> Listener {
    notices.listen(nexus, Waker::noop().clone())
}

#[test]
fn an_event_is_told_once_to_each_nexus() {
    let notices = Arc::new(Notices::default());
    let listeners = [ONE, TWO, ONE].map(|nexus| listen(&notices, nexus));
    let lun = LunAddress::from_number(3);
    notices.announce(lun, asc::CAPACITY_DATA_HAS_CHANGED);
    notices.announce(lun, asc::REPORTED_LUNS_DATA_HAS_CHANGED);
    let told = listeners.each_ref().map(|listener| {
        let condition = |notice| match notice {
            Notice::Event { lun: told, condition } if told == lun => condition,
            other => panic!("not expected: {other:?}"),
        };
        listener.take().into_iter().map(condition).collect::<Vec<_>>()
    });
    let both = vec![asc::CAPACITY_DATA_HAS_CHANGED, asc::REPORTED_LUNS_DATA_HAS_CHANGED];
    assert_eq!(told, [both.clone(), both, vec![]]);
    assert!(listeners.iter().all(|listener| listener.take().is_empty()));
}

#[test]
fn an_order_counts_as_obeyed_when_all_have_said_so_or_are_gone() {
    let notices = Arc::new(Notices::default());
    let [first, second, other] = [ONE, ONE, TWO].map(|nexus| listen(&notices, nexus));
    let told = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&told);
    let order = || {
        let count = Arc::clone(&count);
        let silenced = move |nexus: NexusId| {
            count.fetch_add(nexus.0, Ordering::SeqCst);
        };
        notices.abort(7, |nexus| (nexus == ONE).then_some(Abort::Silent), silenced)
    };
    let obeyed = order();
    assert!(other.take().is_empty());
    let mut all = pin!(obeyed.all());
    assert!(poll(all.as_mut()).is_pending());
    drop(first);
    assert!(poll(all.as_mut()).is_pending());
    match second.take().remove(0) {
        Notice::Abort(order) => order.obeyed(1),
        other => panic!("not expected: {other:?}"),
    }
    assert!(poll(all.as_mut()).is_ready());
    assert_eq!(told.load(Ordering::SeqCst), 1);
    // Taken and forgotten.
    let obeyed = order();
    drop(second.take());
    finish(obeyed.all());
    // Nobody is there.
    drop(second);
    finish(order().all());
    assert_eq!(told.load(Ordering::SeqCst), 1);
}
