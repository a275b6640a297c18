//! The flags of `glint serve` that say what to serve, in the same types as the file.

use super::device::DeviceSpec;
use super::endpoint::Endpoint;
use super::fault::{Findings, Place, Placed};
use super::model::TargetConfig;
use super::name::{IscsiName, TargetLabel};
use super::targets::{LunDraft, TargetDraft, derived_iqn};
use super::tls::{self, ClientCertificates, Tls};
use super::units::{ByteSize, parse_low_space};
use glint_target_core::login::catalog::{AuthPolicy, InitiatorList};
use std::path::{Path, PathBuf};

/// The flags as they were typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--listen ADDR`: bound instead of the file's portals.
    pub listen: Vec<String>,
    /// `--advertise ADDR`: told to initiators instead of the bound addresses.
    pub advertise: Vec<String>,
    /// `--tls-cert FILE`: TLS at the portals of `--listen`.
    pub tls_cert: Option<PathBuf>,
    /// `--tls-key FILE`: the key of that certificate.
    pub tls_key: Option<PathBuf>,
    /// `--tls-client-ca FILE`: the CA of the certificates that clients then have to show.
    pub tls_client_ca: Option<PathBuf>,
    /// `--api ADDR|off`.
    pub api: Option<String>,
    /// `--volume NAME=DEVICE[,option]...`: served beside the file's targets.
    pub volumes: Vec<String>,
    /// `--state-dir DIR`: instead of the file's `state_dir`.
    pub state_dir: Option<PathBuf>,
    /// `--node NAME`: instead of the file's `[node] id`.
    pub node: Option<String>,
    /// `--store URL`: instead of the file's, as the next two.
    pub store: Option<String>,
    /// `--internal ADDR`.
    pub internal: Option<String>,
    /// `--internal-advertise ADDR`.
    pub internal_advertise: Option<String>,
}

/// Reads the values of a repeated flag as addresses.
pub(super) fn endpoints(
    findings: &mut Findings,
    flag: &str,
    values: &[String],
    default_port: u16,
) -> Vec<Placed<Endpoint>> {
    let mut read = |value: &String| {
        let place = Place::Flag(format!("{flag} {value}"));
        match Endpoint::parse(value, Some(default_port)) {
            Ok(value) => Some(Placed { value, place }),
            Err(message) => {
                findings.fault(place, message);
                None
            }
        }
    };
    values.iter().filter_map(&mut read).collect()
}

/// TLS as the flags have it; where it is incomplete or cannot be read a fault is noted.
pub(super) fn tls(findings: &mut Findings, flags: &Flags) -> Option<Tls> {
    let (certificate, key) = match (&flags.tls_cert, &flags.tls_key) {
        (Some(certificate), Some(key)) => (certificate, key),
        (None, None) if flags.tls_client_ca.is_none() => return None,
        _ => {
            let place = Place::Flag("--tls-cert".into());
            findings.fault(place, "TLS needs both --tls-cert FILE and --tls-key FILE");
            return None;
        }
    };
    let client_ca = flags.tls_client_ca.clone();
    let clients = match client_ca {
        Some(_) => ClientCertificates::Required,
        None => ClientCertificates::NotAsked,
    };
    let files = tls::Files { certificate: certificate.clone(), key: key.clone(), client_ca };
    let place = |part| {
        Place::Flag(match part {
            tls::Part::Certificate => format!("--tls-cert {}", files.certificate.display()),
            tls::Part::Key => format!("--tls-key {}", files.key.display()),
            tls::Part::ClientCa => {
                format!("--tls-client-ca {}", files.client_ca.as_deref().unwrap_or(Path::new("")).display())
            }
        })
    };
    match tls::load(&files, clients) {
        Ok((tls, warnings)) => {
            warnings.into_iter().for_each(|(part, message)| findings.warn(place(part), message));
            Some(tls)
        }
        Err(faults) => {
            faults.into_iter().for_each(|(part, message)| findings.fault(place(part), message));
            None
        }
    }
}

/// An option of `--volume`: its name and what it does to the unit. The value is `None` where no `=` was given.
struct VolumeOption {
    name: &'static str,
    set: fn(&mut LunDraft, Option<&str>) -> Result<(), String>,
}

