//! PDUs of initiators.

use super::fields::*;
use glint_target_core::pdu::fields::RESERVED_TAG;
use glint_target_core::pdu::initiator::*;
use glint_target_core::scsi::command::TaskAttribute;
use proptest::collection::vec;
use proptest::prelude::*;

fn nop_out() -> impl Strategy<Value = InitiatorPdu> {
    (any::<bool>(), lun(), any_tag(), any_tag(), serial(), serial(), data()).prop_map(
        |(immediate, lun, initiator_task_tag, target_transfer_tag, cmd_sn, exp_stat_sn, data)| {
            InitiatorPdu::NopOut(NopOut {
                immediate: immediate || initiator_task_tag == RESERVED_TAG,
                lun,
                initiator_task_tag,
                target_transfer_tag,
                cmd_sn,
                exp_stat_sn,
                data,
            })
        },
    )
}

fn attribute() -> impl Strategy<Value = TaskAttribute> {
    use TaskAttribute::{Aca, HeadOfQueue, Ordered, Simple};
    prop::sample::select(&[Simple, Ordered, HeadOfQueue, Aca][..])
}

fn scsi_command() -> impl Strategy<Value = InitiatorPdu> {
    let flags = any::<[bool; 4]>();
    let numbers = (any::<u32>(), prop_oneof![Just(0), any::<u32>()], serial(), serial());
    (flags, attribute(), 0..16_u8, lun(), tag(), numbers, vec(any::<u8>(), 16..=260), data()).prop_map(
        |(
            [immediate, is_final, read, write],
            attribute,
            priority,
            lun,
            initiator_task_tag,
            numbers,
            cdb,
            data,
        )| {
            let (length, bidirectional_read_length, cmd_sn, exp_stat_sn) = numbers;
            let directed = read || write;
            InitiatorPdu::ScsiCommand(ScsiCommand {
                immediate,
                is_final: is_final || !write,
                read,
                write,
                attribute,
                priority,
                lun,
                initiator_task_tag,
                expected_data_transfer_length: if directed { length } else { 0 },
                bidirectional_read_length: if directed { bidirectional_read_length } else { 0 },
                cmd_sn,
                exp_stat_sn,
                cdb: cdb.into(),
                immediate_data: data,
            })
        },
    )
}

fn task_management() -> impl Strategy<Value = InitiatorPdu> {
    (any::<bool>(), 0..128_u8, lun(), tag(), any_tag(), serial(), serial(), serial(), any::<u32>()).prop_map(
        |(
            immediate,
            function,
            lun,
            initiator_task_tag,
            referenced_task_tag,
            cmd_sn,
            exp_stat_sn,
            ref_cmd_sn,
            exp,
        )| {
            InitiatorPdu::TaskManagement(TaskManagementRequest {
                immediate,
                function,
                lun,
                initiator_task_tag,
                referenced_task_tag,
                cmd_sn,
                exp_stat_sn,
                ref_cmd_sn,
                exp_data_sn: exp,
            })
        },
    )
}

fn login() -> impl Strategy<Value = InitiatorPdu> {
    let head = (any::<bool>(), any::<bool>(), 0..4_u8, 0..4_u8, any::<u8>(), any::<u8>());
    (head, isid(), any::<u16>(), any_tag(), any::<u16>(), serial(), serial(), data()).prop_map(
        |(head, isid, tsih, initiator_task_tag, cid, cmd_sn, exp_stat_sn, data)| {
            let (transit, continues, current_stage, next_stage, version_max, version_min) = head;
            InitiatorPdu::Login(LoginRequest {
                transit,
                continues,
                current_stage,
                next_stage,
                version_max,
                version_min,
                isid,
                tsih,
                initiator_task_tag,
                cid,
                cmd_sn,
                exp_stat_sn,
                data,
            })
        },
    )
}

fn text() -> impl Strategy<Value = InitiatorPdu> {
    (any::<[bool; 3]>(), lun(), tag(), any_tag(), serial(), serial(), data()).prop_map(
        |(
            [immediate, is_final, continues],
            lun,
            initiator_task_tag,
            target_transfer_tag,
            cmd_sn,
            exp_stat_sn,
            data,
        )| {
            InitiatorPdu::Text(TextRequest {
                immediate,
                is_final,
                continues: continues && !is_final,
                lun,
                initiator_task_tag,
                target_transfer_tag,
                cmd_sn,
                exp_stat_sn,
                data,
            })
        },
    )
}

fn data_out() -> impl Strategy<Value = InitiatorPdu> {
    (any::<bool>(), lun(), any_tag(), any_tag(), serial(), any::<u32>(), any::<u32>(), data()).prop_map(
        |(
            is_final,
            lun,
            initiator_task_tag,
            target_transfer_tag,
            exp_stat_sn,
            data_sn,
            buffer_offset,
            data,
        )| {
            InitiatorPdu::DataOut(DataOut {
                is_final,
                lun,
                initiator_task_tag,
                target_transfer_tag,
                exp_stat_sn,
                data_sn,
                buffer_offset,
                data,
            })
        },
    )
}

fn logout() -> impl Strategy<Value = InitiatorPdu> {
    (any::<bool>(), 0..128_u8, tag(), any::<u16>(), serial(), serial()).prop_map(
        |(immediate, reason, initiator_task_tag, cid, cmd_sn, exp_stat_sn)| {
            InitiatorPdu::Logout(LogoutRequest {
                immediate,
                reason,
                initiator_task_tag,
                cid,
                cmd_sn,
                exp_stat_sn,
            })
        },
    )
}

fn snack() -> impl Strategy<Value = InitiatorPdu> {
    (0..16_u8, lun(), any_tag(), any_tag(), serial(), any::<u32>(), any::<u32>()).prop_map(
        |(kind, lun, initiator_task_tag, target_transfer_tag, exp_stat_sn, beg_run, run_length)| {
            InitiatorPdu::Snack(SnackRequest {
                kind,
                lun,
                initiator_task_tag,
                target_transfer_tag,
                exp_stat_sn,
                beg_run,
                run_length,
            })
        },
    )
}

pub fn initiator_pdu() -> impl Strategy<Value = InitiatorPdu> {
    prop_oneof![nop_out(), scsi_command(), task_management(), login(), text(), data_out(), logout(), snack()]
}
