//! An initiator with several connections in one session (MC/S), against the real process over TCP.

use glint_testkit::data;
use glint_testkit::glint::{Glint, IQN_BASE};
use glint_testkit::http::{get, metric};
use glint_testkit::initiator::{Initiator, PATIENCE, Port};
use std::time::{Duration, Instant};

/// A session that asks for all its data, as Windows does.
fn session(glint: &Glint, connections: u16) -> Vec<Initiator> {
    let keys =
        "InitialR2T=Yes\0ImmediateData=No\0MaxOutstandingR2T=1\0MaxConnections=16\0ErrorRecoveryLevel=2\0";
    let port = Port {
        keys: keys.into(),
        cmd_sn: 0xffff_fff0,
        ..Port::new(&format!("{IQN_BASE}:disk"), 1).named("iqn.2026-12.test:windows")
    };
    let mut session = Initiator::log_in_with(glint.portal(), port, connections);
    session[0].attentions();
    session
}

fn cdb(opcode: u8, block: u32, bytes: usize) -> [u8; 10] {
    let ([a, b, c, d], [_, _, high, low]) = (block.to_be_bytes(), (bytes as u32 / 512).to_be_bytes());
    [opcode, 0, a, b, c, d, 0, high, low, 0]
}

fn write(on: &mut Initiator, block: u32, data: &[u8]) {
    on.run_asked(&cdb(0x2a, block, data.len()), data).good();
}

fn read(on: &mut Initiator, block: u32, bytes: usize) -> Vec<u8> {
    on.run(&cdb(0x28, block, bytes), bytes as u32).good()
}

/// Hears on one connection that another was dropped.
#[track_caller]
fn hears_of_loss(on: &mut Initiator, cid: u16) {
    let message = on.message();
    assert_eq!((message.event, message.parameters), (2, [cid, 2, 20]));
}

/// Sends a write command, and waits until it is asked for its data.
fn begin_write(on: &mut Initiator, block: u32) {
    on.write_command(&cdb(0x2a, block, 1 << 20), 1 << 20, false);
    on.r2t();
}

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
    let mut session = session(&glint, 4);
    let text = get(glint.api(), "/metrics").1;
    assert_eq!(metric(&text, "glint_connections", &[]), 4.0, "{text}");
    assert_eq!(metric(&text, "glint_sessions", &[]), 1.0, "{text}");
    // Sent in the reverse of their order, a connection each: nothing has its turn before the first has come.
    let image = data::noise(7, 16 << 20);
    let pieces: Vec<_> = image.chunks(1 << 20).collect();
    for (round, four) in pieces.chunks(4).enumerate() {
        let block = |nth: usize| ((round * 4 + nth) << 11) as u32;
        let commands: Vec<_> = (0..4)
            .map(|nth| session[0].prepare_write(&cdb(0x2a, block(nth), 1 << 20), 1 << 20, false))
            .collect();
        let mut tags = [0; 4];
        for leg in [3, 2, 1, 0] {
            if leg == 0 {
                assert!(session[1..].iter_mut().all(|on| on.is_silent()), "before its turn");
            }
            tags[leg] = session[leg].send_command(commands[leg].clone());
        }
        // Each connection has its R2T before any of them is answered.
        let r2ts: Vec<_> = session.iter_mut().map(Initiator::r2t).collect();
        for leg in (0..4).rev() {
            assert_eq!(r2ts[leg].initiator_task_tag, tags[leg]);
            session[leg].answer(&r2ts[leg], four[leg]);
            session[leg].serve(tags[leg], four[leg]).good();
        }
    }
    // What one connection wrote another reads, all at a time.
    for (round, four) in pieces.chunks(4).enumerate() {
        let block = |nth: usize| ((round * 4 + nth) << 11) as u32;
        let tags: Vec<_> = (0..4)
            .map(|nth| session[(nth + 1) % 4].command(&cdb(0x28, block(nth), 1 << 20), 1 << 20))
            .collect();
        for (nth, tag) in tags.into_iter().enumerate() {
            let data = session[(nth + 1) % 4].end(tag).good();
            assert!(data == four[nth], "piece {nth} of round {round}");
        }
    }
    // Talk beside the commands.
    for on in &mut session {
        let answer = on.text("SendTargets=\0");
        assert!(answer.starts_with(&format!("TargetName={IQN_BASE}:disk\0")), "{answer:?}");
    }
    assert_eq!(session[0].join(4).1.status_detail, 0x06, "more than connections_per_session");
    assert_eq!(session[1].ask_for_logout(0, 0), 0);
    session.iter_mut().for_each(|on| on.expect_close());
    wait_for_connections(&glint, 0.0);
}

