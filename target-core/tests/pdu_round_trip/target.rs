//! PDUs of targets.

use super::fields::*;
use glint_target_core::payload::Payload;
use glint_target_core::pdu::fields::BHS_LEN;
use glint_target_core::pdu::target::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn residual() -> impl Strategy<Value = Residual> {
    prop_oneof![
        Just(Residual::None),
        any::<u32>().prop_map(Residual::Underflow),
        any::<u32>().prop_map(Residual::Overflow)
    ]
}

fn scsi_response() -> impl Strategy<Value = TargetPdu> {
    (tag(), any::<u8>(), any::<u8>(), residual(), residual(), any::<u32>(), vec(any::<u8>(), 0..=252))
        .prop_map(
            |(
                initiator_task_tag,
                response,
                status,
                residual,
                bidirectional_read_residual,
                exp_data_sn,
                sense,
            )| {
                TargetPdu::ScsiResponse(ScsiResponse {
                    initiator_task_tag,
                    response,
                    status,
                    residual,
                    bidirectional_read_residual,
                    exp_data_sn,
                    sense: sense.into(),
                })
            },
        )
}

fn data_in() -> impl Strategy<Value = TargetPdu> {
    let status = prop::option::of((any::<u8>(), residual()));
    (any::<bool>(), status, lun(), tag(), any_tag(), any::<u32>(), any::<u32>(), vec(data(), 0..4)).prop_map(
        |(is_final, status, lun, initiator_task_tag, target_transfer_tag, data_sn, buffer_offset, pieces)| {
            let mut data = Payload::new();
            pieces.into_iter().for_each(|piece| data.push(piece));
            TargetPdu::DataIn(DataIn {
                is_final,
                status: status.map(|(status, residual)| CollapsedStatus { status, residual }),
                lun,
                initiator_task_tag,
                target_transfer_tag,
                data_sn,
                buffer_offset,
                data,
            })
        },
    )
}

fn login_response() -> impl Strategy<Value = TargetPdu> {
    let head = (any::<bool>(), any::<bool>(), 0..4_u8, 0..4_u8, any::<u8>(), any::<u8>());
    (head, isid(), any::<u16>(), any_tag(), any::<u8>(), any::<u8>(), data()).prop_map(
        |(head, isid, tsih, initiator_task_tag, status_class, status_detail, data)| {
            let (transit, continues, current_stage, next_stage, version_max, version_active) = head;
            TargetPdu::Login(LoginResponse {
                transit,
                continues,
                current_stage,
                next_stage,
                version_max,
                version_active,
                isid,
                tsih,
                initiator_task_tag,
                status_class,
                status_detail,
                data,
            })
        },
    )
}

fn text_response() -> impl Strategy<Value = TargetPdu> {
    (any::<bool>(), any::<bool>(), lun(), tag(), any_tag(), data()).prop_map(
        |(is_final, continues, lun, initiator_task_tag, target_transfer_tag, data)| {
            TargetPdu::Text(TextResponse {
                is_final,
                continues,
                lun,
                initiator_task_tag,
                target_transfer_tag,
                data,
            })
        },
    )
}

pub fn target_pdu() -> impl Strategy<Value = TargetPdu> {
    let word = any::<u32>();
    prop_oneof![
        scsi_response(),
        data_in(),
        login_response(),
        text_response(),
        (lun(), any_tag(), any_tag(), data()).prop_map(
            |(lun, initiator_task_tag, target_transfer_tag, data)| {
                TargetPdu::NopIn(NopIn { lun, initiator_task_tag, target_transfer_tag, data })
            }
        ),
        (tag(), any::<u8>()).prop_map(|(initiator_task_tag, response)| {
            TargetPdu::TaskManagement(TaskManagementResponse { initiator_task_tag, response })
        }),
        (tag(), any::<u8>(), any::<u16>(), any::<u16>()).prop_map(
            |(initiator_task_tag, response, time2wait, time2retain)| {
                TargetPdu::Logout(LogoutResponse { initiator_task_tag, response, time2wait, time2retain })
            }
        ),
        (lun(), tag(), tag(), word, word, word).prop_map(
            |(lun, initiator_task_tag, target_transfer_tag, r2t_sn, buffer_offset, desired_length)| {
                TargetPdu::ReadyToTransfer(ReadyToTransfer {
                    lun,
                    initiator_task_tag,
                    target_transfer_tag,
                    r2t_sn,
                    buffer_offset,
                    desired_length,
                })
            }
        ),
        (lun(), any::<u8>(), any::<u8>(), any::<[u16; 3]>(), data()).prop_map(
            |(lun, event, vendor_code, parameters, data)| {
                TargetPdu::AsyncMessage(AsyncMessage { lun, event, vendor_code, parameters, data })
            }
        ),
        (any::<u8>(), any::<[u8; 32]>()).prop_map(|(reason, bytes)| {
            let mut header = [0; BHS_LEN];
            header[..32].copy_from_slice(&bytes);
            TargetPdu::Reject(Reject { reason, header })
        }),
    ]
}
