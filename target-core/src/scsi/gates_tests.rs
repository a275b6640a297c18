//! Gates, and the commands whose effect is a gate for others.

use super::asc;
use super::command::TaskAttribute;
use super::sense::{Asc, SenseKey, Status};
use crate::lun::alua::AccessState;
use crate::testing::{Bench, RamDevice, config, nexus, sense_of};

const TUR: [u8; 6] = [0; 6];
const READ: [u8; 10] = [0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0];
const WRITE: [u8; 10] = [0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0];
const INQUIRY: [u8; 6] = [0x12, 0, 0, 0, 96, 0];
const REQUEST_SENSE: [u8; 6] = [0x03, 0, 0, 0, 252, 0];
const RESERVE: [u8; 6] = [0x16, 0, 0, 0, 0, 0];
const RELEASE: [u8; 6] = [0x17, 0, 0, 0, 0, 0];
const EJECT: [u8; 6] = [0x1b, 0, 0, 0, 2, 0];
const LOAD: [u8; 6] = [0x1b, 0, 0, 0, 3, 0];

fn removable() -> Bench {
    let mut config = config(512);
    config.removable = true;
    Bench::with(config, RamDevice::new(1 << 20))
}

#[test]
fn unit_attentions_by_kind_of_command() {
    let bench = Bench::new();
    bench.unit.capacity_changed();
    bench.good(&INQUIRY, &[]);
    assert_eq!(bench.good(&REQUEST_SENSE, &[])[..14], [0x70, 0, 6, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x2a, 9]);
    assert_eq!(bench.good(&REQUEST_SENSE, &[])[..14], [0x70, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0]);
    bench.good(&TUR, &[]);
    bench.unit.capacity_changed();
    bench.fails(&[0xff; 6], &[], SenseKey::UnitAttention, asc::CAPACITY_DATA_HAS_CHANGED);
    bench.fails(&[0xff; 6], &[], SenseKey::IllegalRequest, asc::INVALID_COMMAND_OPERATION_CODE);
}

