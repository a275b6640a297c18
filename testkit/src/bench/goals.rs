//! What glint has to reach, as ratios within one run on two cores.

use super::contest::{Contest, Figure, Spread};
use super::stores::{ALONE, PLAIN};
use super::work::{self, Work};

/// How glint's figure is held against the other's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// glint's is so many times the other's at least.
    AtLeast(f64),
    /// glint's is so many times the other's at most.
    AtMost(f64),
    /// glint's exceeds the other's by so much at most.
    Above(f64),
    /// glint's own is so much at least, whatever others have.
    Itself(f64),
}

/// One number to reach.
#[derive(Debug, Clone, Copy)]
pub struct Goal {
    /// Where, as [`Contest::store`]; what comes before a hyphen suffices.
    pub store: &'static str,
    /// Under which load.
    pub work: Work,
    /// Which figure.
    pub figure: Figure,
    /// Against whom; empty for [`Bound::Itself`].
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
    goal("gluster", work::READ_BY_FOUR, Figure::Iops, GFAPI, Bound::AtLeast(0.9)),
    goal("gluster", work::WRITE_BY_FOUR, Figure::Iops, GFAPI, Bound::AtLeast(0.9)),
    goal("digests", work::READ_256K, Figure::Bandwidth, PLAIN, Bound::AtLeast(0.85)),
    goal("digests", work::WRITE_256K, Figure::Bandwidth, PLAIN, Bound::AtLeast(0.85)),
    // More connections bring more until both cores are full, and then no less. That client and target fill them shows that nothing
    // in glint makes connections wait for each other.
    goal("null", work::READ_BY_FOUR, Figure::Iops, ALONE, Bound::AtLeast(1.0)),
    goal("null", work::WRITE_BY_FOUR, Figure::Iops, ALONE, Bound::AtLeast(1.0)),
    goal("null", work::READ_BY_FOUR, Figure::Busy, "", Bound::Itself(0.9)),
    goal("null", work::WRITE_BY_FOUR, Figure::Busy, "", Bound::Itself(0.9)),
    goal("ram", work::READ_BY_FOUR, Figure::Iops, ALONE, Bound::AtLeast(1.0)),
    goal("ram", work::WRITE_BY_FOUR, Figure::Iops, ALONE, Bound::AtLeast(1.0)),
    goal("ram", work::READ_BY_FOUR, Figure::Busy, "", Bound::Itself(0.9)),
    goal("ram", work::WRITE_BY_FOUR, Figure::Busy, "", Bound::Itself(0.9)),
];

/// A goal with what was measured.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// Where it was measured, in full.
    pub store: String,
    /// What was asked for.
    pub goal: Goal,
    /// The ratio, or for [`Bound::Above`] the difference, or for [`Bound::Itself`] the figure.
    pub measured: Spread,
}

impl Verdict {
    /// Whether it is reached by the median.
    #[must_use]
    pub fn is_met(&self) -> bool {
        match self.goal.bound {
            Bound::AtLeast(bound) | Bound::Itself(bound) => self.measured.median >= bound,
            Bound::AtMost(bound) | Bound::Above(bound) => self.measured.median <= bound,
        }
    }
}

/// Hold the contests against the goals. A goal nothing was measured for is left out.
#[must_use]
pub fn verdicts(contests: &[Contest]) -> Vec<Verdict> {
    let all = |goal| contests.iter().filter_map(move |contest| verdict(goal, contest));
    GOALS.iter().flat_map(all).collect()
}

fn verdict(goal: &Goal, contest: &Contest) -> Option<Verdict> {
    let store = &contest.store;
    let is_here = store == goal.store || store.split('-').next() == Some(goal.store);
    if !is_here || contest.work != goal.work {
        return None;
    }
    let measured = match goal.bound {
        Bound::AtLeast(_) | Bound::AtMost(_) => contest.ratio(goal.figure, goal.other),
        Bound::Above(_) => contest.difference(goal.figure, goal.other),
        Bound::Itself(_) => contest.results.first()?.spread(goal.figure),
    }?;
    Some(Verdict { store: store.clone(), goal: *goal, measured })
}

#[cfg(test)]
mod tests {
    use super::super::contest::tests::contest;
    use super::*;

    fn check(bound: Bound, figure: Figure, store: &'static str) -> Option<(f64, bool)> {
        let contest = contest(&[100.0, 300.0, 200.0], &[100.0, 100.0, 100.0]);
        let goal = Goal { store, work: contest.work, figure, other: "b", bound };
        verdict(&goal, &contest).map(|verdict| (verdict.measured.median, verdict.is_met()))
    }

    #[test]
    fn goals_are_held_against_the_median() {
        assert_eq!(check(Bound::AtLeast(2.0), Figure::Iops, "null"), Some((2.0, true)));
        assert_eq!(check(Bound::AtLeast(2.1), Figure::Iops, "null"), Some((2.0, false)));
        assert_eq!(check(Bound::AtMost(2.0), Figure::Iops, "null"), Some((2.0, true)));
        assert_eq!(check(Bound::AtMost(1.9), Figure::Iops, "null"), Some((2.0, false)));
        assert_eq!(check(Bound::Above(-5000.0), Figure::Latency, "null"), Some((-5000.0, true)));
        assert_eq!(check(Bound::Above(-5001.0), Figure::Latency, "null"), Some((-5000.0, false)));
        assert_eq!(check(Bound::Itself(0.5), Figure::Busy, "null"), Some((0.5, true)));
        assert_eq!(check(Bound::Itself(0.9), Figure::Busy, "null"), Some((0.5, false)));
    }

    #[test]
    fn what_was_not_measured_has_no_verdict() {
        assert_eq!(check(Bound::AtLeast(1.0), Figure::Iops, "ram"), None);
        assert_eq!(check(Bound::AtLeast(1.0), Figure::Cpu, "null"), None);
    }

    #[test]
    fn a_goal_of_gluster_is_one_of_all_its_stores() {
        let contest = Contest { store: "gluster-replica-3".to_owned(), ..contest(&[2.0], &[1.0]) };
        let bound = Bound::AtLeast(1.0);
        let goal = Goal { store: "gluster", work: contest.work, figure: Figure::Iops, other: "b", bound };
        assert!(verdict(&goal, &contest).is_some());
    }

    /// A goal whose names are written wrong would never be measured.
    #[test]
    fn goals_name_stores_and_loads_that_are_measured() {
        for goal in GOALS {
            let mut stores = super::super::stores::Store::ALL.into_iter();
            assert!(
                stores.any(
                    |store| store.name().split('-').next() == Some(goal.store) && store.takes(&goal.work)
                )
            );
            assert!(work::ALL.contains(&goal.work));
        }
    }
}
