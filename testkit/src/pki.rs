//! Certificate authorities and what they sign, for tests of TLS.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// An authority that exists for one test.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate.
    pub pem: String,
}

/// A certificate and its key, as PEM.
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

impl Authority {
    /// A new one of this name.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names are good names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate for these names (DNS names and addresses), good for a year.
    pub fn issue(&self, names: &[&str]) -> Pair {
        self.issue_until(names, SystemTime::now() + 365 * DAY)
    }

    /// The same, good until then.
    pub fn issue_until(&self, names: &[&str], until: SystemTime) -> Pair {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("the names are good");
        params.not_before = (until.min(SystemTime::now()) - 30 * DAY).into();
        params.not_after = until.into();
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate").pem();
        Pair { certificate, key: key.serialize_pem() }
    }

    /// Writes its certificate to `NAME.pem`.
    pub fn write(&self, directory: &Path, name: &str) -> PathBuf {
        write(directory.join(format!("{name}.pem")), &self.pem)
    }
}

impl Pair {
    /// Writes `NAME.pem` and `NAME.key`.
    pub fn write(&self, directory: &Path, name: &str) -> (PathBuf, PathBuf) {
        let key = write(directory.join(format!("{name}.key")), &self.key);
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("the key's mode");
        (write(directory.join(format!("{name}.pem")), &self.certificate), key)
    }
}

fn write(path: PathBuf, text: &str) -> PathBuf {
    fs::write(&path, text).expect("a file is written");
    path
}
