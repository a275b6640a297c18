//! Commands beyond the limits of their unit wait before anything is asked for them or of them.

use super::bench::{Initiator, answer, config, good, is_good, pattern, unsolicited};
use crate::lun::throttle::{Limit, Limits, Meter, Throttle, Throttling};
use crate::pdu::initiator::ScsiCommand;
use crate::pdu::target::TargetPdu;
use crate::scsi::command::{Outcome, TaskAttribute, TaskManagement, TaskManagementOutcome};
use crate::scsi::lun_address::LunAddress;
use crate::scsi::table::Table;
use crate::session::event::{Event, Leg, TaskId};
use crate::testing::RamDevice;
use bytes::Bytes;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Clerk(Mutex<Vec<Duration>>);

impl Meter for Clerk {
    fn throttled(&self, waited: Duration) {
        self.0.lock().unwrap().push(waited);
    }
}

/// A session whose LUN 0 has these limits, and no other.
struct Lab {
    initiator: Initiator,
    throttling: Arc<Throttling>,
    clerk: Arc<Clerk>,
}

impl Lab {
    fn new(limits: Limits) -> Self {
        let keys = "InitialR2T=No ImmediateData=Yes FirstBurstLength=4096 MaxBurstLength=65536";
        let mut initiator = Initiator::with(config(), keys);
        let throttling = Arc::new(Throttling::new(Table::<RamDevice>::toll));
        initiator.connection.set_throttling(Arc::clone(&throttling));
        let mut lab = Self { initiator, throttling, clerk: Arc::default() };
        lab.limit(limits);
        lab
    }

    /// One command a second.
    fn slow() -> Self {
        Self::new(Limits { iops: Some(Limit { rate: 1, burst: 1 }), ..Limits::NONE })
    }

    fn limit(&mut self, limits: Limits) {
        let clerk = self.clerk.clone();
        self.throttling.limit(0, self.initiator.now, limits, || Arc::new(Throttle::new(clerk)));
    }

    fn read(&mut self) -> ScsiCommand {
        with_opcode(0x28, self.initiator.read(512))
    }

    fn write(&mut self, length: u32) -> ScsiCommand {
        with_opcode(0x2a, self.initiator.write(length))
    }

    /// Sends a read that is let through at once.
    fn spend(&mut self) {
        let read = self.read();
        self.initiator.send(read);
        let (id, _) = self.initiator.execute();
        self.initiator.complete(id, good(vec![0; 512], 0));
        self.initiator.heard();
    }

    /// Sends a command that has to wait.
    fn waits(&mut self, command: &ScsiCommand) {
        self.initiator.send(command.clone());
        self.initiator.silence();
    }

    /// Lets time pass until something happens; tells how long that took, and which command goes on.
    fn next(&mut self) -> (Duration, TaskId, u32) {
        let begin = self.initiator.now;
        loop {
            if let Some(event) = self.initiator.connection.poll_event() {
                let Event::Execute(id, command) = event else { panic!("{event:?}") };
                return (self.initiator.now - begin, id, command.tag.0);
            }
            self.initiator.sleep();
        }
    }
}

fn with_opcode(opcode: u8, command: ScsiCommand) -> ScsiCommand {
    let mut cdb = [0; 16];
    cdb[0] = opcode;
    ScsiCommand { cdb: SmallVec::from_buf(cdb), ..command }
}

#[test]
fn the_second_in_a_second_waits_for_the_next() {
    let mut lab = Lab::slow();
    lab.spend();
    let (first, second) = (lab.read(), lab.read());
    lab.waits(&first);
    lab.waits(&second);
    let (waited, _, tag) = lab.next();
    assert_eq!((waited, tag), (SECOND, first.initiator_task_tag));
    let (waited, _, tag) = lab.next();
    assert_eq!((waited, tag), (SECOND, second.initiator_task_tag));
    assert_eq!(*lab.clerk.0.lock().unwrap(), [SECOND, SECOND * 2]);
}

#[test]
fn what_moves_no_blocks_and_what_is_for_others_goes_on() {
    let mut lab = Lab::slow();
    lab.spend();
    let read = lab.read();
    lab.waits(&read);
    for opcode in [0x00, 0x12, 0x35, 0x5e, 0xa0] {
        let command = with_opcode(opcode, lab.initiator.read(512));
        lab.initiator.send(command);
        lab.initiator.execute();
    }
    let other = ScsiCommand { lun: LunAddress::from_number(1), ..lab.read() };
    lab.initiator.send(other);
    lab.initiator.execute();
}

