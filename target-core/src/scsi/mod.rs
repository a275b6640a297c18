//! The SCSI disk: command descriptor blocks, sense data, the opcode table and one file per command family.
//!
//! Nothing here knows how commands travel. A command comes in through [`dispatch`], which finds its row in the [`table`], takes it into the
//! unit's task set, leads it past the [`gates`] and runs its handler.

pub mod asc;
pub mod command;
pub mod lun_address;
pub mod mode_values;
pub mod sense;
pub mod sense_format;

pub(crate) mod dispatch;
pub(crate) mod no_unit;
pub mod request;
pub mod row;
pub mod table;

pub mod extent;
pub mod fields;

mod designators;
mod device_fault;
mod gates;
mod inquiry;
mod limits;
mod read;
mod read_capacity;
mod report_luns;
mod request_sense;
mod test_unit_ready;
mod vpd;
mod write;

#[cfg(test)]
mod first_tests;
