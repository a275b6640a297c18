//! Why a login fails, and the one place where that becomes a login status.

use super::text::TextError;
use crate::pdu::initiator::LoginRequest;
use crate::pdu::target::LoginResponse;
use bytes::Bytes;

/// Why a login fails. Never holds anything secret, so it may be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginFailure {
    /// The target is to be found elsewhere.
    #[error("the target is served elsewhere")]
    Redirected {
        /// For good.
        permanent: bool,
    },
    /// The initiator broke the rules of the login phase.
    #[error("initiator error: {0}")]
    Misbehaviour(#[from] Misbehaviour),
    /// The initiator did not prove who it is.
    #[error("authentication failed: {0}")]
    Authentication(#[from] AuthenticationFailure),
    /// The target's initiator list does not have this initiator.
    #[error("the initiator is not allowed to use the target")]
    NotAdmitted,
    /// There is no such target.
    #[error("no such target")]
    TargetNotFound,
    /// The target was here and is gone.
    #[error("the target has been removed")]
    TargetRemoved,
    /// No version of the protocol in common.
    #[error("unsupported protocol version")]
    UnsupportedVersion,
    /// The session, or this node, takes no more connections.
    #[error("too many connections")]
    TooManyConnections,
    /// A key that has to be there is not.
    #[error("missing key {0}")]
    MissingParameter(&'static str),
    /// The session takes no further connection from here.
    #[error("the connection cannot be included in the session")]
    CannotIncludeInSession,
    /// A SessionType that is neither Normal nor Discovery.
    #[error("unsupported session type")]
    SessionTypeUnsupported,
    /// There is no session of this TSIH.
    #[error("the session does not exist")]
    SessionDoesNotExist,
    /// A PDU that has no place in the login phase.
    #[error("invalid request during login")]
    InvalidDuringLogin,
    /// Something is wrong on our side.
    #[error("target error")]
    TargetError,
    /// Not now: starting, draining.
    #[error("service unavailable")]
    ServiceUnavailable,
    /// Limits of this node are reached.
    #[error("out of resources")]
    OutOfResources,
    /// Refused by the driver with this class and detail.
    #[error("refused with status {0:02x}{1:02x}h")]
    Refused(u8, u8),
}

/// How an initiator broke the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum Misbehaviour {
    #[error(transparent)]
    Text(#[from] TextError),
    #[error("a stage that does not exist or may not be gone to from here")]
    BadStage,
    #[error("transit asked for with unfinished text")]
    TransitWithinText,
    #[error("text sent while the target's answer was unfinished")]
    TextWithinAnswer,
    #[error("ISID, TSIH or CID changed during login")]
    IdentityChanged,
    #[error("{0} said twice")]
    Repeated(&'static str),
    #[error("an unknown key said twice")]
    UnknownRepeated,
    #[error("too many unknown keys")]
    TooManyUnknown,
    #[error("{0} has no place in this stage")]
    Misplaced(&'static str),
    #[error("{0} is not an initiator's to say")]
    WrongSender(&'static str),
    #[error("{0} has a value that it cannot have")]
    BadValue(&'static str),
    #[error("a request after the end of login")]
    AfterTheEnd,
}

/// How authentication failed. Unknown names and wrong secrets are one and the same on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum AuthenticationFailure {
    #[error("authentication is required and none was begun")]
    Required,
    #[error("no authentication method in common")]
    NoCommonMethod,
    #[error("no CHAP algorithm in common")]
    NoCommonAlgorithm,
    #[error("{0} was expected")]
    Incomplete(&'static str),
    #[error("{0} is malformed")]
    Malformed(&'static str),
    #[error("name or secret is wrong")]
    WrongProof,
    #[error("the target was asked for a proof and has no secret to give it with")]
    NoTargetSecret,
    #[error("the initiator returned the target's own challenge")]
    ReflectedChallenge,
    #[error("initiator and target have the same secret")]
    SharedSecret,
}

impl From<TextError> for LoginFailure {
    fn from(error: TextError) -> Self {
        Self::Misbehaviour(error.into())
    }
}

impl LoginFailure {
    /// Status-Class and Status-Detail (RFC 7143 §11.13.5).
    pub fn status(self) -> (u8, u8) {
        match self {
            Self::Redirected { permanent: false } => (1, 0x01),
            Self::Redirected { permanent: true } => (1, 0x02),
            Self::Misbehaviour(_) => (2, 0x00),
            Self::Authentication(_) => (2, 0x01),
            Self::NotAdmitted => (2, 0x02),
            Self::TargetNotFound => (2, 0x03),
            Self::TargetRemoved => (2, 0x04),
            Self::UnsupportedVersion => (2, 0x05),
            Self::TooManyConnections => (2, 0x06),
            Self::MissingParameter(_) => (2, 0x07),
            Self::CannotIncludeInSession => (2, 0x08),
            Self::SessionTypeUnsupported => (2, 0x09),
            Self::SessionDoesNotExist => (2, 0x0a),
            Self::InvalidDuringLogin => (2, 0x0b),
            Self::TargetError => (3, 0x00),
            Self::ServiceUnavailable => (3, 0x01),
            Self::OutOfResources => (3, 0x02),
            Self::Refused(class, detail) => (class, detail),
        }
    }

    /// The Login Response that tells this failure in answer to `request`.
    pub fn answer(self, request: &LoginRequest) -> LoginResponse {
        let (status_class, status_detail) = self.status();
        LoginResponse {
            transit: false,
            continues: false,
            current_stage: request.current_stage,
            next_stage: 0,
            version_max: 0,
            version_active: 0,
            isid: request.isid,
            tsih: request.tsih,
            initiator_task_tag: request.initiator_task_tag,
            status_class,
            status_detail,
            data: Bytes::new(),
        }
    }
}
