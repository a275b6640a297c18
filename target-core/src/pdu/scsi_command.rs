//! SCSI Command (RFC 7143 §11.3).

use super::ahs::{self, BASIC_CDB};
use super::error::RejectReason;
use super::fields::Serial;
use super::header::{Bhs, FINAL, Header, array, bit, serial, word};
use super::opcode;
use crate::scsi::command::TaskAttribute;
use crate::scsi::lun_address::LunAddress;
use bytes::Bytes;
use nom::Parser;
use smallvec::SmallVec;

const READ: u8 = 0x40;
const WRITE: u8 = 0x20;
const ATTRIBUTE_MASK: u8 = 0x07;

/// SCSI Command (RFC 7143 §11.3).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ScsiCommand {
    pub immediate: bool,
    /// F: no unsolicited Data-Out follows.
    pub is_final: bool,
    pub read: bool,
    pub write: bool,
    pub attribute: TaskAttribute,
    /// PRI of RFC 7144, 0 to 15.
    pub priority: u8,
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    /// In bytes: of the write when W is set, else of the read.
    pub expected_data_transfer_length: u32,
    /// For bidirectional commands, from the AHS; 0 otherwise.
    pub bidirectional_read_length: u32,
    pub cmd_sn: Serial,
    pub exp_stat_sn: Serial,
    /// 16 bytes, then what an Extended CDB AHS adds.
    pub cdb: SmallVec<[u8; 16]>,
    pub immediate_data: Bytes,
}

impl ScsiCommand {
    pub(super) fn parse(header: &Header<'_>, ahs: &[u8], data: Bytes) -> Result<Self, RejectReason> {
        let (_, (expected_data_transfer_length, cmd_sn, exp_stat_sn, cdb)) =
            (word, serial, serial, array::<BASIC_CDB>).parse(header.rest)?;
        let segments = ahs::parse(ahs)?;
        let mut cdb = SmallVec::from_buf(cdb);
        cdb.extend_from_slice(segments.extended_cdb);

        let (is_final, read, write) = (header.flag(FINAL), header.flag(READ), header.flag(WRITE));
        let bidirectional_read_length = segments.bidirectional_read_length.unwrap_or(0);
        // §11.3.1: W and F both clear is an error, and one of R and W must be set where data is expected.
        let endless = !is_final && !write;
        let directionless =
            !read && !write && (expected_data_transfer_length | bidirectional_read_length) != 0;
        if endless || directionless {
            return Err(RejectReason::InvalidPduField);
        }
        Ok(Self {
            immediate: header.immediate,
            is_final,
            read,
            write,
            attribute: attribute(header.flags & ATTRIBUTE_MASK)?,
            priority: header.specific[0] >> 4,
            lun: header.lun(),
            initiator_task_tag: header.initiator_task_tag,
            expected_data_transfer_length,
            bidirectional_read_length,
            cmd_sn,
            exp_stat_sn,
            cdb,
            immediate_data: data,
        })
    }

    pub(super) fn bhs(&self) -> Bhs {
        let mut cdb = [0; BASIC_CDB];
        cdb.iter_mut().zip(&self.cdb).for_each(|(to, from)| *to = *from);
        let flags = bit(self.is_final, FINAL) | bit(self.read, READ) | bit(self.write, WRITE);
        Bhs::new(opcode::SCSI_COMMAND)
            .immediate(self.immediate)
            .byte(1, flags | attribute_code(self.attribute))
            .byte(2, self.priority << 4)
            .lun(self.lun)
            .initiator_task_tag(self.initiator_task_tag)
            .word(20, self.expected_data_transfer_length)
            .serial(24, self.cmd_sn)
            .serial(28, self.exp_stat_sn)
            .put(32, cdb)
    }

    /// The additional header segments that it needs.
    pub(super) fn segments(&self) -> ahs::Segments<'_> {
        ahs::Segments {
            extended_cdb: self.cdb.get(BASIC_CDB..).unwrap_or_default(),
            bidirectional_read_length: (self.bidirectional_read_length != 0)
                .then_some(self.bidirectional_read_length),
        }
    }
}

/// ATTR (RFC 7143 §11.3.1): 5 to 7 are reserved.
fn attribute(code: u8) -> Result<TaskAttribute, RejectReason> {
    match code {
        0 | 1 => Ok(TaskAttribute::Simple),
        2 => Ok(TaskAttribute::Ordered),
        3 => Ok(TaskAttribute::HeadOfQueue),
        4 => Ok(TaskAttribute::Aca),
        _ => Err(RejectReason::InvalidPduField),
    }
}

fn attribute_code(attribute: TaskAttribute) -> u8 {
    match attribute {
        TaskAttribute::Simple => 1,
        TaskAttribute::Ordered => 2,
        TaskAttribute::HeadOfQueue => 3,
        TaskAttribute::Aca => 4,
    }
}
