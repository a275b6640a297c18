//! Sense data on the wire: fixed and descriptor format (SPC-5 4.4.2, 4.4.3).

use super::sense::{Sense, SenseSpecific};
use smallvec::{SmallVec, smallvec};

/// Which format sense data takes: D_SENSE of the Control mode page, or DESC of REQUEST SENSE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenseFormat {
    /// Response code 70h, 18 bytes.
    Fixed,
    /// Response code 72h, 8 bytes and descriptors.
    Descriptor,
}

/// Sense data as bytes.
pub fn render(sense: &Sense, format: SenseFormat) -> SmallVec<[u8; 32]> {
    match format {
        SenseFormat::Fixed => fixed(sense),
        SenseFormat::Descriptor => descriptor(sense),
    }
}

/// SPC-5 4.4.3. An INFORMATION that does not fit 32 bits is left out (VALID zero).
fn fixed(sense: &Sense) -> SmallVec<[u8; 32]> {
    let information = sense.information.and_then(|value| u32::try_from(value).ok());
    let [i0, i1, i2, i3] = information.unwrap_or(0).to_be_bytes();
    let [c0, c1, c2, c3] = sense.command_specific.unwrap_or(0).to_be_bytes();
    let [s0, s1, s2] = specific(sense);
    let valid = if information.is_some() { 0x80 } else { 0 };
    smallvec![
        valid | 0x70,
        0,
        sense.key as u8,
        i0,
        i1,
        i2,
        i3,
        10, // ADDITIONAL SENSE LENGTH
        c0,
        c1,
        c2,
        c3,
        sense.asc.0,
        sense.asc.1,
        0,
        s0,
        s1,
        s2,
    ]
}

/// SPC-5 4.4.2, with the information (4.4.2.2), command-specific information (4.4.2.3) and sense-key specific (4.4.2.4) descriptors.
fn descriptor(sense: &Sense) -> SmallVec<[u8; 32]> {
    let mut out: SmallVec<[u8; 32]> = smallvec![0x72, sense.key as u8, sense.asc.0, sense.asc.1, 0, 0, 0, 0];
    if let Some(information) = sense.information {
        out.extend_from_slice(&[0x00, 0x0a, 0x80, 0x00]);
        out.extend_from_slice(&information.to_be_bytes());
    }
    if let Some(command_specific) = sense.command_specific {
        out.extend_from_slice(&[0x01, 0x0a, 0x00, 0x00]);
        out.extend_from_slice(&u64::from(command_specific).to_be_bytes());
    }
    if sense.specific.is_some() {
        out.extend_from_slice(&[0x02, 0x06, 0x00, 0x00]);
        out.extend_from_slice(&specific(sense));
        out.push(0);
    }
    let additional = out.len() as u8 - 8; // at most 32
    if let Some(length) = out.get_mut(7) {
        *length = additional;
    }
    out
}

/// The three SENSE KEY SPECIFIC bytes; SKSV is zero when there is nothing to tell.
fn specific(sense: &Sense) -> [u8; 3] {
    match sense.specific {
        None => [0; 3],
        Some(SenseSpecific::Field { in_cdb, byte, bit }) => {
            let [high, low] = byte.to_be_bytes();
            let command = if in_cdb { 0x40 } else { 0 };
            let pointer = bit.map_or(0, |bit| 0x08 | (bit & 0x07));
            [0x80 | command | pointer, high, low]
        }
        Some(SenseSpecific::Progress(progress)) => {
            let [high, low] = progress.to_be_bytes();
            [0x80, high, low]
        }
    }
}

#[cfg(test)]
#[path = "sense_format_tests.rs"]
mod tests;
