//! An initiator with several connections in one session (MC/S), against the real process over TCP.

#[cfg(test)]
mod initiator;

use bytes::Bytes;
use glint_target_core::pdu::fields::{RESERVED_TAG, Serial};
use glint_target_core::pdu::initiator::{InitiatorPdu, TextRequest};
use glint_target_core::pdu::target::TargetPdu;
use glint_target_core::scsi::lun_address::LunAddress;
use glint_testkit::data;
use glint_testkit::glint::Glint;
use glint_testkit::http::{get, metric};
use initiator::{Leg, PATIENCE, Session, TARGET};
use std::time::{Duration, Instant};

fn wait_for_connections(glint: &Glint, count: f64) {
    let start = Instant::now();
    loop {
        let text = get(glint.api(), "/metrics").1;
        if metric(&text, "glint_connections", &[]) == count {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "never {count} connections:\n{text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn glint() -> Glint {
    Glint::with_volume("disk=ram:,size=64MiB")
}

#[test]
fn writes_and_reads_on_all_connections_of_a_session() {
    let glint = glint();
    let mut session = Session::begin(&glint, 4);
    let text = get(glint.api(), "/metrics").1;
    assert_eq!(metric(&text, "glint_connections", &[]), 4.0, "{text}");
    assert_eq!(metric(&text, "glint_sessions", &[]), 1.0, "{text}");
    // Sent in the reverse of their order, a connection each: nothing has its turn before the first has come.
    let image = data::noise(7, 16 << 20);
    let pieces: Vec<_> = image.chunks(1 << 20).collect();
    for (round, four) in pieces.chunks(4).enumerate() {
        let commands: Vec<_> =
            (0..4).map(|nth| session.command(0x2a, ((round * 4 + nth) << 11) as u32, 1 << 20)).collect();
        for leg in [3, 2, 1] {
            session.send(leg, &commands[leg]);
        }
        assert!((1..4).all(|leg| session.legs[leg].is_silent()), "before its turn");
        session.send(0, &commands[0]);
        // Each connection has its R2T before any of them is answered.
        let r2ts: Vec<_> = session.legs.iter_mut().map(Leg::r2t).collect();
        for leg in (0..4).rev() {
            assert_eq!(r2ts[leg].initiator_task_tag, commands[leg].initiator_task_tag);
            session.legs[leg].answer(&r2ts[leg], four[leg]);
            session.legs[leg].serve(commands[leg].initiator_task_tag, four[leg]);
        }
    }
    // What one connection wrote another reads, all at a time.
    for (round, four) in pieces.chunks(4).enumerate() {
        let commands: Vec<_> =
            (0..4).map(|nth| session.command(0x28, ((round * 4 + nth) << 11) as u32, 1 << 20)).collect();
        for (nth, command) in commands.iter().enumerate() {
            session.send((nth + 1) % 4, command);
        }
        for (nth, command) in commands.iter().enumerate() {
            let data = session.legs[(nth + 1) % 4].data(command.initiator_task_tag);
            assert!(data == four[nth], "piece {nth} of round {round}");
        }
    }
    // Talk beside the commands.
    for leg in &mut session.legs {
        session.tag += 1;
        leg.send(InitiatorPdu::Text(TextRequest {
            immediate: true,
            is_final: true,
            continues: false,
            lun: LunAddress::default(),
            initiator_task_tag: session.tag,
            target_transfer_tag: RESERVED_TAG,
            cmd_sn: Serial(session.cmd_sn),
            exp_stat_sn: leg.exp_stat_sn,
            data: Bytes::from_static(b"SendTargets=\0"),
        }));
        let answer = leg.receive();
        let expected = format!("TargetName={TARGET}\0");
        assert!(
            matches!(&answer, Some(TargetPdu::Text(text)) if text.data.starts_with(expected.as_bytes())),
            "{answer:?}"
        );
    }
    assert_eq!(session.log_in(4).1.status_detail, 0x06, "more than connections_per_session");
    assert_eq!(session.log_out(1, 0, 0), 0);
    session.legs.iter_mut().for_each(Leg::expect_close);
    wait_for_connections(&glint, 0.0);
}

#[test]
fn connections_come_and_go_while_others_work() {
    let glint = glint();
    let mut session = Session::begin(&glint, 3);
    let image = data::noise(8, 1 << 20);
    session.write(2, 0, &image);
    // Logged out on another connection.
    assert_eq!(session.log_out(0, 2, 2), 2, "there is no recovery");
    assert_eq!(session.log_out(0, 1, 2), 0);
    session.legs.pop().expect("the third").expect_close();
    assert_eq!(session.log_out(0, 1, 2), 1, "it has gone");
    assert!(session.read(0, 0, 1 << 20) == image);
    // Replaced in the midst of a write, which ends without a word.
    let doomed = session.command(0x2a, 4096, 1 << 20);
    session.send(1, &doomed);
    session.legs[1].r2t();
    let (again, answer) = session.log_in(1);
    assert_eq!((answer.status_class, answer.tsih), (0, session.tsih));
    session.legs[1].expect_close();
    session.legs[1] = again;
    session.write(1, 2048, &image);
    assert!(session.read(0, 2048, 1 << 20) == image);
    assert!(session.read(0, 4096, 4096).iter().all(|byte| *byte == 0), "the write was not whole");
    // Lost in the midst of a write.
    let doomed = session.command(0x2a, 4096, 1 << 20);
    session.send(0, &doomed);
    session.legs[0].r2t();
    session.legs.remove(0);
    wait_for_connections(&glint, 1.0);
    assert!(session.read(0, 2048, 1 << 20) == image);
    let (back, answer) = session.log_in(0);
    assert_eq!((answer.status_class, answer.tsih), (0, session.tsih));
    session.legs.push(back);
    session.write(1, 8192, &image);
    assert!(session.read(0, 8192, 1 << 20) == image);
    // The last connection takes the session with it.
    session.legs.clear();
    wait_for_connections(&glint, 0.0);
    assert_eq!(session.log_in(0).1.status_detail, 0x0a);
}
