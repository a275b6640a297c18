//! What glint has to reach, as ratios within one run on two cores.

use super::contest::{Contest, Figure};
use super::work::{self, Work};

/// How glint's figure is held against the other's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// glint's is so many times the other's at least.
    AtLeast(f64),
    /// glint's is so many times the other's at most.
    AtMost(f64),
    /// glint's median exceeds the other's by so much at most.
    Above(f64),
}

/// One number to reach.
#[derive(Debug, Clone, Copy)]
pub struct Goal {
    /// Where, as [`Contest::store`]; a beginning of it suffices.
    pub store: &'static str,
    /// Under which load.
    pub work: Work,
    /// Which figure.
    pub figure: Figure,
    /// Against whom.
    pub other: &'static str,
    /// How far.
    pub bound: Bound,
}

const NULL: &str = "tgt null";
const MEMORY: &str = "tgt rdwr on tmpfs";
const FILE: &str = "tgt aio";
const GLFS: &str = "tgt glfs";
const GFAPI: &str = "fio gfapi_async";

const fn goal(store: &'static str, work: Work, figure: Figure, other: &'static str, bound: Bound) -> Goal {
    Goal { store, work, figure, other, bound }
}

/// All of them.
pub const GOALS: &[Goal] = &[
    goal("null", work::READ_QD32, Figure::Iops, NULL, Bound::AtLeast(1.0)),
    goal("null", work::WRITE_QD32, Figure::Iops, NULL, Bound::AtLeast(1.5)),
    goal("null", work::READ_QD32, Figure::Cpu, NULL, Bound::AtMost(0.6)),
    goal("null", work::WRITE_QD32, Figure::Cpu, NULL, Bound::AtMost(0.6)),
    goal("null", work::READ_QD1, Figure::Latency, NULL, Bound::AtMost(1.0)),
    goal("null", work::WRITE_QD1, Figure::Latency, NULL, Bound::AtMost(1.0)),
    goal("ram", work::READ_QD1, Figure::Latency, NULL, Bound::AtMost(1.0)),
    goal("ram", work::WRITE_QD1, Figure::Latency, NULL, Bound::AtMost(1.0)),
    goal("ram", work::READ_QD32, Figure::Iops, MEMORY, Bound::AtLeast(2.0)),
    goal("ram", work::WRITE_QD32, Figure::Iops, MEMORY, Bound::AtLeast(2.0)),
    goal("ram", work::WRITE_256K, Figure::Bandwidth, MEMORY, Bound::AtLeast(3.0)),
    goal("ram", work::READ_256K, Figure::Bandwidth, MEMORY, Bound::AtLeast(1.2)),
    goal("file", work::READ_QD32, Figure::Iops, FILE, Bound::AtLeast(1.5)),
    goal("file", work::WRITE_QD32, Figure::Iops, FILE, Bound::AtLeast(1.5)),
    goal("gluster", work::READ_QD1, Figure::Iops, GLFS, Bound::AtLeast(1.5)),
    goal("gluster", work::READ_QD32, Figure::Iops, GLFS, Bound::AtLeast(1.5)),
    goal("gluster", work::WRITE_QD1, Figure::Iops, GLFS, Bound::AtLeast(2.0)),
    goal("gluster", work::WRITE_QD32, Figure::Iops, GLFS, Bound::AtLeast(2.0)),
    goal("gluster", work::READ_QD1, Figure::Latency, GFAPI, Bound::Above(40.0)),
    goal("gluster", work::WRITE_QD1, Figure::Latency, GFAPI, Bound::Above(40.0)),
    goal("gluster", work::READ_QD32, Figure::Iops, GFAPI, Bound::AtLeast(0.9)),
    goal("gluster", work::WRITE_QD32, Figure::Iops, GFAPI, Bound::AtLeast(0.9)),
    goal("gluster", work::MIXED_QD32, Figure::Iops, GFAPI, Bound::AtLeast(0.9)),
    goal("gluster", work::READ_256K, Figure::Iops, GFAPI, Bound::AtLeast(0.9)),
    goal("gluster", work::WRITE_256K, Figure::Iops, GFAPI, Bound::AtLeast(0.9)),
];

/// A goal with what was measured.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// Where it was measured, in full.
    pub store: String,
    /// What was asked for.
    pub goal: Goal,
    /// The ratio, or for [`Bound::Above`] the difference.
    pub measured: f64,
}

impl Verdict {
    /// Whether it is reached.
    #[must_use]
    pub fn is_met(&self) -> bool {
        match self.goal.bound {
            Bound::AtLeast(bound) => self.measured >= bound,
            Bound::AtMost(bound) | Bound::Above(bound) => self.measured <= bound,
        }
    }
}

/// Hold the contests against the goals. A goal nothing was measured for is left out.
#[must_use]
pub fn verdicts(contests: &[Contest]) -> Vec<Verdict> {
    let of = |goal: &Goal, contest: &Contest| {
        let applies = contest.store.starts_with(goal.store) && contest.work == goal.work;
        let measured = match goal.bound {
            _ if !applies => None,
            Bound::AtLeast(_) | Bound::AtMost(_) => contest.ratio(goal.figure, goal.other),
            Bound::Above(_) => contest.difference(goal.figure, goal.other),
        };
        measured.map(|measured| Verdict { store: contest.store.clone(), goal: *goal, measured })
    };
    GOALS.iter().flat_map(|goal| contests.iter().filter_map(move |contest| of(goal, contest))).collect()
}
