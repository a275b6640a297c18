//! CSCD descriptors: what is copied from and to (SPC-5 6.4.5).

use super::order::Order;
use crate::device::BlockDevice;
use crate::lun::copy::Reached;
use crate::scsi::fields::Fields;
use crate::scsi::sense::{Sense, SenseKey, SenseSpecific};
use crate::scsi::{asc, designators};

/// Bytes of a descriptor.
pub const LENGTH: usize = 32;
/// DESCRIPTOR TYPE CODE of the Identification Descriptor CSCD descriptor.
pub const IDENTIFICATION: u8 = 0xe4;
/// Most bytes of a designator.
const DESIGNATOR: usize = 20;

/// An Identification Descriptor CSCD descriptor (SPC-5 table 140).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cscd {
    /// Where it is in the parameter list.
    pub at: u16,
    nul: bool,
    device_type: u8,
    code_set: u8,
    association: u8,
    designator_type: u8,
    designator: Vec<u8>,
    block_length: u32,
}

impl Cscd {
    /// Reads one that begins at this byte of the parameter list.
    pub fn parse(bytes: &[u8], at: usize) -> Result<Self, Sense> {
        let fields = Fields(bytes);
        let fault = |byte: usize| Sense::invalid_field_in_parameters((at + byte) as u16);
        if fields.u8(0) != IDENTIFICATION {
            let sense = Sense::illegal(asc::UNSUPPORTED_TARGET_DESCRIPTOR_TYPE_CODE);
            return Err(sense.pointing(pointer(at as u16)));
        }
        // LU ID TYPE is ignored here (SPC-4 6.4.5.2).
        let length = usize::from(fields.u8(7));
        let designator =
            bytes.get(8..8 + DESIGNATOR).and_then(|field| field.get(..length)).ok_or(fault(7))?;
        Ok(Self {
            at: at as u16,
            nul: fields.bit(1, 5),
            device_type: fields.u8(1) & 0x1f,
            code_set: fields.u8(4) & 0x0f,
            association: fields.u8(5) >> 4 & 0b11,
            designator_type: fields.u8(5) & 0x0f,
            designator: designator.to_vec(),
            block_length: fields.u24(29),
        })
    }

    /// The unit that it names, if the initiator reaches it.
    pub fn resolve<D: BlockDevice>(&self, order: &Order<'_, D>) -> Result<Reached<D>, Sense> {
        let fault =
            |code, byte: u16| Sense::new(SenseKey::CopyAborted, code).pointing(pointer(self.at + byte));
        let identifies =
            |unit: &_| designators::identifies(unit, self.code_set, self.designator_type, &self.designator);
        // The obsolete NUL bit asks for a unit that is none. ASSOCIATION: a port or a target is no unit.
        if self.nul || self.association != 0 {
            return Err(fault(asc::COPY_TARGET_DEVICE_NOT_REACHABLE, 0));
        }
        let reached = match identifies(&*order.own.unit) {
            true => Some(order.own.clone()),
            false => order.manager.reach(&order.own.nexus, |unit| identifies(unit)),
        };
        let reached = reached.ok_or(fault(asc::COPY_TARGET_DEVICE_NOT_REACHABLE, 0))?;
        if self.device_type != 0 {
            return Err(fault(asc::INCORRECT_COPY_TARGET_DEVICE_TYPE, 1));
        }
        // Who is wrong about the block length is wrong about the blocks too.
        if self.block_length != 0 && self.block_length != reached.unit.block_size() {
            return Err(fault(asc::INVALID_FIELD_IN_PARAMETER_LIST, 29));
        }
        Ok(reached)
    }
}

/// A pointer into the parameter list.
pub fn pointer(byte: u16) -> SenseSpecific {
    SenseSpecific::Field { in_cdb: false, byte, bit: None }
}
