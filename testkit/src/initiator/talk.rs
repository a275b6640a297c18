//! What is said beside commands: task management, text, pings, logout.

use std::io;

use bytes::Bytes;
use glint_target_core::pdu::fields::{RESERVED_TAG, Serial};
use glint_target_core::pdu::initiator::{
    InitiatorPdu, LogoutRequest, NopOut, TaskManagementRequest, TextRequest,
};
use glint_target_core::pdu::target::{NopIn, TargetPdu};
use glint_target_core::scsi::lun_address::LunAddress;

use super::session::Initiator;

impl Initiator {
    /// Runs a task management function for LUN 0, carried out at once; gives the response, which has to come next.
    #[track_caller]
    pub fn manage(&mut self, function: u8) -> u8 {
        self.send(InitiatorPdu::TaskManagement(TaskManagementRequest {
            immediate: true,
            function,
            lun: LunAddress::from_number(0),
            initiator_task_tag: self.next_tag(),
            referenced_task_tag: RESERVED_TAG,
            cmd_sn: self.cmd_sn(),
            exp_stat_sn: self.line.exp_stat_sn,
            ref_cmd_sn: Serial(0),
            exp_data_sn: 0,
        }));
        match self.receive() {
            Some(TargetPdu::TaskManagement(response)) => response.response,
            other => panic!("no task management response: {other:?}"),
        }
    }

    /// Says something in text, and gives the answer, which has to come next.
    #[track_caller]
    pub fn text(&mut self, keys: &str) -> String {
        self.send(InitiatorPdu::Text(TextRequest {
            immediate: true,
            is_final: true,
            continues: false,
            lun: LunAddress::default(),
            initiator_task_tag: self.next_tag(),
            target_transfer_tag: RESERVED_TAG,
            cmd_sn: self.cmd_sn(),
            exp_stat_sn: self.line.exp_stat_sn,
            data: Bytes::copy_from_slice(keys.as_bytes()),
        }));
        match self.receive() {
            Some(TargetPdu::Text(answer)) => String::from_utf8_lossy(&answer.data).into_owned(),
            other => panic!("no text response: {other:?}"),
        }
    }

    /// Asks for a logout: of the session (0), or of the connection with this CID.
    pub fn send_logout(&mut self, reason: u8, cid: u16) -> io::Result<()> {
        let request = LogoutRequest {
            immediate: true,
            reason,
            initiator_task_tag: self.next_tag(),
            cid,
            cmd_sn: self.cmd_sn(),
            exp_stat_sn: self.line.exp_stat_sn,
        };
        self.try_send(&InitiatorPdu::Logout(request))
    }

    /// The response to a logout, which has to come next.
    #[track_caller]
    pub fn ask_for_logout(&mut self, reason: u8, cid: u16) -> u8 {
        self.send_logout(reason, cid).expect("glint takes what it is sent");
        match self.receive() {
            Some(TargetPdu::Logout(answer)) => answer.response,
            other => panic!("no logout response: {other:?}"),
        }
    }

    /// Ends the session; the target has to answer next, and close.
    #[track_caller]
    pub fn log_out(mut self) {
        assert_eq!(self.ask_for_logout(0, 0), 0);
        assert!(self.receive().is_none(), "the target goes on after a logout");
    }

    /// Commands that may be sent now: after all have ended it has to be the whole window.
    #[track_caller]
    pub fn window(&mut self) -> u32 {
        self.ping(&[]);
        let heard = self.line.heard;
        heard.max_cmd_sn.0.wrapping_sub(heard.exp_cmd_sn.0).wrapping_add(1)
    }

    /// Gives what comes back of a ping, which is what there is room for; it has to come next.
    #[track_caller]
    pub fn ping(&mut self, data: &[u8]) -> Bytes {
        self.send_ping(data);
        match self.receive() {
            Some(TargetPdu::NopIn(nop)) => nop.data,
            other => panic!("no answer to a ping: {other:?}"),
        }
    }

    /// Sends a ping.
    pub fn send_ping(&mut self, data: &[u8]) {
        self.send(InitiatorPdu::NopOut(NopOut {
            immediate: true,
            lun: LunAddress::default(),
            initiator_task_tag: self.next_tag(),
            target_transfer_tag: RESERVED_TAG,
            cmd_sn: self.cmd_sn(),
            exp_stat_sn: self.line.exp_stat_sn,
            data: Bytes::copy_from_slice(data),
        }));
    }

    /// Answers a ping of the target's, if it wants an answer.
    pub fn answer_ping(&mut self, ping: &NopIn) {
        self.try_answer_ping(ping).expect("glint takes what it is sent");
    }

    /// The same where the target may have gone.
    pub(super) fn try_answer_ping(&mut self, ping: &NopIn) -> io::Result<()> {
        if ping.target_transfer_tag == RESERVED_TAG {
            return Ok(());
        }
        let answer = InitiatorPdu::NopOut(NopOut {
            immediate: true,
            lun: ping.lun,
            initiator_task_tag: RESERVED_TAG,
            target_transfer_tag: ping.target_transfer_tag,
            cmd_sn: self.cmd_sn(),
            exp_stat_sn: self.line.exp_stat_sn,
            data: Bytes::new(),
        });
        self.try_send(&answer)
    }

    /// Goes away with a TCP reset.
    pub fn vanish_by_reset(self) {
        self.line.vanish_by_reset();
    }
}
