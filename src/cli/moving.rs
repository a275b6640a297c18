//! `glint move`.

use super::args::MoveArgs;
use super::{admin, print};
use crate::cluster::admin::{Admin, Moved};
use glint_cluster_core::membership::NodeId;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Has a volume moved, and waits for it; steps go to stderr, the result to stdout.
pub(super) fn run(arguments: &MoveArgs) -> ExitCode {
    let MoveArgs { store, volume, node, timeout, json } = arguments;
    admin::run(async {
        let admin = Admin::open(store).await.map_err(|error| error.to_string())?;
        let tell = |step: &str| eprintln!("{volume}: {step}");
        let moved = admin.move_volume(volume, node, *timeout, tell).await;
        let moved = moved.map_err(|error| error.to_string())?;
        let text = if *json { as_json(volume, node, &moved).to_string() } else { said(volume, node, &moved) };
        Ok(print(format!("{text}\n").as_bytes()))
    })
}

/// For people.
pub(super) fn said(volume: &str, to: &NodeId, moved: &Moved) -> String {
    let epoch = moved.seen.epoch.0;
    if moved.was_there {
        return format!("{volume} is at {to} already (epoch {epoch})");
    }
    let from = moved.from.as_ref().map_or_else(String::new, |from| format!(" from {from}"));
    format!("{volume} moved{from} to {to} in {:.1} s (epoch {epoch})", moved.took.as_secs_f64())
}

/// For machines.
pub(super) fn as_json(volume: &str, to: &NodeId, moved: &Moved) -> Value {
    json!({
        "volume": volume,
        "node": to.as_str(),
        "from": moved.from.as_ref().map(NodeId::as_str),
        "was_there": moved.was_there,
        "epoch": moved.seen.epoch.0,
        "took_milliseconds": u64::try_from(moved.took.as_millis()).unwrap_or(u64::MAX),
    })
}
