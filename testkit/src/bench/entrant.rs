//! Those who are compared: glint and its peers, started so that they serve the same kind of store.

use std::any::Any;
use std::fs::File;
use std::path::Path;
use std::rc::Rc;

use tempfile::TempDir;

use super::client::{self, Way};
use super::enclosure;
use super::tgt::Tgt;
use crate::glint::Glint;
use crate::gluster::GlusterVolume;

/// One that serves; ends when dropped.
pub struct Entrant {
    /// Who and on what, as in "glint file".
    pub name: String,
    /// How to reach its volumes.
    pub way: Way,
    /// The process that serves; None where there is none between the client and the store.
    pub process: Option<u32>,
    /// What it ends with; several may reach one server.
    server: Rc<dyn Any>,
}

impl Entrant {
    /// glint with volumes on `device`, in which `#` becomes the volume's number, as large as `sizes` says.
    #[track_caller]
    #[must_use]
    pub fn glint(name: &str, device: &str, sizes: &[u64]) -> Self {
        let mut builder = Glint::serve();
        for (number, size) in sizes.iter().enumerate() {
            let device = device.replace('#', &number.to_string());
            builder = builder.volume(&format!("v{number}={device},size={size}"));
        }
        let glint = builder.start();
        let urls = (0..sizes.len()).map(|number| glint.url(&format!("v{number}"))).collect();
        Self::of(name, Way::Iscsi(urls), sizes, Some(glint.id()), glint)
    }

    /// tgt without a store.
    #[track_caller]
    #[must_use]
    pub fn tgt_null(sizes: &[u64]) -> Self {
        let mut tgt = Tgt::start();
        let urls = sizes.iter().map(|_| tgt.serve("null", "/dev/null")).collect();
        Self::of("tgt null", Way::Iscsi(urls), sizes, Some(tgt.id()), tgt)
    }

    /// tgt with threads that read and write files in memory.
    #[track_caller]
    #[must_use]
    pub fn tgt_memory(sizes: &[u64]) -> Self {
        let directory = TempDir::with_prefix_in("tgt-", enclosure::memory()).expect("a temporary directory");
        let mut tgt = Tgt::start();
        let urls = serve_files(&mut tgt, "rdwr", directory.path(), sizes);
        Self::of("tgt rdwr on tmpfs", Way::Iscsi(urls), sizes, Some(tgt.id()), (tgt, directory))
    }

    /// tgt with asynchronous direct I/O on files in `directory`.
    #[track_caller]
    #[must_use]
    pub fn tgt_file(directory: &Path, sizes: &[u64]) -> Self {
        let mut tgt = Tgt::start();
        let urls = serve_files(&mut tgt, "aio", directory, sizes);
        Self::of("tgt aio", Way::Iscsi(urls), sizes, Some(tgt.id()), tgt)
    }

    /// tgt on files of a Gluster volume.
    #[track_caller]
    #[must_use]
    pub fn tgt_gluster(volume: &GlusterVolume, sizes: &[u64]) -> Self {
        let mut tgt = Tgt::start();
        let urls = gluster_files(volume, "tgt", sizes)
            .iter()
            .map(|file| {
                tgt.serve("glfs", &format!("{}@{}:{file}", volume.name(), volume.cluster().address()))
            })
            .collect();
        Self::of("tgt glfs", Way::Iscsi(urls), sizes, Some(tgt.id()), tgt)
    }

    /// No server: the client itself on files of a Gluster volume.
    #[must_use]
    pub fn gfapi(volume: &GlusterVolume, sizes: &[u64]) -> Self {
        let way = Way::Gfapi {
            host: volume.cluster().address().to_string(),
            volume: volume.name().to_owned(),
            files: gluster_files(volume, "gfapi", sizes),
        };
        Self::of("fio gfapi_async", way, sizes, None, ())
    }

    fn of(name: &str, way: Way, sizes: &[u64], process: Option<u32>, server: impl Any) -> Self {
        client::fill(&way, sizes);
        Self { name: name.to_owned(), way, process, server: Rc::new(server) }
    }

    /// The same server, reached by an initiator of our own, with or without digests.
    #[must_use]
    pub fn with_digests(&self, name: &str, digests: bool) -> Self {
        let Way::Iscsi(urls) = &self.way else { panic!("{} does not speak iSCSI", self.name) };
        let way = Way::Own { urls: urls.clone(), digests };
        Self { name: name.to_owned(), way, process: self.process, server: Rc::clone(&self.server) }
    }
}

/// Make files in a directory, and serve them.
#[track_caller]
fn serve_files(tgt: &mut Tgt, kind: &str, directory: &Path, sizes: &[u64]) -> Vec<String> {
    let mut serve = |(number, size): (usize, &u64)| {
        let path = directory.join(format!("tgt-{number}.img"));
        let file = File::create(&path).expect("a file can be made");
        file.set_len(*size).expect("it can be as large");
        tgt.serve(kind, &path.display().to_string())
    };
    sizes.iter().enumerate().map(&mut serve).collect()
}

/// Files of the sizes that are wanted, made in a Gluster volume. They are the entrant's own: a replica is slow where two clients have the
/// same file open.
#[track_caller]
fn gluster_files(volume: &GlusterVolume, prefix: &str, sizes: &[u64]) -> Vec<String> {
    let names: Vec<String> = (0..sizes.len()).map(|number| format!("/{prefix}-{number}.img")).collect();
    // glint makes files that are not there; tools that end as they should take ten seconds for glfs_fini.
    let mut builder = Glint::serve();
    for (number, (name, size)) in names.iter().zip(sizes).enumerate() {
        builder = builder.volume(&format!("v{number}={},size={size}", volume.uri(name)));
    }
    drop(builder.start());
    names
}
