//! SANITIZE (SBC-4 5.30, 4.11): overwrite, block erase, exit failure mode. There is no cryptographic erase, as nothing here is encrypted.

use super::fields::Fields;
use super::overhaul::{Overhaul, Pass, begin};
use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::{Fault, Sense};
use super::{asc, overhaul};
use crate::device::BlockDevice;
use crate::lun::condition::State;
use bytes::Bytes;

/// Service action OVERWRITE.
pub const OVERWRITE: u16 = 0x01;
/// Service action BLOCK ERASE.
pub const BLOCK_ERASE: u16 = 0x02;
/// Service action EXIT FAILURE MODE.
pub const EXIT_FAILURE_MODE: u16 = 0x1f;

/// Bytes of the parameter list of OVERWRITE before the pattern.
const HEADER: usize = 4;

/// AUSE: a failure may be ended by EXIT FAILURE MODE.
fn ause(cdb: Fields<'_>) -> bool {
    cdb.bit(1, 5)
}

/// Overwrites or erases everything.
pub fn sanitize<'a, D: BlockDevice>(request: &'a Request<'a, D>) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let (cdb, unit) = (request.cdb(), request.unit);
        check_length(cdb, unit.block_size())?;
        let list = request.parameter_list()?;
        let plan = plan(cdb, &list, unit.block_size())?;
        // SBC-4 4.11.1: what failed in the restricted mode is not to be ended by what may fail without consequence.
        if !plan.restricted && unit.condition().get() == State::SanitizeFailedRestricted {
            return Err(Sense::invalid_field_in_cdb(1, 5).into());
        }
        begin(request, &list, plan, cdb.bit(1, 7)).await
    })
}

/// Ends a failure that allows it. Without one there is nothing to be done.
pub fn exit_failure_mode<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let (cdb, unit) = (request.cdb(), request.unit);
        check_length(cdb, unit.block_size())?;
        match unit.condition().get() {
            State::SanitizeFailedRestricted => return Err(Sense::invalid_field_in_cdb(1, 4).into()),
            State::SanitizeFailed => overhaul::forget(unit).await?,
            _ => {}
        }
        Ok(Reply::good())
    })
}

/// PARAMETER LIST LENGTH (SBC-4 table 117): a pattern of one byte to a block for OVERWRITE, nothing for the others.
fn check_length(cdb: Fields<'_>, block_size: u32) -> Result<(), Sense> {
    let length = u32::from(cdb.u16(7));
    let fits = match u16::from(cdb.u8(1) & 0x1f) {
        OVERWRITE => length > HEADER as u32 && length <= block_size + HEADER as u32,
        _ => length == 0,
    };
    if fits { Ok(()) } else { Err(Sense::invalid_field_in_cdb(7, 7)) }
}

/// What a CDB of OVERWRITE or BLOCK ERASE with this parameter list wants.
pub fn plan(cdb: Fields<'_>, list: &[u8], block_size: u32) -> Result<Overhaul, Fault> {
    let passes = match u16::from(cdb.u8(1) & 0x1f) {
        OVERWRITE => overwrite(list, block_size)?,
        _ => vec![Pass::Erase],
    };
    Ok(Overhaul { state: State::Sanitizing, restricted: !ause(cdb), passes })
}

/// OVERWRITE COUNT passes over the medium (SBC-4 table 118). With INVERT the pattern of every other one is inverted, so that the last one
/// leaves it as it was sent.
fn overwrite(list: &[u8], block_size: u32) -> Result<Vec<Pass>, Fault> {
    let fields = Fields(list);
    let (invert, test, count) = (fields.bit(0, 7), fields.u8(0) >> 5 & 0b11, fields.u8(0) & 0x1f);
    if test != 0 || count == 0 {
        return Err(Sense::invalid_field_in_parameters(0).into());
    }
    if fields.u8(1) != 0 {
        return Err(Sense::invalid_field_in_parameters(1).into());
    }
    let length = usize::from(fields.u16(2));
    if length == 0 || length > block_size as usize {
        return Err(Sense::invalid_field_in_parameters(2).into());
    }
    let pattern =
        list.get(HEADER..HEADER + length).ok_or(Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR))?;
    let plain = fill(pattern, block_size);
    let inverted: Bytes = plain.iter().map(|byte| !byte).collect();
    let block = |pass: u8| if invert && (count - pass).is_multiple_of(2) { &inverted } else { &plain };
    Ok((0..count).map(|pass| Pass::Write(block(pass).clone())).collect())
}

/// A block of a pattern that is repeated, and cut at the block's end.
pub fn fill(pattern: &[u8], block_size: u32) -> Bytes {
    pattern.iter().copied().cycle().take(block_size as usize).collect()
}

#[cfg(test)]
#[path = "sanitize_tests.rs"]
mod tests;
