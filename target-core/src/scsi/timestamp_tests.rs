use crate::lun::unit::LogicalUnit;
use crate::scsi::asc;
use crate::scsi::command::{DeviceServer, TaskManagement};
use crate::scsi::lun_address::LunAddress;
use crate::scsi::sense::SenseKey;
use crate::testing::{Bench, RamDevice, config, finish, nexus, sense_of};
use std::time::Duration;

const REPORT: [u8; 12] = [0xa3, 0x0f, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0];
const SET: [u8; 12] = [0xa4, 0x0f, 0, 0, 0, 0, 0, 0, 0, 12, 0, 0];
const LIST: [u8; 12] = [0, 0, 0, 0, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0, 0];

fn bench() -> Bench {
    let unit = LogicalUnit::new(config(512), RamDevice::new(1 << 20));
    Bench::serving(unit.with_clock(|| Duration::from_millis(0x0198_7654_3210)))
}

#[test]
fn the_time_is_the_hosts_until_it_is_set() {
    let bench = bench();
    assert_eq!(bench.good(&REPORT, &[])[..], [0, 10, 3, 0, 0x01, 0x98, 0x76, 0x54, 0x32, 0x10, 0, 0]);
    bench.good(&SET, &LIST);
    assert_eq!(bench.good(&REPORT, &[])[..], [0, 10, 2, 0, 1, 2, 3, 4, 5, 6, 0, 0]);
    assert_eq!(bench.good(&[0xa3, 0x0f, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0], &[])[..], [0, 10, 2]);
    let reset = |function| finish(bench.target.manage(&bench.nexus, function));
    reset(TaskManagement::LogicalUnitReset { lun: LunAddress::from_number(0) });
    bench.fails(&[0; 6], &[], SenseKey::UnitAttention, asc::BUS_DEVICE_RESET_FUNCTION_OCCURRED);
    assert_eq!(bench.good(&REPORT, &[])[2], 2);
    reset(TaskManagement::TargetWarmReset);
    bench.fails(&[0; 6], &[], SenseKey::UnitAttention, asc::SCSI_BUS_RESET_OCCURRED);
    assert_eq!(bench.good(&REPORT, &[])[2], 3);
}

#[test]
fn without_a_host_clock_it_stands_still() {
    let bench = Bench::new();
    assert_eq!(bench.good(&REPORT, &[])[..], [0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bench.good(&SET, &LIST);
    assert_eq!(bench.good(&REPORT, &[])[2..10], [2, 0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn others_learn_of_it() {
    let bench = bench();
    let other = nexus(2);
    bench.login(&other);
    bench.good(&SET, &LIST);
    let told = Some((SenseKey::UnitAttention, asc::TIMESTAMP_CHANGED));
    assert_eq!(sense_of(&bench.run_as(&other, &[0; 6], &[])), told);
    bench.good(&[0; 6], &[]);
}

#[test]
fn no_list_of_another_length() {
    let bench = bench();
    let mut cdb = SET;
    for length in (1..30_u8).filter(|length| *length != 12) {
        cdb[9] = length;
        let list = vec![1; usize::from(length)];
        bench.fails(&cdb, &list, SenseKey::IllegalRequest, asc::PARAMETER_LIST_LENGTH_ERROR);
    }
    bench.fails(&SET, &[1; 11], SenseKey::IllegalRequest, asc::PARAMETER_LIST_LENGTH_ERROR);
    cdb[9] = 0;
    bench.good(&cdb, &[]);
    assert_eq!(bench.good(&REPORT, &[])[2], 3);
}
