//! A host with several paths to one unit, as Linux has them with dm-multipath and ALUA: it uses the best path that there is, and repeats
//! elsewhere what a path has lost, once that path's session is closed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::cdb;
use super::path::{Path, Session};
use super::tally::Tally;
use super::timers::Timers;
use super::verdict::{Verdict, describe, judge};
use crate::initiator::{End, GOOD, Lost, Port, RESERVATION_CONFLICT, Transfer};

/// Before it looks again where nothing can be done at once.
const PAUSE: Duration = Duration::from_millis(50);

/// Answers, each of which is told at once, before it takes its time.
const HASTE: u32 = 16;

/// How a command ended.
#[derive(Clone, Debug)]
pub struct Answer {
    /// GOOD, MISCOMPARE or RESERVATION CONFLICT.
    pub end: End,
    /// Where it came from.
    pub portal: SocketAddr,
    /// Whether an earlier try may have been executed.
    pub doubt: bool,
}

/// An I/O error, with what is known of it.
#[derive(Clone, Debug)]
pub struct Failed(pub String);

/// See the module. One command at a time.
pub struct Multipath {
    paths: Vec<Path>,
    /// The path that is used as long as it works at all, whatever its state; otherwise the best.
    pinned: Option<usize>,
    current: usize,
    states: BTreeMap<u16, u8>,
    rescan_at: Instant,
    timers: Timers,
    tally: Arc<Tally>,
}

impl Multipath {
    /// Paths of this initiator port to all of these portals. It does not wait for them.
    pub fn new(port: &Port, portals: &[SocketAddr], timers: Timers, tally: &Arc<Tally>) -> Self {
        let paths = portals.iter().map(|portal| Path::new(*portal, port.clone(), timers));
        Self {
            paths: paths.collect(),
            pinned: None,
            current: 0,
            states: BTreeMap::new(),
            rescan_at: Instant::now(),
            timers,
            tally: Arc::clone(tally),
        }
    }

    /// The same that prefers the path to the portal of this number.
    #[must_use]
    pub fn pinned(self, path: usize) -> Self {
        Self { pinned: Some(path), current: path, ..self }
    }

    /// Its paths, in the order of the portals.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// Runs a command to an end that is no fault of a path.
    pub fn run(&mut self, cdb: &[u8], transfer: Transfer<'_>) -> Result<Answer, Failed> {
        self.go(None, cdb, transfer)
    }

    /// The same on one path alone, as often as it takes.
    pub fn run_on(&mut self, path: usize, cdb: &[u8], transfer: Transfer<'_>) -> Result<Answer, Failed> {
        self.go(Some(path), cdb, transfer)
    }

    fn go(&mut self, only: Option<usize>, cdb: &[u8], transfer: Transfer<'_>) -> Result<Answer, Failed> {
        let begun = Instant::now();
        let mut avoid = None;
        let mut doubt = false;
        let mut tries = 0;
        let mut last = "no path".to_owned();
        while begun.elapsed() < self.timers.limit {
            let taken = match only {
                Some(path) => self.paths[path].take().map(|session| (path, session)),
                None => self.choose(avoid),
            };
            let Some((at, mut session)) = taken else {
                // Those that were no good may be now.
                avoid = None;
                self.rescan_at = Instant::now();
                match only {
                    Some(path) => drop(self.paths[path].wait(PAUSE)),
                    None => thread::sleep(PAUSE),
                }
                continue;
            };
            tries += 1;
            let portal = self.paths[at].portal();
            match session.initiator.attempt(cdb, transfer, self.timers.command) {
                Ok(end) => {
                    self.paths[at].give(session);
                    match judge(&end) {
                        Verdict::Done => {
                            let took = begun.elapsed();
                            self.tally
                                .ended(took, || format!("{:02x} on {portal}, {tries} tries: {last}", cdb[0]));
                            self.current = at;
                            return Ok(Answer { end, portal, doubt });
                        }
                        Verdict::Again { later, doubt: doubtful, rescan } => {
                            doubt |= doubtful;
                            if rescan {
                                self.rescan_at = Instant::now();
                            }
                            if later || tries > HASTE {
                                thread::sleep(PAUSE);
                            }
                        }
                        Verdict::Elsewhere => {
                            avoid = Some(at);
                            self.rescan_at = Instant::now();
                        }
                        Verdict::Error => return Err(self.failed(cdb, &describe(&end), begun)),
                    }
                    last = describe(&end);
                }
                Err(lost) => {
                    doubt = true;
                    last = reason(&lost);
                    self.lose(at, session, &lost);
                    avoid = Some(at);
                }
            }
            self.tally.retry(last.clone());
        }
        Err(self.failed(cdb, &last, begun))
    }

    fn failed(&self, cdb: &[u8], last: &str, begun: Instant) -> Failed {
        let told = format!("command {:02x} failed after {:?}: {last}", cdb[0], begun.elapsed());
        self.tally.lock().errors.push(told.clone());
        Failed(told)
    }

