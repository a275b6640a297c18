//! The TLS handshake of a connection: before its login, within the time of the login, and under the same orders.

use super::stream::Stream;
use super::wire::TLS_HANDSHAKE;
use crate::server::door::{Door, TlsDoor};
use crate::server::orders::{Dismissal, Orders};
use rustls::{AlertDescription, CertificateError, Error as TlsError};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Instant;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

/// Why there is no connection to speak of.
#[derive(Debug)]
pub(super) enum Refused {
    /// The peer said nothing and closed.
    Gone,
    /// The peer does not speak TLS.
    Plain,
    /// The handshake failed.
    Handshake(io::Error),
    /// The client's certificate has none of the names that are let in.
    Stranger,
    /// It took longer than a login may.
    Late,
    /// We were told to end it.
    Dismissed(Dismissal),
}

/// The stream that PDUs are to go through.
pub(super) async fn open(
    socket: TcpStream,
    door: &Door,
    orders: &Orders,
    deadline: Option<Instant>,
) -> Result<Stream, Refused> {
    let Some(tls) = &door.tls else { return Ok(Stream::Plain(socket)) };
    let accept = under_orders(accept(socket, tls), orders);
    match deadline {
        Some(deadline) => {
            tokio::time::timeout_at(deadline.into(), accept).await.unwrap_or(Err(Refused::Late))
        }
        None => accept.await,
    }
}

async fn accept(socket: TcpStream, tls: &TlsDoor) -> Result<Stream, Refused> {
    let mut first = [0];
    match socket.peek(&mut first).await {
        Ok(0) | Err(_) => return Err(Refused::Gone),
        Ok(_) if first != [TLS_HANDSHAKE] => return Err(Refused::Plain),
        Ok(_) => {}
    }
    let acceptor = TlsAcceptor::from(tls.server.clone());
    let stream = acceptor.accept(socket).await.map_err(Refused::Handshake)?;
    let shown = stream.get_ref().1.peer_certificates();
    if !tls.welcomes(shown.and_then(<[_]>::first)) {
        return Err(Refused::Stranger);
    }
    Ok(Stream::Tls(Box::new(stream)))
}

/// Ready with `work`, or when the connection is to end: one that is not logged in has nothing to finish.
async fn under_orders<T>(
    work: impl Future<Output = Result<T, Refused>>,
    orders: &Orders,
) -> Result<T, Refused> {
    let mut work = pin!(work);
    poll_fn(|cx| {
        orders.register(cx.waker());
        if let Some(why) = orders.dismissal() {
            return Poll::Ready(Err(Refused::Dismissed(why)));
        }
        if orders.take_drain() {
            return Poll::Ready(Err(Refused::Dismissed(Dismissal::Cut)));
        }
        work.as_mut().poll(cx)
    })
    .await
}

impl Refused {
    /// What is to be said of it, with what to do; none where anyone can bring it about by doing nothing wrong.
    pub(super) fn complaint(&self) -> Option<String> {
        Some(match self {
            Self::Gone => return None,
            Self::Dismissed(Dismissal::CrowdedOut) => {
                "too many connections: the oldest that had not logged in made room".into()
            }
            Self::Dismissed(_) => return None,
            Self::Plain => "a plain iSCSI initiator came to a portal with TLS: have it connect to its own end of the tunnel, or \
                            to a portal without [portal.tls]"
                .into(),
            Self::Stranger => "the TLS client's certificate has none of the names in `client_names`".into(),
            Self::Late => "the TLS handshake took longer than login_timeout".into(),
            Self::Handshake(error) => match advice(error) {
                Some(advice) => format!("the TLS handshake failed: {error}; {advice}"),
                None => format!("the TLS handshake failed: {error}"),
            },
        })
    }

    /// The label `reason` of failed logins.
    pub(super) fn label(&self) -> Option<&'static str> {
        match self {
            Self::Gone => None,
            Self::Dismissed(Dismissal::CrowdedOut) => Some("too_many_connections"),
            Self::Dismissed(_) => None,
            Self::Late => Some("timeout"),
            Self::Plain | Self::Stranger | Self::Handshake(_) => Some("tls"),
        }
    }
}

/// What to do about an error of a handshake, where that can be told.
fn advice(error: &io::Error) -> Option<&'static str> {
    use AlertDescription::{BadCertificate, CertificateExpired, CertificateUnknown, UnknownCA};
    let error = error.get_ref()?.downcast_ref::<TlsError>()?;
    Some(match error {
        TlsError::NoCertificatesPresented => {
            "give the client a certificate that `client_ca_file` vouches for"
        }
        TlsError::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "the client's certificate is signed by none of `client_ca_file`"
        }
        TlsError::InvalidCertificate(_) => "renew the client's certificate",
        TlsError::AlertReceived(BadCertificate | CertificateExpired | CertificateUnknown | UnknownCA) => {
            "the client does not trust `certificate_file`: give it the CA, and the name that it is to check"
        }
        TlsError::PeerIncompatible(_) => "the client has to speak TLS 1.2 or 1.3",
        _ => return None,
    })
}
