//! What another nexus does to commands that have not been run, and what we say unasked.

use super::bench::{CID, Initiator, answer, config, good, is_good, pattern, unsolicited};
use crate::pdu::fields::RESERVED_TAG;
use crate::pdu::initiator::ScsiCommand;
use crate::pdu::target::{AsyncMessage, TargetPdu};
use crate::scsi::asc;
use crate::scsi::command::{Outcome, Response, TaskAttribute};
use crate::scsi::lun_address::LunAddress;
use crate::scsi::sense::{Sense, SenseKey, Status};
use crate::session::config::ConnectionConfig;
use crate::session::connection::Ending;
use crate::session::event::{CloseReason, Event, Leg};
use proptest::prelude::*;
use std::time::Duration;

const UNIT: LunAddress = LunAddress([0; 8]);
const OTHER_UNIT: LunAddress = LunAddress([0, 1, 0, 0, 0, 0, 0, 0]);

fn silent() -> Outcome {
    Outcome::Aborted
}

fn told() -> Outcome {
    Outcome::Done(Response::of(Status::TaskAborted))
}

/// The end of commands of `UNIT`, in the way of `outcome`.
fn abort(initiator: &mut Initiator, outcome: fn() -> Outcome) -> usize {
    initiator.connection.abort_held(|lun| lun == UNIT, outcome)
}

/// Places in the window that are taken.
fn in_use(initiator: &mut Initiator) -> u32 {
    let ping = initiator.nop(b"");
    initiator.send(ping);
    initiator.only();
    initiator.cmd_sn.wrapping_add(15).wrapping_sub(initiator.numbering.max_cmd_sn.0)
}

#[test]
fn data_that_is_on_its_way_is_thrown_away() {
    let mut initiator = Initiator::new();
    let (solicited, gathering) = (initiator.write(8192), initiator.write(8192));
    let gathering = ScsiCommand { is_final: false, ..gathering };
    initiator.send(solicited);
    let r2t = initiator.r2t();
    initiator.send(gathering.clone());
    initiator.send(unsolicited(&gathering, 0, &pattern(4096), false));
    // With what keeps it company in the receive buffers.
    assert!((4096..8192).contains(&initiator.connection.gathered()));
    assert_eq!(abort(&mut initiator, silent), 2);
    assert_eq!(initiator.connection.gathered(), 0);
    initiator.silence();
    initiator.send(answer(&r2t, &pattern(8192)));
    let rest =
        crate::pdu::initiator::DataOut { data_sn: 1, ..unsolicited(&gathering, 4096, &pattern(4096), true) };
    initiator.send(rest);
    initiator.silence();
    assert_eq!(in_use(&mut initiator), 0);
    // The tags are free.
    let again = ScsiCommand { initiator_task_tag: gathering.initiator_task_tag, ..initiator.read(512) };
    initiator.send(again);
    initiator.execute();
}

#[test]
fn with_tas_each_ends_with_task_aborted() {
    let mut initiator = Initiator::new();
    let writes: Vec<_> = (0..2).map(|_| initiator.write(4096)).collect();
    for write in &writes {
        initiator.send(write.clone());
        initiator.r2t();
    }
    assert_eq!(abort(&mut initiator, told), 2);
    let ended: Vec<_> = initiator
        .heard()
        .into_iter()
        .map(|pdu| match pdu {
            TargetPdu::ScsiResponse(it) => (it.initiator_task_tag, it.status),
            other => panic!("expected a response, not {other:?}"),
        })
        .collect();
    assert_eq!(ended, writes.iter().map(|it| (it.initiator_task_tag, 0x40)).collect::<Vec<_>>());
    assert_eq!(in_use(&mut initiator), 0);
}

#[test]
fn other_units_what_runs_and_what_is_not_due_stay() {
    let mut initiator = Initiator::new();
    let running = initiator.read(512);
    initiator.send(running);
    let (id, _) = initiator.execute();
    let elsewhere = ScsiCommand { lun: OTHER_UNIT, ..initiator.write(4096) };
    initiator.send(elsewhere);
    let r2t = initiator.r2t();
    let (missing, early) = (initiator.read(512), initiator.write(4096));
    initiator.send(early);
    assert_eq!(abort(&mut initiator, silent), 0);
    initiator.complete(id, good(pattern(512), 0));
    assert!(matches!(initiator.only(), TargetPdu::DataIn(_)));
    initiator.send(answer(&r2t, &pattern(4096)));
    assert_eq!(initiator.execute().1.lun, OTHER_UNIT);
    initiator.send(missing);
    initiator.execute();
    initiator.r2t();
}

