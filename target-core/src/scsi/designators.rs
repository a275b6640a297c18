//! Device Identification, VPD page 83h (SPC-5 7.7.6): by which names initiators know unit, port and target.

use super::command::Nexus;
use super::inquiry::push_text;
use super::request::Request;
use crate::device::BlockDevice;
use crate::lun::identity::Identity;
use crate::lun::unit::LogicalUnit;

/// CODE SET (SPC-5 table 29).
const BINARY: u8 = 1;
const ASCII: u8 = 2;
const UTF_8: u8 = 3;

/// ASSOCIATION in its place in the second byte; those of a port and a target come with PIV and iSCSI's protocol identifier.
const UNIT: u8 = 0x00;
const PORT: u8 = 0x90;
const TARGET: u8 = 0xa0;
const ISCSI: u8 = 0x50;

/// DESIGNATOR TYPE (SPC-5 table 609).
const T10_VENDOR_ID: u8 = 1;
const NAA: u8 = 3;
const RELATIVE_TARGET_PORT: u8 = 4;
const PORT_GROUP: u8 = 5;
const SCSI_NAME: u8 = 8;

/// The body of the page.
pub fn device_identification<D: BlockDevice>(request: &Request<'_, D>) -> Vec<u8> {
    let identity = &request.unit.config().identity;
    let mut body = Vec::with_capacity(256);
    // One binary name, no EUI-64 beside it: of two, udev takes one for the WWID and multipathd the other.
    push(&mut body, BINARY, UNIT | NAA, &identity.naa());
    push(&mut body, ASCII, UNIT | T10_VENDOR_ID, &t10_vendor_id(identity));
    let naa = identity.naa().iter().map(|byte| format!("{byte:02X}")).collect::<String>();
    push(&mut body, UTF_8, UNIT | SCSI_NAME, &name(&format!("naa.{naa}")));

    body.extend(port_and_target(request.nexus, request.unit.own_port_group()));
    body
}

/// What is told of the port and the target through which a nexus came, be it to a unit or to a well-known one, and of the port's group.
pub fn port_and_target(nexus: &Nexus, group: u16) -> Vec<u8> {
    let mut body = Vec::with_capacity(128);
    push(&mut body, ISCSI | BINARY, PORT | RELATIVE_TARGET_PORT, &low_half(nexus.relative_port));
    push(&mut body, ISCSI | BINARY, PORT | PORT_GROUP, &low_half(group));
    push(&mut body, ISCSI | UTF_8, PORT | SCSI_NAME, &port_name(&nexus.target_name, nexus.portal_group_tag));
    push(&mut body, ISCSI | UTF_8, TARGET | SCSI_NAME, &name(&nexus.target_name));
    body
}

/// Whether a designator is one of those that the page tells of the unit itself.
pub fn identifies<D: BlockDevice>(
    unit: &LogicalUnit<D>,
    code_set: u8,
    designator_type: u8,
    designator: &[u8],
) -> bool {
    let identity = &unit.config().identity;
    match (code_set, designator_type) {
        (BINARY, NAA) => designator == identity.naa(),
        (ASCII, T10_VENDOR_ID) => designator == t10_vendor_id(identity),
        _ => false,
    }
}

fn t10_vendor_id(identity: &Identity) -> Vec<u8> {
    let mut vendor = Vec::new();
    push_text(&mut vendor, &identity.vendor, 8);
    push_text(&mut vendor, &identity.serial, identity.serial.chars().count().min(200));
    vendor
}

/// The body of SCSI Ports, VPD page 88h (SPC-5 7.7.16): all target ports by their names; there is no initiator port.
pub fn scsi_ports<D: BlockDevice>(request: &Request<'_, D>) -> Vec<u8> {
    let mut body = Vec::new();
    for (relative_port, portal_group_tag) in request.target.ports(request.nexus) {
        let mut names = Vec::new();
        let name = port_name(&request.nexus.target_name, portal_group_tag);
        push(&mut names, ISCSI | UTF_8, PORT | SCSI_NAME, &name);
        let [port_high, port_low] = relative_port.to_be_bytes();
        let [length_high, length_low] = (names.len() as u16).to_be_bytes(); // one designator: at most 259
        body.extend_from_slice(&[0, 0, port_high, port_low, 0, 0, 0, 0, 0, 0, length_high, length_low]);
        body.extend(names);
    }
    body
}

/// RFC 7143 §4.4.1: the name of a target port.
fn port_name(target: &str, portal_group_tag: u16) -> Vec<u8> {
    name(&format!("{target},t,0x{portal_group_tag:04x}"))
}

/// Appends a designation descriptor (SPC-5 7.7.6.1). One that is too long for its length byte is left out.
fn push(body: &mut Vec<u8>, code_set: u8, kind: u8, designator: &[u8]) {
    if let Ok(length) = u8::try_from(designator.len()) {
        body.extend_from_slice(&[code_set, kind, 0, length]);
        body.extend_from_slice(designator);
    }
}

/// A 16-bit identifier in the lower half of four bytes.
fn low_half(identifier: u16) -> [u8; 4] {
    u32::from(identifier).to_be_bytes()
}

/// SCSI name string: ended by a zero, filled up to a multiple of four (SPC-5 7.7.6.11).
fn name(text: &str) -> Vec<u8> {
    let mut name = text.as_bytes().to_vec();
    name.resize((name.len() + 1).next_multiple_of(4), 0);
    name
}
