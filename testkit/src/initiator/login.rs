//! Who logs in, and what is said at it.

use bytes::Bytes;
use glint_target_core::pdu::fields::{Isid, Serial};
use glint_target_core::pdu::initiator::{InitiatorPdu, LoginRequest};

/// The stage of a login that a request is in (RFC 7143 §6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// SecurityNegotiation.
    Security,
    /// LoginOperationalNegotiation.
    Operational,
}

/// An initiator port, and the target that it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// iSCSI name of the initiator.
    pub name: String,
    /// The last byte of its ISID.
    pub isid: u8,
    /// The target's name; none for discovery.
    pub target: Option<String>,
    /// What it says beside the names, each key ended by a zero byte.
    pub keys: String,
    /// CmdSN of its login, and so of its first command.
    pub cmd_sn: u32,
}

impl Port {
    /// One that sends data unasked as far as it may.
    pub fn new(target: &str, isid: u8) -> Self {
        Self {
            name: "iqn.2026-12.io.glint.test:raw".into(),
            isid,
            target: Some(target.into()),
            keys: "InitialR2T=No\0ImmediateData=Yes\0MaxRecvDataSegmentLength=262144\0MaxConnections=8\0"
                .into(),
            cmd_sn: 1,
        }
    }

    /// One that asks what targets there are.
    pub fn discovery(isid: u8) -> Self {
        Self { target: None, keys: String::new(), ..Self::new("", isid) }
    }

    /// The same of another initiator.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Its names and session type.
    pub fn names(&self) -> String {
        let name = &self.name;
        match &self.target {
            Some(target) => format!("InitiatorName={name}\0SessionType=Normal\0TargetName={target}\0"),
            None => format!("InitiatorName={name}\0SessionType=Discovery\0"),
        }
    }

    /// A login request for a connection of the session of this TSIH; one that does not `transit` has more to say.
    pub(super) fn request(
        &self,
        (tsih, cid): (u16, u16),
        (cmd_sn, exp_stat_sn): (Serial, Serial),
        (stage, transit): (Stage, bool),
        keys: &str,
    ) -> InitiatorPdu {
        let (current_stage, next_stage) = match (stage, transit) {
            (Stage::Security, false) => (0, 0),
            (Stage::Security, true) => (0, 1),
            (Stage::Operational, false) => (1, 0),
            (Stage::Operational, true) => (1, 3),
        };
        InitiatorPdu::Login(LoginRequest {
            transit,
            continues: false,
            current_stage,
            next_stage,
            version_max: 0,
            version_min: 0,
            isid: Isid([0x80, 0, 0, 0, 0, self.isid]),
            tsih,
            initiator_task_tag: 0,
            cid,
            cmd_sn,
            exp_stat_sn,
            data: Bytes::copy_from_slice(keys.as_bytes()),
        })
    }
}
