//! TransportIDs of iSCSI initiators (SPC-5 7.6.4.6).

use super::fields::Fields;
use crate::lun::reservations::document::parse_isid;
use crate::lun::reservations::registrant::InitiatorPort;

/// FORMAT CODE and PROTOCOL IDENTIFIER of a device and of a port.
const DEVICE: u8 = 0x05;
const PORT: u8 = 0x45;
/// Bytes before the name, and the least number after them.
const HEADER: usize = 4;
const SHORTEST: usize = 20;
/// RFC 7143 §4.2.7.1.
const LONGEST_NAME: usize = 223;
/// What stands between name and ISID.
const SEPARATOR: &str = ",i,0x";

/// Whom a TransportID names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportId {
    /// Format 00b: all ports of the initiator with this name.
    Device(String),
    /// Format 01b: one port.
    Port(InitiatorPort),
}

impl TransportId {
    /// Reads the first TransportID of a list and tells how long it is; none when it is not well formed or not iSCSI's.
    pub fn read(list: &[u8]) -> Option<(Self, usize)> {
        let additional = usize::from(Fields(list).u16(2));
        let length = HEADER + additional;
        let text = list.get(HEADER..length)?;
        if additional < SHORTEST || !additional.is_multiple_of(4) {
            return None;
        }
        let end = text.iter().position(|byte| *byte == 0)?;
        let text = std::str::from_utf8(text.get(..end)?).ok()?;
        let is_name = |name: &str| !name.is_empty() && name.len() <= LONGEST_NAME;
        let id = match Fields(list).u8(0) {
            DEVICE if is_name(text) => Self::Device(text.to_owned()),
            PORT => {
                let (name, isid) = text.rsplit_once(SEPARATOR).filter(|(name, _)| is_name(name))?;
                Self::Port(InitiatorPort::new(name, parse_isid(isid.as_bytes())?))
            }
            _ => return None,
        };
        Some((id, length))
    }
}

/// The TransportID of a port.
pub fn encode(port: &InitiatorPort) -> Vec<u8> {
    let isid = port.isid.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    let text = format!("{}{SEPARATOR}{isid}", port.name);
    let additional = (text.len() + 1).next_multiple_of(4).max(SHORTEST);
    let [high, low] = (additional as u16).to_be_bytes();
    let mut id = vec![PORT, 0, high, low];
    id.extend_from_slice(text.as_bytes());
    id.resize(HEADER + additional, 0);
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(format: u8, text: &str) -> Vec<u8> {
        let mut id = vec![format, 0, 0, 0];
        id.extend_from_slice(text.as_bytes());
        id.resize((id.len() + 1).next_multiple_of(4).max(24), 0);
        id[3] = id.len() as u8 - 4;
        id
    }

    #[test]
    fn ports_lead_back() {
        for name in ["iqn.a", "iqn.2026-12.io.example:host-1,i,0x2", &"n".repeat(223)] {
            let port = InitiatorPort::new(name, [0x80, 0x12, 0x34, 0xab, 0xcd, 0xef]);
            let id = encode(&port);
            assert!(id.len().is_multiple_of(4) && id.len() >= 24);
            let mut list = id.clone();
            list.extend_from_slice(&[0xff; 5]);
            assert_eq!(TransportId::read(&list), Some((TransportId::Port(port), id.len())));
        }
        assert_eq!(encode(&InitiatorPort::new("IQN.A", [1; 6])), raw(0x45, "iqn.a,i,0x010101010101"));
    }

    #[test]
    fn devices_have_a_name_alone() {
        let id = raw(0x05, "iqn.2026-12.io.example:a");
        assert_eq!(
            TransportId::read(&id),
            Some((TransportId::Device("iqn.2026-12.io.example:a".into()), id.len()))
        );
    }

    #[test]
    fn what_is_malformed_is_none() {
        let good = raw(0x45, "iqn.a,i,0x010101010101");
        let with = |at: usize, value: u8| {
            let mut id = good.clone();
            id[at] = value;
            id
        };
        let not_ended = [&[0x05, 0, 0, 20][..], &[b'x'; 20]].concat();
        for (id, why) in [
            (with(0, 0x85), "format"),
            (with(0, 0x46), "protocol"),
            (with(0, 0x55), "reserved bits"),
            (with(3, 16), "too short"),
            (with(3, 22), "no multiple of four"),
            (with(3, 28), "longer than the list"),
            (not_ended, "not ended by a zero"),
            (raw(0x45, "iqn.a"), "no ISID"),
            (raw(0x45, "iqn.a,i,0x01010101010"), "ISID too short"),
            (raw(0x45, "iqn.a,i,0x0101010101011"), "ISID too long"),
            (raw(0x45, "iqn.a,i,0x01010101010g"), "no digit"),
            (raw(0x45, ",i,0x010101010101"), "no name"),
            (raw(0x05, ""), "no name"),
            (raw(0x05, &"n".repeat(224)), "name too long"),
            (vec![0x45, 0], "no header"),
            (Vec::new(), "nothing"),
        ] {
            assert_eq!(TransportId::read(&id), None, "{why}");
        }
    }
}
