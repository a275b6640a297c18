//! LOG SELECT (SPC-5 6.7): resets counters. They cannot be set to anything else, nor saved.

use super::asc;
use super::log_pages::{Contents, LogPages};
use super::request::{Reply, Request};
use super::sense::{Fault, Sense};
use crate::device::BlockDevice;

/// PC: default cumulative values.
const DEFAULT_CUMULATIVE: u8 = 0b11;

/// Sets the counters of one page, or with page code 00h of all pages, to their defaults, which are zeros; the other nexuses learn of it.
pub fn log_select<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let cdb = request.cdb();
    let (reset, page_control) = (cdb.bit(1, 1), cdb.u8(2) >> 6);
    let (code, subpage) = (cdb.u8(2) & 0x3f, cdb.u8(3));
    if request.data_out_wanted() > 0 {
        return Err(listed(request)?.into());
    }
    let page = LogPages::<D>::find(code).ok_or(Sense::invalid_field_in_cdb(2, 5))?;
    match (subpage, &page.contents) {
        (0, _) | (0xff, Contents::Pages) => {}
        _ => return Err(Sense::invalid_field_in_cdb(3, 7).into()),
    }
    // Without PCR, cumulative values and thresholds stay as they are.
    if !reset && page_control != DEFAULT_CUMULATIVE {
        return Ok(Reply::good());
    }
    let pages = LogPages::<D>::ROWS.iter().filter(|page| code == 0 || page.code == code);
    for page in pages {
        if let Contents::Counters(tally) = page.contents {
            tally(request.unit.statistics()).reset();
        }
    }
    request.unit.attentions().raise_except(request.nexus.id, asc::LOG_PARAMETERS_CHANGED);
    Ok(Reply::good())
}

/// Why a parameter list is refused: with PCR or a page code in the CDB there must be none (SPC-5 6.7.1), and no parameter can be set.
fn listed<D: BlockDevice>(request: &Request<'_, D>) -> Result<Sense, Sense> {
    let cdb = request.cdb();
    let at_fault = [(cdb.bit(1, 1), 1, 1), (cdb.u8(2) & 0x3f != 0, 2, 5), (cdb.u8(3) != 0, 3, 7)];
    if let Some((_, byte, bit)) = at_fault.into_iter().find(|(wrong, ..)| *wrong) {
        return Ok(Sense::invalid_field_in_cdb(byte, bit));
    }
    request.parameter_list()?;
    Ok(Sense::invalid_field_in_parameters(0))
}
