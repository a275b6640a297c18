//! Protocol data units of RFC 7143 clause 11: typed values and their bytes.
//!
//! [`frame`] finds PDUs in a byte stream and checks digests; [`initiator`] and [`target`] hold one type per PDU, each with
//! its parser and its encoder side by side in the file of its family; [`transmit`] queues what goes out.

pub mod error;
pub mod fields;
pub mod frame;
pub mod initiator;
pub mod opcode;
pub mod target;
pub mod transmit;

mod ahs;
mod async_message;
mod data;
mod digest;
mod header;
mod login;
mod logout;
mod nop;
mod output;
mod ready_to_transfer;
mod reject;
mod scsi_command;
mod scsi_response;
mod snack;
mod task_management;
mod text;
