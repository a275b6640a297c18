use super::*;
use glint_target_core::scsi::asc;

fn nexus() -> Nexus {
    Nexus {
        id: NexusId(7),
        initiator_name: "iqn.2026-12.io.glint.test:a".into(),
        isid: [1, 2, 3, 4, 5, 6],
        target_name: "iqn.2026-12.io.glint:v".into(),
        portal_group_tag: 1,
        relative_port: 3,
        proofs: Vec::new(),
    }
}

#[test]
fn a_nexus_arrives_as_it_left_but_for_what_it_has_proved() {
    let proved = Nexus { proofs: vec![4], ..nexus() };
    assert_eq!(nexus_of(nexus_head(&proved), NexusId(7)), Ok(nexus()));
    let nameless = NexusHead { initiator_name: String::new(), ..nexus_head(&nexus()) };
    assert_eq!(nexus_of(nameless, NexusId(7)), Err(Malformed("a name")));
    let long = NexusHead { target_name: "n".repeat(224), ..nexus_head(&nexus()) };
    assert_eq!(nexus_of(long, NexusId(7)), Err(Malformed("a name")));
    let portless = NexusHead { relative_port: 0, ..nexus_head(&nexus()) };
    assert!(nexus_of(portless, NexusId(7)).is_err());
}

#[test]
fn a_command_arrives_as_it_left() {
    for attribute in ATTRIBUTES {
        let command = Command {
            lun: LunAddress::from_number(300),
            tag: TaskTag(9),
            attribute,
            priority: 3,
            cdb: Cdb(vec![0x8a; 16].into()),
            data_out: Payload::from(vec![5; 4096]),
            data_out_beyond: 0,
            data_in_room: 17,
        };
        let back = command_of(command_head(&command), command.data_out.clone()).unwrap();
        assert_eq!(format!("{back:?}"), format!("{command:?}"));
        for length in [0, 261] {
            let head = CommandHead { cdb: vec![0; length], ..command_head(&command) };
            assert_eq!(command_of(head, Payload::new()).unwrap_err(), Malformed("a CDB"));
        }
        let head = CommandHead { attribute: 4, ..command_head(&command) };
        assert_eq!(command_of(head, Payload::new()).unwrap_err(), Malformed("a task attribute"));
    }
}

#[test]
fn an_outcome_arrives_as_it_left() {
    assert_eq!(outcome_head(Outcome::Aborted).0, Answer::Aborted);
    let sense = Sense::new(SenseKey::MediumError, asc::UNRECOVERED_READ_ERROR);
    let response = Response {
        sense: vec![0x70, 0, 3].into(),
        sense_value: Some(sense),
        data_in: Payload::from(vec![1, 2, 3]),
        data_in_beyond: 9,
        data_out_wanted: 8,
        ..Response::of(Status::CheckCondition)
    };
    let (answer, data) = outcome_head(Outcome::Done(response.clone()));
    let Answer::Done(head) = answer else { panic!("{answer:?}") };
    let back = outcome_of(head.clone(), data).unwrap();
    assert_eq!(format!("{back:?}"), format!("{:?}", Outcome::Done(response)));
    for wrong in [
        ResponseHead { status: 1, ..head.clone() },
        ResponseHead { sense: vec![0; 253], ..head.clone() },
        ResponseHead { meaning: Some(SenseHead { key: 16, asc: (0, 0) }), ..head },
    ] {
        assert!(outcome_of(wrong, Payload::new()).is_err());
    }
}

#[test]
fn functions_of_one_unit_arrive_as_they_left() {
    let (lun, tag) = (LunAddress::from_number(4), TaskTag(8));
    for function in [
        TaskManagement::AbortTask { lun, tag },
        TaskManagement::AbortTaskSet { lun },
        TaskManagement::ClearAca { lun },
        TaskManagement::ClearTaskSet { lun },
        TaskManagement::LogicalUnitReset { lun },
        TaskManagement::QueryTask { lun, tag },
        TaskManagement::QueryTaskSet { lun },
        TaskManagement::QueryAsyncEvent { lun },
    ] {
        let (verb, lun, tag) = verb_of(function).unwrap();
        assert_eq!(function_of(verb, lun.0, tag), function);
    }
    for function in
        [TaskManagement::TargetWarmReset, TaskManagement::TargetColdReset, TaskManagement::ITNexusReset]
    {
        assert_eq!(verb_of(function), None);
    }
    for (code, outcome) in OUTCOMES {
        assert_eq!((managed_code(outcome), managed_of(code)), (code, Ok(outcome)));
    }
    assert!(managed_of(3).is_err());
}
