//! The SCSI disk: command descriptor blocks, sense data, the opcode table and one file per command family.
//!
//! Nothing here knows how commands travel.

pub mod command;
pub mod lun_address;
pub mod sense;