#[test]
fn no_r2t_for_who_waits() {
    let mut lab = Lab::slow();
    lab.spend();
    let data = pattern(10_000);
    let write = ScsiCommand {
        is_final: false,
        immediate_data: Bytes::copy_from_slice(&data[..1000]),
        ..lab.write(10_000)
    };
    lab.waits(&write);
    // Unsolicited data comes when it comes.
    lab.initiator.send(unsolicited(&write, 1000, &data[1000..4096], true));
    lab.initiator.silence();
    assert_eq!(lab.initiator.connection.gathered(), 4096);
    let mut waited = Duration::ZERO;
    let r2t = loop {
        waited += lab.initiator.sleep();
        match lab.initiator.heard().pop() {
            Some(TargetPdu::ReadyToTransfer(r2t)) => break r2t,
            None => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((waited, r2t.buffer_offset, r2t.desired_length), (SECOND, 4096, 5904));
    lab.initiator.send(answer(&r2t, &data));
    let (id, command) = lab.initiator.execute();
    assert_eq!(command.data_out.to_bytes(), data);
    lab.initiator.complete(id, good(vec![], 10_000));
    assert!(is_good(&lab.initiator.response()));
}

#[test]
fn an_abort_ends_who_waits_at_once() {
    let mut lab = Lab::slow();
    lab.spend();
    let (first, second) = (lab.read(), lab.read());
    lab.waits(&first);
    lab.waits(&second);
    let abort = lab.initiator.abort(&first);
    lab.initiator.send(abort);
    assert_eq!(lab.initiator.management_response(), 0);
    // It took nothing of what the other waits for.
    let (waited, _, tag) = lab.next();
    assert_eq!((waited, tag), (SECOND, second.initiator_task_tag));
}

#[test]
fn a_reset_ends_all_who_wait_at_once() {
    let mut lab = Lab::slow();
    lab.spend();
    for _ in 0..5 {
        let read = lab.read();
        lab.waits(&read);
    }
    let reset = lab.initiator.management(5);
    lab.initiator.send(reset);
    let (id, function) = lab.initiator.manage();
    assert!(matches!(function, TaskManagement::LogicalUnitReset { .. }));
    lab.initiator.connection.managed(lab.initiator.now, id, TaskManagementOutcome::Complete);
    assert_eq!(lab.initiator.management_response(), 0);
    lab.initiator.now += SECOND;
    lab.initiator.connection.handle_timeout(lab.initiator.now);
    // What came in meanwhile is there for the next.
    lab.spend();
    assert!(lab.clerk.0.lock().unwrap().is_empty());
}

#[test]
fn another_nexus_can_abort_who_waits() {
    let mut lab = Lab::slow();
    lab.spend();
    let read = lab.read();
    lab.waits(&read);
    assert_eq!(lab.initiator.connection.abort_held(|_| true, || Outcome::Aborted), 1);
}

#[test]
fn a_connection_that_goes_leaves_nobody_waiting() {
    let mut lab = Lab::slow();
    lab.spend();
    let read = lab.read();
    lab.waits(&read);
    drop(lab.initiator.connection.part(Leg::FIRST, lab.initiator.now));
    assert!(!lab.initiator.connection.has_orphans());
}

#[test]
fn ordered_commands_overtake_nobody_who_waits() {
    let mut lab = Lab::slow();
    lab.spend();
    let first = lab.read();
    lab.waits(&first);
    let ordered = ScsiCommand { attribute: TaskAttribute::Ordered, ..lab.initiator.command() };
    lab.waits(&ordered);
    let behind = lab.initiator.command();
    lab.waits(&behind);
    assert_eq!(lab.next().2, first.initiator_task_tag);
    assert_eq!(lab.initiator.execute().1.tag.0, ordered.initiator_task_tag);
    assert_eq!(lab.initiator.execute().1.tag.0, behind.initiator_task_tag);
}

#[test]
fn head_of_queue_commands_wait_before_all_others() {
    let mut lab = Lab::slow();
    lab.spend();
    let first = lab.read();
    lab.waits(&first);
    let urgent = ScsiCommand { attribute: TaskAttribute::HeadOfQueue, ..lab.read() };
    lab.waits(&urgent);
    assert_eq!(lab.next().2, urgent.initiator_task_tag);
    assert_eq!(lab.next().2, first.initiator_task_tag);
}

#[test]
fn who_waits_lends_the_window_a_place() {
    let mut lab = Lab::slow();
    lab.spend();
    let window = lab.initiator.connection.session().map(|_| config().command_window).unwrap();
    let before = lab.initiator.numbering.max_cmd_sn;
    for _ in 0..window {
        let read = lab.read();
        lab.waits(&read);
    }
    let nop = lab.initiator.nop(b"");
    lab.initiator.send(nop);
    lab.initiator.heard();
    assert_eq!(lab.initiator.numbering.max_cmd_sn, before.plus(window));
    // As many again may come, for any unit, and no more.
    for _ in 0..window {
        let other = ScsiCommand { lun: LunAddress::from_number(1), ..lab.read() };
        lab.initiator.send(other);
        lab.initiator.execute();
    }
    let beyond = lab.read();
    lab.waits(&beyond);
    let nop = lab.initiator.nop(b"");
    lab.initiator.send(nop);
    lab.initiator.heard();
    assert_eq!(lab.initiator.numbering.max_cmd_sn, before.plus(window));
    assert_eq!(lab.initiator.numbering.exp_cmd_sn, before.plus(window + 1));
    // Each end gives one place back, not two.
    for nth in 1..=window {
        let (_, id, _) = lab.next();
        lab.initiator.complete(id, good(vec![0; 512], 0));
        lab.initiator.heard();
        assert_eq!(lab.initiator.numbering.max_cmd_sn, before.plus(window), "{nth}");
    }
}

#[test]
fn limits_that_are_lifted_let_all_go() {
    let mut lab = Lab::slow();
    lab.spend();
    for _ in 0..10 {
        let read = lab.read();
        lab.waits(&read);
    }
    lab.limit(Limits::NONE);
    let read = lab.read();
    lab.initiator.send(read);
    lab.initiator.execute();
    for _ in 0..10 {
        let (waited, _, _) = lab.next();
        assert!(waited <= Duration::from_millis(20));
    }
}
