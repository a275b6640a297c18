//! The SCSI disk: command descriptor blocks, sense data, the opcode table and one file per command family.
//!
//! Nothing here knows how commands travel. A command comes in through `dispatch`, which finds its row in the [`table`], takes it into the
//! unit's task set, leads it past the `gates` and runs its handler.

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

mod blocks;
mod compare_and_write;
pub mod copy;
mod data_buffer;
mod designators;
mod device_fault;
mod effort;
mod format_unit;
mod gates;
mod get_lba_status;
mod identifying_information;
mod inquiry;
pub(crate) mod limits;
mod log_pages;
mod log_select;
mod log_sense;
pub(crate) mod mode_pages;
mod mode_saving;
mod mode_select;
mod mode_sense;
mod orwrite;
pub(crate) mod overhaul;
mod persistent_parameters;
mod persistent_reserve_in;
mod persistent_reserve_out;
mod prefetch;
mod priority;
mod read;
mod read_capacity;
mod read_defect_data;
mod report_luns;
mod request_sense;
mod reserve;
mod sanitize;
mod send_diagnostic;
mod start_stop_unit;
mod supported_opcodes;
mod synchronize_cache;
mod target_port_groups;
mod test_unit_ready;
mod third_party_copy;
mod timestamp;
mod transport_id;
mod unmap;
mod usage;
mod verify;
mod vpd;
mod write;
mod write_atomic;
mod write_same;

#[cfg(test)]
pub(crate) mod cdbs;
#[cfg(test)]
mod first_tests;
#[cfg(test)]
mod gates_tests;
#[cfg(test)]
mod input_tests;
#[cfg(test)]
mod inquiry_tests;
#[cfg(test)]
mod medium_tests;
#[cfg(test)]
mod mode_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod parameter_list_tests;
#[cfg(test)]
mod persistent_memory_tests;
#[cfg(test)]
mod persistent_tests;
#[cfg(test)]
mod provisioning_tests;
#[cfg(test)]
mod reservation_class_tests;
