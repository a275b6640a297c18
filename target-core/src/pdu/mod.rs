//! Protocol data units of RFC 7143 clause 11: typed values and their bytes.
//!
//! [`frame`] finds PDUs in a byte stream and checks digests; [`initiator`] and [`target`] hold one type per PDU.

pub mod fields;
pub mod initiator;
pub mod target;
