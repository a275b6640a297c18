//! What a login settles: the operational parameters of RFC 7143 clause 13 after negotiation.

/// A digest that may be negotiated for headers or data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum Digest {
    #[default]
    None,
    Crc32c,
}

/// Operational parameters; the defaults are those that hold before negotiation. Lengths are bytes, times seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Parameters {
    pub header_digest: Digest,
    pub data_digest: Digest,
    pub max_connections: u16,
    pub initial_r2t: bool,
    pub immediate_data: bool,
    /// What the initiator declared: the most that one of our PDUs may carry.
    pub initiator_max_recv_data_segment_length: u32,
    /// What we declared: the most that one of its PDUs may carry.
    pub target_max_recv_data_segment_length: u32,
    pub max_burst_length: u32,
    pub first_burst_length: u32,
    pub default_time2wait: u16,
    pub default_time2retain: u16,
    pub max_outstanding_r2t: u16,
    pub data_pdu_in_order: bool,
    pub data_sequence_in_order: bool,
    pub error_recovery_level: u8,
    /// RFC 7144 iSCSIProtocolLevel.
    pub protocol_level: u16,
    /// InitiatorAlias, for logs.
    pub initiator_alias: Option<String>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            header_digest: Digest::None,
            data_digest: Digest::None,
            max_connections: 1,
            initial_r2t: true,
            immediate_data: true,
            initiator_max_recv_data_segment_length: 8192,
            target_max_recv_data_segment_length: 8192,
            max_burst_length: 262_144,
            first_burst_length: 65_536,
            default_time2wait: 2,
            default_time2retain: 20,
            max_outstanding_r2t: 1,
            data_pdu_in_order: true,
            data_sequence_in_order: true,
            error_recovery_level: 0,
            protocol_level: 1,
            initiator_alias: None,
        }
    }
}

/// What this target offers and accepts in negotiation.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Offer {
    pub max_recv_data_segment_length: u32,
    pub max_burst_length: u32,
    pub first_burst_length: u32,
    pub max_outstanding_r2t: u16,
    pub initial_r2t: bool,
    pub immediate_data: bool,
    pub default_time2wait: u16,
    pub default_time2retain: u16,
    pub max_connections: u16,
}

impl Default for Offer {
    fn default() -> Self {
        Self {
            max_recv_data_segment_length: 262_144,
            max_burst_length: 1 << 20,
            first_burst_length: 262_144,
            max_outstanding_r2t: 8,
            initial_r2t: false,
            immediate_data: true,
            default_time2wait: 2,
            default_time2retain: 20,
            max_connections: 1,
        }
    }
}
