//! The schedules.

use super::world::{MS, World};

const FAULTS_END: u64 = 40_000 * MS;
const END: u64 = 70_000 * MS;

/// How a run is to be.
#[derive(Clone, Copy)]
struct Plan {
    /// The nodes believe that the volume fences; it does.
    fences: bool,
    enforces: bool,
    faults: u64,
    /// Processes are frozen between a decision and what follows from it: only fencing is safe against that.
    with_stalls: bool,
    /// Initiators give up after that, and go on at once.
    patience: Option<u64>,
    /// A clock goes wrong by so many parts of a thousand.
    drift: i64,
}

const FENCED: Plan =
    Plan { fences: true, enforces: true, faults: 10, with_stalls: true, patience: None, drift: 0 };
const LEASED: Plan = Plan { fences: false, enforces: false, with_stalls: false, ..FENCED };

/// What went wrong, and what was done.
fn run(seed: u64, plan: Plan) -> (Vec<String>, World) {
    let nodes = 2 + (seed % 2) as usize;
    let mut world = World::new(seed, nodes, 2 + (seed / 2 % 2) as usize, plan.fences, plan.enforces);
    for client in &mut world.clients {
        client.patience = plan.patience;
    }
    if plan.drift != 0 {
        world.nodes[0].drift = -plan.drift;
        world.nodes[1].drift = plan.drift;
    }
    world.schedule(plan.faults * (1 + seed % 4), FAULTS_END, plan.with_stalls);
    world.run(END);
    let blocks = world.brick.blocks;
    world.checker.finish(&blocks);
    let mut faults = world.checker.faults.clone();
    if faults.is_empty() {
        for (at, client) in world.clients.iter().enumerate() {
            if client.last_good < END - 5000 * MS {
                faults.push(format!("initiator {at} got nothing done since {}", client.last_good));
            }
        }
        let active = world
            .nodes
            .iter()
            .flat_map(|slot| &slot.node)
            .filter(|node| node.machine.active().is_some())
            .count();
        if active != 1 {
            faults.push(format!("{active} nodes are active"));
        }
    }
    (faults, world)
}

fn rounds(short: u64) -> u64 {
    std::env::var("GLINT_CLUSTER_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(short)
}

fn all_hold(plan: Plan, short: u64) {
    let first = std::env::var("GLINT_CLUSTER_SEED").ok().and_then(|seed| seed.parse().ok());
    let (mut acknowledged, mut epochs, count) = (0, 0, if first.is_some() { 1 } else { rounds(short) });
    for seed in (0..count).map(|round| first.unwrap_or(0) + round) {
        let (faults, world) = run(seed, plan);
        assert!(faults.is_empty(), "seed {seed}: {faults:#?}");
        acknowledged += world.checker.acknowledged;
        epochs += world.store.record.epoch.0;
    }
    // Else nothing was tested.
    assert!(acknowledged > 100 * count && epochs > 2 * count, "{acknowledged} writes, {epochs} epochs");
}

#[test]
fn nothing_is_lost_where_the_store_fences() {
    all_hold(FENCED, 60);
}

#[test]
fn nothing_is_lost_by_the_lease_alone_as_long_as_clocks_are_good() {
    all_hold(LEASED, 40);
}

/// Schedules that have failed, and what was wrong: a new connection that came before the end of the old one was heard of; a request that was begun, refused
/// and not forgotten; refusals without end. The last two: a checker that took a command for finished when its connection broke.
#[test]
fn what_has_failed_once() {
    for (seed, plan) in
        [(41, LEASED), (42, FENCED), (154, LEASED), (539, FENCED), (3451, LEASED), (3523, FENCED)]
    {
        let (faults, _) = run(seed, plan);
        assert!(faults.is_empty(), "seed {seed}: {faults:#?}");
    }
}

/// With a lock at the bricks data depends on no clock: however wrong they are, no write comes too late or twice.
#[test]
fn where_the_store_fences_bad_clocks_harm_nothing() {
    for seed in 0..rounds(60) {
        let (faults, _) = run(seed, Plan { drift: 250, ..FENCED });
        let harm: Vec<_> = faults.iter().filter(|fault| !fault.contains("has no answer")).collect();
        assert!(harm.is_empty(), "seed {seed}: {harm:#?}");
    }
}

/// What an assumption is worth: without it something breaks, and the checker sees it.
fn something_breaks(plan: Plan, what: &str, within: u64) {
    let broken = (0..within)
        .map(|seed| run(seed, plan).0)
        .find(|faults| faults.iter().any(|fault| fault.contains(what)));
    assert!(broken.is_some());
}

#[test]
fn a_store_that_does_not_fence_though_it_says_so_loses_writes() {
    something_breaks(Plan { enforces: false, faults: 15, ..FENCED }, "writes after", 400);
}

#[test]
fn a_process_that_is_frozen_between_clock_and_write_breaks_a_lease_without_fencing() {
    something_breaks(Plan { with_stalls: true, faults: 40, ..LEASED }, "writes after", 400);
}

#[test]
fn clocks_that_go_wrong_by_more_than_is_allowed_for_break_a_lease_without_fencing() {
    something_breaks(Plan { drift: 600, faults: 15, ..LEASED }, "writes after", 400);
}

#[test]
fn initiators_that_give_up_early_and_go_on_at_once_meet_their_own_old_writes() {
    something_breaks(Plan { patience: Some(1500 * MS), faults: 15, ..FENCED }, "had ended", 400);
}
