//! What writes that are not complete may cost, and that it costs nobody more who keeps to the rules.

use super::stage::{READ, Stage};
use super::{WRITE, write};
use crate::server::limits::Limits;
use glint_target_core::pdu::initiator::InitiatorPdu;
use glint_target_core::pdu::target::TargetPdu;
use glint_testkit::initiator::{GOOD, Initiator};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// Sends a write command and its unsolicited data without the last byte, if the target takes it.
fn begin_write(initiator: &mut Initiator, length: u32) -> io::Result<()> {
    let command = initiator.prepare_write(&WRITE, length, true);
    let data = initiator.unsolicited(command.initiator_task_tag, 0, &vec![0; length as usize - 1], false);
    initiator.try_send(&InitiatorPdu::ScsiCommand(command))?;
    initiator.try_send(&data)
}

#[test]
fn writes_that_are_never_completed_cost_no_more_than_the_limit() {
    const LIMIT: usize = 4 << 20;
    let stage = Stage::with(Limits::default(), LIMIT, Duration::from_secs(30));
    let mut good = stage.session(1);
    let hoarders: Vec<_> = (2..=9)
        .map(|isid| {
            let mut initiator = stage.session(isid);
            // 4 MiB each, all but the last byte of every burst, until it is shown out or waits for too long.
            std::thread::spawn(move || {
                initiator.socket().set_write_timeout(Some(Duration::from_secs(2))).unwrap();
                (0..60).try_for_each(|_| begin_write(&mut initiator, 64 << 10))
            })
        })
        .collect();
    let mut most = 0;
    while hoarders.iter().any(|hoarder| !hoarder.is_finished()) {
        assert_eq!(good.run(&READ, 4096).status, GOOD);
        most = most.max(stage.node.gathering.total());
    }
    // What one read brings comes on top, for each.
    assert!((LIMIT / 2..=2 * LIMIT + 9 * (512 << 10)).contains(&most), "{most} bytes were held");
    drop(hoarders);
    assert_eq!(write(&mut good, 64 << 10), GOOD);
    drop(good);
    stage.until("all is given back", |stage| stage.node.gathering.total() == 0);
}

/// Writes of `length` that wait to be asked for, all at once.
fn begin_writes(initiator: &mut Initiator, commands: usize, length: u32) {
    for _ in 0..commands {
        initiator.write_command(&WRITE, length, false);
    }
}

/// Sends what it is asked for until so many commands have ended; gives how many ended well before the peer closed or said something else.
fn send_as_asked(initiator: &mut Initiator, commands: usize, length: u32) -> usize {
    let data = vec![0; length as usize];
    let mut good = 0;
    while good < commands {
        match initiator.receive() {
            Some(TargetPdu::ReadyToTransfer(r2t)) => initiator.answer(&r2t, &data),
            Some(TargetPdu::ScsiResponse(response)) if response.status == GOOD => good += 1,
            _ => break,
        }
    }
    good
}

/// Twelve times as much as their connections alone would let them be asked for.
#[test]
fn who_sends_what_was_asked_for_is_never_cut_off() {
    const LIMIT: usize = 8 << 20;
    const COMMANDS: usize = 12;
    let stage = Stage::with(Limits::default(), LIMIT, Duration::from_secs(30));
    let writers: Vec<_> = (1..=24)
        .map(|isid| {
            let mut initiator = stage.session(isid);
            thread::spawn(move || {
                begin_writes(&mut initiator, COMMANDS, 1 << 20);
                send_as_asked(&mut initiator, COMMANDS, 1 << 20)
            })
        })
        .collect();
    let (mut held, mut asked) = (0, 0);
    while writers.iter().any(|writer| !writer.is_finished()) {
        held = held.max(stage.node.gathering.total() + stage.node.invitations.total());
        asked = asked.max(stage.node.invitations.total());
        thread::sleep(Duration::from_millis(1));
    }
    for writer in writers {
        assert_eq!(writer.join().unwrap(), COMMANDS);
    }
    // A command beyond it is asked for in turn, and another when that takes its time.
    assert!((LIMIT / 4..=LIMIT / 2 + (4 << 20)).contains(&asked), "{asked} bytes were asked for");
    assert!(held <= LIMIT, "{held} bytes were held");
    stage.until("all is given back", |stage| {
        stage.node.gathering.total() + stage.node.invitations.total() == 0
    });
}

#[test]
fn who_does_not_send_what_was_asked_for_keeps_no_other_from_writing() {
    const LIMIT: usize = 4 << 20;
    let stage = Stage::with(Limits::default(), LIMIT, Duration::from_secs(30));
    let mut silent: Vec<_> = (1..=8).map(|isid| stage.session(isid)).collect();
    silent.iter_mut().for_each(|initiator| begin_writes(initiator, 4, 1 << 20));
    stage.until("all is taken", |stage| stage.node.invitations.total() >= LIMIT / 2);
    let start = Instant::now();
    let mut good = stage.session(9);
    begin_writes(&mut good, 4, 1 << 20);
    assert_eq!(send_as_asked(&mut good, 4, 1 << 20), 4);
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    // They are late, and served all the same.
    let late = silent
        .into_iter()
        .map(|mut initiator| thread::spawn(move || send_as_asked(&mut initiator, 4, 1 << 20)));
    for late in late.collect::<Vec<_>>() {
        assert_eq!(late.join().unwrap(), 4);
    }
    stage.until("all is given back", |stage| {
        stage.node.gathering.total() + stage.node.invitations.total() == 0
    });
}
