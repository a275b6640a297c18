//! The driver's side: it holds what it was asked to do and ends it in any order.

use crate::program::Program;
use bytes::Bytes;
use glint_target_core::payload::Payload;
use glint_target_core::scsi::command::{Command, Outcome, Response, TaskManagement, TaskManagementOutcome};
use glint_target_core::scsi::sense::{Asc, Sense, SenseKey, Status};
use glint_target_core::session::connection::Connection;
use glint_target_core::session::event::{BindOutcome, CloseReason, Event, Leg, TaskId};
use std::collections::BTreeSet;
use std::time::Instant;

/// Data-in of every command is the beginning of this.
static DATA: [u8; 100_000] = [0xd1; 100_000];

#[derive(Default)]
pub(crate) struct Driver {
    running: Vec<(TaskId, Command)>,
    managing: Vec<(TaskId, TaskManagement)>,
    /// All that were ever given.
    ids: BTreeSet<TaskId>,
    binding: bool,
    /// Connections that are to be closed, in order.
    closed: Vec<(Leg, CloseReason)>,
    executed: usize,
}

impl Driver {
    pub(crate) fn executed(&self) -> usize {
        self.executed
    }

    pub(crate) fn is_closed(&self, leg: Leg) -> bool {
        self.close_reason(leg).is_some()
    }

    pub(crate) fn close_reason(&self, leg: Leg) -> Option<CloseReason> {
        self.closed.iter().find(|(closed, _)| *closed == leg).map(|(_, reason)| *reason)
    }

    /// Takes all events; `executes` looks at the commands.
    pub(crate) fn poll(&mut self, connection: &mut Connection, mut executes: impl FnMut(&Command)) {
        while let Some(event) = connection.poll_event() {
            assert!(
                connection.session().is_some_and(|session| session.parameters.max_connections > 1)
                    || self.closed.is_empty(),
                "{event:?} after the end"
            );
            match event {
                Event::Bind(_) => {
                    assert!(!self.binding);
                    self.binding = true;
                }
                Event::Execute(id, command) => {
                    assert!(self.ids.insert(id));
                    executes(&command);
                    self.executed += 1;
                    self.running.push((id, command));
                }
                // The command of a connection that has gone: nobody waits for an answer.
                Event::Manage(id, _) if id == TaskId::default() => {}
                Event::Manage(id, function) => {
                    assert!(self.ids.insert(id));
                    self.managing.push((id, function));
                }
                Event::Close(leg, reason) => self.closes(leg, reason),
            }
        }
    }

    fn closes(&mut self, leg: Leg, reason: CloseReason) {
        assert!(!self.is_closed(leg), "{leg:?} ends twice");
        self.closed.push((leg, reason));
    }

    /// Answers a question for the session, or says something that nobody asked for.
    pub(crate) fn bind(&mut self, connection: &mut Connection, now: Instant, admit: bool) {
        while let Some(event) = connection.poll_event() {
            match event {
                Event::Bind(_) => self.binding = true,
                Event::Close(leg, reason) => self.closes(leg, reason),
                other => panic!("{other:?} during login"),
            }
        }
        let outcome = match admit {
            true => BindOutcome::Bound { tsih: 0x7001 },
            false => BindOutcome::Refused { class: 3, detail: 2 },
        };
        let before = connection.session().is_some();
        connection.bound(now, outcome);
        let bound = connection.session().is_some();
        assert!(bound == before || (self.binding && admit));
        self.binding = false;
    }

    /// Ends a command.
    pub(crate) fn complete(&mut self, connection: &mut Connection, now: Instant, program: &mut Program<'_>) {
        let Some(at) = program.index(self.running.len()) else { return };
        let (id, command) = self.running.swap_remove(at);
        let how = program.byte();
        let room = command.data_in_room as usize;
        let length = match how & 7 {
            0 => room,
            1 => 0,
            2 => room + 1,
            3 => room.saturating_sub(1),
            4 => usize::from(program.byte()),
            5 => 70_000,
            _ => usize::from(program.byte()) * 512,
        };
        let bytes = Bytes::from_static(&DATA[..length.min(DATA.len())]);
        let mut data_in = Payload::new();
        match how & 8 {
            0 => data_in.push(bytes),
            _ => bytes.chunks(700).for_each(|piece| data_in.push(bytes.slice_ref(piece))),
        }
        let status = match how >> 5 {
            0..4 => Status::Good,
            4 => Status::CheckCondition,
            5 => Status::Busy,
            6 => Status::ReservationConflict,
            _ => return connection.complete(now, id, Outcome::Aborted),
        };
        let failed = status == Status::CheckCondition;
        let sense = if failed && how & 16 != 0 { vec![0x72; 40] } else { Vec::new() };
        let response = Response {
            status,
            sense: sense.into(),
            sense_value: failed.then_some(Sense::new(SenseKey::MediumError, Asc(0x11, 0x00))),
            data_in,
            data_in_beyond: 0,
            data_out_wanted: command.data_out.len() as u64,
        };
        connection.complete(now, id, Outcome::Done(response));
    }

    /// Ends a task management function, which it tells.
    pub(crate) fn managed(
        &mut self,
        connection: &mut Connection,
        now: Instant,
        program: &mut Program<'_>,
    ) -> Option<TaskManagement> {
        let at = program.index(self.managing.len())?;
        let (id, function) = self.managing.swap_remove(at);
        let outcome = program.choose(&[
            TaskManagementOutcome::Complete,
            TaskManagementOutcome::Complete,
            TaskManagementOutcome::Succeeded,
            TaskManagementOutcome::TaskDoesNotExist,
            TaskManagementOutcome::LunDoesNotExist,
            TaskManagementOutcome::NotSupported,
            TaskManagementOutcome::Rejected,
        ]);
        connection.managed(now, id, outcome);
        Some(function)
    }

    /// Ends everything.
    pub(crate) fn finish_all(&mut self, connection: &mut Connection, now: Instant) {
        for (id, _) in std::mem::take(&mut self.managing) {
            connection.managed(now, id, TaskManagementOutcome::Complete);
        }
        for (id, _) in std::mem::take(&mut self.running) {
            connection.complete(now, id, Outcome::Aborted);
        }
    }
}
