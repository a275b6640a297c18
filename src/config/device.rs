//! `DEVICE`: what a logical unit's blocks live on, in the URI form of the command line and the configuration.

use super::endpoint::{Endpoint, Host};
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// Port of glusterd, which hands out the description of a volume.
const GLUSTERD_PORT: u16 = 24007;

/// How a file on a GlusterFS volume is written.
pub(super) const GLUSTER_FORM: &str = "gluster://HOST[:PORT][,HOST2..]/VOLUME/PATH";

/// What a logical unit's blocks live on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeviceSpec {
    /// A file on a GlusterFS volume.
    Gluster(GlusterFile),
    /// A local file or block device, by its absolute path.
    File(PathBuf),
    /// Memory of this process, gone when it ends.
    Ram,
    /// Reads zeros, drops writes: to measure the target itself.
    Null,
}

/// A file on a GlusterFS volume.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GlusterFile {
    /// Where the volume is.
    pub volume: GlusterVolume,
    /// Path from the volume's root, beginning with `/`.
    pub path: String,
}

/// A GlusterFS volume and the servers that describe it: one connection is shared by all files of an equal one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GlusterVolume {
    /// Servers to ask for the volume's description, tried in order; never empty.
    pub servers: Vec<Endpoint>,
    /// The volume's name.
    pub name: String,
}

impl DeviceSpec {
    /// Whether the device is a place to be made of a given size each time, so that `size` is needed.
    pub fn needs_size(&self) -> bool {
        matches!(self, DeviceSpec::Ram | DeviceSpec::Null)
    }

    /// Whether both write to the same bytes.
    pub fn overlaps(&self, other: &DeviceSpec) -> bool {
        match (self, other) {
            (DeviceSpec::File(one), DeviceSpec::File(two)) => one == two,
            (DeviceSpec::Gluster(one), DeviceSpec::Gluster(two)) => {
                one.path == two.path
                    && one.volume.name == two.volume.name
                    && one.volume.servers.iter().any(|server| two.volume.servers.contains(server))
            }
            _ => false,
        }
    }
}

impl FromStr for DeviceSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once(':').ok_or_else(|| unknown_device(text))?;
        match scheme {
            "gluster" | "gluster+tcp" => parse_gluster(text, rest).map(DeviceSpec::Gluster),
            "gluster+unix" | "gluster+rdma" => Err(no_transport(scheme)),
            "file" => parse_file(text, rest).map(DeviceSpec::File),
            "ram" if rest.is_empty() => Ok(DeviceSpec::Ram),
            "null" if rest.is_empty() => Ok(DeviceSpec::Null),
            "ram" | "null" => Err(format!("nothing may follow {scheme}: in {text:?}")),
            _ => Err(unknown_device(text)),
        }
    }
}

fn unknown_device(text: &str) -> String {
    format!("{text:?} is no device; use {GLUSTER_FORM}, file:/PATH, ram: or null:")
}

pub(super) fn no_transport(scheme: &str) -> String {
    format!("{scheme}: is not supported; use gluster://HOST/VOLUME/PATH (TCP)")
}

/// `//HOST[:PORT][,HOST2..]/VOLUME/PATH`, QEMU's form of it with any number of hosts.
pub(super) fn parse_gluster(text: &str, rest: &str) -> Result<GlusterFile, String> {
    let shape = || format!("{text:?} does not have the form {GLUSTER_FORM}");
    let (hosts, rest) = rest.strip_prefix("//").and_then(|rest| rest.split_once('/')).ok_or_else(shape)?;
    let (volume, path) = rest.split_once('/').ok_or_else(shape)?;
    if volume.is_empty() || hosts.is_empty() {
        return Err(shape());
    }
    let servers = hosts.split(',').map(parse_server).collect::<Result<Vec<_>, _>>()?;
    let path = Path::new("/").join(path);
    let path = tidy_path(text, &path)?;
    Ok(GlusterFile {
        volume: GlusterVolume { servers, name: volume.to_owned() },
        path: path.to_str().ok_or_else(shape)?.to_owned(),
    })
}

fn parse_server(text: &str) -> Result<Endpoint, String> {
    match Endpoint::parse(text, Some(GLUSTERD_PORT))? {
        Endpoint { port: 0, .. } => Err(format!("port 0 in {text:?} cannot be connected to")),
        server => Ok(server),
    }
}

/// `/PATH` or `///PATH`.
pub(super) fn parse_file(text: &str, rest: &str) -> Result<PathBuf, String> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    if !path.starts_with('/') {
        return Err(format!("{text:?}: the path has to be absolute, as in file:/srv/disk.img"));
    }
    tidy_path(text, Path::new(path))
}

/// Drops `.` and doubled slashes; refuses `..`, and a path that names no file.
fn tidy_path(text: &str, path: &Path) -> Result<PathBuf, String> {
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(format!("{text:?}: a path holds no NUL byte"));
    }
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(format!("{text:?}: `..` may not stand in the path"));
    }
    if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Err(format!("{text:?}: the path names no file"));
    }
    Ok(path.components().collect())
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceSpec::Gluster(file) => file.fmt(f),
            DeviceSpec::File(path) => write!(f, "file:{}", path.display()),
            DeviceSpec::Ram => f.write_str("ram:"),
            DeviceSpec::Null => f.write_str("null:"),
        }
    }
}

impl fmt::Display for GlusterFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.volume, self.path)
    }
}

impl fmt::Display for GlusterVolume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("gluster://")?;
        for (index, server) in self.servers.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match server.port {
                GLUSTERD_PORT => write!(f, "{comma}{}", server.host)?,
                _ => write!(f, "{comma}{server}")?,
            }
        }
        write!(f, "/{}", self.name)
    }
}

impl GlusterVolume {
    /// The name or address of each server with its port, as libgfapi wants them (IPv6 without brackets).
    pub fn server_hosts(&self) -> Vec<(String, u16)> {
        let host = |server: &Endpoint| match &server.host {
            Host::Ip(ip) => ip.to_string(),
            Host::Zoned(ip, zone) => format!("{ip}%{zone}"),
            Host::Name(name) => name.clone(),
        };
        self.servers.iter().map(|server| (host(server), server.port)).collect()
    }
}

#[cfg(test)]
#[path = "device_tests.rs"]
mod tests;
