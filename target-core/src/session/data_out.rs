//! The data-out of one command as it comes in: immediate, unsolicited, solicited (RFC 7143 §4.2.5.2, §11.7, §11.8).
//!
//! Sequences come one after another and the PDUs of each in order (DataSequenceInOrder and DataPDUInOrder are Yes). When something is
//! wrong with them the command will end with an iSCSI condition, but not before the initiator has ended what it was asked for (RFC 7143
//! §7.8): until then what comes is thrown away.

use super::conditions::{INCORRECT_AMOUNT_OF_DATA, PROTOCOL_SERVICE_CRC_ERROR, UNEXPECTED_UNSOLICITED_DATA};
use super::retention::{Kept, SHORTEST_PIECE};
use crate::login::parameters::Parameters;
use crate::payload::Payload;
use crate::pdu::error::RejectReason;
use crate::pdu::fields::RESERVED_TAG;
use crate::pdu::initiator::{DataOut, ScsiCommand};
use crate::scsi::sense::Sense;
use bytes::{Bytes, BytesMut};
use smallvec::SmallVec;

/// A sequence of Data-Out PDUs, up to the one with the F bit.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    /// Reserved for unsolicited data.
    transfer_tag: u32,
    /// Where it ends, as an offset into the command's data.
    end: u32,
    next_data_sn: u32,
}

/// A part of the data that is to be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Burst {
    pub(super) r2t_sn: u32,
    pub(super) offset: u32,
    pub(super) length: u32,
}

/// Collects the data-out of a command.
#[derive(Debug, Default)]
pub(super) struct DataOutBuffer {
    payload: Payload,
    /// Bytes of receive buffers that it keeps alive beyond its own.
    beyond: u32,
    /// Short pieces that are not in the payload yet.
    short: BytesMut,
    /// Bytes to be collected.
    wanted: u32,
    received: u32,
    /// Bytes that were asked for or came unasked; what lies beyond has to be asked for.
    requested: u32,
    /// Of those, bytes that count against the connection's budget.
    charged: usize,
    /// What the initiator still owes, in order.
    sequences: SmallVec<[Sequence; 2]>,
    next_r2t_sn: u32,
    failure: Option<Sense>,
}

impl DataOutBuffer {
    /// What a command PDU and the immediate data that was taken out of it bring, and what is to be expected after it. `most` limits the
    /// bytes taken for one command.
    pub(super) fn new(command: &ScsiCommand, kept: Kept, parameters: &Parameters, most: u32) -> Self {
        let expected = if command.write { command.expected_data_transfer_length } else { 0 };
        let mut buffer = Self::default();
        if expected == 0 && kept.data.is_empty() && command.is_final {
            return buffer;
        }
        let first_burst = expected.min(parameters.first_burst_length);
        let immediate = u32::try_from(kept.data.len()).unwrap_or(u32::MAX);
        if immediate > 0 && !(command.write && parameters.immediate_data) {
            buffer.failure = Some(UNEXPECTED_UNSOLICITED_DATA);
        } else if immediate > first_burst {
            buffer.failure = Some(INCORRECT_AMOUNT_OF_DATA);
        } else {
            buffer.push(kept);
        }
        buffer.requested = buffer.received;
        if !command.is_final {
            if parameters.initial_r2t {
                buffer.failure.get_or_insert(UNEXPECTED_UNSOLICITED_DATA);
            }
            buffer.requested = first_burst;
            buffer.sequences.push(Sequence { transfer_tag: RESERVED_TAG, end: first_burst, next_data_sn: 0 });
        }
        buffer.wanted = expected.min(most.max(buffer.requested));
        buffer
    }

    fn push(&mut self, Kept { data, beyond }: Kept) {
        self.received += data.len() as u32;
        // Short pieces are copied together: each would keep the whole buffer alive in which it was received.
        if data.len() < SHORTEST_PIECE {
            return self.short.extend_from_slice(&data);
        }
        self.seal();
        self.beyond = self.beyond.saturating_add(beyond);
        self.payload.push(data);
    }

    fn seal(&mut self) {
        if !self.short.is_empty() {
            self.payload.push(self.short.split().freeze());
        }
    }

    /// Takes a Data-Out, whose data `keep` makes fit to be kept. An error: it is to be rejected; whether the command fails with it tells [`failure`](Self::failure).
    pub(super) fn receive(
        &mut self,
        pdu: DataOut,
        keep: impl FnOnce(Bytes) -> Kept,
    ) -> Result<(), RejectReason> {
        let found = self.sequences.iter().position(|it| it.transfer_tag == pdu.target_transfer_tag);
        let Some(at) = found else { return self.receive_unexpected(&pdu) };
        let taken = if self.failure.is_none() { self.check(at, &pdu) } else { Ok(()) };
        if self.failure.is_none()
            && let Some(sequence) = self.sequences.get_mut(at)
        {
            sequence.next_data_sn = sequence.next_data_sn.wrapping_add(1);
            let end = sequence.end;
            self.push(keep(pdu.data));
            // F belongs on the PDU that completes the sequence, and on no other (RFC 7143 §11.7.1).
            if pdu.is_final != (self.received == end) {
                self.failure = Some(INCORRECT_AMOUNT_OF_DATA);
                self.sequences.remove(at);
                return taken;
            }
        }
        if pdu.is_final {
            self.sequences.remove(at);
        }
        taken
    }

