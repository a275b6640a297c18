//! The iSCSI target and the SCSI disk as pure logic: no sockets, no clock, no executor.
//!
//! Two halves, two styles. [`pdu`], [`login`] and [`session`] are sans-I/O: bytes in, PDUs out, `now` an argument.
//! [`scsi`] and [`lun`] are plain async code over the [`device::BlockDevice`] trait, free of any executor.
#![forbid(unsafe_code)]

pub mod device;
pub mod login;
pub mod lun;
pub mod payload;
pub mod pdu;
pub mod scsi;
pub mod session;

#[cfg(test)]
mod initiators;
#[cfg(test)]
mod testing;
