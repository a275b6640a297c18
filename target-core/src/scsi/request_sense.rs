//! REQUEST SENSE (SPC-5 6.39).

use super::asc;
use super::request::{Reply, Request};
use super::sense::{Fault, Sense, SenseKey};
use super::sense_format::{SenseFormat, render};
use crate::device::BlockDevice;

/// Tells, and clears, a unit attention; otherwise whether there is a medium, and how far formatting or sanitizing it is.
pub fn request_sense<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let unit = request.unit;
    let sense = match unit.attentions().take(request.nexus.id, |_| true) {
        Some(condition) => Sense::new(SenseKey::UnitAttention, condition),
        None if !unit.medium().is_loaded() => Sense::new(SenseKey::NotReady, asc::MEDIUM_NOT_PRESENT),
        None => unit.condition().sense().unwrap_or(Sense::new(SenseKey::NoSense, asc::NO_ADDITIONAL_SENSE)),
    };
    Ok(Reply::data(render(&sense, format(request.cdb().bit(1, 0))).to_vec()))
}

/// The format that DESC asks for.
pub fn format(desc: bool) -> SenseFormat {
    match desc {
        true => SenseFormat::Descriptor,
        false => SenseFormat::Fixed,
    }
}