    /// Checks a Data-Out of a known sequence.
    fn check(&mut self, at: usize, pdu: &DataOut) -> Result<(), RejectReason> {
        let Some(sequence) = self.sequences.get(at) else { return Ok(()) };
        let length = pdu.data.len() as u64;
        if pdu.data_sn != sequence.next_data_sn {
            // §7.9: a gap means that a PDU was lost to a digest error.
            self.failure = Some(PROTOCOL_SERVICE_CRC_ERROR);
        } else if at != 0 || pdu.buffer_offset != self.received {
            self.failure = Some(INCORRECT_AMOUNT_OF_DATA);
            return Err(RejectReason::InvalidPduField);
        } else if u64::from(pdu.buffer_offset) + length > u64::from(sequence.end) {
            self.failure = Some(INCORRECT_AMOUNT_OF_DATA);
        }
        Ok(())
    }

    /// A Data-Out that belongs to no sequence.
    fn receive_unexpected(&mut self, pdu: &DataOut) -> Result<(), RejectReason> {
        if pdu.target_transfer_tag != RESERVED_TAG {
            return Err(RejectReason::InvalidPduField);
        }
        self.fail(UNEXPECTED_UNSOLICITED_DATA);
        if !pdu.is_final {
            let rest = Sequence { transfer_tag: RESERVED_TAG, end: 0, next_data_sn: 0 };
            self.sequences.push(rest);
        }
        Ok(())
    }

    /// Lets the command fail once the initiator has ended what it was asked for; the first failure counts.
    pub(super) fn fail(&mut self, condition: Sense) {
        self.failure.get_or_insert(condition);
    }

    /// Data of the command was lost: `pdu` is what is left of it.
    pub(super) fn lose(&mut self, pdu: DataOut) -> Result<(), RejectReason> {
        self.fail(PROTOCOL_SERVICE_CRC_ERROR);
        self.receive(DataOut { data: Bytes::new(), ..pdu }, |_| Kept::default())
    }

    /// Why the command is to end without having run.
    pub(super) fn failure(&self) -> Option<Sense> {
        self.failure
    }

    /// Whether the initiator owes nothing more, and nothing more is to be asked for.
    pub(super) fn is_settled(&self) -> bool {
        self.sequences.is_empty() && (self.failure.is_some() || self.received == self.wanted)
    }

    /// Whether there is data that has to be asked for.
    pub(super) fn lacks(&self) -> bool {
        self.failure.is_none() && self.requested < self.wanted
    }

    /// What to ask for next, if R2Ts may be outstanding in that number. Unsolicited data has to end first.
    pub(super) fn next_burst(&self, max_outstanding: usize, max_burst: u32) -> Option<Burst> {
        let unsolicited = self.sequences.first().is_some_and(|it| it.transfer_tag == RESERVED_TAG);
        if !self.lacks() || unsolicited || self.sequences.len() >= max_outstanding {
            return None;
        }
        let length = (self.wanted - self.requested).min(max_burst);
        Some(Burst { r2t_sn: self.next_r2t_sn, offset: self.requested, length })
    }

    /// `burst` was asked for under this tag.
    pub(super) fn requested(&mut self, burst: Burst, transfer_tag: u32) {
        self.requested = burst.offset + burst.length;
        self.next_r2t_sn = burst.r2t_sn.wrapping_add(1);
        self.charged += burst.length as usize;
        self.sequences.push(Sequence { transfer_tag, end: self.requested, next_data_sn: 0 });
    }

    /// R2Ts that were sent.
    pub(super) fn r2ts(&self) -> u32 {
        self.next_r2t_sn
    }

    /// Whether nothing is owed at this moment.
    pub(super) fn is_idle(&self) -> bool {
        self.sequences.is_empty()
    }

    /// Bytes of memory that are held for what has come.
    pub(super) fn held(&self) -> usize {
        self.payload.len() + self.beyond as usize + self.short.len()
    }

    /// Bytes that count against the connection's budget.
    pub(super) fn charged(&self) -> usize {
        self.charged
    }

    /// All that was collected, and how many bytes of receive buffers it keeps alive beyond its own; the buffer is empty afterwards.
    pub(super) fn take(&mut self) -> (Payload, u32) {
        self.seal();
        (std::mem::take(&mut self.payload), std::mem::take(&mut self.beyond))
    }
}
