//! Who is at the other end: a certificate that each process makes for itself, known by its fingerprint in the node's record.

use rcgen::{CertificateParams, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error as TlsError,
    PeerIncompatible, ServerConfig, SignatureScheme, version,
};
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

/// The name in all certificates: it says nothing, the fingerprint does.
const NAME: &str = "glint.internal";

/// The SHA-256 of a certificate.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Fingerprint {
    fn of(certificate: &CertificateDer<'_>) -> Self {
        Self(Sha256::digest(certificate).into())
    }

    /// Of its 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(at * 2..at * 2 + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// None can be made.
    #[error("cannot make a certificate for the internal connections: {0}")]
    Certificate(#[from] rcgen::Error),
    /// TLS does not take it.
    #[error("cannot use the certificate of the internal connections: {0}")]
    Tls(#[from] TlsError),
}

/// What this process proves who it is with, for as long as it runs. The key is nowhere but in memory.
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl Identity {
    /// A new one.
    pub fn new() -> Result<Self, IdentityError> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new([NAME.to_owned()])?.self_signed(&key)?;
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        Ok(Self { certificate: certificate.into(), key, provider: Arc::new(ring::default_provider()) })
    }

    /// What goes into the node's record.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.certificate)
    }

    /// For connections to the node of this fingerprint.
    pub fn connects_to(&self, expected: Fingerprint) -> Result<Arc<ClientConfig>, IdentityError> {
        let verifier = Only { expected: Some(expected), provider: Arc::clone(&self.provider) };
        let config = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&[&version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_auth_cert(vec![self.certificate.clone()], self.key.clone_key())?;
        Ok(Arc::new(config))
    }

    /// For connections from others. They have to show a certificate, and have its key; whose it is [`fingerprint_of`] tells, for the records of all
    /// nodes to be asked.
    pub fn accepts(&self) -> Result<Arc<ServerConfig>, IdentityError> {
        let verifier = Only { expected: None, provider: Arc::clone(&self.provider) };
        let config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&[&version::TLS13])?
            .with_client_cert_verifier(Arc::new(verifier))
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())?;
        Ok(Arc::new(config))
    }

    /// The name to connect under.
    pub fn server_name() -> Option<ServerName<'static>> {
        ServerName::try_from(NAME).ok()
    }
}

/// The fingerprint of what the other end has shown.
pub fn fingerprint_of(certificates: Option<&[CertificateDer<'_>]>) -> Option<Fingerprint> {
    certificates?.first().map(Fingerprint::of)
}

/// Takes one certificate, or any: that its key is there too is proved by a signature in either case.
#[derive(Debug)]
struct Only {
    expected: Option<Fingerprint>,
    provider: Arc<CryptoProvider>,
}

impl Only {
    fn check(&self, certificate: &CertificateDer<'_>) -> Result<(), TlsError> {
        match self.expected {
            Some(expected) if expected != Fingerprint::of(certificate) => {
                Err(CertificateError::ApplicationVerificationFailure.into())
            }
            _ => Ok(()),
        }
    }

    fn signed(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl ServerCertVerifier for Only {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        self.check(certificate).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.signed(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

impl ClientCertVerifier for Only {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, TlsError> {
        self.check(certificate).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.signed(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

#[cfg(test)]
#[path = "identity_tests.rs"]
mod tests;
