//! Vital product data (SPC-5 7.7, SBC-4 6.6). Each page is one row of the table; what they tell derives from the device.

use super::inquiry::{DISK, push_text};
use super::mode_pages::EXTENDED_SELF_TEST_SECONDS;
use super::request::Request;
use super::sense::Sense;
use super::{designators, limits, third_party_copy};
use crate::device::BlockDevice;
use std::marker::PhantomData;

/// Gives the body of a page: all that comes after PAGE LENGTH.
type Body<D> = fn(&Request<'_, D>) -> Vec<u8>;

struct Pages<D>(PhantomData<D>);

impl<D: BlockDevice> Pages<D> {
    /// In ascending order of the page code (SPC-5 7.7.18).
    const ROWS: &'static [(u8, Body<D>)] = &[
        (0x00, |_| Self::ROWS.iter().map(|(code, _)| *code).collect()),
        (0x80, unit_serial_number),
        (0x83, designators::device_identification),
        (0x86, extended_inquiry_data),
        (0x87, mode_page_policy),
        (0x88, designators::scsi_ports),
        (0x8f, third_party_copy::third_party_copy),
        (0xb0, block_limits),
        (0xb1, block_device_characteristics),
        (0xb2, logical_block_provisioning),
    ];
}

/// A whole page, or INVALID FIELD IN CDB for one that there is not.
pub fn page<D: BlockDevice>(request: &Request<'_, D>, code: u8) -> Result<Vec<u8>, Sense> {
    let (_, body) =
        Pages::<D>::ROWS.iter().find(|(own, _)| *own == code).ok_or(Sense::invalid_field_in_cdb(2, 7))?;
    Ok(framed(DISK, code, body(request)))
}

/// A page with its header.
pub fn framed(device_type: u8, code: u8, body: Vec<u8>) -> Vec<u8> {
    let [high, low] = u16::try_from(body.len()).unwrap_or(u16::MAX).to_be_bytes();
    let mut page = vec![device_type, code, high, low];
    page.extend(body);
    page
}

/// SPC-5 7.7.19.
fn unit_serial_number<D: BlockDevice>(request: &Request<'_, D>) -> Vec<u8> {
    let serial = &request.unit.config().identity.serial;
    let mut body = Vec::new();
    push_text(&mut body, serial, serial.chars().count().min(252));
    body
}

/// SPC-5 7.7.7.
fn extended_inquiry_data<D: BlockDevice>(request: &Request<'_, D>) -> Vec<u8> {
    let mut body = vec![0; 60];
    body[1] = 0x0f; // PRIOR_SUP, HEADSUP, ORDSUP, SIMPSUP
    body[2] = u8::from(request.unit.device().capabilities().volatile_cache); // V_SUP
    body[3] = 0x01; // LUICLR
    body[4] = 0x08; // RTD_SUP
    let [high, low] = EXTENDED_SELF_TEST_SECONDS.div_ceil(60).to_be_bytes();
    (body[6], body[7]) = (high, low); // EXTENDED SELF-TEST COMPLETION MINUTES
    body
}

/// SPC-5 7.7.10: one policy for all pages and subpages, each shared by all nexuses of a unit and by no other unit.
fn mode_page_policy<D: BlockDevice>(_: &Request<'_, D>) -> Vec<u8> {
    vec![0x3f, 0xff, 0, 0]
}

/// SBC-4 6.6.4.
fn block_limits<D: BlockDevice>(request: &Request<'_, D>) -> Vec<u8> {
    let unit = request.unit;
    let geometry = unit.device().geometry();
    let block = unit.block_size();
    let physical = geometry.physical_block.max(block);
    // OPTIMAL TRANSFER LENGTH: initiators take it for the largest size to send, so it is not the device's preferred unit but the
    // largest multiple of it that still is one transfer for the device, and that does not keep other commands waiting.
    let unit_of_io = geometry.optimal_io.max(physical);
    let whole = unit.device_transfer().min(limits::OPTIMAL_TRANSFER) / u64::from(block);
    let whole = unit.max_transfer_blocks().min(whole as u32);
    let granularity = unit_of_io / block;
    let optimal = whole / granularity * granularity;
    let capabilities = unit.device().capabilities();
    let discard = capabilities.discard;

    let mut body = Vec::with_capacity(60);
    body.push(0); // WSNZ: WRITE SAME of zero blocks goes to the end
    body.push(limits::COMPARE_AND_WRITE_BLOCKS);
    body.extend_from_slice(&u16::try_from(granularity).unwrap_or(0).to_be_bytes());
    body.extend_from_slice(&unit.max_transfer_blocks().to_be_bytes());
    body.extend_from_slice(&optimal.to_be_bytes());
    body.extend_from_slice(&0_u32.to_be_bytes()); // MAXIMUM PREFETCH LENGTH: no limit
    let (unmap_blocks, descriptors, unmap_granularity) = match discard {
        Some(discard) => {
            (limits::UNMAP_BLOCKS, limits::UNMAP_DESCRIPTORS, (discard.granularity / block).max(1))
        }
        None => (0, 0, 0),
    };
    body.extend_from_slice(&unmap_blocks.to_be_bytes());
    body.extend_from_slice(&descriptors.to_be_bytes());
    body.extend_from_slice(&unmap_granularity.to_be_bytes());
    // UGAVALID, and UNMAP GRANULARITY ALIGNMENT zero.
    body.extend_from_slice(&(u32::from(discard.is_some()) << 31).to_be_bytes());
    body.extend_from_slice(&limits::write_same_blocks(&capabilities, block).to_be_bytes());
    let atomic = limits::atomic(unit);
    body.extend_from_slice(&atomic.most.to_be_bytes());
    body.extend_from_slice(&atomic.alignment.to_be_bytes());
    // ATOMIC TRANSFER LENGTH GRANULARITY: any length. With ATOMIC BOUNDARY: none.
    body.resize(60, 0);
    body
}

/// SBC-4 6.6.3: a non-rotating medium, for what lies below is a store of its own with caches of its own.
fn block_device_characteristics<D: BlockDevice>(request: &Request<'_, D>) -> Vec<u8> {
    let mut body = vec![0; 60];
    body[1] = 1; // MEDIUM ROTATION RATE 0001h
    // WABEREQ 01b: reads after SANITIZE BLOCK ERASE, where there is such, end without an error.
    body[3] = if request.unit.device().capabilities().discard.is_some() { 0x40 } else { 0 };
    body
}

/// SBC-4 6.6.9.
fn logical_block_provisioning<D: BlockDevice>(request: &Request<'_, D>) -> Vec<u8> {
    let unit = request.unit;
    // There are thresholds where it can be told how much space is left.
    let exponent = unit.space().seen().map_or(0, |_| limits::threshold_exponent(unit));
    match unit.device().capabilities().discard {
        // LBPU, LBPWS, LBPWS10, LBPRZ 001b; thin provisioned.
        Some(_) => vec![exponent, 0xe4, 0x02, 0],
        None => vec![0; 4],
    }
}
