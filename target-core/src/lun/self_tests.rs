//! The self-tests of a unit (SPC-5 5.15): the last results, and the one that is running.

use crate::scsi::sense::Sense;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Results that are kept, as the Self-Test Results log page has room for.
pub const RESULTS: usize = 20;

/// SELF-TEST RESULTS (SPC-5 table 410).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    /// Without an error.
    Passed = 0x0,
    /// Stopped by SEND DIAGNOSTIC.
    AbortedOnDemand = 0x1,
    /// Stopped by something else: task management, a lost nexus.
    Aborted = 0x2,
    /// A block could not be read.
    Failed = 0x5,
    /// Still running.
    Running = 0xf,
}

/// One self-test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelfTest {
    /// SELF-TEST CODE as it was asked for.
    pub code: u8,
    /// What came of it.
    pub verdict: Verdict,
    /// When it began, in hours since the unit was opened.
    pub hours: u16,
    /// The first block that failed, and how.
    pub failure: Option<(u64, Sense)>,
}

#[derive(Default)]
struct Inner {
    /// The newest first.
    results: VecDeque<SelfTest>,
    stop: bool,
}

impl Inner {
    fn running(&mut self) -> Option<&mut SelfTest> {
        self.results.front_mut().filter(|test| test.verdict == Verdict::Running)
    }
}

/// See the module.
#[derive(Default)]
pub struct SelfTests(Mutex<Inner>);

impl SelfTests {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a test; none while another one runs.
    pub fn begin(&self, code: u8, hours: u16) -> Option<Running<'_>> {
        let mut inner = self.lock();
        if inner.running().is_some() {
            return None;
        }
        inner.stop = false;
        inner.results.truncate(RESULTS - 1);
        inner.results.push_front(SelfTest { code, verdict: Verdict::Running, hours, failure: None });
        Some(Running(self))
    }

    /// Asks the test that runs to stop; false when none does.
    pub fn stop(&self) -> bool {
        let mut inner = self.lock();
        inner.stop = inner.running().is_some();
        inner.stop
    }

    /// The last results, the newest first.
    pub fn results(&self) -> Vec<SelfTest> {
        self.lock().results.iter().copied().collect()
    }
}

/// A test that runs. One that is dropped without a verdict was aborted.
pub struct Running<'a>(&'a SelfTests);

impl Running<'_> {
    /// Whether it was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.0.lock().stop
    }

    /// Ends it.
    pub fn end(self, verdict: Verdict, failure: Option<(u64, Sense)>) {
        if let Some(test) = self.0.lock().running() {
            (test.verdict, test.failure) = (verdict, failure);
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(test) = self.0.lock().running() {
            test.verdict = Verdict::Aborted;
        }
    }
}
