//! Command numbering of a session (RFC 7143 §4.2.2.1): which CmdSN is due, which may come, and which have come early.

use crate::pdu::fields::{BHS_LEN, Serial};
use crate::pdu::initiator::InitiatorPdu;
use crate::pdu::opcode;
use std::collections::BTreeSet;

/// ExpCmdSN, MaxCmdSN and what lies between. Session-wide: connections of one session share it.
#[derive(Debug)]
pub(super) struct CommandWindow {
    /// ExpCmdSN: the next to be delivered.
    expected: Serial,
    /// MaxCmdSN. Never goes back.
    max: Serial,
    /// Between both, received before their turn.
    early: BTreeSet<u32>,
}

/// What to do with a command that is not immediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Its turn has come; it counts as delivered.
    Due,
    /// Keep it until [`CommandWindow::next_early`] names it.
    Early,
    /// Outside the window or a duplicate: to be ignored without a word.
    Ignored,
}

impl CommandWindow {
    /// A window of `size` commands that begins with `first`.
    pub(super) fn new(first: Serial, size: u32) -> Self {
        // Serial numbers compare within half of the circle.
        let size = size.clamp(1, 1 << 16);
        Self { expected: first, max: first.plus(size - 1), early: BTreeSet::new() }
    }

    /// Numbers for the answers to a login that asks to join a session, before it is known what they are there: so old that the initiator
    /// passes them over (RFC 7143 §4.2.2.1). In them no command may come.
    pub(super) fn outdated(cmd_sn: Serial) -> Self {
        let expected = Serial(cmd_sn.0.wrapping_sub(1 << 16));
        Self { expected, max: Serial(expected.0.wrapping_sub(1)), early: BTreeSet::new() }
    }

    /// The same numbers.
    pub(super) fn likeness(&self) -> Self {
        Self { expected: self.expected, max: self.max, early: BTreeSet::new() }
    }

    /// Takes the commands before `cmd_sn` for received and ended: the only connection on which they could have come has gone.
    pub(super) fn skip_to(&mut self, cmd_sn: Serial) {
        while self.has_gap_before(cmd_sn) {
            self.early.remove(&self.expected.0);
            self.expected = self.expected.plus(1);
            self.max = self.max.plus(1);
        }
    }

    /// A command that came early is taken for not received.
    pub(super) fn forget(&mut self, cmd_sn: u32) {
        self.early.remove(&cmd_sn);
    }

    /// Whether commands wait for one that has not come.
    pub(super) fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    pub(super) fn expected(&self) -> Serial {
        self.expected
    }

    pub(super) fn max(&self) -> Serial {
        self.max
    }

    /// Whether a CmdSN lies between ExpCmdSN and MaxCmdSN, both included.
    pub(super) fn holds(&self, cmd_sn: Serial) -> bool {
        !cmd_sn.is_before(self.expected) && !self.max.is_before(cmd_sn)
    }

    /// Whether commands of the window come before `cmd_sn` and have not all been delivered.
    pub(super) fn has_gap_before(&self, cmd_sn: Serial) -> bool {
        self.expected.is_before(cmd_sn) && !self.max.plus(1).is_before(cmd_sn)
    }

    /// A command arrives.
    pub(super) fn arrive(&mut self, cmd_sn: Serial) -> Arrival {
        if !self.holds(cmd_sn) {
            return Arrival::Ignored;
        }
        if cmd_sn == self.expected {
            self.expected = self.expected.plus(1);
            return Arrival::Due;
        }
        if self.early.insert(cmd_sn.0) { Arrival::Early } else { Arrival::Ignored }
    }

    /// The next of those that came early and whose turn has come; it counts as delivered.
    pub(super) fn next_early(&mut self) -> Option<Serial> {
        if self.early.is_empty() || !self.early.remove(&self.expected.0) {
            return None;
        }
        let due = self.expected;
        self.expected = self.expected.plus(1);
        Some(due)
    }

    /// A delivered command has ended: one more may come.
    pub(super) fn finish(&mut self) {
        self.max = self.max.plus(1);
    }
}

/// Immediate or not, and CmdSN, of the PDUs that have them.
pub(super) fn numbered(pdu: &InitiatorPdu) -> Option<(bool, Serial)> {
    match pdu {
        InitiatorPdu::ScsiCommand(it) => Some((it.immediate, it.cmd_sn)),
        InitiatorPdu::NopOut(it) => Some((it.immediate, it.cmd_sn)),
        InitiatorPdu::TaskManagement(it) => Some((it.immediate, it.cmd_sn)),
        InitiatorPdu::Text(it) => Some((it.immediate, it.cmd_sn)),
        InitiatorPdu::Logout(it) => Some((it.immediate, it.cmd_sn)),
        InitiatorPdu::Login(_) | InitiatorPdu::DataOut(_) | InitiatorPdu::Snack(_) => None,
    }
}

/// The same from the header of a PDU that could not be read.
pub(super) fn header_number(header: &[u8; BHS_LEN]) -> Option<(bool, Serial)> {
    let [first, ..] = *header;
    let has_number = matches!(
        first & opcode::MASK,
        opcode::SCSI_COMMAND
            | opcode::NOP_OUT
            | opcode::TASK_MANAGEMENT_REQUEST
            | opcode::TEXT_REQUEST
            | opcode::LOGOUT_REQUEST
    );
    let cmd_sn = header.get(24..).and_then(|rest| rest.first_chunk()).copied().map(u32::from_be_bytes);
    cmd_sn.filter(|_| has_number).map(|cmd_sn| (first & opcode::IMMEDIATE != 0, Serial(cmd_sn)))
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