#[test]
fn what_waits_for_the_driver_or_for_an_ordered_command_ends_too() {
    let mut initiator = Initiator::new();
    let (first, second) = (initiator.write(4096), initiator.read(512));
    let ordered = ScsiCommand { attribute: TaskAttribute::Ordered, ..initiator.read(512) };
    let elsewhere = ScsiCommand { lun: OTHER_UNIT, ..initiator.read(512) };
    initiator.send(first);
    initiator.r2t();
    for command in [second, ordered, elsewhere] {
        initiator.send(command);
    }
    // The driver has taken neither the read nor the one of the other unit; the ordered one waits for the write.
    assert_eq!(abort(&mut initiator, told), 3);
    assert_eq!(initiator.heard().len(), 3);
    assert_eq!(initiator.execute().1.lun, OTHER_UNIT);
    initiator.silence();
    assert_eq!(in_use(&mut initiator), 1);
}

#[test]
fn the_budget_of_what_is_aborted_is_free_for_others() {
    let tight = ConnectionConfig { data_out_budget: 4096, ..config() };
    let mut initiator = Initiator::with(tight, "InitialR2T=Yes");
    let (first, waiting) = (initiator.write(4096), ScsiCommand { lun: OTHER_UNIT, ..initiator.write(4096) });
    initiator.send(first);
    initiator.r2t();
    initiator.send(waiting);
    initiator.silence();
    assert_eq!(abort(&mut initiator, silent), 1);
    assert_eq!(initiator.r2t().lun, OTHER_UNIT);
}

/// An overlapped command (SAM-5 5.11) is refused by the transport (RFC 7143 §11.17.1), and the one before it goes on.
#[test]
fn an_overlapped_command_leaves_the_first_alone() {
    let mut initiator = Initiator::new();
    let write = initiator.write(4096);
    initiator.send(write.clone());
    let r2t = initiator.r2t();
    for lun in [UNIT, OTHER_UNIT] {
        let overlapped =
            ScsiCommand { lun, initiator_task_tag: write.initiator_task_tag, ..initiator.read(512) };
        initiator.send(overlapped);
        assert_eq!(initiator.rejected(), 0x07);
    }
    initiator.send(answer(&r2t, &pattern(4096)));
    let (id, _) = initiator.execute();
    initiator.complete(id, good(vec![], 4096));
    assert!(is_good(&initiator.response()));
    assert_eq!(in_use(&mut initiator), 0);
}

fn message(initiator: &mut Initiator) -> AsyncMessage {
    match initiator.only() {
        TargetPdu::AsyncMessage(message) => message,
        other => panic!("expected a message, not {other:?}"),
    }
}

#[test]
fn an_event_carries_its_unit_and_its_sense() {
    let mut initiator = Initiator::new();
    let sense = Sense::new(SenseKey::UnitAttention, asc::REPORTED_LUNS_DATA_HAS_CHANGED);
    initiator.connection.report_event(OTHER_UNIT, &sense);
    let message = message(&mut initiator);
    assert_eq!((message.event, message.lun, message.parameters), (0, OTHER_UNIT, [0; 3]));
    let length = usize::from(u16::from_be_bytes([message.data[0], message.data[1]]));
    let sense = &message.data[2..];
    assert_eq!(sense.len(), length);
    assert_eq!((sense[0] & 0x7f, sense[2], sense[12], sense[13]), (0x70, 0x06, 0x3f, 0x0e));
    // Not to those who are leaving, or have no logical units.
    let command = initiator.read(512);
    initiator.send(command);
    initiator.execute();
    let logout = initiator.logout(0);
    initiator.send(logout);
    let condition = Sense::new(SenseKey::UnitAttention, asc::CAPACITY_DATA_HAS_CHANGED);
    initiator.connection.report_event(UNIT, &condition);
    initiator.silence();
    let mut discovery = Initiator::discovery();
    discovery.connection.report_event(UNIT, &condition);
    discovery.silence();
}

#[test]
fn the_end_of_a_connection_or_session_is_told_before() {
    for (ending, event, cid) in [(Ending::Connection, 2, CID), (Ending::Session, 3, 0)] {
        let mut initiator = Initiator::new();
        initiator.connection.drop_out(ending);
        let message = message(&mut initiator);
        assert_eq!((message.event, message.parameters), (event, [cid, 2, 20]));
        assert_eq!(initiator.closed(), CloseReason::Driver);
        initiator.connection.drop_out(ending);
        initiator.silence();
    }
    let mut nobody = Initiator::connected(config());
    nobody.connection.drop_out(Ending::Session);
    assert_eq!(nobody.heard(), []);
    assert_eq!(nobody.closed(), CloseReason::Driver);
}

#[test]
fn who_does_not_answer_a_ping_is_told_the_end_of_the_connection() {
    let mut initiator = Initiator::new();
    initiator.sleep();
    initiator.heard();
    assert_eq!(initiator.sleep(), Duration::from_secs(10));
    let message = message(&mut initiator);
    assert_eq!((message.event, message.parameters), (2, [CID, 2, 20]));
    assert_eq!(initiator.closed(), CloseReason::NopTimeout);
}