#[test]
fn request_sense_in_descriptor_format() {
    let bench = Bench::new();
    assert_eq!(bench.good(&[0x03, 1, 0, 0, 252, 0], &[])[..], [0x72, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bench.good(&[0x03, 1, 0, 0, 3, 0], &[])[..], [0x72, 0, 0]);
}

#[test]
fn reservations() {
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    let status = |cdb: &[u8]| bench.run_as(&other, cdb, &[0; 512]).status;
    for cdb in [&RESERVE[..], &[0x56, 0, 0, 0, 0, 0, 0, 0, 0, 0]] {
        bench.good(cdb, &[]);
        bench.good(&RESERVE, &[]);
        for cdb in [&TUR[..], &READ, &WRITE, &RESERVE, &[0x1a, 0, 0x3f, 0, 255, 0]] {
            assert_eq!(status(cdb), Status::ReservationConflict);
        }
        for cdb in [&INQUIRY[..], &REQUEST_SENSE, &RELEASE, &[0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0]] {
            assert_eq!(status(cdb), Status::Good);
        }
        assert_eq!(status(&READ), Status::ReservationConflict, "RELEASE by another has no effect");
        bench.good(&WRITE, &[0; 512]);
        bench.good(&RELEASE, &[]);
        assert_eq!(status(&READ), Status::Good);
    }
}

#[test]
fn resets_go_before_reservation_conflicts_and_they_before_the_rest() {
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    bench.good(&RESERVE, &[]);
    bench.unit.capacity_changed();
    bench.unit.attentions().raise_for(other.id, asc::I_T_NEXUS_LOSS_OCCURRED);
    let run = || bench.run_as(&other, &TUR, &[]);
    assert_eq!(sense_of(&run()), Some((SenseKey::UnitAttention, asc::I_T_NEXUS_LOSS_OCCURRED)));
    assert_eq!(run().status, Status::ReservationConflict);
    bench.fails(&TUR, &[], SenseKey::UnitAttention, asc::CAPACITY_DATA_HAS_CHANGED);
    bench.good(&RELEASE, &[]);
    assert_eq!(sense_of(&run()), Some((SenseKey::UnitAttention, asc::CAPACITY_DATA_HAS_CHANGED)));
    assert_eq!(run().status, Status::Good);
}

#[test]
fn reserved_bits_are_pointed_at() {
    let bench = Bench::new();
    for (cdb, specific) in [
        (&[0, 0, 0, 0, 0, 4][..], [0xca, 0, 5]),
        (&[0, 0x40, 0, 0, 0, 0], [0xce, 0, 1]),
        (&[0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0x80], [0xcf, 0, 9]),
        (&[0x9e, 0x30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0], [0xcd, 0, 1]),
        (&[0x9e, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0], [0xcc, 0, 1]),
        (&[0x28, 0, 0, 0], [0xcf, 0, 4]),
    ] {
        let response = bench.fails(cdb, &[], SenseKey::IllegalRequest, asc::INVALID_FIELD_IN_CDB);
        assert_eq!(response.sense[15..18], specific, "{cdb:02x?}");
    }
    // What comes after the command's own length is padding.
    bench.good(&[0, 0, 0, 0, 0, 0, 0xff, 0xff], &[]);
}

#[test]
fn there_is_no_aca() {
    let bench = Bench::new();
    let mut command = Bench::command(&TUR, &[]);
    command.attribute = TaskAttribute::Aca;
    let response = bench.execute(&bench.nexus, command);
    assert_eq!(sense_of(&response), Some((SenseKey::IllegalRequest, asc::INVALID_MESSAGE_ERROR)));
}

#[test]
fn access_states() {
    let bench = Bench::new();
    let not_ready = |code| Some((SenseKey::NotReady, code));
    let mode_sense = [0x1a, 0, 0x3f, 0, 255, 0];
    let groups = [0xa3, 0x0a, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0];
    for (state, medium, mode) in [
        (AccessState::ActiveNonOptimized, None, None),
        (AccessState::Standby, not_ready(Asc(4, 0x0b)), None),
        (AccessState::Unavailable, not_ready(Asc(4, 0x0c)), not_ready(Asc(4, 0x0c))),
        (AccessState::Transitioning, not_ready(Asc(4, 0x0a)), not_ready(Asc(4, 0x0a))),
        (AccessState::ActiveOptimized, None, None),
    ] {
        bench.unit.set_access_state(state);
        bench.fails(&TUR, &[], SenseKey::UnitAttention, asc::ASYMMETRIC_ACCESS_STATE_CHANGED);
        assert_eq!(sense_of(&bench.run(&READ, &[])), medium);
        assert_eq!(sense_of(&bench.run(&TUR, &[])), medium);
        assert_eq!(sense_of(&bench.run(&mode_sense, &[])), mode);
        bench.good(&INQUIRY, &[]);
        assert_eq!(bench.good(&groups, &[])[4], state as u8);
    }
    bench.unit.set_access_state(AccessState::ActiveOptimized);
    bench.good(&TUR, &[]);
}

#[test]
fn target_port_groups() {
    let bench = Bench::new();
    bench.target.set_ports([(2, 20), (5, 50)]);
    let want = [0, 0, 0, 20, 0, 0x8f, 0, 1, 0, 2, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5];
    assert_eq!(bench.good(&[0xa3, 0x0a, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0], &[])[..], want);
    let extended = bench.good(&[0xa3, 0x2a, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0], &[]);
    assert_eq!(extended[..8], [0, 0, 0, 24, 0x10, 0, 0, 0]);
    assert_eq!(extended[8..], want[4..]);
}

#[test]
fn read_only_units() {
    let mut config = config(512);
    config.read_only = true;
    let bench = Bench::with(config, RamDevice::new(1 << 20));
    for cdb in [&WRITE[..], &[0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[0x41, 0, 0, 0, 0, 0, 0, 0, 1, 0]] {
        bench.fails(cdb, &[0; 512], SenseKey::DataProtect, asc::WRITE_PROTECTED);
    }
    bench.good(&READ, &[]);
    bench.good(&[0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[]);
    assert_eq!(bench.good(&[0x1a, 0, 0x3f, 0, 4, 0], &[])[2], 0x90);
}

#[test]
fn eject_and_load() {
    let bench = removable();
    let other = nexus(2);
    bench.login(&other);
    bench.good(&EJECT, &[]);
    for cdb in [&TUR[..], &READ, &WRITE, &[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0]] {
        bench.fails(cdb, &[0; 512], SenseKey::NotReady, asc::MEDIUM_NOT_PRESENT);
    }
    bench.good(&INQUIRY, &[]);
    assert_eq!(bench.good(&REQUEST_SENSE, &[])[2], 2);
    bench.good(&LOAD, &[]);
    bench.good(&TUR, &[]);
    let others = bench.run_as(&other, &TUR, &[]);
    assert_eq!(sense_of(&others), Some((SenseKey::UnitAttention, asc::MEDIUM_MAY_HAVE_CHANGED)));
    for power_condition in 1..16 {
        bench.good(&[0x1b, 1, 0, 0, power_condition << 4 | 2, 0], &[]);
        bench.good(&TUR, &[]);
    }
    assert_eq!(*bench.device().calls.lock().unwrap(), ["flush"]);
}

#[test]
fn removal_is_prevented_by_any_nexus_while_it_lives() {
    let bench = removable();
    let other = nexus(2);
    bench.login(&other);
    assert_eq!(bench.run_as(&other, &[0x1e, 0, 0, 0, 1, 0], &[]).status, Status::Good);
    let prevented = || bench.fails(&EJECT, &[], SenseKey::IllegalRequest, asc::MEDIUM_REMOVAL_PREVENTED);
    prevented();
    bench.good(&[0x1e, 0, 0, 0, 0, 0], &[]);
    prevented();
    crate::scsi::command::DeviceServer::nexus_lost(&bench.target, &other);
    bench.good(&EJECT, &[]);
}

#[test]
fn fixed_media_stay() {
    let bench = Bench::new();
    bench.fails(&EJECT, &[], SenseKey::IllegalRequest, asc::INVALID_FIELD_IN_CDB);
    bench.fails(&[0x1e, 0, 0, 0, 1, 0], &[], SenseKey::IllegalRequest, asc::INVALID_COMMAND_OPERATION_CODE);
    bench.good(&[0x1b, 0, 0, 0, 0, 0], &[]);
    bench.good(&[0x1b, 0, 0, 0, 1, 0], &[]);
    bench.good(&TUR, &[]);
}
