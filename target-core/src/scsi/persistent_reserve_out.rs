//! PERSISTENT RESERVE OUT (SPC-5 6.16). What the service actions do is in [`crate::lun::reservations::actions`].

use super::asc;
use super::lun_address::LunKind;
use super::persistent_parameters::{PREEMPT_AND_ABORT, Surroundings, parse};
use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::{Fault, Sense, SenseKey, Status};
use crate::device::BlockDevice;
use crate::lun::reservations::actions::{Action, Refusal};
use crate::lun::reservations::registrant::Registrant;
use crate::lun::reservations::{abort_tasks_of, allow_removal_for};
use std::sync::Arc;

/// Runs a service action: GOOD when its effects are in force and, where they have to outlive the process, on stable storage.
pub fn persistent_reserve_out<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let unit = request.unit;
        let reservations = unit.reservations();
        let from = Registrant::of(request.nexus);
        let action = read(request, &from)?;
        let turn = reservations.turn().await.ok_or(Fault::Status(Status::ReservationConflict))?;
        // One that was aborted while it waited has no effect.
        request.go_on()?;
        let change = turn.decide(&from, &action).map_err(refused)?;
        let kept = turn.keep(&change, unit.memory()).await;
        kept.map_err(|_| Sense::new(SenseKey::HardwareError, asc::INTERNAL_TARGET_FAILURE))?;
        let preempted = turn.commit(change, unit.attentions());
        let aborting = match (request.row.service_action, request.command.lun.kind()) {
            (Some(PREEMPT_AND_ABORT), LunKind::Unit(number)) => {
                allow_removal_for(unit, &preempted);
                let at = (number, Arc::clone(unit));
                Some(abort_tasks_of(request.target, &at, &preempted, request.nexus.id, request.command.tag))
            }
            _ => None,
        };
        // The next may go on: it may be among the tasks whose end this one waits for. Those were marked before, so that no two ever wait for
        // each other.
        drop(turn);
        if let Some(aborting) = aborting {
            aborting.end(unit).await;
        }
        Ok(Reply::good())
    })
}

fn read<D: BlockDevice>(request: &Request<'_, D>, from: &Registrant) -> Result<Action, Sense> {
    let surroundings = Surroundings {
        from,
        target_ports: &request.target.ports(request.nexus).into_keys().collect(),
        can_persist: request.unit.memory().is_some(),
        ports_named: &|name| request.unit.reservations().ports_named(name),
    };
    let service_action = request.row.service_action.unwrap_or(0);
    parse(service_action, request.cdb(), &request.parameter_list()?, &surroundings)
}

fn refused(refusal: Refusal) -> Fault {
    match refusal {
        Refusal::Conflict => Fault::Status(Status::ReservationConflict),
        Refusal::InvalidServiceAction => Sense::invalid_field_in_cdb(1, 4).into(),
        Refusal::InvalidType => Sense::invalid_field_in_cdb(2, 7).into(),
        Refusal::InvalidParameter(byte) => Sense::invalid_field_in_parameters(byte).into(),
        Refusal::InvalidRelease => Sense::illegal(asc::INVALID_RELEASE_OF_PERSISTENT_RESERVATION).into(),
        Refusal::Full => Sense::illegal(asc::INSUFFICIENT_REGISTRATION_RESOURCES).into(),
    }
}
