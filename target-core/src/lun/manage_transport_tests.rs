//! Task management, and what transports hold that the unit knows nothing of yet.

use crate::lun::notice::{AbortOrder, Listener, Notice};
use crate::lun::task_set::Abort;
use crate::scsi::asc;
use crate::scsi::command::{DeviceServer, Nexus, Outcome, TaskManagement, TaskManagementOutcome};
use crate::scsi::lun_address::LunAddress;
use crate::scsi::sense::{Asc, Status};
use crate::testing::{Bench, finish, nexus, poll};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll::Ready;
use std::task::Wake;

const LUN: LunAddress = LunAddress([0; 8]);

/// A transport that counts what wakes it.
#[derive(Default)]
struct Alarm(AtomicUsize);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn orders(listener: &Listener) -> Vec<AbortOrder> {
    let order = |notice| match notice {
        Notice::Abort(order) => order,
        Notice::Event { .. } => panic!("not expected: {notice:?}"),
    };
    listener.take().into_iter().map(order).collect()
}

const BY_OTHERS: [(TaskManagement, Asc); 4] = [
    (TaskManagement::ClearTaskSet { lun: LUN }, asc::COMMANDS_CLEARED_BY_ANOTHER_INITIATOR),
    (TaskManagement::LogicalUnitReset { lun: LUN }, asc::BUS_DEVICE_RESET_FUNCTION_OCCURRED),
    (TaskManagement::TargetWarmReset, asc::SCSI_BUS_RESET_OCCURRED),
    (TaskManagement::TargetColdReset, asc::POWER_ON_OCCURRED),
];

#[test]
fn functions_wait_until_transports_of_others_have_aborted_what_they_hold() {
    for (function, condition) in BY_OTHERS {
        for tas in [false, true] {
            let bench = Bench::new();
            let mut values = bench.unit.modes().get();
            values.tas = tas;
            bench.unit.modes().set(values);
            let other = nexus(2);
            bench.login(&other);
            let alarm = Arc::new(Alarm::default());
            let own = bench.target.listen(bench.nexus.id, Arc::clone(&alarm).into());
            let two = [0, 1].map(|_| bench.target.listen(other.id, Arc::clone(&alarm).into()));
            let mut managed = pin!(bench.target.manage(&bench.nexus, function));
            assert!(poll(managed.as_mut()).is_pending());
            assert_eq!(alarm.0.load(Ordering::SeqCst), 2, "the nexus itself knows what it asked for");
            assert!(own.take().is_empty());
            // What is told at the beginning is taken, so that what comes at the end can be seen.
            bench.unit.attentions().take(other.id, |_| true);
            let [first, second] = two.each_ref().map(|listener| orders(listener).remove(0));
            assert!(first.concerns(LUN) && !first.concerns(LunAddress::from_number(1)));
            assert_eq!(first.how(), if tas { Abort::TaskAborted } else { Abort::Silent });
            second.obeyed(0);
            assert!(poll(managed.as_mut()).is_pending());
            assert!(!bench.unit.attentions().is_pending(other.id), "it lost nothing");
            first.obeyed(3);
            assert_eq!(poll(managed.as_mut()), Ready(TaskManagementOutcome::Complete), "{function:?}");
            let told = bench.unit.attentions().take(other.id, |_| true);
            assert_eq!(told, (!tas).then_some(condition), "{function:?}");
        }
    }
}

#[test]
fn a_transport_that_goes_away_is_not_waited_for() {
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    let listener = bench.target.listen(other.id, Arc::new(Alarm::default()).into());
    let reset = TaskManagement::LogicalUnitReset { lun: LUN };
    let mut managed = pin!(bench.target.manage(&bench.nexus, reset));
    assert!(poll(managed.as_mut()).is_pending());
    drop(listener);
    assert_eq!(poll(managed.as_mut()), Ready(TaskManagementOutcome::Complete));
}

#[test]
fn functions_for_the_nexus_itself_ask_no_other() {
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    let listener = bench.target.listen(other.id, Arc::new(Alarm::default()).into());
    for function in [TaskManagement::AbortTaskSet { lun: LUN }, TaskManagement::ITNexusReset] {
        assert_eq!(finish(bench.target.manage(&bench.nexus, function)), TaskManagementOutcome::Complete);
        assert!(listener.take().is_empty());
    }
}

/// PREEMPT AND ABORT waits for the transport of the nexus that it preempts, and for no other.
#[test]
fn preempt_and_abort_reaches_what_transports_hold() {
    let bench = Bench::new();
    let (victim, bystander) = (nexus(2), nexus(3));
    bench.login(&victim);
    bench.login(&bystander);
    let parameters = |key: u64, service: u64| [key.to_be_bytes(), service.to_be_bytes(), [0; 8]].concat();
    let out = |action| [0x5f, action, 5, 0, 0, 0, 0, 0, 24, 0];
    bench.good(&out(0), &parameters(0, 0xa));
    bench.good(&out(1), &parameters(0xa, 0));
    assert_eq!(bench.run_as(&victim, &out(0), &parameters(0, 0xb)).status, Status::Good);
    let alarm = Arc::new(Alarm::default());
    let listen = |nexus: &Nexus| bench.target.listen(nexus.id, Arc::clone(&alarm).into());
    let (own, of_victim, of_bystander) = (listen(&bench.nexus), listen(&victim), listen(&bystander));
    let command = Bench::command(&out(5), &parameters(0xa, 0xb));
    let mut preempt = pin!(bench.target.execute(&bench.nexus, command));
    assert!(poll(preempt.as_mut()).is_pending());
    assert!(own.take().is_empty() && of_bystander.take().is_empty());
    let order = orders(&of_victim).remove(0);
    assert_eq!(order.how(), Abort::TaskAborted);
    order.obeyed(2);
    assert!(matches!(finish(preempt), Outcome::Done(response) if response.status == Status::Good));
}
