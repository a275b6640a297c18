//! Device errors become statuses and sense data here, and nowhere else.

use super::asc;
use super::sense::{Fault, Sense, SenseKey, Status};
use crate::device::DeviceError;

/// What the device was doing when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Reading, or asking for the allocation.
    Read,
    /// Writing, giving back, or flushing.
    Write,
}

/// The one mapping.
pub fn fault(error: DeviceError, direction: Direction) -> Fault {
    let (key, code) = match error {
        DeviceError::Busy => return Fault::Status(Status::TaskSetFull),
        DeviceError::Unreachable => (SenseKey::NotReady, asc::NOT_READY_TARGET_PORT_IN_UNAVAILABLE_STATE),
        // Nobody knows how much of it was done. The initiator repeats it, and then it goes to the owner.
        DeviceError::OwnershipLost => (SenseKey::AbortedCommand, asc::COMMANDS_CLEARED_BY_DEVICE_SERVER),
        DeviceError::Transitioning => (SenseKey::NotReady, asc::NOT_READY_ASYMMETRIC_ACCESS_STATE_TRANSITION),
        DeviceError::Gone => (SenseKey::NotReady, asc::NOT_READY_MANUAL_INTERVENTION_REQUIRED),
        DeviceError::Medium | DeviceError::FlushFailed => match direction {
            Direction::Read => (SenseKey::MediumError, asc::UNRECOVERED_READ_ERROR),
            Direction::Write => (SenseKey::MediumError, asc::WRITE_ERROR),
        },
        DeviceError::NoSpace => (SenseKey::DataProtect, asc::SPACE_ALLOCATION_FAILED_WRITE_PROTECT),
        DeviceError::ReadOnly => (SenseKey::DataProtect, asc::WRITE_PROTECTED),
        // Commands do without what a device cannot do; one that still ends here is a fault of this target.
        DeviceError::Unsupported => (SenseKey::HardwareError, asc::INTERNAL_TARGET_FAILURE),
        // The device has become smaller than it was told.
        DeviceError::OutOfRange => (SenseKey::IllegalRequest, asc::LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE),
    };
    Fault::Check(Sense::new(key, code))
}

/// For `map_err` of reads.
pub fn on_read(error: DeviceError) -> Fault {
    fault(error, Direction::Read)
}

/// For `map_err` of writes.
pub fn on_write(error: DeviceError) -> Fault {
    fault(error, Direction::Write)
}
