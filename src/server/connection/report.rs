//! How a connection ended, for logs and metrics.

use super::driver::Driver;
use super::end::End;
use super::handshake::Refused;
use super::line::Line;
use crate::server::node::Node;
use crate::server::orders::Dismissal;
use crate::telemetry::metrics::Metrics;
use glint_target_core::login::LoginFailure;
use glint_target_core::scsi::command::DeviceServer;
use glint_target_core::session::event::CloseReason;
use std::time::Instant;

/// Logs and counts the end of a connection. What peers bring about is logged with measure.
pub(super) fn ended<S: DeviceServer, F>(driver: &Driver<S, F>, end: &End) {
    let _inside = driver.span.enter();
    let Some(complaint) = complaint(driver, end) else {
        return match driver.connection.session() {
            Some(_) => tracing::info!(%end, "connection ended"),
            // Anyone can bring this about as often as they like.
            None => tracing::debug!(%end, "connection ended before it was logged in"),
        };
    };
    if let Some(held_back) = driver.node.complaints.admit(Instant::now()) {
        tracing::warn!(%end, held_back, "{complaint}");
    }
}

/// Logs and counts the end of one connection of a session that goes on.
pub(super) fn parted<S: DeviceServer, F>(driver: &Driver<S, F>, line: &Line, end: &End) {
    let _inside = line.span.enter();
    let Some(complaint) = complaint(driver, end) else {
        return tracing::info!(%end, "connection left its session");
    };
    if let Some(held_back) = driver.node.complaints.admit(Instant::now()) {
        tracing::warn!(%end, held_back, "{complaint}: connection left its session");
    }
}

/// What is to be said of an end that is not as it should be.
fn complaint<S: DeviceServer, F>(driver: &Driver<S, F>, end: &End) -> Option<String> {
    let metrics = &driver.node.metrics;
    let complaint = match end {
        End::Dismissed(Dismissal::CrowdedOut) => {
            metrics.login_failed("too_many_connections");
            "too many connections: the oldest that had not logged in made room"
        }
        End::Dismissed(_) | End::Moves(..) | End::Reinstated | End::PeerClosed => return None,
        End::Stalled => "the initiator took no data for too long",
        End::Hoarding => "the initiator sent too much data of writes without completing them",
        End::TlsClient => {
            metrics.login_failed("tls");
            "a TLS client came to a portal without TLS: have it connect to one with [portal.tls]"
        }
        End::Socket(_) => "the connection broke",
        End::Closed(reason) => match reason {
            CloseReason::LogoutRequested | CloseReason::TargetReset | CloseReason::Driver => return None,
            CloseReason::LoginFailed => return login_complaint(driver),
            CloseReason::LoginTimeout => {
                name_initiator(driver);
                metrics.login_failed("timeout");
                "the login took too long"
            }
            CloseReason::ProtocolError => {
                metrics.pdu_error("fatal");
                "the initiator broke the protocol"
            }
            CloseReason::HeaderDigestError => {
                metrics.pdu_error("header_digest");
                "a header digest was wrong"
            }
            CloseReason::NopTimeout => "the initiator did not answer a NOP-In",
            CloseReason::CommandsLost => {
                "commands that were lost with a connection of the session did not come again"
            }
            CloseReason::LogoutTimeout => "the initiator did not log out when it was asked to",
        },
    };
    Some(complaint.into())
}

/// Logs and counts a connection that came to nothing before PDUs could be exchanged.
pub(super) fn refused<S>(node: &Node<S>, span: &tracing::Span, refused: &Refused) {
    let _inside = span.enter();
    if let Some(label) = refused.label() {
        node.metrics.login_failed(label);
    }
    match refused.complaint() {
        None => tracing::debug!(?refused, "connection ended before it was logged in"),
        Some(complaint) => {
            if let Some(held_back) = node.complaints.admit(Instant::now()) {
                tracing::warn!(held_back, "{complaint}");
            }
        }
    }
}

/// Counts a PDU that was rejected, by its reason code (RFC 7143 §11.17.1).
pub(super) fn rejected(metrics: &Metrics, reason: u8) {
    metrics.pdu_error(match reason {
        0x02 => "data_digest",
        0x03 => "snack",
        0x04 => "protocol",
        0x05 => "command_not_supported",
        0x06 => "too_many_immediate_commands",
        0x07 => "task_in_progress",
        0x09 => "invalid_field",
        0x0c => "waiting_for_logout",
        _ => "other",
    });
}

/// A login that was refused from here has been told and counted.
fn login_complaint<S: DeviceServer, F>(driver: &Driver<S, F>) -> Option<String> {
    if driver.refused {
        return None;
    }
    name_initiator(driver);
    let failure = driver.connection.login_failure();
    if let Some(LoginFailure::Redirected { permanent }) = failure {
        // As it should be, but as often as initiators like.
        if let Some(held_back) = driver.node.complaints.admit(Instant::now()) {
            tracing::info!(permanent, held_back, "initiator redirected");
        }
        return None;
    }
    driver.node.metrics.login_failed(failure.map_or("other", label));
    Some(match failure {
        Some(failure) => format!("login failed: {failure}"),
        None => "login failed".into(),
    })
}

/// The name, not proven, of an initiator whose login came to no good end.
fn name_initiator<S: DeviceServer, F>(driver: &Driver<S, F>) {
    if let Some(name) = driver.connection.initiator_name() {
        driver.span.record("initiator", &**name);
    }
}

/// The label `reason` of failed logins.
fn label(failure: LoginFailure) -> &'static str {
    match failure {
        LoginFailure::Misbehaviour(_)
        | LoginFailure::UnsupportedVersion
        | LoginFailure::MissingParameter(_)
        | LoginFailure::SessionTypeUnsupported
        | LoginFailure::InvalidDuringLogin => "initiator_error",
        LoginFailure::Authentication(_) => "authentication",
        LoginFailure::NotAdmitted => "not_admitted",
        LoginFailure::TargetNotFound | LoginFailure::TargetRemoved => "no_such_target",
        LoginFailure::SessionDoesNotExist => "no_such_session",
        LoginFailure::TooManyConnections | LoginFailure::CannotIncludeInSession => "too_many_connections",
        LoginFailure::Redirected { .. }
        | LoginFailure::TargetError
        | LoginFailure::ServiceUnavailable
        | LoginFailure::OutOfResources
        | LoginFailure::Refused(..) => "other",
    }
}
