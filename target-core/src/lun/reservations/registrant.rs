//! Who can be registered: an I_T nexus by the names of its two ports, whether it is there at the moment or not.

use crate::scsi::command::Nexus;
use std::sync::Arc;

/// An initiator port (RFC 7143 §4.4.1: iSCSI name and ISID).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InitiatorPort {
    /// iSCSI name, in lower case.
    pub name: Arc<str>,
    /// ISID.
    pub isid: [u8; 6],
}

impl InitiatorPort {
    /// With a name in whatever case.
    pub fn new(name: &str, isid: [u8; 6]) -> Self {
        Self { name: name.to_ascii_lowercase().into(), isid }
    }
}

/// An I_T nexus by name: registrations belong to it through all its sessions (SPC-5 5.14.7).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Registrant {
    /// RELATIVE TARGET PORT IDENTIFIER.
    pub target_port: u16,
    /// Its initiator port.
    pub initiator: InitiatorPort,
}

impl Registrant {
    /// The names of a nexus.
    pub fn of(nexus: &Nexus) -> Self {
        Self {
            target_port: nexus.relative_port,
            initiator: InitiatorPort::new(&nexus.initiator_name, nexus.isid),
        }
    }

    /// The nexus of the same initiator port with another target port.
    pub fn through(&self, target_port: u16) -> Self {
        Self { target_port, initiator: self.initiator.clone() }
    }
}
