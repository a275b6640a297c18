//! Task attributes of commands whose data is still coming.

use super::bench::{Initiator, answer, pattern};
use crate::pdu::initiator::ScsiCommand;
use crate::scsi::command::TaskAttribute;
use crate::scsi::lun_address::LunAddress;

fn ordered(command: ScsiCommand) -> ScsiCommand {
    ScsiCommand { attribute: TaskAttribute::Ordered, ..command }
}

fn executed(initiator: &mut Initiator) -> u32 {
    initiator.execute().1.tag.0
}

#[test]
fn a_simple_command_overtakes_a_write_that_waits() {
    let mut initiator = Initiator::new();
    let (write, read) = (initiator.write(4096), initiator.read(512));
    initiator.send(write);
    let r2t = initiator.r2t();
    initiator.send(read.clone());
    assert_eq!(executed(&mut initiator), read.initiator_task_tag);
    initiator.send(answer(&r2t, &pattern(4096)));
    assert_eq!(executed(&mut initiator), r2t.initiator_task_tag);
}

#[test]
fn an_ordered_command_does_not_and_is_not_overtaken() {
    let mut initiator = Initiator::new();
    let write = initiator.write(4096);
    let barrier = ordered(initiator.read(512));
    let after = initiator.read(512);
    let urgent = ScsiCommand { attribute: TaskAttribute::HeadOfQueue, ..initiator.read(512) };
    let elsewhere = ScsiCommand { lun: LunAddress::from_number(1), ..initiator.read(512) };
    initiator.send(write.clone());
    let r2t = initiator.r2t();
    initiator.send(barrier.clone());
    initiator.send(after.clone());
    initiator.silence();
    initiator.send(urgent.clone());
    assert_eq!(executed(&mut initiator), urgent.initiator_task_tag);
    initiator.send(elsewhere.clone());
    assert_eq!(executed(&mut initiator), elsewhere.initiator_task_tag);
    initiator.silence();
    initiator.send(answer(&r2t, &pattern(4096)));
    for command in [write, barrier, after] {
        assert_eq!(executed(&mut initiator), command.initiator_task_tag);
    }
    // All is as before.
    let read = initiator.read(512);
    initiator.send(read.clone());
    assert_eq!(executed(&mut initiator), read.initiator_task_tag);
}

#[test]
fn an_abort_lets_those_go_that_waited() {
    let mut initiator = Initiator::new();
    let write = initiator.write(4096);
    let barrier = ordered(initiator.read(512));
    initiator.send(write.clone());
    initiator.r2t();
    initiator.send(barrier.clone());
    initiator.silence();
    let abort = initiator.abort(&write);
    initiator.send(abort);
    assert_eq!(initiator.management_response(), 0);
    assert_eq!(executed(&mut initiator), barrier.initiator_task_tag);
}

#[test]
fn one_that_waits_can_be_aborted() {
    let mut initiator = Initiator::new();
    let write = initiator.write(4096);
    let barrier = ordered(initiator.read(512));
    let after = initiator.read(512);
    initiator.send(write);
    let r2t = initiator.r2t();
    initiator.send(barrier.clone());
    initiator.send(after.clone());
    initiator.silence();
    let abort = initiator.abort(&barrier);
    initiator.send(abort);
    assert_eq!(initiator.management_response(), 0);
    assert_eq!(executed(&mut initiator), after.initiator_task_tag);
    initiator.send(answer(&r2t, &pattern(4096)));
    assert_eq!(executed(&mut initiator), r2t.initiator_task_tag);
}

#[test]
fn it_waits_under_all_names_of_the_unit() {
    let mut initiator = Initiator::new();
    let write = initiator.write(4096);
    let flat = LunAddress([0x40, 0, 0, 0, 0, 0, 0, 0]);
    let barrier = ScsiCommand { lun: flat, ..ordered(initiator.read(512)) };
    initiator.send(write);
    let r2t = initiator.r2t();
    initiator.send(barrier.clone());
    initiator.silence();
    initiator.send(answer(&r2t, &pattern(4096)));
    assert_eq!(executed(&mut initiator), r2t.initiator_task_tag);
    assert_eq!(executed(&mut initiator), barrier.initiator_task_tag);
}
