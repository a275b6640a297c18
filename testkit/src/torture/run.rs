//! Rounds of faults on one cluster, under load, with everything checked after each.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::cluster::{Backing, Cluster, VOLUMES};
use super::counter;
use super::faults::{Fault, Pace};
use super::ledger::Ledger;
use super::load::{Load, sweep};
use super::multipath::Multipath;
use super::node::Node;
use super::report::{Line, Report};
use super::reservations::Reservations;
use super::site::Site;
use super::timers::Timers;
use super::watcher::Watcher;

/// Blocks of the working area; those of counters come after it.
const AREA: usize = 1024;

/// Hosts: one that looks for the best path, and one at each of two portals.
const PINS: [Option<usize>; 3] = [None, Some(0), Some(1)];

/// Commands of each host before a fault and after it.
const BESIDE: u64 = 100;

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In this order.
    pub faults: Vec<Fault>,
    /// Of each, instead of as many as the form has.
    pub rounds: Option<u32>,
    /// How many nodes.
    pub nodes: usize,
    /// Where they keep what they share.
    pub backing: Backing,
    /// Of all hosts.
    pub timers: Timers,
    /// How long things last.
    pub pace: Pace,
}

impl Plan {
    /// All faults on three nodes and replica 3.
    pub fn new(timers: Timers, pace: Pace) -> Self {
        let faults = Fault::ALL.to_vec();
        Self { faults, rounds: None, nodes: 3, backing: Backing::Gluster, timers, pace }
    }
}

/// Carries a plan out; `each` sees every line as it is done.
///
/// # Errors
/// When there is no GlusterFS, or this is not root.
pub fn run(plan: &Plan, mut each: impl FnMut(&Line)) -> io::Result<Report> {
    let mut scene = Scene::new(plan)?;
    let mut report = Report::default();
    for fault in &plan.faults {
        if fault.needs_gluster() && plan.backing != Backing::Gluster {
            continue;
        }
        let mut line = Line { fault: fault.name(), allowed: fault.longest(&plan.timers), ..Line::default() };
        let start = Instant::now();
        let rounds = plan.rounds.unwrap_or_else(|| fault.rounds(&plan.pace));
        let done = catch_unwind(AssertUnwindSafe(|| scene.rounds(*fault, rounds, &mut line)));
        line.took = start.elapsed();
        if !line.wrong.is_empty() || done.is_err() {
            eprintln!("{}", scene.cluster.told());
        }
        // What panicked has printed why; what it left behind is no ground for anything else.
        let goes_on = done.is_ok();
        if !goes_on {
            line.wrong.push("it broke off".into());
        }
        each(&line);
        report.lines.push(line);
        if !goes_on {
            break;
        }
    }
    Ok(report)
}

struct Scene<'a> {
    plan: &'a Plan,
    site: Site,
    ledger: Arc<Ledger>,
    admin: Multipath,
    reservations: Reservations,
    watcher: Watcher,
    /// Blocks that were counted in.
    counted: u64,
    /// Last, so that sessions end before their target does.
    cluster: Cluster,
}

impl<'a> Scene<'a> {
    fn new(plan: &'a Plan) -> io::Result<Self> {
        let cluster = Cluster::start(plan.nodes, plan.backing)?;
        let site = Site::new(VOLUMES[0], cluster.portals(), plan.timers);
        let guarded = Site::new(VOLUMES[1], cluster.portals(), plan.timers);
        let reservations = Reservations::establish(&guarded).map_err(|failed| io::Error::other(failed.0))?;
        let watcher = Watcher::start(&site, cluster.url());
        let admin = site.host("admin");
        let ledger = Arc::new(Ledger::new(AREA));
        Ok(Self { plan, site, ledger, admin, reservations, watcher, counted: 0, cluster })
    }

    fn rounds(&mut self, fault: Fault, rounds: u32, line: &mut Line) {
        for round in 0..rounds {
            line.rounds += 1;
            let before = line.wrong.len();
            self.round(fault, round, &mut line.wrong);
            let (looks, faults) = self.watcher.take();
            line.looks += looks;
            line.wrong.extend(faults);
            line.wrong.extend(self.cluster.nodes.iter_mut().flat_map(Node::take_panics));
            let counts = self.site.tally.take();
            line.wrong.extend(counts.errors.iter().map(|error| format!("I/O error: {error}")));
            if counts.longest > line.allowed {
                line.wrong.push(format!("{:?} for command {}", counts.longest, counts.slowest));
            }
            line.counts.add(counts);
            for wrong in line.wrong.iter_mut().skip(before) {
                *wrong = format!("round {round}: {wrong}");
            }
        }
    }

    fn round(&mut self, fault: Fault, round: u32, wrong: &mut Vec<String>) {
        let patience = self.plan.timers.limit + Duration::from_secs(10);
        let load = Load::start(&self.site, &self.ledger, &PINS);
        wrong.extend(load.wait_for(BESIDE, patience).err());
        if fault == Fault::Count {
            self.count(wrong);
        } else {
            let struck = fault.strike(&mut self.cluster, &mut self.admin, round, &self.plan.pace);
            wrong.extend(struck.err());
            wrong.extend(self.cluster.nodes.iter_mut().filter_map(Node::ended));
            // Whatever was left undone.
            self.cluster.start_all();
        }
        wrong.extend(load.wait_for(BESIDE, patience).err());
        load.stop();
        if fault == Fault::Brick {
            wrong.extend(self.cluster.wait_healed().err().map(|error| format!("healing: {error}")));
        }
        match self.reservations.check() {
            Ok(faults) => wrong.extend(faults),
            Err(failed) => wrong.push(format!("reservations: {}", failed.0)),
        }
        // After what is the end of everything it is looked at from everywhere, else in turn.
        let portals = self.site.portals.len();
        let paths = match fault {
            Fault::Reopen => 0..portals,
            _ => round as usize % portals..round as usize % portals + 1,
        };
        for path in paths {
            wrong.extend(sweep(&self.site, &self.ledger, path).err().map(|failed| failed.0));
        }
        let (count, faults) = self.ledger.take_faults();
        if count > 0 {
            let told: String = faults.iter().map(ToString::to_string).collect();
            wrong.push(format!("{count} blocks are not what they have to be:\n{told}"));
        }
    }

    /// Two hosts count at two portals, the volume moves meanwhile.
    fn count(&mut self, wrong: &mut Vec<String>) {
        let block = AREA as u64 + self.counted;
        self.counted += 1;
        let (site, increments) = (self.site.clone(), self.plan.pace.increments);
        let counting = thread::spawn(move || counter::count(&site, block, increments, &[0, 1]));
        let mut round = 0;
        while !counting.is_finished() && wrong.is_empty() {
            let struck = Fault::Count.strike(&mut self.cluster, &mut self.admin, round, &self.plan.pace);
            wrong.extend(struck.err());
            round += 1;
        }
        match counting.join() {
            Ok(faults) => wrong.extend(faults),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
