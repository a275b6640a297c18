//! MODE SELECT(6) and (10) (SPC-5 6.14, 6.15).

use super::device_fault::on_write;
use super::fields::Fields;
use super::mode_pages::{self, MRIE_UNIT_ATTENTION};
use super::mode_values::ModeValues;
use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::{Fault, Sense};
use super::{asc, mode_saving};
use crate::device::BlockDevice;
use crate::lun::unit::LogicalUnit;

/// Where a mode parameter header has its fields, and how long it is.
struct Header {
    length: usize,
    medium_type: usize,
    /// The bit LONGLBA, if any.
    long_lba: Option<usize>,
    descriptor_length: fn(Fields<'_>) -> usize,
}

const SIX: Header =
    Header { length: 4, medium_type: 1, long_lba: None, descriptor_length: |list| list.u8(3).into() };

const TEN: Header =
    Header { length: 8, medium_type: 2, long_lba: Some(4), descriptor_length: |list| list.u16(6).into() };

/// With a header of four bytes.
pub fn mode_select_6<'a, D: BlockDevice>(request: &'a Request<'a, D>) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(select(request, &SIX))
}

/// With a header of eight bytes.
pub fn mode_select_10<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(select(request, &TEN))
}

/// Takes over all of the parameter list or nothing of it; the other nexuses learn of a change. Who clears WCE flushes no more from then
/// on, so what the cache holds has to be on stable storage first (SBC-4 6.5.6); no write is under way, since the rows claim every block.
async fn select<D: BlockDevice>(request: &Request<'_, D>, header: &Header) -> Result<Reply, Fault> {
    let (cdb, unit) = (request.cdb(), request.unit);
    let (page_format, revert, save) = (cdb.bit(1, 4), cdb.bit(1, 1), cdb.bit(1, 0));
    if save && unit.memory().is_none() {
        return Err(Sense::invalid_field_in_cdb(1, 0).into());
    }
    let list = request.parameter_list()?;
    let values = match (revert, list.is_empty()) {
        (false, true) => unit.modes().get(),
        (true, true) => ModeValues::defaults(unit.device().capabilities().volatile_cache),
        // SPC-5 6.14: RTD comes without a list.
        (true, false) => return Err(Sense::invalid_field_in_cdb(1, 1).into()),
        // PF zero: vendor specific, and there is no such format here.
        (false, false) if !page_format => return Err(Sense::invalid_field_in_cdb(1, 4).into()),
        (false, false) => parse(unit, header, &list)?,
    };
    let before = unit.modes().get();
    if before.wce && !values.wce {
        unit.device().flush().await.map_err(on_write)?;
        request.go_on()?;
    }
    if save {
        mode_saving::save(unit, values).await?;
    }
    if unit.modes().set(values) {
        unit.attentions().raise_except(request.nexus.id, asc::MODE_PARAMETERS_CHANGED);
    }
    let was_told = before.has_exception() && before.mrie == MRIE_UNIT_ATTENTION;
    if values.has_exception() && values.mrie == MRIE_UNIT_ATTENTION && !was_told {
        unit.attentions().raise(asc::FAILURE_PREDICTION_THRESHOLD_EXCEEDED_FALSE);
    }
    Ok(Reply::good())
}

/// The parameters that the list asks for, on top of those in force. MODE DATA LENGTH and the device-specific parameter are not looked
/// at (SPC-5 7.5.6, SBC-4 6.5.1).
fn parse<D: BlockDevice>(unit: &LogicalUnit<D>, header: &Header, list: &[u8]) -> Result<ModeValues, Sense> {
    let fields = Fields(list);
    if list.len() < header.length {
        return Err(Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR));
    }
    if fields.u8(header.medium_type) != 0 {
        return Err(Sense::invalid_field_in_parameters(header.medium_type as u16));
    }
    let long = header.long_lba.is_some_and(|at| fields.bit(at, 0));
    let descriptor_length = (header.descriptor_length)(fields);
    let pages = header.length + descriptor_length;
    let descriptor =
        list.get(header.length..pages).ok_or(Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR))?;
    check_descriptor(unit, descriptor, long)
        .map_err(|at| Sense::invalid_field_in_parameters((header.length + at) as u16))?;
    parse_pages(unit, list, pages)
}

/// The block descriptor may only say what is so already; the error is the offset of the byte at fault.
fn check_descriptor<D: BlockDevice>(
    unit: &LogicalUnit<D>,
    descriptor: &[u8],
    long: bool,
) -> Result<(), usize> {
    let fields = Fields(descriptor);
    let (blocks, most, length_at) = match (descriptor.len(), long) {
        (0, _) => return Ok(()),
        (8, false) => (u64::from(fields.u32(0)), u64::from(u32::MAX), 4),
        (16, true) => (fields.u64(0), u64::MAX, 12),
        _ => return Err(0),
    };
    // Zero and all ones leave the number of blocks as it is (SBC-4 6.5.2.2).
    if blocks != 0 && blocks != most && blocks != unit.capacity() {
        return Err(0);
    }
    match fields.u32(length_at) == unit.block_size() {
        true => Ok(()),
        false => Err(length_at),
    }
}

fn parse_pages<D: BlockDevice>(unit: &LogicalUnit<D>, list: &[u8], at: usize) -> Result<ModeValues, Sense> {
    let volatile_cache = unit.device().capabilities().volatile_cache;
    let mut values = unit.modes().get();
    for found in mode_pages::cut(list, at) {
        let found = found.map_err(|()| Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR))?;
        let page = found.page.ok_or(Sense::invalid_field_in_parameters(found.at as u16))?;
        page.absorb(&mut values, found.parameters, volatile_cache)
            .map_err(|fault| Sense::invalid_field_in_parameters((found.at + fault) as u16))?;
    }
    Ok(values)
}
