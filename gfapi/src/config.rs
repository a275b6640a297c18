//! What is needed to reach a volume.

use std::path::PathBuf;

/// A volume and how to reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeConfig {
    /// The volume's name.
    pub volume: String,
    /// Hosts whose management daemon describes the volume, tried in this order. At least one.
    pub hosts: Vec<Host>,
    /// Where libgfapi writes its log; `None` discards it.
    pub log_file: Option<PathBuf>,
    /// What libgfapi logs.
    pub log_level: LogLevel,
    /// Options for the client's translators, applied over what the volume's description says. They are
    /// verified once connected.
    pub options: Vec<TranslatorOption>,
    /// Threads that submit I/O; 0 counts as 1. One suffices for most: submitting is cheap unless writes are
    /// large.
    pub submit_threads: usize,
}

impl VolumeConfig {
    /// The usual configuration: writes are not acknowledged before the bricks have them, what does nothing
    /// for direct I/O is passed by, no log, one submit thread.
    #[must_use]
    pub fn new(volume: impl Into<String>, hosts: Vec<Host>) -> Self {
        Self {
            volume: volume.into(),
            hosts,
            log_file: None,
            log_level: LogLevel::Warning,
            options: usual_options(),
            submit_threads: 1,
        }
    }
}

/// Translators that are of no use to one writer of large files with a queue of its own. The caches among them
/// would tell what another client has changed long since; client-io-threads hands each operation to another
/// thread, at more than the cost of all the others.
const PASSED_BY: [&str; 7] =
    ["io-threads", "io-cache", "md-cache", "nl-cache", "open-behind", "read-ahead", "readdir-ahead"];

fn usual_options() -> Vec<TranslatorOption> {
    let durable = TranslatorOption::new("*-write-behind", "pass-through", "true");
    let passed_by =
        PASSED_BY.map(|name| TranslatorOption::new(format!("*-{name}"), "pass-through", "true").optional());
    std::iter::once(durable).chain(passed_by).collect()
}

/// A host that runs GlusterFS' management daemon, reached over TCP.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Host {
    /// Name or address.
    pub name: String,
    /// The daemon's port.
    pub port: u16,
}

impl Host {
    /// The port of GlusterFS' management daemon where none is given.
    pub const DEFAULT_PORT: u16 = 24007;

    /// A host with the usual port.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), port: Self::DEFAULT_PORT }
    }
}

/// An option of translators on the client's side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranslatorOption {
    /// The translators' names, with `*` for any run of characters: `*-write-behind`.
    pub translator: String,
    /// The option's key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// The volume is not to be used without.
    pub essential: bool,
}

impl TranslatorOption {
    /// The option `key` = `value` for the translators whose names match `translator`, without which the volume
    /// is not to be used.
    #[must_use]
    pub fn new(translator: impl Into<String>, key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { translator: translator.into(), key: key.into(), value: value.into(), essential: true }
    }

    /// One that the volume can be used without.
    #[must_use]
    pub fn optional(self) -> Self {
        Self { essential: false, ..self }
    }
}

/// How much libgfapi logs, by its own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum LogLevel {
    /// Nothing.
    None = 0,
    /// What makes the client unusable.
    Critical = 3,
    /// Errors.
    Error = 4,
    /// Warnings and worse.
    Warning = 5,
    /// Connections made and lost, and the like.
    Info = 7,
    /// For developers of GlusterFS.
    Debug = 8,
    /// Every call.
    Trace = 9,
}
