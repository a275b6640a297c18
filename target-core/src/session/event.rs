//! What a connection asks of its driver, and what the driver answers.

use crate::login::parameters::Parameters;
use crate::pdu::fields::Isid;
use crate::scsi::command::{Command, TaskManagement};
use std::sync::Arc;

/// Names a task of one session towards its driver; never reused within a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(pub u64);

/// Names a connection of a session towards the driver; never reused within a session. The CID is the initiator's name for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Leg(pub u32);

impl Leg {
    /// The connection that a session begins with.
    pub const FIRST: Self = Self(0);
}

/// Asked of the driver, in order.
#[derive(Debug)]
pub enum Event {
    /// Login has come to its end: make the session known (ending an older one of the same identity first, RFC 7143 §6.3.5), and
    /// answer with `Connection::bound`.
    Bind(SessionRequest),
    /// Run a SCSI command and answer with `Connection::complete`.
    Execute(TaskId, Command),
    /// Run a task management function and answer with `Connection::managed`. The id [`TaskId::default`] stands for no task: the answer
    /// tells nobody anything.
    Manage(TaskId, TaskManagement),
    /// Nothing more will come of this connection. Write out what there is to transmit, then close, and tell that it has gone with
    /// `Connection::part`, if others of the session go on.
    Close(Leg, CloseReason),
}

/// Normal or discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SessionType {
    Normal,
    Discovery,
}

/// The session that a login asks for.
#[derive(Clone, Debug)]
pub struct SessionRequest {
    /// Kind of session.
    pub session_type: SessionType,
    /// iSCSI name of the initiator.
    pub initiator_name: Arc<str>,
    /// ISID.
    pub isid: Isid,
    /// 0 for a new session; otherwise the session to add a connection to.
    pub tsih: u16,
    /// Connection id.
    pub cid: u16,
    /// The target; none for discovery.
    pub target_name: Option<Arc<str>>,
    /// Portal group tag of the target port.
    pub portal_group_tag: u16,
    /// RELATIVE TARGET PORT IDENTIFIER.
    pub relative_port: u16,
    /// What was negotiated.
    pub parameters: Parameters,
}

/// The driver's answer to [`Event::Bind`].
#[derive(Clone, Debug)]
pub enum BindOutcome {
    /// The session exists under this TSIH (not 0).
    Bound {
        /// Target session identifying handle.
        tsih: u16,
    },
    /// Refused with this login status (class, detail), RFC 7143 §11.13.5.
    Refused {
        /// Status-Class.
        class: u8,
        /// Status-Detail.
        detail: u8,
    },
}

/// Why a connection ends; for logs and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CloseReason {
    LogoutRequested,
    LoginFailed,
    LoginTimeout,
    ProtocolError,
    HeaderDigestError,
    NopTimeout,
    LogoutTimeout,
    /// Commands that were lost with a connection of the session keep the others from their turn.
    CommandsLost,
    /// TARGET COLD RESET was carried out: all connections of the target end (RFC 7143 §11.5.1).
    TargetReset,
    /// Closed by the driver: peer gone, reinstatement, drain.
    Driver,
}
