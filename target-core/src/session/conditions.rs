//! iSCSI conditions that end a task, as sense data (RFC 7143 §11.4.7.2).

use crate::scsi::sense::{Asc, Sense, SenseKey};

/// Data that was not asked for and may not come unasked.
pub(super) const UNEXPECTED_UNSOLICITED_DATA: Sense = Sense::new(SenseKey::AbortedCommand, Asc(0x0c, 0x0c));
/// Unsolicited data, or an answer to an R2T, of another length than it must have.
pub(super) const INCORRECT_AMOUNT_OF_DATA: Sense = Sense::new(SenseKey::AbortedCommand, Asc(0x0c, 0x0d));
/// Data lost to a wrong digest.
pub(super) const PROTOCOL_SERVICE_CRC_ERROR: Sense = Sense::new(SenseKey::AbortedCommand, Asc(0x47, 0x05));
