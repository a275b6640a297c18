use super::*;
use crate::scsi::asc;
use crate::testing::Bench;

#[test]
fn a_unit_attention_outlives_the_abort_of_its_messenger() {
    for abort in [Abort::Silent, Abort::TaskAborted] {
        let bench = Bench::new();
        let told = Sense::new(SenseKey::UnitAttention, asc::BUS_DEVICE_RESET_FUNCTION_OCCURRED);
        let outcome = conclude(&bench.unit, bench.nexus.id, Err(told.into()), Some(abort), 0);
        match (abort, outcome) {
            (Abort::Silent, Outcome::Aborted) => {}
            (Abort::TaskAborted, Outcome::Done(response)) => assert_eq!(response.status, Status::TaskAborted),
            (abort, outcome) => panic!("{abort:?}: {outcome:?}"),
        }
        bench.fails(&[0; 6], &[], SenseKey::UnitAttention, asc::BUS_DEVICE_RESET_FUNCTION_OCCURRED);
        bench.good(&[0; 6], &[]);
    }
}

#[test]
fn no_more_is_read_than_there_is_room_for() {
    let bench = Bench::new();
    let read = |room| {
        let cdb = [0x28, 0, 0, 0, 0, 8, 0, 0, 64, 0];
        let response =
            bench.execute(&bench.nexus, Command { data_in_room: room, ..Bench::command(&cdb, &[]) });
        assert_eq!(response.status, Status::Good);
        let calls = std::mem::take(&mut *bench.device().calls.lock().unwrap());
        (calls, response.data_in.len(), response.data_in_beyond)
    };
    assert_eq!(read(0), (vec![], 0, 32768));
    assert_eq!(read(1), (vec!["read 4096 512".into()], 512, 32768 - 512));
    assert_eq!(read(4096), (vec!["read 4096 4096".into()], 4096, 32768 - 4096));
    assert_eq!(read(u32::MAX), (vec!["read 4096 32768".into()], 32768, 0));
}

#[test]
fn parameter_data_that_is_cut_keeps_no_more_memory_than_it_needs() {
    let reply = |allocation_length, room| Reply::data(vec![7; 100_000]).cut(allocation_length, room);
    for (allocation_length, room, beyond) in [(8, u32::MAX, 0), (8, 8, 0), (20_000, 8, 19_992)] {
        let reply = reply(allocation_length, room);
        let bytes = reply.data_in.to_bytes();
        assert_eq!((&bytes[..], reply.beyond), (&[7; 8][..], beyond));
        drop(reply);
        assert!(bytes.try_into_mut().unwrap().capacity() < 100);
    }
    assert_eq!(reply(200_000, 100_000).data_in.len(), 100_000);
}