#[test]
fn connections_come_and_go_while_others_work() {
    let glint = glint();
    let mut session = session(&glint, 3);
    let image = data::noise(8, 1 << 20);
    write(&mut session[2], 0, &image);
    // Logged out on another connection.
    assert_eq!(session[0].ask_for_logout(2, 2), 2, "there is no recovery");
    assert_eq!(session[0].ask_for_logout(1, 2), 0);
    session.pop().expect("the third").expect_close();
    assert_eq!(session[0].ask_for_logout(1, 2), 1, "it has gone");
    assert!(read(&mut session[0], 0, 1 << 20) == image);
    // Replaced in the midst of a write, which ends without a word.
    begin_write(&mut session[1], 4096);
    let (again, answer) = session[0].join(1);
    assert_eq!((answer.status_class, answer.tsih), (0, session[0].tsih()));
    session[1].expect_close();
    session[1] = again;
    write(&mut session[1], 2048, &image);
    assert!(read(&mut session[0], 2048, 1 << 20) == image);
    assert!(read(&mut session[0], 4096, 4096).iter().all(|byte| *byte == 0), "the write was not whole");
    // Lost in the midst of a write.
    begin_write(&mut session[0], 4096);
    session.remove(0);
    hears_of_loss(&mut session[0], 0);
    assert!(read(&mut session[0], 2048, 1 << 20) == image);
    let (back, answer) = session[0].join(0);
    assert_eq!((answer.status_class, answer.tsih), (0, session[0].tsih()));
    session.push(back);
    write(&mut session[1], 8192, &image);
    assert!(read(&mut session[0], 8192, 1 << 20) == image);
    // The last connection takes the session with it.
    let mut late = session[0].newcomer(0);
    session.clear();
    wait_for_connections(&glint, 1.0);
    assert_eq!(late.login().status_detail, 0x0a);
}

#[test]
fn a_network_that_is_barred_loses_its_connections_and_no_others() {
    let disk = |networks: &str| {
        format!(
            "[[target]]\nname = \"disk\"\nnetworks = [{networks}]\n[[target.lun]]\ndevice = \"ram:\"\nsize = \"64MiB\"\n"
        )
    };
    let mut glint = Glint::serve().start_with_config(&disk("\"127.0.0.0/29\""));
    let mut session = session(&glint, 2);
    for (source, cid) in [([127, 0, 0, 2], 2), ([127, 0, 0, 3], 3)] {
        let mut newcomer = session[0].newcomer_from(source.into(), cid);
        assert_eq!(newcomer.login().status_class, 0);
        session.push(newcomer);
    }
    // One that came later.
    glint.reconfigure(&disk("\"127.0.0.1\", \"127.0.0.2\""));
    hears_of_loss(&mut session[3], 3);
    session.pop().unwrap().expect_close();
    hears_of_loss(&mut session[0], 3);
    let image = data::noise(9, 1 << 20);
    write(&mut session[1], 0, &image);
    // Those that it began with.
    glint.reconfigure(&disk("\"127.0.0.2\""));
    for (at, cid) in [(0, 0), (1, 1)] {
        hears_of_loss(&mut session[at], cid);
    }
    let mut last = session.pop().unwrap();
    hears_of_loss(&mut last, 0);
    hears_of_loss(&mut last, 1);
    session.iter_mut().for_each(|on| on.expect_close());
    assert!(read(&mut last, 0, 1 << 20) == image);
    // Nobody comes in from there, and with the last address the session ends.
    assert_ne!(last.join(4).1.status_class, 0);
    glint.reconfigure(&disk("\"127.0.0.4\""));
    assert_eq!(last.message().event, 3);
    last.expect_close();
    glint.assert_alive();
}
