//! The stores that are measured, who is compared on each, and under which loads.

use tempfile::TempDir;

use super::contest::{Contest, Rounds, Runner};
use super::enclosure;
use super::entrant::Entrant;
use super::work::{self, Work};
use crate::gluster::{GlusterCluster, VolumeSpec};

/// What lies behind the volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// Nothing: what iSCSI and SCSI cost.
    Null,
    /// Memory.
    Ram,
    /// Memory, to compare digests with none.
    Digests,
    /// Files on disk, with direct I/O.
    File,
    /// Files in memory, with direct I/O.
    FileInMemory,
    /// A Gluster volume of one brick, in memory.
    Brick,
    /// A Gluster volume with three copies, in memory.
    Replica,
}

/// glint over one of several connections, beside itself over all.
pub const ALONE: &str = "glint, 1 connection";
/// glint without digests, beside itself with them.
pub const PLAIN: &str = "glint, no digests";

impl Store {
    /// Every one.
    pub const ALL: [Self; 7] =
        [Self::Null, Self::Ram, Self::Digests, Self::File, Self::FileInMemory, Self::Brick, Self::Replica];

    /// As the command line and the tables call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Ram => "ram",
            Self::Digests => "digests",
            Self::File => "file",
            Self::FileInMemory => "file-tmpfs",
            Self::Brick => "gluster-1-brick",
            Self::Replica => "gluster-replica-3",
        }
    }

    /// Whether this load says anything about it: what digests cost shows where there is much data.
    #[must_use]
    pub fn takes(self, work: &Work) -> bool {
        self != Self::Digests || [work::READ_256K, work::WRITE_256K].contains(work)
    }

    /// Compare all entrants on this store under each of the loads that it takes; `seen` is told of each that is done.
    #[track_caller]
    pub fn measure(self, works: &[Work], rounds: Rounds, mut seen: impl FnMut(&Contest)) -> Vec<Contest> {
        let works: Vec<Work> = works.iter().filter(|work| self.takes(work)).copied().collect();
        if works.is_empty() {
            return Vec::new();
        }
        let sizes = Work::needs(&works);
        let (cluster, directory);
        let entrants = match self {
            Self::Null => vec![Entrant::glint("glint null", "null:", &sizes), Entrant::tgt_null(&sizes)],
            Self::Ram => vec![
                Entrant::glint("glint ram", "ram:", &sizes),
                Entrant::tgt_memory(&sizes),
                Entrant::tgt_null(&sizes),
            ],
            Self::Digests => {
                let glint = Entrant::glint("glint ram", "ram:", &sizes);
                let tgt = Entrant::tgt_memory(&sizes);
                vec![
                    glint.with_digests("glint, digests", true),
                    glint.with_digests(PLAIN, false),
                    tgt.with_digests("tgt rdwr, digests", true),
                ]
            }
            Self::File | Self::FileInMemory => {
                let place = if self == Self::File { enclosure::disk() } else { enclosure::memory() };
                if !enclosure::has_direct_io(&place) {
                    eprintln!("{}: no direct I/O here, left out", self.name());
                    return Vec::new();
                }
                directory = TempDir::with_prefix_in("file-", place).expect("a temporary directory");
                let device = format!("file:{}/glint-#.img", directory.path().display());
                vec![
                    Entrant::glint("glint file", &device, &sizes),
                    Entrant::tgt_file(directory.path(), &sizes),
                ]
            }
            Self::Brick | Self::Replica => {
                cluster = GlusterCluster::start().expect("a GlusterFS");
                let replica = if self == Self::Brick { 1 } else { 3 };
                let volume = cluster.create_volume("bench", &VolumeSpec { replica, ..VolumeSpec::default() });
                let volume = volume.expect("a volume");
                vec![
                    Entrant::glint("glint gluster", &volume.uri("glint-#.img"), &sizes),
                    Entrant::tgt_gluster(&volume, &sizes),
                    Entrant::gfapi(&volume, &sizes),
                ]
            }
        };
        works
            .iter()
            .map(|&work| {
                let runner = |entrant| Runner { entrant, work, name: &entrant.name };
                let mut runners: Vec<Runner<'_>> = entrants.iter().map(runner).collect();
                if let (Some(work), Some(glint)) = (work.by_one(), entrants.first()) {
                    runners.push(Runner { entrant: glint, work, name: ALONE });
                }
                let contest = Contest::run(self.name(), &runners, rounds);
                seen(&contest);
                contest
            })
            .collect()
    }
}
