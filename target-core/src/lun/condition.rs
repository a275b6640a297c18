//! Whether the medium can be used: formatting and sanitizing take it away while they last, and leave it unusable when they fail (SBC-4 4.11,
//! 4.32).

use super::background::Job;
use crate::scsi::asc;
use crate::scsi::sense::{Sense, SenseKey, SenseSpecific};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// State of the medium as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Nothing is the matter.
    Usable = 0,
    /// FORMAT UNIT is under way.
    Formatting = 1,
    /// SANITIZE is under way.
    Sanitizing = 2,
    /// Formatting did not come to its end.
    FormatCorrupt = 3,
    /// Sanitizing failed, and EXIT FAILURE MODE may end that (unrestricted completion mode).
    SanitizeFailed = 4,
    /// Sanitizing failed, and only another one can end that (restricted completion mode).
    SanitizeFailedRestricted = 5,
}

impl State {
    /// From its number.
    pub fn from_number(number: u8) -> Option<Self> {
        use State::{
            FormatCorrupt, Formatting, SanitizeFailed, SanitizeFailedRestricted, Sanitizing, Usable,
        };
        let all = [Usable, Formatting, Sanitizing, FormatCorrupt, SanitizeFailed, SanitizeFailedRestricted];
        all.into_iter().find(|state| *state as u8 == number)
    }

    /// What an operation of this state leaves behind when it fails.
    pub fn failed(self, restricted: bool) -> Self {
        match self {
            Self::Sanitizing if restricted => Self::SanitizeFailedRestricted,
            Self::Sanitizing => Self::SanitizeFailed,
            _ => Self::FormatCorrupt,
        }
    }
}

/// How a command meets a medium that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpkeepRule {
    /// It ends with the sense data that says so.
    Refuse,
    /// It runs: INQUIRY, REPORT LUNS, REQUEST SENSE.
    Pass,
    /// FORMAT UNIT: mends what formatting left.
    Format,
    /// SANITIZE: mends what formatting or sanitizing left.
    Sanitize,
}

/// The state of a unit's medium, looked at by every command.
#[derive(Default)]
pub struct Condition {
    /// A [`State`].
    now: AtomicU8,
    /// What is under way.
    job: Mutex<Option<Arc<Job>>>,
}

impl Condition {
    /// The state now.
    pub fn get(&self) -> State {
        State::from_number(self.now.load(Ordering::Acquire)).unwrap_or(State::Usable)
    }

    /// An operation begins, which `job` tells the progress of.
    pub fn begin(&self, state: State, job: Arc<Job>) {
        self.become_state(state, Some(job));
    }

    /// Nothing is under way any more.
    pub fn end(&self, state: State) {
        self.become_state(state, None);
    }

    /// Both change under the lock, so that who holds it sees a state with its own job.
    fn become_state(&self, state: State, job: Option<Arc<Job>>) {
        let mut current = self.job.lock().unwrap_or_else(PoisonError::into_inner);
        *current = job;
        self.now.store(state as u8, Ordering::Release);
    }

    /// What a command of this rule has to end with; `medium` tells whether it needs the medium.
    pub fn check(&self, rule: UpkeepRule, medium: bool) -> Result<(), Sense> {
        if self.now.load(Ordering::Acquire) == State::Usable as u8 {
            return Ok(());
        }
        let passes = match (self.get(), rule) {
            (State::Usable, _) | (_, UpkeepRule::Pass) => true,
            (State::Formatting | State::Sanitizing, _) => false,
            (State::FormatCorrupt, UpkeepRule::Format | UpkeepRule::Sanitize) => true,
            (State::FormatCorrupt, UpkeepRule::Refuse) => !medium,
            (State::SanitizeFailed | State::SanitizeFailedRestricted, rule) => rule == UpkeepRule::Sanitize,
        };
        match self.sense() {
            Some(sense) if !passes => Err(sense),
            _ => Ok(()),
        }
    }

    /// The sense data that tells the state, if there is anything to tell.
    pub fn sense(&self) -> Option<Sense> {
        let job = self.job.lock().unwrap_or_else(PoisonError::into_inner);
        let (key, code) = match self.get() {
            State::Usable => return None,
            State::Formatting => (SenseKey::NotReady, asc::NOT_READY_FORMAT_IN_PROGRESS),
            State::Sanitizing => (SenseKey::NotReady, asc::NOT_READY_SANITIZE_IN_PROGRESS),
            State::FormatCorrupt => (SenseKey::MediumError, asc::MEDIUM_FORMAT_CORRUPTED),
            State::SanitizeFailed | State::SanitizeFailedRestricted => {
                (SenseKey::MediumError, asc::SANITIZE_COMMAND_FAILED)
            }
        };
        let sense = Sense::new(key, code);
        Some(match &*job {
            Some(job) => sense.pointing(SenseSpecific::Progress(job.progress())),
            None => sense,
        })
    }
}