    /// A path whose connection was closed has some time to come back by itself.
    fn lose(&mut self, at: usize, session: Box<Session>, lost: &Lost) {
        self.paths[at].lose(session);
        if matches!(lost, Lost::Closed(_)) {
            self.paths[at].wait(self.timers.replacement);
        }
        self.rescan_at = Instant::now();
    }

    /// The best path that has a session; `avoid` only where there is no other.
    fn choose(&mut self, avoid: Option<usize>) -> Option<(usize, Box<Session>)> {
        if Instant::now() >= self.rescan_at {
            self.rescan(avoid);
        }
        let mut order: Vec<usize> = (0..self.paths.len()).collect();
        order.sort_by_key(|path| (avoid == Some(*path), self.rank(*path), *path != self.current));
        order.into_iter().find_map(|path| self.paths[path].take().map(|session| (path, session)))
    }

    fn rank(&self, path: usize) -> u8 {
        let state = self.paths[path].group().and_then(|group| self.states.get(&group).copied());
        rank(state, self.pinned == Some(path))
    }

    /// Asks for the access states, on the first path that answers.
    fn rescan(&mut self, avoid: Option<usize>) {
        let mut order: Vec<usize> = (0..self.paths.len()).collect();
        order.sort_by_key(|path| (avoid == Some(*path), *path != self.current));
        for path in order {
            if let Some(states) = self.access_states(path) {
                self.states = states.into_iter().collect();
                break;
            }
        }
        self.rescan_at = Instant::now() + self.timers.rescan;
    }

    /// Groups and their states as this path has them, and nothing where it does not answer.
    pub fn access_states(&mut self, path: usize) -> Option<Vec<(u16, u8)>> {
        let mut session = self.paths[path].take()?;
        for _ in 0..HASTE {
            let asked =
                session.initiator.attempt(&cdb::REPORT_GROUPS, Transfer::In(cdb::ROOM), self.timers.command);
            match asked {
                Ok(end) if end.status == GOOD => {
                    self.paths[path].give(session);
                    return Some(cdb::states(&end.data));
                }
                Ok(end) if matches!(judge(&end), Verdict::Again { .. }) => {}
                Ok(_) => break,
                Err(_) => {
                    self.paths[path].lose(session);
                    return None;
                }
            }
        }
        self.paths[path].give(session);
        None
    }

    /// Asks for the path of this number to become active/optimized, on that path (SET TARGET PORT GROUPS).
    pub fn activate(&mut self, path: usize) -> Result<(), String> {
        self.paths[path].wait(self.timers.login);
        let Some(group) = self.paths[path].group() else { return Err("there is no session".into()) };
        let (cdb, list) = cdb::set_groups(group);
        match self.run_on(path, &cdb, Transfer::Out(&list)) {
            Ok(answer) if answer.end.status == GOOD => Ok(()),
            Ok(answer) => Err(describe(&answer.end)),
            Err(failed) => Err(failed.0),
        }
    }

    /// Whether a command on each path meets a reservation of others.
    pub fn conflicts(&mut self, cdb: &[u8], transfer: Transfer<'_>) -> Result<Vec<bool>, Failed> {
        let all = 0..self.paths.len();
        all.map(|path| Ok(self.run_on(path, cdb, transfer)?.end.status == RESERVATION_CONFLICT)).collect()
    }
}

/// The less, the better is a path in this state, as Linux' ALUA prioritizer has it.
fn rank(state: Option<u8>, is_pinned: bool) -> u8 {
    match state {
        Some(cdb::OPTIMIZED | cdb::NON_OPTIMIZED) | None if is_pinned => 0,
        Some(cdb::OPTIMIZED) => 1,
        Some(cdb::NON_OPTIMIZED) => 2,
        // Nothing is known yet.
        None => 3,
        Some(cdb::TRANSITIONING) => 4,
        Some(_) => 5,
    }
}

fn reason(lost: &Lost) -> String {
    match lost {
        Lost::Closed(_) => "closed".into(),
        Lost::Silent => "silent".into(),
        Lost::Refused(class, detail) => format!("login {class:02x}{detail:02x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_path_is_the_active_one_and_a_pinned_one_as_long_as_it_is_active() {
        let unavailable = Some(0x3);
        let mut states =
            [unavailable, Some(cdb::NON_OPTIMIZED), Some(cdb::TRANSITIONING), Some(cdb::OPTIMIZED)];
        states.sort_by_key(|state| rank(*state, false));
        assert_eq!(
            states,
            [Some(cdb::OPTIMIZED), Some(cdb::NON_OPTIMIZED), Some(cdb::TRANSITIONING), unavailable]
        );
        assert!(rank(Some(cdb::NON_OPTIMIZED), true) < rank(Some(cdb::OPTIMIZED), false));
        assert!(rank(unavailable, true) > rank(Some(cdb::NON_OPTIMIZED), false));
    }
}
