//! CmdSN order and window.

use super::bench::{Initiator, good, is_good, pattern, unsolicited};
use crate::pdu::fields::Serial;
use crate::pdu::initiator::{NopOut, ScsiCommand, TextRequest};
use crate::pdu::target::TargetPdu;
use crate::session::event::Leg;

#[test]
fn commands_have_their_turn_in_order() {
    let mut initiator = Initiator::new();
    let commands: Vec<_> = (0..4).map(|_| initiator.read(512)).collect();
    // The CmdSNs of these wrap.
    assert!(commands[3].cmd_sn.0 < commands[0].cmd_sn.0);
    for at in [2, 1, 3] {
        initiator.send(commands[at].clone());
        initiator.silence();
    }
    initiator.send(commands[0].clone());
    for command in &commands {
        assert_eq!(initiator.execute().1.tag.0, command.initiator_task_tag);
    }
    initiator.silence();
}

#[test]
fn an_early_write_takes_its_unsolicited_data_meanwhile() {
    let mut initiator = Initiator::new();
    let first = initiator.read(512);
    let write = ScsiCommand { is_final: false, ..initiator.write(4096) };
    let ping = NopOut { immediate: false, cmd_sn: initiator.take_cmd_sn(), ..initiator.nop(b"third") };
    initiator.send(ping);
    initiator.send(write.clone());
    initiator.send(unsolicited(&write, 0, &pattern(4096), true));
    initiator.silence();
    initiator.send(first.clone());
    assert_eq!(initiator.execute().1.tag.0, first.initiator_task_tag);
    assert_eq!(initiator.execute().1.data_out.to_bytes(), pattern(4096));
    assert!(matches!(initiator.only(), TargetPdu::NopIn(nop) if &*nop.data == b"third"));
    assert_eq!(initiator.numbering.exp_cmd_sn, Serial(initiator.cmd_sn));
}

#[test]
fn duplicates_and_strangers_to_the_window_are_ignored() {
    let mut initiator = Initiator::new();
    let first = initiator.read(512);
    initiator.send(first.clone());
    let (id, _) = initiator.execute();
    // The same number again, whatever carries it.
    initiator.send(ScsiCommand { initiator_task_tag: 99, ..first.clone() });
    initiator.send(first.clone());
    initiator.silence();
    initiator.complete(id, good(pattern(512), 0));
    initiator.heard();
    // One beyond MaxCmdSN.
    let beyond = ScsiCommand { cmd_sn: initiator.numbering.max_cmd_sn.plus(1), ..first.clone() };
    initiator.send(beyond);
    initiator.silence();
    // Early, and early again.
    let (second, third) = (initiator.read(512), initiator.read(512));
    initiator.send(third.clone());
    initiator.send(third.clone());
    initiator.silence();
    initiator.send(second);
    initiator.execute();
    initiator.execute();
    initiator.silence();
}

#[test]
fn the_window_opens_as_commands_end() {
    let mut initiator = Initiator::new();
    let mut running = Vec::new();
    for _ in 0..16 {
        let command = initiator.command();
        initiator.send(command);
        running.push(initiator.execute().0);
    }
    // The seventeenth is one too many.
    let last = initiator.command();
    initiator.send(last.clone());
    initiator.silence();
    // An immediate command needs no place, and takes none.
    let ping = initiator.nop(b"");
    initiator.send(ping);
    initiator.only();
    assert_eq!(initiator.numbering.exp_cmd_sn, last.cmd_sn);
    assert_eq!(initiator.numbering.max_cmd_sn.plus(1), last.cmd_sn);
    for (ended, id) in running.into_iter().enumerate() {
        initiator.complete(id, good(vec![], 0));
        assert!(is_good(&initiator.response()));
        assert_eq!(initiator.numbering.max_cmd_sn, last.cmd_sn.plus(ended as u32));
    }
    initiator.send(last);
    initiator.execute();
}

#[test]
fn immediate_commands_do_not_advance() {
    let mut initiator = Initiator::new();
    let urgent = ScsiCommand { immediate: true, ..initiator.command() };
    initiator.send(urgent.clone());
    let (id, _) = initiator.execute();
    initiator.complete(id, good(vec![], 0));
    assert!(is_good(&initiator.response()));
    assert_eq!(initiator.numbering.exp_cmd_sn, urgent.cmd_sn);
    assert_eq!(initiator.numbering.max_cmd_sn, urgent.cmd_sn.plus(15));
    let usual = ScsiCommand { cmd_sn: urgent.cmd_sn, ..initiator.command() };
    initiator.send(usual);
    initiator.execute();
}

#[test]
fn too_many_immediate_commands_are_refused() {
    let mut initiator = Initiator::new();
    for _ in 0..32 {
        let urgent = ScsiCommand { immediate: true, ..initiator.command() };
        initiator.send(urgent);
        initiator.execute();
    }
    let urgent = ScsiCommand { immediate: true, ..initiator.command() };
    initiator.send(urgent);
    assert_eq!(initiator.rejected(), 0x06);
}

#[test]
fn a_tag_in_use_is_refused_and_its_number_used_up() {
    let mut initiator = Initiator::new();
    let first = initiator.read(512);
    initiator.send(first.clone());
    initiator.execute();
    let second = ScsiCommand { initiator_task_tag: first.initiator_task_tag, ..initiator.read(512) };
    initiator.send(second);
    assert_eq!(initiator.rejected(), 0x07);
    assert_eq!(initiator.numbering.exp_cmd_sn, Serial(initiator.cmd_sn));
    // Early ones are refused at once, too, and leave no gap.
    let (third, fourth) = (initiator.read(512), initiator.read(512));
    initiator.send(ScsiCommand { initiator_task_tag: first.initiator_task_tag, ..fourth });
    assert_eq!(initiator.rejected(), 0x07);
    initiator.send(third.clone());
    assert_eq!(initiator.execute().1.tag.0, third.initiator_task_tag);
    let fifth = initiator.read(512);
    initiator.send(fifth.clone());
    assert_eq!(initiator.execute().1.tag.0, fifth.initiator_task_tag);
}

#[test]
fn what_waits_for_its_turn_keeps_no_receive_buffer() {
    for mut initiator in [Initiator::new(), Initiator::discovery()] {
        let before = initiator.connection.gathered();
        // Another before them is missing.
        initiator.take_cmd_sn();
        let nop = NopOut { immediate: false, cmd_sn: initiator.take_cmd_sn(), ..initiator.nop(&[7; 100]) };
        let text = initiator.text("SendTargets=All");
        let text = TextRequest { immediate: false, cmd_sn: initiator.take_cmd_sn(), ..text };
        let write = ScsiCommand { immediate_data: pattern(2000).into(), ..initiator.write(2000) };
        let mut input = initiator.bytes(nop);
        input.extend_from_slice(&initiator.bytes(text));
        input.extend_from_slice(&initiator.bytes(write));
        let size = input.len();
        initiator.connection.receive(Leg::FIRST, initiator.now, &mut input);
        assert!(input.is_empty());
        assert!(input.try_reclaim(size), "the buffer is in use");
        assert_eq!(initiator.connection.gathered() - before, 100 + "SendTargets=All\0".len() + 2000);
    }
}
