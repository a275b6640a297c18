//! LOG SENSE (SPC-5 6.8).

use super::log_pages::{Contents, LogPages, Parameter, counters};
use super::request::{Reply, Request};
use super::sense::{Fault, Sense};
use crate::device::BlockDevice;

/// The subpage that lists subpages.
const ALL_SUBPAGES: u8 = 0xff;

/// PC: which values of counters.
const CUMULATIVE: u8 = 0b01;
const DEFAULT_CUMULATIVE: u8 = 0b11;

/// Tells one page from PARAMETER POINTER on.
pub fn log_sense<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let cdb = request.cdb();
    let (code, subpage, pointer) = (cdb.u8(2) & 0x3f, cdb.u8(3), cdb.u16(5));
    let page = LogPages::<D>::find(code).ok_or(Sense::invalid_field_in_cdb(2, 5))?;
    let by_default = cdb.u8(2) >> 6 == DEFAULT_CUMULATIVE;
    let body = match (subpage, &page.contents) {
        (ALL_SUBPAGES, _) => subpages::<D>(code),
        (0, Contents::Pages) => LogPages::<D>::ROWS.iter().map(|page| page.code).collect(),
        (0, Contents::Counters(tally)) => {
            // Counters have no thresholds here.
            if ![CUMULATIVE, DEFAULT_CUMULATIVE].contains(&(cdb.u8(2) >> 6)) {
                return Err(Sense::invalid_field_in_cdb(2, 7).into());
            }
            from(pointer, &counters(tally(request.unit.statistics())), by_default)?
        }
        // PC is ignored (SPC-5 6.8).
        (0, Contents::List(parameters)) => from(pointer, &parameters(request.unit), false)?,
        _ => return Err(Sense::invalid_field_in_cdb(3, 7).into()),
    };
    let has_parameters = subpage == 0 && !matches!(page.contents, Contents::Pages);
    if !has_parameters && pointer != 0 {
        return Err(Sense::invalid_field_in_cdb(5, 7).into());
    }
    // SPF marks a page with a subpage code; DS one of which nothing can be saved.
    let flags = if subpage != 0 { 0x40 } else { 0 } | if has_parameters { 0x80 } else { 0 };
    let [high, low] = (body.len() as u16).to_be_bytes(); // some hundred bytes at most
    let mut data = vec![flags | code, subpage, high, low];
    data.extend(body);
    Ok(Reply::data(data))
}

/// The page and subpage codes of one page, or for page 00h of all pages (SPC-5 7.3.19, 7.3.20).
fn subpages<D: BlockDevice>(code: u8) -> Vec<u8> {
    let rows = LogPages::<D>::ROWS.iter().filter(|page| code == 0 || page.code == code);
    rows.flat_map(|page| [page.code, 0, page.code, ALL_SUBPAGES]).collect()
}

/// The parameters whose codes are not below the pointer; beyond the last one there is nothing to point at.
fn from(pointer: u16, parameters: &[Parameter], by_default: bool) -> Result<Vec<u8>, Sense> {
    if parameters.last().is_none_or(|last| pointer > last.code) {
        return Err(Sense::invalid_field_in_cdb(5, 7));
    }
    let mut body = Vec::new();
    let wanted = parameters.iter().filter(|parameter| parameter.code >= pointer);
    wanted.for_each(|parameter| parameter.push(&mut body, by_default));
    Ok(body)
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
