//! `glint nodes`.

use super::args::NodesArgs;
use super::{admin, print};
use crate::cluster::admin::{Admin, NodeReport, Survey, VolumeReport};
use crate::config::StoreUrl;
use glint_cluster_core::membership::NodeId;
use glint_cluster_core::ownership::Holder;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Tells the nodes and volumes of a store.
pub(super) fn run(arguments: &NodesArgs) -> ExitCode {
    let store = &arguments.store;
    admin::run(async {
        let survey = Admin::open(store).await.map_err(|error| error.to_string())?.survey().await;
        let survey = survey.map_err(|error| error.to_string())?;
        if arguments.json {
            return Ok(print(format!("{}\n", json(store, &survey)).as_bytes()));
        }
        for fault in faults(&survey) {
            eprintln!("warning: {fault}");
        }
        Ok(print(tables(&survey).as_bytes()))
    })
}

/// Everything that could not be read, a line each.
fn faults(survey: &Survey) -> Vec<String> {
    let told = |what: String, fault: &Option<String>| fault.as_ref().map(|fault| format!("{what}: {fault}"));
    let nodes = survey.nodes.iter().filter_map(|node| told(format!("node {}", node.id), &node.fault));
    let volumes =
        survey.volumes.iter().filter_map(|volume| told(format!("volume {}", volume.name), &volume.fault));
    nodes.chain(volumes).chain(survey.faults.iter().cloned()).collect()
}

/// For people.
pub(super) fn tables(survey: &Survey) -> String {
    if survey.nodes.is_empty() && survey.volumes.is_empty() {
        return "no node has used this store yet\n".into();
    }
    let nodes = std::iter::once(row(&["NODE", "STATE", "GROUP", "PORTALS", "INTERNAL", "VERSION"]))
        .chain(survey.nodes.iter().map(node_row));
    let mut text = table(nodes.collect());
    if !survey.volumes.is_empty() {
        let volumes = std::iter::once(row(&["VOLUME", "STATE", "OWNER", "EPOCH", "PINNED", "FENCING"]))
            .chain(survey.volumes.iter().map(volume_row));
        text += "\n";
        text += &table(volumes.collect());
    }
    text
}

const NOTHING: &str = "-";

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

fn node_row(node: &NodeReport) -> Vec<String> {
    let Some(record) = &node.record else {
        return row(&[node.id.as_str(), node.state.word(), NOTHING, NOTHING, NOTHING, NOTHING]);
    };
    let portals = record.portals.iter().flat_map(|portal| match portal.advertised.as_slice() {
        [] => std::slice::from_ref(&portal.bound),
        advertised => advertised,
    });
    let portals: Vec<&str> = portals.map(String::as_str).collect();
    let group = record.group.to_string();
    row(&[node.id.as_str(), node.state.word(), &group, &portals.join(","), &record.internal, &record.version])
}

fn volume_row(volume: &VolumeReport) -> Vec<String> {
    let Some(seen) = &volume.seen else {
        return row(&[&volume.name, volume.state.word(), NOTHING, NOTHING, NOTHING, NOTHING]);
    };
    let mut whose = match &seen.record.holder {
        Holder::Owned(owner) => owner.node.to_string(),
        Holder::Released(Some(to)) => format!("(to {to})"),
        Holder::Released(None) | Holder::Nobody | Holder::Damaged => NOTHING.into(),
    };
    if let Some(wish) = &volume.wish {
        whose += &format!(" (wanted at {wish})");
    }
    let epoch = seen.epoch.0.to_string();
    let [pinned, fencing] = match known(volume) {
        Some((pinned, fences)) => [pinned, fences].map(|yes| if yes { "yes" } else { "no" }),
        None => [NOTHING; 2],
    };
    row(&[&volume.name, volume.state.word(), &whose, &epoch, pinned, fencing])
}

/// Whether it is pinned and fenced, where the record says so.
fn known(volume: &VolumeReport) -> Option<(bool, bool)> {
    let record = &volume.seen.as_ref()?.record;
    let says = matches!(record.holder, Holder::Owned(_) | Holder::Released(_));
    says.then_some((record.pinned, record.fences))
}

/// Rows of as many cells each, below one another.
fn table(rows: Vec<Vec<String>>) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in &rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// For machines: `store`, `nodes`, `volumes`, `faults`. What is not known is null.
pub(super) fn json(store: &StoreUrl, survey: &Survey) -> Value {
    json!({
        "store": store.to_string(),
        "nodes": survey.nodes.iter().map(node).collect::<Value>(),
        "volumes": survey.volumes.iter().map(volume).collect::<Value>(),
        "faults": faults(survey),
    })
}

fn node(node: &NodeReport) -> Value {
    let record = node.record.as_ref();
    let portals = record.map(|record| {
        let portal = |portal: &glint_cluster_core::membership::Portal| {
            json!({
                "group_tag": portal.tag,
                "bound": portal.bound,
                "advertised": portal.advertised,
                "relative_target_port": node.ports.get(&portal.tag),
            })
        };
        record.portals.iter().map(portal).collect::<Value>()
    });
    json!({
        "id": node.id.as_str(),
        "state": node.state.word(),
        "boot": record.map(|record| record.boot.to_string()),
        "target_port_group": record.map(|record| record.group),
        "portals": portals,
        "internal": record.map(|record| &record.internal),
        "version": record.map(|record| &record.version),
        "fault": node.fault,
    })
}

fn volume(volume: &VolumeReport) -> Value {
    let released_to = volume.seen.as_ref().and_then(|seen| match &seen.record.holder {
        Holder::Released(to) => to.as_ref().map(NodeId::as_str),
        Holder::Owned(_) | Holder::Nobody | Holder::Damaged => None,
    });
    let known = known(volume);
    json!({
        "name": volume.name,
        "state": volume.state.word(),
        "owner": volume.owner().map(|owner| owner.node.as_str()),
        "owner_boot": volume.owner().map(|owner| owner.boot.to_string()),
        "released_to": released_to,
        "wanted_at": volume.wish.as_ref().map(NodeId::as_str),
        "epoch": volume.seen.as_ref().map(|seen| seen.epoch.0),
        "pinned": known.map(|(pinned, _)| pinned),
        "fencing": known.map(|(_, fences)| fences),
        "fault": volume.fault,
    })
}
