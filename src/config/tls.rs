//! TLS of a portal: certificate, key, and which clients are let in. Read and checked with the configuration, so that a reload is all that
//! a renewed certificate needs.

use super::fault::Placed;
use super::reader::Section;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{Error as TlsError, InconsistentKeys, RootCertStore};
use sha2::{Digest, Sha256};
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use webpki::{EndEntityCert, Error as CertificateError, KeyUsage};

/// Chains and keys are a few KiB; whoever points at a larger file points at the wrong one.
const MAX_FILE: u64 = 1 << 20;
/// A certificate that has no more time than this is spoken of.
const RENEW_BEFORE: Duration = Duration::from_secs(14 * 24 * 3600);

/// TLS 1.2 and 1.3 at a portal.
#[derive(Clone)]
pub struct Tls {
    /// Certificate, key and the clients' CA, ready for use.
    pub server: Arc<ServerConfig>,
    /// What clients have to show.
    pub clients: ClientCertificates,
    /// Names (DNS names or addresses) of which a client's certificate has to have one; empty: any certificate will do.
    pub client_names: Vec<ServerName<'static>>,
    /// Of all that was read.
    fingerprint: [u8; 32],
}

/// Whether clients have to show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificates {
    /// They are not asked.
    NotAsked,
    /// They may; one that is not from the CA is refused.
    Optional,
    /// They have to.
    Required,
}

impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        let shown = |tls: &Self| (tls.fingerprint, tls.clients);
        shown(self) == shown(other) && self.client_names == other.client_names
    }
}

impl Eq for Tls {}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tls({:?})", self.clients)
    }
}

/// The files of a portal's TLS.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
    pub(super) client_ca: Option<PathBuf>,
}

/// Which of the files something is wrong with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Certificate,
    Key,
    ClientCa,
}

impl Part {
    /// The key of the configuration.
    fn name(self) -> &'static str {
        match self {
            Self::Certificate => "certificate_file",
            Self::Key => "key_file",
            Self::ClientCa => "client_ca_file",
        }
    }
}

/// What was found wrong, or doubtful, with a part.
type Found = (Part, String);

/// Reads `[portal.tls]`.
pub(super) fn read_tls(mut section: Section<'_>) -> Option<Tls> {
    let certificate = section.required::<String>("certificate_file", "\"server.pem\"");
    let key = section.required::<String>("key_file", "\"server.key\"");
    let client_ca = section.value::<String>("client_ca_file");
    let wanted = section.value::<String>("client_certificates");
    let client_names = section.filled_list::<ClientName>("client_names");
    let clients = match (wanted.as_deref(), &client_ca) {
        (None, None) => ClientCertificates::NotAsked,
        (None | Some("required"), _) => ClientCertificates::Required,
        (Some("optional"), _) => ClientCertificates::Optional,
        (Some(other), _) => {
            let message = format!("`client_certificates` is \"required\" or \"optional\", not {other:?}");
            section.fault_at("client_certificates", message);
            ClientCertificates::Required
        }
    };
    if wanted.is_some() && !section.has("client_ca_file") {
        let message = "`client_certificates` needs the CA that signs them: add `client_ca_file`";
        section.fault_at("client_certificates", message);
    }
    if section.has("client_names") && clients != ClientCertificates::Required {
        let message = "`client_names` needs clients to show a certificate: add `client_ca_file`, and leave `client_certificates` \"required\"";
        section.fault_at("client_names", message);
    }
    let document = section.document();
    let tls = certificate.zip(key).and_then(|(certificate, key)| {
        let files = Files {
            certificate: document.beside(&certificate),
            key: document.beside(&key),
            client_ca: client_ca.map(|file| document.beside(&file)),
        };
        match load(&files, clients) {
            Ok((tls, warnings)) => {
                for (part, message) in warnings {
                    document.findings.borrow_mut().warn(section.place_of(part.name()), message);
                }
                Some(tls)
            }
            Err(faults) => {
                faults.into_iter().for_each(|(part, message)| section.fault_at(part.name(), message));
                None
            }
        }
    });
    section.finish();
    let client_names = client_names.into_iter().map(|Placed { value, .. }| value.0).collect();
    Some(Tls { client_names, ..tls? })
}

/// Reads the files and makes sure that they go together; every fault is told.
pub(super) fn load(files: &Files, clients: ClientCertificates) -> Result<(Tls, Vec<Found>), Vec<Found>> {
    let (mut faults, mut warnings) = (Vec::new(), Vec::new());
    let mut fingerprint = Sha256::new();
    let mut read = |part: Part, file: &Path| match read_file(file) {
        Ok(bytes) => {
            fingerprint.update(bytes.len().to_be_bytes());
            fingerprint.update(&*bytes);
            Some(bytes)
        }
        Err(message) => {
            faults.push((part, message));
            None
        }
    };
    let certificate = read(Part::Certificate, &files.certificate);
    let key = read(Part::Key, &files.key);
    let client_ca = files.client_ca.as_ref().map(|file| (file, read(Part::ClientCa, file)));
    if key.is_some() && readable_by_all(&files.key) {
        let message =
            format!("everyone on this machine may read {}; run chmod o-rwx on it", files.key.display());
        warnings.push((Part::Key, message));
    }

    let chain =
        certificate.and_then(|bytes| note(&mut faults, Part::Certificate, chain(&files.certificate, &bytes)));
    let key = key.and_then(|bytes| note(&mut faults, Part::Key, private_key(&files.key, &bytes)));
    let verifier = match client_ca {
        None => Some(WebPkiClientVerifier::no_client_auth()),
        Some((file, bytes)) => bytes.and_then(|bytes| {
            let verifier = roots(file, &bytes, &mut warnings).and_then(|roots| verifier(roots, clients));
            note(&mut faults, Part::ClientCa, verifier)
        }),
    };
    warnings.extend(chain.as_deref().and_then(validity).map(|message| (Part::Certificate, message)));
    let (Some(chain), Some(key), Some(verifier)) = (chain, key, verifier) else { return Err(faults) };
    let server = server(verifier, chain, key).map_err(|found| vec![found])?;
    let fingerprint = fingerprint.finalize().into();
    Ok((Tls { server: Arc::new(server), clients, client_names: Vec::new(), fingerprint }, warnings))
}

