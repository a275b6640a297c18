//! What is behind an address that is bound: a portal group, and TLS where it is wanted.

use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, ServerName};
use std::sync::Arc;
use webpki::EndEntityCert;

/// Holds for connections that come from now on; those that are open keep what they came by.
#[derive(Clone)]
pub struct Door {
    /// Target portal group tag.
    pub tag: u16,
    /// None: plain iSCSI.
    pub tls: Option<TlsDoor>,
}

/// How TLS is spoken at a door.
#[derive(Clone)]
pub struct TlsDoor {
    /// Certificate, key and which clients' certificates are taken.
    pub server: Arc<ServerConfig>,
    /// Names of which a client's certificate has to have one; empty: any certificate will do.
    pub client_names: Arc<[ServerName<'static>]>,
}

impl TlsDoor {
    /// Whether a client that has shown this certificate may come in.
    pub(super) fn welcomes(&self, certificate: Option<&CertificateDer<'_>>) -> bool {
        if self.client_names.is_empty() {
            return true;
        }
        let certificate = certificate.and_then(|der| EndEntityCert::try_from(der).ok());
        let has =
            |name| certificate.as_ref().is_some_and(|it| it.verify_is_valid_for_subject_name(name).is_ok());
        self.client_names.iter().any(has)
    }
}
