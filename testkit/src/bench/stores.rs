//! The stores that are measured, and who is compared on each.

use tempfile::TempDir;

use super::contest::{Contest, Rounds};
use super::entrant::{Entrant, SIZE};
use super::work::Work;
use crate::gluster::{GlusterCluster, VolumeSpec};

/// What lies behind the volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// Nothing: what iSCSI and SCSI cost.
    Null,
    /// Memory.
    Ram,
    /// Files, with direct I/O.
    File,
    /// A Gluster volume of one brick.
    Brick,
    /// A Gluster volume with three copies.
    Replica,
}

impl Store {
    /// Every one.
    pub const ALL: [Self; 5] = [Self::Null, Self::Ram, Self::File, Self::Brick, Self::Replica];

    /// As the command line and the tables call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Ram => "ram",
            Self::File => "file",
            Self::Brick => "gluster-1-brick",
            Self::Replica => "gluster-replica-3",
        }
    }

    /// Compare all entrants on this store under each of the loads; `seen` is told of each that is done.
    #[track_caller]
    pub fn measure(self, works: &[Work], rounds: Rounds, mut seen: impl FnMut(&Contest)) -> Vec<Contest> {
        // Bricks need direct I/O, and so do files; the directory of temporary files may be in memory.
        let directory = TempDir::with_prefix_in("glint-bench-", "/var/tmp").expect("a temporary directory");
        let size = format!("size={SIZE}");
        let volumes = works.iter().map(|work| work.connections as usize).max().unwrap_or(1);
        let cluster;
        let entrants = match self {
            Self::Null => {
                vec![Entrant::glint("glint null", "null:,size=1TiB", volumes), Entrant::tgt_null(volumes)]
            }
            Self::Ram => {
                vec![
                    Entrant::glint("glint ram", &format!("ram:,{size}"), volumes),
                    Entrant::tgt_memory(volumes),
                    Entrant::tgt_null(volumes),
                ]
            }
            Self::File => {
                let device = format!("file:{}/glint-#.img,{size}", directory.path().display());
                vec![
                    Entrant::glint("glint file", &device, volumes),
                    Entrant::tgt_file(directory.path(), volumes),
                ]
            }
            Self::Brick | Self::Replica => {
                cluster = GlusterCluster::start().expect("a GlusterFS");
                let spec =
                    VolumeSpec { replica: if self == Self::Brick { 1 } else { 3 }, ..VolumeSpec::default() };
                let volume = cluster.create_volume("bench", &spec).expect("a volume");
                let device = format!("{},{size}", volume.uri("glint-#.img"));
                vec![
                    Entrant::glint("glint gluster", &device, volumes),
                    Entrant::tgt_gluster(&volume, volumes),
                    Entrant::gfapi(&volume, volumes),
                ]
            }
        };
        let entrants: Vec<&Entrant> = entrants.iter().collect();
        works
            .iter()
            .map(|work| {
                let contest = Contest::run(self.name(), *work, &entrants, rounds);
                seen(&contest);
                contest
            })
            .collect()
    }
}
