//! The owner's unit: commands on the same block one after another, and what becomes of them when the store refuses or the volume goes.

use super::node::Node;
use super::world::{Ask, World};
use super::{Command, Io, Outcome, Told};
use crate::forwarding::{CommandId, Refusal, Reply};
use crate::membership::Incarnation;
use crate::ownership::{Class, Epoch, Input, Route};

#[derive(Clone, Debug)]
pub enum Who {
    Here(CommandId),
    Peer(Incarnation, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// It waits for its block.
    Queued,
    Reading,
    Writing,
    /// The store has refused it.
    Refused,
}

pub struct Task {
    who: Who,
    command: Command,
    epoch: Epoch,
    progress: Progress,
}

impl Task {
    pub fn new(who: Who, command: Command, epoch: Epoch) -> Self {
        Self { who, command, epoch, progress: Progress::Queued }
    }

    fn block(&self) -> usize {
        match self.command {
            Command::Probe => 0,
            Command::Read { block }
            | Command::Write { block, .. }
            | Command::CompareAndWrite { block, .. } => block,
        }
    }
}

impl World {
    pub fn begin(&mut self, node: &mut Node, task: Task) {
        if task.command == Command::Probe {
            return self.answer_to(node, task.who, task.epoch, Reply::Done(Outcome::Good(0)));
        }
        let (id, block) = (self.next(), task.block());
        node.tasks.insert(id, task);
        node.blocks[block].push_back(id);
        if node.blocks[block].len() == 1 {
            self.step(node, id);
        }
    }

    /// Sends the I/O of a task that has its block.
    fn step(&mut self, node: &mut Node, id: u64) {
        let now = self.local(node.at);
        let here = node.machine.route(now, &node.view(), Class::Medium);
        let Some(task) = node.tasks.get_mut(&id) else { return };
        // Without fencing nothing but this clock keeps it from writing.
        let is_draining = node.drain.is_some() && node.serving == Some(task.epoch);
        if !self.fences && here != Route::Here(task.epoch) && !is_draining {
            return self.finish(node, id, Reply::Refused(Refusal::NotOwner));
        }
        let io = match task.command {
            Command::Write { block, value } => Io::Write { block, value, expected: None },
            _ => Io::Read { block: task.block() },
        };
        task.progress = if matches!(io, Io::Read { .. }) { Progress::Reading } else { Progress::Writing };
        let epoch = task.epoch;
        self.ask(node.at, node.boot, Ask::Io(id, epoch, io));
    }

    pub fn io_done(&mut self, node: &mut Node, id: u64, told: Told) {
        let now = self.local(node.at);
        let here = node.machine.route(now, &node.view(), Class::Medium);
        let Some(task) = node.tasks.get_mut(&id) else { return };
        let epoch = task.epoch;
        match (told, task.command, task.progress) {
            (Told::Nothing, ..) => self.finish(node, id, Reply::Done(Outcome::InDoubt)),
            (Told::Busy, ..) if node.serving == Some(epoch) => {
                task.progress = Progress::Refused;
                self.drive(node, Input::Refused(epoch));
            }
            (Told::Busy, ..) => self.finish(node, id, Reply::Done(Outcome::InDoubt)),
            (Told::Value(found), Command::CompareAndWrite { block, expected, value }, Progress::Reading) => {
                if found != expected {
                    return self.finish(node, id, Reply::Done(Outcome::Miscompare(found)));
                }
                if !self.fences && here != Route::Here(epoch) {
                    return self.finish(node, id, Reply::Refused(Refusal::NotOwner));
                }
                task.progress = Progress::Writing;
                let io = Io::Write { block, value, expected: Some(expected) };
                self.ask(node.at, node.boot, Ask::Io(id, epoch, io));
            }
            (Told::Value(value), ..) => self.finish(node, id, Reply::Done(Outcome::Good(value))),
        }
    }

    fn finish(&mut self, node: &mut Node, id: u64, reply: Reply<Outcome>) {
        let Some(task) = node.tasks.remove(&id) else { return };
        let block = task.block();
        node.blocks[block].retain(|other| *other != id);
        self.answer_to(node, task.who, task.epoch, reply);
        if let Some(next) = node.blocks[block].front().copied()
            && node.tasks.get(&next).is_some_and(|task| task.progress == Progress::Queued)
        {
            self.step(node, next);
        }
        self.watch_drain(node);
        self.watch_ending(node);
    }

    pub fn retry_refused(&mut self, node: &mut Node, epoch: Epoch) {
        let refused = |task: &Task| task.progress == Progress::Refused && task.epoch == epoch;
        for id in node.tasks.iter().filter(|(_, task)| refused(task)).map(|(id, _)| *id).collect::<Vec<_>>() {
            self.step(node, id);
        }
    }

    /// What has not begun goes elsewhere; of what was refused nobody knows for sure; what is on its way comes back some time.
    pub fn stop_tasks(&mut self, node: &mut Node, epoch: Epoch) {
        let of = |node: &Node, progress: Progress| {
            let is = |task: &Task| task.progress == progress && task.epoch == epoch;
            node.tasks.iter().filter(|(_, task)| is(task)).map(|(id, _)| *id).collect::<Vec<_>>()
        };
        for id in of(node, Progress::Queued) {
            self.finish(node, id, Reply::Refused(Refusal::NotOwner));
        }
        for id in of(node, Progress::Refused) {
            self.finish(node, id, Reply::Done(Outcome::InDoubt));
        }
    }

    pub fn watch_drain(&mut self, node: &mut Node) {
        if node.tasks.is_empty()
            && let Some(ticket) = node.drain.take()
        {
            self.drive(node, Input::Drained(ticket, true));
        }
    }

    pub fn watch_ending(&mut self, node: &mut Node) {
        let Node { ending, tasks, .. } = node;
        let is_over = |epoch: Epoch| !tasks.values().any(|task| task.epoch == epoch);
        let over: Vec<_> = ending.extract_if(.., |(_, epoch)| is_over(*epoch)).collect();
        for (ticket, _) in over {
            self.drive(node, Input::Stopped(ticket));
        }
    }
}
