//! REQUEST SENSE (SPC-5 6.39).

use super::mode_pages::MRIE_ON_REQUEST;
use super::request::{Reply, Request};
use super::sense::{Fault, Sense, SenseKey};
use super::sense_format::{SenseFormat, render};
use super::{asc, report_luns};
use crate::device::BlockDevice;
use crate::lun::attention;
use crate::lun::unit::LogicalUnit;

/// Tells, and clears, a unit attention; otherwise whether there is a medium, how far formatting or sanitizing it is, and an informational
/// exception.
pub fn request_sense<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let unit = request.unit;
    let sense = match unit.attentions().take(request.nexus.id, |_| true) {
        Some(condition) => {
            if condition == asc::REPORTED_LUNS_DATA_HAS_CHANGED {
                report_luns::clear_attentions(request.target, request.nexus.id);
            }
            attention::sense(condition)
        }
        None if !unit.medium().is_loaded() => Sense::new(SenseKey::NotReady, asc::MEDIUM_NOT_PRESENT),
        None => match unit.condition().sense() {
            Some(sense) => sense,
            None if has_exception_on_request(unit) => {
                Sense::new(SenseKey::NoSense, asc::FAILURE_PREDICTION_THRESHOLD_EXCEEDED_FALSE)
            }
            None => Sense::new(SenseKey::NoSense, asc::NO_ADDITIONAL_SENSE),
        },
    };
    Ok(Reply::data(render(&sense, format(request.cdb().bit(1, 0))).to_vec()))
}

/// An informational exception that is told on request only.
fn has_exception_on_request<D: BlockDevice>(unit: &LogicalUnit<D>) -> bool {
    let modes = unit.modes().get();
    modes.has_exception() && modes.mrie == MRIE_ON_REQUEST
}

/// The format that DESC asks for.
pub fn format(desc: bool) -> SenseFormat {
    match desc {
        true => SenseFormat::Descriptor,
        false => SenseFormat::Fixed,
    }
}
