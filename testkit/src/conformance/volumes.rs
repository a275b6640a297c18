//! The volumes under test: one of each kind, on one of the backends, in one glint.

use std::fs;

use crate::glint::Glint;
use crate::gluster::{GlusterCluster, GlusterVolume, VolumeSpec};

/// Large enough for the tests' largest transfers.
const SIZE: &str = "64MiB";

/// The tests' largest transfers, which some send whatever MAXIMUM TRANSFER LENGTH is.
const LARGEST_COMMAND: &str = "32MiB";

/// Two of the newer tests need a session that CHAP opened; to the others it makes no difference.
const USER: &str = "alice";
const SECRET: &str = "initiator-secret-1";

/// What a volume is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Thin provisioned, 512-byte blocks.
    Thin,
    /// Fully provisioned, with all its space taken.
    Full,
    /// Thin provisioned, on a medium that can be removed.
    Removable,
    /// Write protected.
    ReadOnly,
    /// Thin provisioned, 4096-byte blocks.
    Native4K,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Thin, Self::Full, Self::Removable, Self::ReadOnly, Self::Native4K];

    /// The name that targets and the list of exceptions use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Thin => "thin",
            Self::Full => "full",
            Self::Removable => "removable",
            Self::ReadOnly => "read-only",
            Self::Native4K => "4kn",
        }
    }

    fn keys(self) -> &'static str {
        match self {
            Self::Thin => "",
            Self::Full => "provisioning = \"full\"\npreallocate = true",
            Self::Removable => "removable = true",
            Self::ReadOnly => "read_only = true",
            Self::Native4K => "block_size = 4096",
        }
    }
}

/// What volumes live on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Memory.
    Ram,
    /// A local file.
    File,
    /// A file on GlusterFS.
    Gluster,
}

impl Backend {
    /// Every backend.
    pub const ALL: [Self; 3] = [Self::Ram, Self::File, Self::Gluster];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ram => "ram",
            Self::File => "file",
            Self::Gluster => "gluster",
        }
    }
}

/// A volume that is served.
#[derive(Clone, Debug)]
pub struct Volume {
    /// What it lives on.
    pub backend: Backend,
    /// What it is like.
    pub kind: Kind,
    /// Its URL at each of the two portals.
    pub(super) urls: [String; 2],
}

impl Volume {
    /// Its name in reports.
    pub fn name(&self) -> String {
        format!("{}/{}", self.backend.name(), self.kind.name())
    }

    /// What the tool has to be allowed. On a volume that refuses writes, only tests that are about that or do not change the medium, which
    /// the tool takes for the same.
    pub(super) fn flags(&self, test: &str) -> &'static [&'static str] {
        const HARMLESS: [&str; 4] = ["SCSI.ReadOnly.", "SCSI.Prin", "SCSI.Prout", "SCSI.ModeSense6."];
        match self.kind {
            Kind::ReadOnly if !HARMLESS.iter().any(|start| test.starts_with(start)) => &[],
            _ => &["--dataloss", "--allow-sanitize"],
        }
    }
}

/// A glint with a volume of each kind, and what they live on.
pub(super) struct Stage {
    glint: Glint,
    backend: Backend,
    _gluster: Option<GlusterVolume>,
}

impl Stage {
    /// Make and serve the volumes.
    pub(super) fn set(backend: Backend) -> Self {
        let builder = Glint::serve().second_portal();
        fs::write(builder.dir().join("secret"), SECRET).expect("the secret is written");
        let gluster = (backend == Backend::Gluster).then(|| {
            let cluster = GlusterCluster::start().expect("GlusterFS starts");
            // One copy: this is about the target, and GlusterFS takes three times as long for three.
            let spec = VolumeSpec { replica: 1, ..VolumeSpec::default() };
            cluster.create_volume("vol", &spec).expect("a volume is created")
        });
        let device = |kind: Kind| match (backend, &gluster) {
            (Backend::Ram, _) => "ram:".to_owned(),
            (_, Some(volume)) => volume.uri(&format!("/{}.img", kind.name())),
            (_, None) => format!("file:{}/{}.img", builder.dir().display(), kind.name()),
        };
        if backend != Backend::Ram {
            // One that is read-only is not created.
            let volume = format!("new={},size={SIZE}", device(Kind::ReadOnly));
            assert!(Glint::with_volume(&volume).terminate().success(), "the read-only volume is made");
        }
        let targets: String = Kind::ALL
            .iter()
            .map(|kind| {
                format!(
                    "[[target]]\nname = \"{}\"\n[target.chap]\nuser = \"{USER}\"\nsecret_file = \"secret\"\n\
                     [[target.lun]]\ndevice = \"{}\"\nsize = \"{SIZE}\"\n{}\n\n",
                    kind.name(),
                    device(*kind),
                    kind.keys()
                )
            })
            .collect();
        let config = format!("[limits]\nmax_command_bytes = \"{LARGEST_COMMAND}\"\n\n{targets}");
        Self { glint: builder.start_with_config(&config), backend, _gluster: gluster }
    }

    pub(super) fn volumes(&self) -> Vec<Volume> {
        let [first, second] = [self.glint.portal(), self.glint.portal_2()];
        let url = |portal, kind: Kind| self.glint.url_at(portal, Some((USER, SECRET)), kind.name());
        Kind::ALL
            .map(|kind| Volume { backend: self.backend, kind, urls: [url(first, kind), url(second, kind)] })
            .to_vec()
    }

    pub(super) fn glint(&mut self) -> &mut Glint {
        &mut self.glint
    }
}