fn note<T>(faults: &mut Vec<Found>, part: Part, read: Result<T, String>) -> Option<T> {
    read.map_err(|message| faults.push((part, message))).ok()
}

fn read_file(file: &Path) -> Result<zeroize::Zeroizing<Vec<u8>>, String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", file.display());
    let metadata = std::fs::metadata(file).map_err(failed)?;
    if !metadata.is_file() || metadata.len() > MAX_FILE {
        return Err(format!("{} is no PEM file", file.display()));
    }
    std::fs::read(file).map(zeroize::Zeroizing::new).map_err(failed)
}

fn readable_by_all(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o007 != 0)
}

fn chain(file: &Path, bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let broken = |error: pem::Error| format!("{} is no PEM file of certificates: {error:?}", file.display());
    let chain = CertificateDer::pem_slice_iter(bytes).collect::<Result<Vec<_>, _>>().map_err(broken)?;
    match chain.is_empty() {
        true => Err(format!("{} holds no certificate (-----BEGIN CERTIFICATE-----)", file.display())),
        false => Ok(chain),
    }
}

fn private_key(file: &Path, bytes: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(bytes).map_err(|error| match error {
        pem::Error::NoItemsFound => {
            format!("{} holds no private key that can be used; one with a passphrase cannot", file.display())
        }
        error => format!("{} is no PEM file of a private key: {error:?}", file.display()),
    })
}

fn roots(file: &Path, bytes: &[u8], warnings: &mut Vec<Found>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in chain(file, bytes)? {
        if let Some(message) = validity(std::slice::from_ref(&certificate)) {
            warnings.push((Part::ClientCa, message));
        }
        roots.add(certificate).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(roots)
}

fn verifier(
    roots: RootCertStore,
    clients: ClientCertificates,
) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let builder =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::new(ring::default_provider()));
    let builder = match clients {
        ClientCertificates::Optional => builder.allow_unauthenticated(),
        ClientCertificates::NotAsked | ClientCertificates::Required => builder,
    };
    builder.build().map_err(|error| error.to_string())
}

fn server(
    verifier: Arc<dyn ClientCertVerifier>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, Found> {
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| (Part::Certificate, error.to_string()))?;
    let with_pair = builder.with_client_cert_verifier(verifier).with_single_cert(chain, key);
    let mut server = with_pair.map_err(|error| match error {
        TlsError::InconsistentKeys(InconsistentKeys::KeyMismatch) => (
            Part::Key,
            "this key belongs to another certificate than the first one of `certificate_file`".into(),
        ),
        TlsError::InvalidCertificate(error) => {
            (Part::Certificate, format!("the certificate cannot be used: {error}"))
        }
        error => (Part::Key, format!("the key cannot be used: {error}")),
    })?;
    // A session that is resumed is checked no more, and connections last: what would be saved is not worth that.
    server.session_storage = Arc::new(NoServerSessionStorage {});
    server.send_tls13_tickets = 0;
    Ok(server)
}

/// What is to be said of the time in which the first certificate can be used.
fn validity(chain: &[CertificateDer<'_>]) -> Option<String> {
    let certificate = EndEntityCert::try_from(chain.first()?).ok()?;
    let now = UnixTime::now();
    let checked_at = |time: UnixTime| {
        // The time comes first among what is checked, and no anchor is needed for it.
        let usage = KeyUsage::server_auth();
        let algorithms = ring::default_provider().signature_verification_algorithms.all;
        certificate.verify_for_usage(algorithms, &[], &[], time, usage, None, None).err()
    };
    match checked_at(now)? {
        CertificateError::CertExpired { not_after, .. } => {
            Some(format!("the certificate expired {}: clients will refuse it", days(now, not_after)))
        }
        CertificateError::CertNotValidYet { not_before, .. } => Some(format!(
            "the certificate is not valid yet ({}): clients will refuse it",
            days(now, not_before)
        )),
        _ => match checked_at(UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs()) + RENEW_BEFORE))?
        {
            CertificateError::CertExpired { not_after, .. } => {
                Some(format!("the certificate expires {}: renew it, then send SIGHUP", days(now, not_after)))
            }
            _ => None,
        },
    }
}

fn days(now: UnixTime, then: UnixTime) -> String {
    const DAY: u64 = 24 * 3600;
    match (then.as_secs().checked_sub(now.as_secs()), now.as_secs().abs_diff(then.as_secs()) / DAY) {
        (_, 0) => "within a day".into(),
        (Some(_), days) => format!("in {days} days"),
        (None, days) => format!("{days} days ago"),
    }
}

/// One of `client_names`.
#[derive(Clone, Debug)]
pub(super) struct ClientName(ServerName<'static>);

impl std::str::FromStr for ClientName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = ServerName::try_from(text.to_owned());
        name.map(Self).map_err(|_| format!("{text:?} is neither a DNS name nor an address"))
    }
}

#[cfg(test)]
#[path = "tls_tests.rs"]
mod tests;
