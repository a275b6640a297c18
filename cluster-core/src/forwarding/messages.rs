//! What goes between the nodes about commands, beside the commands themselves.

use crate::ownership::Epoch;
use std::time::Duration;

/// A reading of the owner's clock, in milliseconds since it started, as it has told its peers on this connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(pub u64);

/// Asks for a command to be executed. The same again, after a connection was lost, has the same sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Of the origin's own for this volume; never used again.
    pub sequence: u64,
    /// The epoch in which the receiver is thought to own the volume.
    pub epoch: Epoch,
    /// The owner's time as the origin knew it when it sent this: what lies unread for long is not begun any more.
    pub stamp: Stamp,
    /// All sequence numbers below have been answered: their results are forgotten, and they are never begun.
    pub floor: u64,
}

/// Why a request was not executed, nor ever will be on account of this message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The receiver does not serve the volume under this epoch.
    NotOwner,
    /// It was too long on its way.
    Old,
    /// Too many requests of this origin are unanswered.
    Busy,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply<T> {
    /// It was executed, with this result.
    Done(T),
    /// It was not.
    Refused(Refusal),
}

/// How long a request may be on its way.
#[derive(Clone, Copy, Debug)]
pub struct Freshness {
    /// By the owner's clock.
    pub age: Duration,
    /// How far a clock may go wrong, in parts of a thousand.
    pub drift: u32,
}

impl Freshness {
    /// How long the origin waits, by its own clock, until a request can't be begun any more.
    pub fn over(&self) -> Duration {
        self.age * (1000 + 2 * self.drift) / 1000
    }
}
