//! The arguments of `torture`.

use std::path::PathBuf;

use super::cluster::Backing;
use super::faults::{Fault, Pace};
use super::run::Plan;
use super::timers::Timers;

/// How it is used.
pub const USAGE: &str = "usage: torture [--short] [--local] [--hasty] [--rounds N] [--nodes N] [--json FILE] [FAULT]...

Has nodes that share a store lose what nodes can lose, while hosts write and read through all of them, and checks that all that was
acknowledged is there. Faults: kill restart move count cut-internal freeze cut-store brick reopen; all by default. Fails where
something is wrong.

  --short     as `make test` does it: fewer rounds, shorter faults, hasty hosts
  --local     the store is a directory instead of GlusterFS
  --hasty     hosts go to another path as soon as a connection is closed, instead of when Linux does";

/// What was asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is to be done.
    pub plan: Plan,
    /// Where the results are written.
    pub json: Option<PathBuf>,
}

impl Options {
    /// None where they are wrong.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Option<Self> {
        let mut options = Self { plan: Plan::new(Timers::LINUX, Pace::LONG), json: None };
        let mut faults = Vec::new();
        let mut arguments = arguments.into_iter();
        let plan = &mut options.plan;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--short" => (plan.timers, plan.pace) = (Timers::HASTY, Pace::SHORT),
                "--hasty" => plan.timers = Timers::HASTY,
                "--local" => plan.backing = Backing::Local,
                "--rounds" => plan.rounds = Some(arguments.next()?.parse().ok()?),
                "--nodes" => plan.nodes = arguments.next()?.parse().ok().filter(|nodes| *nodes >= 1)?,
                "--json" => options.json = Some(arguments.next()?.into()),
                name => faults.push(*Fault::ALL.iter().find(|fault| fault.name() == name)?),
            }
        }
        if !faults.is_empty() {
            plan.faults = faults;
        }
        Some(options)
    }
}
