//! Segment descriptors: what is copied (SPC-5 6.4.6).

use super::cscd::{self, Cscd};
use super::limits;
use super::order::Order;
use super::transfer::{Origin, Side, Stop, Transfer};
use crate::device::BlockDevice;
use crate::lun::copy::Reached;
use crate::scsi::asc;
use crate::scsi::extent::Extent;
use crate::scsi::fields::Fields;
use crate::scsi::sense::{Asc, Fault, Sense, SenseKey};
use std::ops::Range;

/// DESCRIPTOR TYPE CODE of block to block.
pub const BLOCK_TO_BLOCK: u8 = 0x02;
/// Bytes of such a descriptor.
pub const LENGTH: usize = 28;

/// A block to block segment (SPC-5 6.4.6.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    at: u16,
    /// DC: the blocks are counted as the destination's.
    counts_destination: bool,
    source: u16,
    destination: u16,
    blocks: u16,
    from: u64,
    to: u64,
}

impl Segment {
    /// Reads one that begins at this byte of the parameter list.
    pub fn parse(bytes: &[u8], at: usize) -> Result<Self, Sense> {
        let fields = Fields(bytes);
        if fields.u8(0) != BLOCK_TO_BLOCK {
            let sense = Sense::illegal(asc::UNSUPPORTED_SEGMENT_DESCRIPTOR_TYPE_CODE);
            return Err(sense.pointing(cscd::pointer(at as u16)));
        }
        if usize::from(fields.u16(2)) + 4 != LENGTH {
            return Err(Sense::invalid_field_in_parameters((at + 2) as u16));
        }
        Ok(Self {
            at: at as u16,
            counts_destination: fields.bit(1, 1),
            source: fields.u16(4),
            destination: fields.u16(6),
            blocks: fields.u16(10),
            from: fields.u64(12),
            to: fields.u64(20),
        })
    }

    /// Copies it; `number` is its place in the list.
    pub async fn copy<D: BlockDevice>(
        &self,
        order: &Order<'_, D>,
        cscds: &[Cscd],
        number: usize,
    ) -> Result<(), Fault> {
        let number = number as u32;
        order.operation.begin_segment();
        let at_fault = |sense: Sense| Fault::Check(sense.regarding(number));
        let source = self.resolve(order, cscds, self.source, 4).map_err(at_fault)?;
        let destination = self.resolve(order, cscds, self.destination, 6).map_err(at_fault)?;
        let (from, to) = self.extents(&source, &destination).map_err(at_fault)?;
        let blocks = to.end - to.start;
        let before = order.operation.bytes();
        let transfer = Transfer {
            order,
            origin: Origin::Blocks { end: source, ranges: [from].into(), watch: None },
            skip: 0,
            destination,
            ranges: vec![to],
        };
        let Err(stop) = transfer.run().await else { return Ok(()) };
        let sense = match stop {
            Stop::Unwanted(fault) => return Err(fault),
            Stop::Unreachable(side) => self.complain(asc::COPY_TARGET_DEVICE_NOT_REACHABLE, cscds, side),
            Stop::Failed(side, _) => self.complain(asc::THIRD_PARTY_DEVICE_FAILURE, cscds, side),
            Stop::Revoked => aborted(asc::THIRD_PARTY_DEVICE_FAILURE),
        };
        // The residual, where anything was written at all (SPC-5 5.17.7.4).
        let written = (order.operation.bytes() - before) / u64::from(transfer.destination.unit.block_size());
        Err(at_fault(match written {
            0 => sense,
            written => sense.informing(blocks.saturating_sub(written)),
        }))
    }

    /// The unit that a CSCD DESCRIPTOR ID stands for; `byte` is where the segment has the ID.
    fn resolve<D: BlockDevice>(
        &self,
        order: &Order<'_, D>,
        cscds: &[Cscd],
        id: u16,
        byte: u16,
    ) -> Result<Reached<D>, Sense> {
        if id == limits::OWN_UNIT {
            return Ok(order.own.clone());
        }
        match cscds.get(usize::from(id)) {
            Some(cscd) => cscd.resolve(order),
            None => Err(self.fault(asc::COPY_TARGET_DEVICE_NOT_REACHABLE, byte)),
        }
    }

    /// The blocks on both sides, all of them within their units. What does not make whole blocks on one side is refused whatever CAT and PAD
    /// say: residual data is not kept.
    fn extents<D: BlockDevice>(
        &self,
        source: &Reached<D>,
        destination: &Reached<D>,
    ) -> Result<(Range<u64>, Range<u64>), Sense> {
        let sizes = [source, destination].map(|end| u64::from(end.unit.block_size()));
        let [source_size, destination_size] = sizes;
        let bytes = u64::from(self.blocks) * sizes[usize::from(self.counts_destination)];
        if !bytes.is_multiple_of(source_size) || !bytes.is_multiple_of(destination_size) {
            return Err(self.fault(asc::UNEXPECTED_INEXACT_SEGMENT, 10));
        }
        // An error in the descriptor itself, for which the standard has no code of its own (SPC-5 5.17.7.4 g).
        let within = |lba, size, end: &Reached<D>, byte| {
            let extent = Extent { lba, blocks: bytes / size };
            extent.within(end.unit.capacity()).map_err(|_| self.fault(asc::NO_ADDITIONAL_SENSE, byte))
        };
        Ok((within(self.from, source_size, source, 12)?, within(self.to, destination_size, destination, 20)?))
    }

    /// COPY ABORTED that points into the segment.
    fn fault(&self, code: Asc, byte: u16) -> Sense {
        aborted(code).pointing(cscd::pointer(self.at + byte))
    }

    /// COPY ABORTED that points at the descriptor of the unit at fault, if it has one.
    fn complain(&self, code: Asc, cscds: &[Cscd], side: Side) -> Sense {
        let id = match side {
            Side::Source => self.source,
            Side::Destination => self.destination,
        };
        match cscds.get(usize::from(id)) {
            Some(cscd) => aborted(code).pointing(cscd::pointer(cscd.at)),
            None => aborted(code),
        }
    }
}

fn aborted(code: Asc) -> Sense {
    Sense::new(SenseKey::CopyAborted, code)
}
