//! INQUIRY (SPC-5 6.6). Its vital product data pages are in [`super::vpd`].

use super::fields::Fields;
use super::lun_address::LunKind;
use super::no_unit::Place;
use super::request::{Reply, Request};
use super::sense::{Fault, Sense};
use super::{designators, vpd};
use crate::device::BlockDevice;
use crate::lun::identity::Identity;

/// PERIPHERAL DEVICE TYPE of a disk.
pub const DISK: u8 = 0x00;
/// PERIPHERAL DEVICE TYPE of a well-known logical unit.
const WELL_KNOWN: u8 = 0x1e;
/// PAGE CODE of the Device Identification page.
const DEVICE_IDENTIFICATION: u8 = 0x83;
/// PERIPHERAL QUALIFIER 011b and type 1Fh: there can be no unit here.
const NO_UNIT: u8 = 0x7f;

/// VERSION DESCRIPTORS (SPC-5 6.6.4): what the unit conforms to, without claim of a particular revision.
const VERSIONS: [u16; 6] = [
    0x00a0, // SAM-5
    0x0960, // iSCSI
    0x0460, // SPC-4
    0x05c0, // SPC-5
    0x04c0, // SBC-3
    0x0600, // SBC-4
];
/// Those of a place without a disk.
const VERSIONS_WITHOUT_DISK: [u16; 4] = [0x00a0, 0x0960, 0x0460, 0x05c0];

/// Standard INQUIRY data, or a vital product data page.
pub fn inquiry<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let cdb = request.cdb();
    let page = cdb.u8(2);
    match cdb.bit(1, 0) {
        true => Ok(Reply::data(vpd::page(request, page)?)),
        false if page != 0 => Err(Sense::invalid_field_in_cdb(2, 7).into()),
        false => {
            let config = request.unit.config();
            Ok(Reply::data(standard(DISK, config.removable, Some(&config.identity))))
        }
    }
}

/// The answer of a place without ordinary unit. Of the pages it has the list, and where there is a well-known unit the names of what is around
/// it: it has none of its own.
pub fn without_unit(cdb: Fields<'_>, place: &Place<'_>) -> Result<Vec<u8>, Sense> {
    let device_type = match place.kind {
        LunKind::ReportLuns => WELL_KNOWN,
        LunKind::Unit(_) | LunKind::Unknown => NO_UNIT,
    };
    match (cdb.bit(1, 0), cdb.u8(2), place.kind) {
        (false, 0, _) => Ok(standard(device_type, false, None)),
        (true, 0, LunKind::ReportLuns) => Ok(vpd::framed(device_type, 0, vec![0, DEVICE_IDENTIFICATION])),
        (true, 0, _) => Ok(vpd::framed(device_type, 0, vec![0])),
        (true, DEVICE_IDENTIFICATION, LunKind::ReportLuns) => {
            let body = designators::port_and_target(place.nexus, place.group);
            Ok(vpd::framed(device_type, DEVICE_IDENTIFICATION, body))
        }
        _ => Err(Sense::invalid_field_in_cdb(2, 7)),
    }
}

/// Standard INQUIRY data (SPC-5 6.6.2), 96 bytes.
fn standard(device_type: u8, removable: bool, identity: Option<&Identity>) -> Vec<u8> {
    let mut data = Vec::with_capacity(96);
    data.extend_from_slice(&[
        device_type,
        if removable { 0x80 } else { 0 },
        0x06,                                         // VERSION: SPC-4
        0x02,                                         // RESPONSE DATA FORMAT; NORMACA and HISUP zero
        91,                                           // ADDITIONAL LENGTH
        if identity.is_some() { 0x38 } else { 0x30 }, // TPGS: implicit and explicit asymmetric access; 3PC
        0,
        0x02, // CMDQUE
    ]);
    let own = Identity::new("");
    let identity = identity.unwrap_or(&own);
    push_text(&mut data, &identity.vendor, 8);
    push_text(&mut data, &identity.product, 16);
    push_text(&mut data, &identity.revision, 4);
    data.resize(58, 0);
    let versions: &[u16] = if device_type == DISK { &VERSIONS } else { &VERSIONS_WITHOUT_DISK };
    versions.iter().for_each(|version| data.extend_from_slice(&version.to_be_bytes()));
    data.resize(96, 0);
    data
}

/// Appends text as left-aligned ASCII, filled up with spaces (SPC-5 4.3.1); what is not printable ASCII becomes a question mark.
pub fn push_text(data: &mut Vec<u8>, text: &str, width: usize) {
    let printable = |c: char| if matches!(c, ' '..='~') { c as u8 } else { b'?' };
    data.extend(text.chars().map(printable).chain(std::iter::repeat(b' ')).take(width));
}
