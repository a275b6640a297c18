//! Where the volumes of a measurement live.

use tempfile::TempDir;

use super::targets;
use crate::glint::Glint;
use crate::gluster::{GlusterCluster, GlusterVolume, VolumeSpec};

/// Devices of one backend.
pub struct Store {
    backend: &'static str,
    directory: TempDir,
    volume: Option<GlusterVolume>,
}

impl Store {
    /// The backends that there are; gluster has one brick.
    pub const BACKENDS: [&str; 4] = ["null", "ram", "file", "gluster"];

    /// One of [`Store::BACKENDS`].
    #[track_caller]
    pub fn new(backend: &'static str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let volume = (backend == "gluster").then(|| {
            let cluster = GlusterCluster::start().expect("GlusterFS starts");
            let spec = VolumeSpec { replica: 1, ..VolumeSpec::default() };
            cluster.create_volume("scale", &spec).expect("a volume")
        });
        Self { backend, directory, volume }
    }

    /// Its backend.
    pub fn backend(&self) -> &'static str {
        self.backend
    }

    /// The device of this number.
    pub fn device(&self, number: usize) -> String {
        match &self.volume {
            Some(volume) => volume.uri(&format!("v{number}.img")),
            None if self.backend == "file" => {
                format!("file:{}", self.directory.path().join(format!("v{number}.img")).display())
            }
            None => format!("{}:", self.backend),
        }
    }

    /// A configuration of `count` targets of 64 MiB, from its `[limits]` on.
    pub fn config(&self, limits: &str, count: usize) -> String {
        format!("[limits]\n{limits}\n\n{}", targets(count, "64MiB", |number| self.device(number)))
    }

    /// A glint with these.
    #[track_caller]
    pub fn serve(&self, limits: &str, count: usize) -> Glint {
        Glint::serve().start_with_config(&self.config(limits, count))
    }
}