const OPTIONS: [VolumeOption; 19] = [
    VolumeOption { name: "size", set: |lun, value| needed(value)?.parse().map(|size| lun.size = Some(size)) },
    VolumeOption {
        name: "block_size",
        set: |lun, value| needed(value)?.parse().map(|size| lun.block_size = Some(size)),
    },
    VolumeOption {
        name: "physical_block_size",
        set: |lun, value| needed(value)?.parse().map(|size| lun.physical_block_size = Some(size)),
    },
    VolumeOption {
        name: "low_space",
        set: |lun, value| parse_low_space(needed(value)?).map(|space| lun.low_space = Some(space)),
    },
    VolumeOption {
        name: "max_iops",
        set: |lun, value| count(value).map(|most| lun.limits.iops.most = Some(most)),
    },
    VolumeOption {
        name: "iops_burst",
        set: |lun, value| count(value).map(|most| lun.limits.iops.burst = Some(most)),
    },
    VolumeOption {
        name: "max_bytes_per_second",
        set: |lun, value| bytes(value).map(|most| lun.limits.bytes.most = Some(most)),
    },
    VolumeOption {
        name: "bytes_burst",
        set: |lun, value| bytes(value).map(|most| lun.limits.bytes.burst = Some(most)),
    },
    VolumeOption {
        name: "max_read_bytes_per_second",
        set: |lun, value| bytes(value).map(|most| lun.limits.read_bytes.most = Some(most)),
    },
    VolumeOption {
        name: "read_bytes_burst",
        set: |lun, value| bytes(value).map(|most| lun.limits.read_bytes.burst = Some(most)),
    },
    VolumeOption {
        name: "max_write_bytes_per_second",
        set: |lun, value| bytes(value).map(|most| lun.limits.write_bytes.most = Some(most)),
    },
    VolumeOption {
        name: "write_bytes_burst",
        set: |lun, value| bytes(value).map(|most| lun.limits.write_bytes.burst = Some(most)),
    },
    VolumeOption { name: "read_only", set: |lun, value| switch(value).map(|on| lun.read_only = on) },
    VolumeOption { name: "removable", set: |lun, value| switch(value).map(|on| lun.removable = on) },
    VolumeOption { name: "grow", set: |lun, value| switch(value).map(|on| lun.grow = on) },
    VolumeOption { name: "shrink", set: |lun, value| switch(value).map(|on| lun.shrink = on) },
    VolumeOption { name: "preallocate", set: |lun, value| switch(value).map(|on| lun.preallocate = on) },
    VolumeOption {
        name: "provisioning",
        set: |lun, value| needed(value)?.parse().map(|kind| lun.provisioning = kind),
    },
    VolumeOption {
        name: "serial",
        set: |lun, value| needed(value)?.parse().map(|serial| lun.serial = Some(serial)),
    },
];

fn needed(value: Option<&str>) -> Result<&str, String> {
    value.ok_or_else(|| "needs a value".into())
}

fn bytes(value: Option<&str>) -> Result<u64, String> {
    needed(value)?.parse::<ByteSize>().map(|size| size.0)
}

fn count(value: Option<&str>) -> Result<u64, String> {
    let text = needed(value)?;
    text.parse().map_err(|_| format!("{text:?} is no whole number"))
}

fn switch(value: Option<&str>) -> Result<bool, String> {
    match value {
        None | Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(other) => Err(format!("{other:?} is neither true nor false")),
    }
}

/// Reads one `--volume`; a target with LUN 0.
pub(super) fn read_volume(findings: &mut Findings, text: &str, base: &IscsiName) -> Option<TargetDraft> {
    let place = Place::Flag(format!("--volume {text}"));
    let mut fault = |message: String| findings.fault(place.clone(), message);
    let Some((name, rest)) = text.split_once('=') else {
        fault("the form is NAME=DEVICE[,size=1GiB][,read_only]..".into());
        return None;
    };
    let (device, options) = split_device(rest);
    let name = name.parse::<TargetLabel>().map_err(&mut fault).ok();
    let iqn = name.as_ref().and_then(|name| derived_iqn(base, name).map_err(&mut fault).ok());
    let device = device.parse::<DeviceSpec>().map_err(&mut fault).ok();
    let mut draft = LunDraft::default();
    for option in options {
        let (key, value) = match option.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (option.as_str(), None),
        };
        let result = match OPTIONS.iter().find(|known| known.name == key) {
            Some(known) => (known.set)(&mut draft, value).map_err(|message| format!("{key}: {message}")),
            None => {
                let names: Vec<_> = OPTIONS.iter().map(|known| known.name).collect();
                Err(format!(
                    "unknown option {key:?}; known: {} (write `,,` for a comma in a path)",
                    names.join(", ")
                ))
            }
        };
        draft.size_given |= key == "size";
        if let Err(message) = result {
            fault(message);
        }
    }
    let lun = device.and_then(|device| draft.finish(device, |_, message| fault(message)));
    let target = TargetConfig {
        name: name?,
        iqn: iqn?,
        alias: None,
        initiators: InitiatorList::default(),
        networks: Vec::new(),
        groups: Vec::new(),
        auth: AuthPolicy::Open,
        redirect: None,
        luns: vec![lun?],
    };
    Some(TargetDraft { lun_places: vec![place.clone()], target: Placed { value: target, place } })
}

/// Splits `DEVICE,option,option`. Commas between the hosts of a gluster URI belong to it; elsewhere `,,` is a comma.
fn split_device(text: &str) -> (String, Vec<String>) {
    let hosts = text.strip_prefix("gluster").and_then(|rest| rest.find("://")).map_or(0, |at| {
        let start = "gluster".len() + at + "://".len();
        text.get(start..).and_then(|rest| rest.find('/')).map_or(0, |slash| start + slash)
    });
    let (head, tail) = text.split_at(hosts);
    let mut parts = vec![head.to_owned()];
    let mut letters = tail.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == ',' && letters.next_if_eq(&',').is_none() {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    let options = parts.split_off(1);
    (parts.pop().unwrap_or_default(), options)
}

#[cfg(test)]
#[path = "flags_tests.rs"]
mod tests;
