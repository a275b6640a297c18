//! What the end of a command means to a host with several paths: done, again, elsewhere, or an error. As Linux' `scsi_check_sense`, its
//! ALUA handler and dm-multipath have it.

use crate::initiator::{BUSY, CHECK_CONDITION, End, GOOD, RESERVATION_CONFLICT, TASK_ABORTED, TASK_SET_FULL};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// An answer for whoever asked.
    Done,
    /// To be sent again on the same path.
    Again {
        /// Not at once.
        later: bool,
        /// It may have been executed.
        doubt: bool,
        /// The access states have changed.
        rescan: bool,
    },
    /// To be sent on another path.
    Elsewhere,
    /// An I/O error.
    Error,
}

/// Judges the end of a command.
pub fn judge(end: &End) -> Verdict {
    const AT_ONCE: Verdict = Verdict::Again { later: false, doubt: false, rescan: false };
    match (end.status, end.condition()) {
        (GOOD | RESERVATION_CONFLICT, _) => Verdict::Done,
        (BUSY | TASK_SET_FULL, _) => Verdict::Again { later: true, doubt: false, rescan: false },
        (TASK_ABORTED, _) => Verdict::Again { later: false, doubt: true, rescan: false },
        (CHECK_CONDITION, condition) => match condition {
            // MISCOMPARE is what COMPARE AND WRITE was asked for.
            (0xe, ..) => Verdict::Done,
            // ASYMMETRIC ACCESS STATE TRANSITION
            (0x2, 0x04, 0x0a) => Verdict::Again { later: true, doubt: false, rescan: true },
            // TARGET PORT IN STANDBY STATE, IN UNAVAILABLE STATE
            (0x2, 0x04, 0x0b | 0x0c) => Verdict::Elsewhere,
            // LOGICAL UNIT IS IN PROCESS OF BECOMING READY
            (0x2, 0x04, 0x01) => Verdict::Again { later: true, doubt: false, rescan: false },
            // ASYMMETRIC ACCESS STATE CHANGED, IMPLICIT ... TRANSITION FAILED
            (0x6, 0x2a, 0x06 | 0x07) => Verdict::Again { later: false, doubt: false, rescan: true },
            (0x6, ..) => AT_ONCE,
            (0xb, ..) => Verdict::Again { later: false, doubt: true, rescan: false },
            _ => Verdict::Error,
        },
        _ => Verdict::Error,
    }
}

/// The end of a command in a few words.
pub fn describe(end: &End) -> String {
    match end.status {
        CHECK_CONDITION => {
            let (key, asc, ascq) = end.condition();
            format!("{key:x}/{asc:02x}/{ascq:02x}")
        }
        BUSY => "BUSY".into(),
        TASK_SET_FULL => "TASK SET FULL".into(),
        TASK_ABORTED => "TASK ABORTED".into(),
        status => format!("status {status:02x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_judged_as_linux_judges_them() {
        let sense = |key, asc, ascq| End {
            status: CHECK_CONDITION,
            sense: vec![0x72, key, asc, ascq, 0, 0, 0, 0],
            data: Vec::new(),
        };
        assert_eq!(judge(&sense(0x2, 4, 0xc)), Verdict::Elsewhere);
        assert_eq!(judge(&sense(0xe, 0x1d, 0)), Verdict::Done);
        assert_eq!(judge(&sense(0x3, 0x11, 0)), Verdict::Error);
        let Verdict::Again { doubt, .. } = judge(&sense(0xb, 0x4e, 0)) else { panic!("it is sent again") };
        assert!(doubt);
        let Verdict::Again { rescan, doubt, .. } = judge(&sense(0x6, 0x2a, 6)) else {
            panic!("it is sent again")
        };
        assert!(rescan && !doubt);
    }
}
