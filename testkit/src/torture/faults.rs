//! What is done to the nodes, and how often.

use std::thread;
use std::time::{Duration, Instant};

use super::cluster::{Cluster, VOLUMES};
use super::multipath::Multipath;
use super::node::Node;
use super::proxy::Mode;
use super::timers::Timers;

/// See the module. All of it happens while hosts write and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `kill -9` of the owner, and a start at once or later.
    Kill,
    /// SIGSTOP of the owner, and SIGCONT when others have taken over.
    Freeze,
    /// SIGTERM and start of each node in turn.
    Restart,
    /// Nobody reaches the owner over the internal network, portals and store go on.
    CutInternal,
    /// The owner does not reach the store.
    CutStore,
    /// A brick is killed, started again and healed. What it missed has to be there before the next one is.
    Brick,
    /// Moves by SET TARGET PORT GROUPS and by `glint move`.
    Move,
    /// Counting with COMPARE AND WRITE meanwhile, with moves.
    Count,
    /// All nodes are killed, and started again.
    Reopen,
}

/// How long things last.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Whether it is the short form.
    pub is_short: bool,
    /// Of an owner that is frozen.
    pub frozen: Duration,
    /// Of a connection that is cut.
    pub cut: Duration,
    /// Until bricks notice that a client is cut off: their `tcp-user-timeout`.
    pub notice: Duration,
    /// Of a brick that is down.
    pub brick: Duration,
    /// Increments of each host in a round.
    pub increments: u64,
}

impl Pace {
    /// `make torture`.
    pub const LONG: Self = Self {
        is_short: false,
        frozen: Duration::from_secs(30),
        cut: Duration::from_secs(15),
        notice: Duration::from_secs(42),
        brick: Duration::from_secs(10),
        increments: 10_000,
    };
    /// `make test`.
    pub const SHORT: Self = Self {
        is_short: true,
        frozen: Duration::from_secs(10),
        cut: Duration::from_secs(8),
        notice: Duration::from_secs(5),
        brick: Duration::from_secs(3),
        increments: 300,
    };
}

/// How long a move may take.
const MOVING: Duration = Duration::from_secs(10);

/// The moves of one round: enough to go by both ways.
const MOVES: u64 = 2;

impl Fault {
    /// All, in the order in which they are tried.
    pub const ALL: [Self; 9] = [
        Self::Kill,
        Self::Restart,
        Self::Move,
        Self::Count,
        Self::CutInternal,
        Self::Freeze,
        Self::CutStore,
        Self::Brick,
        Self::Reopen,
    ];

    /// As it is named in arguments and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Freeze => "freeze",
            Self::Restart => "restart",
            Self::CutInternal => "cut-internal",
            Self::CutStore => "cut-store",
            Self::Brick => "brick",
            Self::Move => "move",
            Self::Count => "count",
            Self::Reopen => "reopen",
        }
    }

    /// How often, in this form.
    pub fn rounds(self, pace: &Pace) -> u32 {
        let (long, short) = match self {
            Self::Kill => (50, 3),
            Self::Freeze => (20, 1),
            Self::Restart => (20, 2),
            Self::CutInternal | Self::CutStore | Self::Brick => (10, 1),
            Self::Move => (50, 3),
            Self::Count => (1, 1),
            Self::Reopen => (5, 1),
        };
        if pace.is_short { short } else { long }
    }

    /// The longest that a command may take meanwhile.
    pub fn longest(self, timers: &Timers) -> Duration {
        match self {
            // Nothing is lost, so nothing is waited for.
            Self::Restart => Duration::from_secs(1),
            Self::Kill => timers.own() + Duration::from_secs(5),
            // What it takes; but no I/O error.
            _ => timers.limit,
        }
    }

    /// Whether it needs bricks.
    pub fn needs_gluster(self) -> bool {
        matches!(self, Self::CutStore | Self::Brick)
    }

    /// Does it, to its end; all nodes run then. `admin` is a host with a path to each node.
    pub fn strike(
        self,
        cluster: &mut Cluster,
        admin: &mut Multipath,
        round: u32,
        pace: &Pace,
    ) -> Result<(), String> {
        let volume = VOLUMES[0];
        let count = cluster.nodes.len();
        match self {
            Self::Kill => {
                let owner = cluster.owner(volume)?;
                cluster.nodes[owner].kill();
                // At once, when the others may have taken over, and when they have.
                thread::sleep(Duration::from_secs(u64::from(round % 3) * 4));
                cluster.start_all();
            }
            Self::Freeze => {
                let owner = cluster.owner(volume)?;
                cluster.nodes[owner].freeze();
                thread::sleep(pace.frozen);
                cluster.nodes[owner].thaw();
            }
            Self::Restart => {
                for number in 0..count {
                    cluster.nodes[number].terminate()?;
                    cluster.start_all();
                }
            }
            Self::CutInternal => {
                let owner = cluster.owner(volume)?;
                let internal = &cluster.nodes[owner].internal;
                internal.set(if round.is_multiple_of(2) { Mode::Silent } else { Mode::Closed });
                thread::sleep(pace.cut);
                internal.set(Mode::Open);
            }
            Self::CutStore => {
                cluster.relocate(volume, count - 1)?;
                wait_for_owner(cluster, count - 1)?;
                cluster.cut_store(true);
                thread::sleep(pace.notice);
                cluster.notice_cut();
                thread::sleep(pace.cut);
                cluster.cut_store(false);
            }
            Self::Brick => {
                cluster.break_brick(round as usize % 3, pace.brick).map_err(|error| error.to_string())?;
                // It is being healed meanwhile.
                thread::sleep(pace.brick);
            }
            Self::Move | Self::Count => {
                for nth in 0..MOVES {
                    let owner = cluster.owner(volume)?;
                    let to = (owner + 1 + nth as usize) % count;
                    let to = if to == owner { (to + 1) % count } else { to };
                    if nth.is_multiple_of(2) {
                        admin.activate(to).map_err(|why| format!("SET TARGET PORT GROUPS: {why}"))?;
                    } else {
                        cluster.relocate(volume, to)?;
                    }
                    wait_for_owner(cluster, to)?;
                }
            }
            Self::Reopen => {
                cluster.nodes.iter_mut().for_each(Node::kill);
                cluster.start_all();
            }
        }
        Ok(())
    }
}

fn wait_for_owner(cluster: &Cluster, node: usize) -> Result<(), String> {
    let deadline = Instant::now() + MOVING;
    loop {
        // On the way it is nobody's.
        let now = cluster.owner(VOLUMES[0]);
        if now == Ok(node) {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("it did not move to node {} within {MOVING:?}: {now:?}", node + 1));
        }
        thread::sleep(Duration::from_millis(100));
    }
}
