//! Those who are compared: glint and its peers, started so that they serve the same kind of store.

use std::any::Any;
use std::fs::File;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::client::{self, Way};
use super::tgt::Tgt;
use crate::glint::Glint;
use crate::gluster::GlusterVolume;
use crate::tools;

/// Bytes of each volume that a load goes over: more than the processors' caches hold.
pub const SIZE: u64 = 256 << 20;

/// One that serves; ends when dropped.
pub struct Entrant {
    /// Who and on what, as in "glint file".
    pub name: String,
    /// How to reach its volumes.
    pub way: Way,
    /// The process that serves; None where there is none between the client and the store.
    pub process: Option<u32>,
    _server: Box<dyn Any>,
}

impl Entrant {
    /// glint with volumes on `device`, in which `#` becomes the volume's number, further settings after a comma.
    #[track_caller]
    #[must_use]
    pub fn glint(name: &str, device: &str, volumes: usize) -> Self {
        let mut builder = Glint::serve();
        for number in 0..volumes {
            let device = device.replace('#', &number.to_string());
            builder = builder.volume(&format!("v{number}={device}"));
        }
        let glint = builder.start();
        let urls = (0..volumes).map(|number| glint.url(&format!("v{number}"))).collect();
        Self::of(name, Way::Iscsi(urls), Some(glint.id()), glint)
    }

    /// tgt without a store.
    #[track_caller]
    #[must_use]
    pub fn tgt_null(volumes: usize) -> Self {
        let mut tgt = Tgt::start(None);
        let urls = (0..volumes).map(|_| tgt.serve("null", "/dev/null")).collect();
        Self::of("tgt null", Way::Iscsi(urls), Some(tgt.id()), tgt)
    }

    /// tgt with threads that read and write files in memory.
    #[track_caller]
    #[must_use]
    pub fn tgt_memory(volumes: usize) -> Self {
        let directory = TempDir::with_prefix("glint-bench-").expect("a temporary directory");
        let mut tgt = Tgt::start(Some(directory.path()));
        // The file system is in the mount namespace of tgtd alone.
        let seen = PathBuf::from(format!("/proc/{}/root{}", tgt.id(), directory.path().display()));
        let urls = serve_files(&mut tgt, "rdwr", directory.path(), &seen, volumes);
        Self::of("tgt rdwr on tmpfs", Way::Iscsi(urls), Some(tgt.id()), (tgt, directory))
    }

    /// tgt with asynchronous direct I/O on files in `directory`.
    #[track_caller]
    #[must_use]
    pub fn tgt_file(directory: &Path, volumes: usize) -> Self {
        let mut tgt = Tgt::start(None);
        let urls = serve_files(&mut tgt, "aio", directory, directory, volumes);
        Self::of("tgt aio", Way::Iscsi(urls), Some(tgt.id()), tgt)
    }

    /// tgt on files of a Gluster volume.
    #[track_caller]
    #[must_use]
    pub fn tgt_gluster(volume: &GlusterVolume, volumes: usize) -> Self {
        let mut tgt = Tgt::start(None);
        let urls = gluster_files(volume, "tgt", volumes)
            .iter()
            .map(|file| {
                tgt.serve("glfs", &format!("{}@{}:{file}", volume.name(), volume.cluster().address()))
            })
            .collect();
        Self::of("tgt glfs", Way::Iscsi(urls), Some(tgt.id()), tgt)
    }

    /// No server: the client itself on files of a Gluster volume.
    #[must_use]
    pub fn gfapi(volume: &GlusterVolume, volumes: usize) -> Self {
        let way = Way::Gfapi {
            host: volume.cluster().address().to_string(),
            volume: volume.name().to_owned(),
            files: gluster_files(volume, "gfapi", volumes),
        };
        Self::of("fio gfapi_async", way, None, ())
    }

    fn of(name: &str, way: Way, process: Option<u32>, server: impl Any) -> Self {
        client::fill(&way, SIZE);
        Self { name: name.to_owned(), way, process, _server: Box::new(server) }
    }
}

/// Make files in the directory that tgtd knows as `inside` and this process as `outside`, and serve them.
#[track_caller]
fn serve_files(tgt: &mut Tgt, kind: &str, inside: &Path, outside: &Path, volumes: usize) -> Vec<String> {
    let mut serve = |number: usize| {
        let name = format!("tgt-{number}.img");
        let file = File::create(outside.join(&name)).expect("a file can be made");
        file.set_len(SIZE).expect("it can be as large");
        tgt.serve(kind, &inside.join(&name).display().to_string())
    };
    (0..volumes).map(&mut serve).collect()
}

/// Files of the size that is wanted, made in a Gluster volume. They are the entrant's own: a replica is slow where two clients have the
/// same file open.
#[track_caller]
fn gluster_files(volume: &GlusterVolume, prefix: &str, volumes: usize) -> Vec<String> {
    let names: Vec<String> = (0..volumes).map(|number| format!("/{prefix}-{number}.img")).collect();
    for name in &names {
        tools::qemu_img(&["create", "-q", "-f", "raw", &volume.uri(name), &SIZE.to_string()]);
    }
    names
}
