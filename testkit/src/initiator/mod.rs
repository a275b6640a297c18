//! An initiator over plain sockets that does what it is told and nothing by itself: for what real ones never do, or hide from their users.

mod attempt;
mod commands;
mod line;
mod login;
mod session;
mod talk;

pub use attempt::{Lost, Transfer};
pub use glint_target_core::pdu::target::TargetPdu;
pub use line::{Line, PATIENCE};
pub use login::{Port, Stage};
pub use session::Initiator;

/// SAM status codes.
pub const GOOD: u8 = 0x00;
#[allow(missing_docs)]
pub const CHECK_CONDITION: u8 = 0x02;
#[allow(missing_docs)]
pub const RESERVATION_CONFLICT: u8 = 0x18;
#[allow(missing_docs)]
pub const BUSY: u8 = 0x08;
#[allow(missing_docs)]
pub const TASK_SET_FULL: u8 = 0x28;
#[allow(missing_docs)]
pub const TASK_ABORTED: u8 = 0x40;

/// Task management functions (RFC 7143 §11.5.1).
pub const CLEAR_TASK_SET: u8 = 4;
#[allow(missing_docs)]
pub const LOGICAL_UNIT_RESET: u8 = 5;
#[allow(missing_docs)]
pub const TARGET_COLD_RESET: u8 = 7;

/// A command that moves nothing.
pub const TEST_UNIT_READY: [u8; 6] = [0; 6];

/// The end of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// SAM status.
    pub status: u8,
    /// Sense data.
    pub sense: Vec<u8>,
    /// What was read.
    pub data: Vec<u8>,
}

impl End {
    /// Sense key, additional sense code and its qualifier, of either format; zero without sense data.
    pub fn condition(&self) -> (u8, u8, u8) {
        let at = |place: usize| self.sense.get(place).copied().unwrap_or(0);
        match at(0) & 0x7f {
            0x72 | 0x73 => (at(1) & 0xf, at(2), at(3)),
            _ => (at(2) & 0xf, at(12), at(13)),
        }
    }

    /// What was read, if the status is GOOD; panics otherwise.
    #[track_caller]
    pub fn good(self) -> Vec<u8> {
        assert_eq!(self.status, GOOD, "{self:02x?}");
        self.data
    }
}