#[test]
fn a_logout_is_asked_for_once() {
    let mut initiator = Initiator::new();
    initiator.connection.request_logout(Leg::FIRST, initiator.now, 3);
    assert_eq!(message(&mut initiator).event, 1);
    initiator.now += Duration::from_secs(2);
    initiator.connection.request_logout(Leg::FIRST, initiator.now, 3);
    initiator.silence();
    assert_eq!(initiator.sleep(), Duration::from_secs(1));
    assert_eq!(message(&mut initiator).event, 3);
}

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
enum Step {
    Read {
        unit: bool,
        ordered: bool,
    },
    Write {
        unit: bool,
        unsolicited: bool,
    },
    /// The oldest R2T is answered.
    Answer,
    /// The driver runs what it is asked to.
    Run,
    Abort {
        tas: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (any::<bool>(), any::<bool>()).prop_map(|(unit, ordered)| Step::Read { unit, ordered }),
        (any::<bool>(), any::<bool>()).prop_map(|(unit, unsolicited)| Step::Write { unit, unsolicited }),
        Just(Step::Answer),
        Just(Step::Run),
        any::<bool>().prop_map(|tas| Step::Abort { tas }),
    ]
}

struct Play {
    initiator: Initiator,
    /// Data-out that is owed.
    owed: Vec<crate::pdu::initiator::DataOut>,
    answered: Vec<u32>,
    sent: Vec<u32>,
    silenced: usize,
}

impl Play {
    fn lun(unit: bool) -> LunAddress {
        if unit { UNIT } else { OTHER_UNIT }
    }

    fn hear(&mut self) {
        for pdu in self.initiator.heard() {
            match pdu {
                TargetPdu::ReadyToTransfer(r2t) => self.owed.push(answer(&r2t, &pattern(8192))),
                TargetPdu::ScsiResponse(it) => self.answered.push(it.initiator_task_tag),
                TargetPdu::DataIn(it) => self.answered.push(it.initiator_task_tag),
                other => panic!("not expected: {other:?}"),
            }
        }
    }

    fn run(&mut self) {
        while let Some(event) = self.initiator.connection.poll_event() {
            let Event::Execute(id, command) = event else { panic!("not expected: {event:?}") };
            let data_in = pattern(command.data_in_room as usize);
            self.initiator.complete(id, good(data_in, command.data_out.len() as u64));
        }
    }

    fn step(&mut self, step: Step) {
        // No more than the window holds.
        let room = in_use_by(&self.initiator) < 16;
        match step {
            Step::Read { unit, ordered } if room => {
                let attribute = if ordered { TaskAttribute::Ordered } else { TaskAttribute::Simple };
                let read = ScsiCommand { lun: Self::lun(unit), attribute, ..self.initiator.read(512) };
                self.sent.push(read.initiator_task_tag);
                self.initiator.send(read);
            }
            Step::Write { unit, unsolicited: unasked } if room => {
                let write =
                    ScsiCommand { lun: Self::lun(unit), is_final: !unasked, ..self.initiator.write(8192) };
                self.sent.push(write.initiator_task_tag);
                if unasked {
                    self.owed.push(unsolicited(&write, 0, &pattern(8192), true));
                }
                self.initiator.send(write);
            }
            Step::Answer if !self.owed.is_empty() => {
                let data = self.owed.remove(0);
                assert!(data.target_transfer_tag == RESERVED_TAG || data.is_final);
                self.initiator.send(data);
            }
            Step::Run => self.run(),
            Step::Abort { tas } => {
                let count = abort(&mut self.initiator, if tas { told } else { silent });
                self.silenced += if tas { 0 } else { count };
            }
            Step::Read { .. } | Step::Write { .. } | Step::Answer => {}
        }
        self.hear();
    }
}

fn in_use_by(initiator: &Initiator) -> u32 {
    match initiator.numbering == crate::pdu::target::Numbering::default() {
        true => 0,
        false => initiator.cmd_sn.wrapping_add(15).wrapping_sub(initiator.numbering.max_cmd_sn.0),
    }
}

proptest! {
    /// Wherever an abort comes, each command has one end, and nothing is held when all have had theirs.
    #[test]
    fn nothing_is_left_of_what_is_aborted(steps in proptest::collection::vec(step(), 1..80)) {
        let initiator = Initiator::new();
        let mut play = Play { initiator, owed: vec![], answered: vec![], sent: vec![], silenced: 0 };
        steps.into_iter().for_each(|step| play.step(step));
        while !play.owed.is_empty() {
            play.step(Step::Answer);
        }
        play.step(Step::Run);
        let mut once = play.answered.clone();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), play.answered.len());
        prop_assert_eq!(play.answered.len() + play.silenced, play.sent.len());
        prop_assert_eq!(play.initiator.connection.gathered(), 0);
        prop_assert_eq!(in_use(&mut play.initiator), 0);
    }
}
