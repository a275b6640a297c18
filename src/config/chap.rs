//! CHAP sections. Secrets come from files or the environment, never from the configuration itself.

use super::reader::Section;
use glint_target_core::login::catalog::{AuthPolicy, ChapCredentials, Secret};
use std::os::unix::fs::PermissionsExt;

/// RFC 7143 §12.1.3: a secret of less than 96 bits must not be used without IPsec.
const MIN_SECRET: usize = 12;
/// More than any initiator takes; whoever points at a larger file points at the wrong one.
const MAX_SECRET: usize = 256;
/// Longest CHAP_N that all initiators take.
const MAX_USER: usize = 223;

/// The three keys of one pair of credentials.
struct Keys {
    user: &'static str,
    file: &'static str,
    env: &'static str,
}

const INITIATOR: Keys = Keys { user: "user", file: "secret_file", env: "secret_env" };
const TARGET: Keys = Keys { user: "mutual_user", file: "mutual_secret_file", env: "mutual_secret_env" };

/// Reads `[target.chap]` or `[discovery.chap]`.
pub(super) fn read_chap(mut section: Section<'_>) -> AuthPolicy {
    let initiator = read_credentials(&mut section, &INITIATOR);
    let wants_mutual = [TARGET.user, TARGET.file, TARGET.env].iter().any(|key| section.has(key));
    let mutual = wants_mutual.then(|| read_credentials(&mut section, &TARGET));
    if !wants_mutual {
        // So that a mistyped key is told from an unknown one.
        for key in [TARGET.user, TARGET.file, TARGET.env] {
            section.value::<String>(key);
        }
    }
    if let (Some(initiator), Some(Some(mutual))) = (&initiator, &mutual)
        && initiator.secret == mutual.secret
    {
        // RFC 7143 §12.1.3: the same secret both ways lets an attacker reflect the challenge.
        section.fault_at(
            TARGET.user,
            "both secrets are the same; the initiator's and the target's have to differ",
        );
    }
    section.finish();
    // Where something was missing a fault was noted, and the configuration is not used.
    AuthPolicy::Chap { initiators: initiator.into_iter().collect(), mutual: mutual.flatten() }
}

fn read_credentials(section: &mut Section<'_>, keys: &Keys) -> Option<ChapCredentials> {
    let name = section.required::<String>(keys.user, "\"a-name\"");
    if let Some(name) = &name
        && !(1..=MAX_USER).contains(&name.len())
    {
        section.fault_at(keys.user, format!("`{}` has to be 1 to {MAX_USER} bytes long", keys.user));
    }
    let file = section.value::<String>(keys.file);
    let variable = section.value::<String>(keys.env);
    let (key, loaded) = match (file, variable) {
        (Some(file), None) => (keys.file, load_file(section, keys.file, &file)),
        (None, Some(variable)) => (keys.env, load_variable(&variable)),
        (Some(_), Some(_)) => {
            section.fault_at(keys.env, format!("give `{}` or `{}`, not both", keys.file, keys.env));
            return None;
        }
        (None, None) => {
            if !section.has(keys.file) && !section.has(keys.env) {
                let message = format!(
                    "the secret of `{}` is missing: give `{}` or `{}`",
                    keys.user, keys.file, keys.env
                );
                section.fault_at(keys.user, message);
            }
            return None;
        }
    };
    match loaded.and_then(check_secret) {
        Ok(secret) => Some(ChapCredentials { name: name?, secret }),
        Err(message) => {
            section.fault_at(key, message);
            None
        }
    }
}

fn check_secret(secret: Secret) -> Result<Secret, String> {
    match secret.expose().len() {
        0 => Err("the secret is empty".into()),
        short if short < MIN_SECRET => Err(format!(
            "the secret has {short} bytes; CHAP needs {MIN_SECRET} at least (RFC 7143 asks for 96 bits)"
        )),
        long if long > MAX_SECRET => {
            Err(format!("the secret has more than {MAX_SECRET} bytes; initiators take no such"))
        }
        _ => Ok(secret),
    }
}

/// Reads the file's content less the line end; a relative path starts at the configuration file's directory.
fn load_file(section: &Section<'_>, key: &str, name: &str) -> Result<Secret, String> {
    let path = section.document().beside(name);
    let failed = |error: std::io::Error| format!("cannot read the secret file {}: {error}", path.display());
    let metadata = std::fs::metadata(&path).map_err(failed)?;
    if !metadata.is_file() || metadata.len() > 2 * MAX_SECRET as u64 {
        return Err(format!("{} is no file that holds a secret alone", path.display()));
    }
    let mode = metadata.permissions().mode();
    if mode & 0o007 != 0 {
        section.document().findings.borrow_mut().warn(
            section.place_of(key),
            format!("everyone on this machine may read {}; run chmod o-rwx on it", path.display()),
        );
    }
    let bytes = zeroize::Zeroizing::new(std::fs::read(&path).map_err(failed)?);
    let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    Ok(Secret::new(line.strip_suffix(b"\r").unwrap_or(line).to_vec()))
}

fn load_variable(name: &str) -> Result<Secret, String> {
    use std::os::unix::ffi::OsStringExt;
    match std::env::var_os(name) {
        Some(value) => Ok(Secret::new(value.into_vec())),
        None => Err(format!("the environment has no variable {name}")),
    }
}

#[cfg(test)]
#[path = "chap_tests.rs"]
mod tests;
