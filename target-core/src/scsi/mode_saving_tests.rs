use super::*;
use crate::scsi::command::DeviceServer;
use crate::scsi::command::{TaskManagement, TaskManagementOutcome};
use crate::scsi::lun_address::LunAddress;
use crate::scsi::sense::Status;
use crate::testing::{Bench, RamDevice, RamMemory, config, finish, sense_of};
use std::sync::Arc;

const TAS: [u8; 12] = [0x0a, 0x0a, 0x02, 0x10, 0, 0, 0, 0, 0, 0, 0, 60];

fn select(bench: &Bench, flags: u8, page: &[u8]) -> Option<(SenseKey, crate::scsi::sense::Asc)> {
    let list = [&[0; 4], page].concat();
    sense_of(&bench.run(&[0x15, 0x10 | flags, 0, 0, list.len() as u8, 0], &list))
}

fn control(bench: &Bench, page_control: u8) -> Vec<u8> {
    bench.good(&[0x1a, 8, page_control << 6 | 0x0a, 0, 255, 0], &[])[4..].to_vec()
}

fn reset(bench: &Bench) {
    let function = TaskManagement::LogicalUnitReset { lun: LunAddress([0; 8]) };
    assert_eq!(finish(bench.target.manage(&bench.nexus, function)), TaskManagementOutcome::Complete);
    bench.fails(&[0; 6], &[], SenseKey::UnitAttention, asc::BUS_DEVICE_RESET_FUNCTION_OCCURRED);
}

#[test]
fn saved_parameters_come_back_after_a_reset_and_a_restart() {
    let memory = Arc::new(RamMemory::default());
    let bench = Bench::remembering(config(512), RamDevice::new(1 << 20), memory.clone());
    let now = control(&bench, 0);
    assert_eq!(now[..6], [0x8a, 0x0a, 0x02, 0x10, 0, 0x40], "PS is set");
    assert_eq!(control(&bench, 3), now, "nothing is saved: the defaults");

    assert_eq!(select(&bench, 1, &TAS), None);
    let mut descriptor_too = TAS;
    descriptor_too[2] |= 4;
    assert_eq!(select(&bench, 0, &descriptor_too), None);
    assert_eq!(control(&bench, 0)[2..6], [0x06, 0x10, 0, 0]);
    assert_eq!(control(&bench, 3)[2..6], [0x02, 0x10, 0, 0]);
    assert_eq!(control(&bench, 2)[2..6], [0x02, 0x10, 0, 0x40]);
    reset(&bench);
    assert_eq!(control(&bench, 0)[2..6], [0x02, 0x10, 0, 0]);

    let bench = Bench::remembering(config(512), RamDevice::new(1 << 20), memory);
    assert_eq!(control(&bench, 0)[2..6], [0x02, 0x10, 0, 0]);
    assert_eq!(control(&bench, 3)[2..6], [0x02, 0x10, 0, 0]);
}

#[test]
fn what_is_in_force_can_be_saved_without_a_list_and_the_defaults_come_back() {
    let memory = Arc::new(RamMemory::default());
    let bench = Bench::remembering(config(512), RamDevice::new(1 << 20), memory);
    assert_eq!(select(&bench, 0, &TAS), None);
    bench.good(&[0x15, 0x11, 0, 0, 0, 0], &[]);
    assert_eq!(control(&bench, 3)[5], 0);
    bench.good(&[0x15, 0x12, 0, 0, 0, 0], &[]);
    assert_eq!((control(&bench, 0)[5], control(&bench, 3)[5]), (0x40, 0));
    bench.good(&[0x15, 0x13, 0, 0, 0, 0], &[]);
    assert_eq!(control(&bench, 3)[5], 0x40);
    assert_eq!(select(&bench, 2, &TAS), Some((SenseKey::IllegalRequest, asc::INVALID_FIELD_IN_CDB)));
}

#[test]
fn what_cannot_be_kept_is_not_taken_over() {
    let memory = Arc::new(RamMemory::default());
    let bench = Bench::remembering(config(512), RamDevice::new(1 << 20), memory.clone());
    *memory.error.lock().unwrap() = Some(MemoryError::Store("no space".into()));
    let failed = Some((SenseKey::HardwareError, asc::INTERNAL_TARGET_FAILURE));
    assert_eq!(select(&bench, 1, &TAS), failed);
    assert_eq!((control(&bench, 0)[5], control(&bench, 3)[5]), (0x40, 0x40));
    // Nor is it found by the next start.
    *memory.error.lock().unwrap() = None;
    *memory.slips.lock().unwrap() = 1;
    assert_eq!(select(&bench, 1, &TAS), failed);
    let next = Bench::remembering(config(512), RamDevice::new(1 << 20), memory);
    assert_eq!((control(&bench, 0)[5], control(&next, 0)[5]), (0x40, 0x40));
}

#[test]
fn a_document_of_another_version_gives_what_is_known() {
    let mut values = ModeValues::defaults(true);
    (values.d_sense, values.wce, values.initial_priority) = (true, false, 7);
    let mut document = encode(&values).to_vec();
    assert_eq!(decode(&document, true), Ok(values));
    document.extend_from_slice(&[0x3e, 2, 1, 2]);
    document.extend_from_slice(&[0x5e, 9, 0, 1, 2]);
    assert_eq!(decode(&document, true), Ok(values));
    // Bits that cannot be changed, and values that make no sense today.
    assert_eq!(decode(&[0x08, 2, 0xff, 0xff], true), Ok(ModeValues::defaults(true)), "too short");
    let all_ones = [&[0x1c, 0x0a][..], &[0xff; 10]].concat();
    assert_eq!(decode(&all_ones, true), Ok(ModeValues::defaults(true)));
    assert!(matches!(decode(&[0x08, 18, 0], true), Err(MemoryError::Damaged(_))));
    let wce = decode(&[&[0x08, 18, 4][..], &[0; 17]].concat(), false);
    assert_eq!(wce, Ok(ModeValues::defaults(false)), "the device has no volatile cache any more");
}

#[test]
fn a_damaged_document_leaves_the_defaults() {
    let memory = Arc::new(RamMemory::default());
    finish(crate::lun::memory::UnitMemory::keep(
        &*memory,
        Document::ModeParameters,
        Bytes::from_static(&[0x0a]),
    ))
    .unwrap();
    let unit = LogicalUnit::new(config(512), RamDevice::new(1 << 20)).with_memory(memory);
    assert!(matches!(finish(unit.restore_mode_parameters()), Err(MemoryError::Damaged(_))));
    assert_eq!(unit.modes().get(), ModeValues::defaults(true));
    let response = Bench::new().run(&[0x15, 0x11, 0, 0, 0, 0], &[]);
    assert_eq!(
        (response.status, response.sense[15..18].to_vec()),
        (Status::CheckCondition, vec![0xc8, 0, 1])
    );
}
