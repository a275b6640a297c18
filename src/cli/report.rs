//! What a configuration would serve, for people and for machines.

use crate::config::{
    ByteSize, Config, Faults, Finding, Loaded, LunConfig, Place, Provisioning, TargetConfig,
};
use glint_target_core::login::catalog::AuthPolicy;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// One line for each portal, target and unit.
pub(super) fn summary(config: &Config) -> String {
    let mut text = format!("node {}\n", config.node.id);
    for portal in &config.portals {
        let listen: Vec<_> = portal.listen.iter().map(ToString::to_string).collect();
        let advertise: Vec<_> = portal.advertise.iter().map(ToString::to_string).collect();
        text += &format!("portal {} (group {})", listen.join(", "), portal.group_tag);
        if !advertise.is_empty() {
            text += &format!(", advertised as {}", advertise.join(", "));
        }
        text.push('\n');
    }
    match &config.api {
        Some(address) => text += &format!("API {address}\n"),
        None => text += "API off\n",
    }
    for target in &config.targets {
        text += &format!("target {}: {}, {}\n", target.iqn, initiators(target), authentication(&target.auth));
        for lun in &target.luns {
            text += &unit(lun);
        }
    }
    if config.targets.is_empty() {
        text += "no targets: nothing would be served\n";
    }
    text
}

fn unit(lun: &LunConfig) -> String {
    let mut text = format!("  LUN {}: {}", lun.number, lun.device);
    if let Some(size) = lun.size {
        // Writing to a string cannot fail.
        let _ = write!(text, ", {}", ByteSize(size));
    }
    let _ = write!(text, ", {}-byte blocks", lun.block_size);
    if let Some(size) = lun.physical_block_size {
        let _ = write!(text, ", {size}-byte physical blocks");
    }
    if let Some(low) = lun.low_space {
        let _ = write!(text, ", low space {low}");
    }
    let marks = [
        (lun.grow, "grow"),
        (lun.shrink, "SHRINK"),
        (lun.preallocate, "preallocate"),
        (lun.provisioning == Provisioning::Full, "fully provisioned"),
        (lun.read_only, "read-only"),
        (lun.removable, "removable"),
    ];
    for (_, mark) in marks.iter().filter(|(set, _)| *set) {
        let _ = write!(text, ", {mark}");
    }
    text.push('\n');
    text
}

fn initiators(target: &TargetConfig) -> String {
    match target.initiators.0.as_slice() {
        [] => "any initiator".into(),
        some => some.join(", "),
    }
}

fn authentication(auth: &AuthPolicy) -> &'static str {
    match auth {
        AuthPolicy::Open => "no CHAP",
        AuthPolicy::Chap { mutual: None, .. } => "CHAP",
        AuthPolicy::Chap { mutual: Some(_), .. } => "mutual CHAP",
    }
}

/// The same as an object: `valid`, `faults`, `warnings`, and `targets` when it is valid.
pub(super) fn json(file: &Path, loaded: &Result<Loaded, Faults>) -> Value {
    let findings =
        |findings: &[Finding]| findings.iter().map(|found| finding(file, found)).collect::<Value>();
    match loaded {
        Ok(loaded) => json!({
            "valid": true,
            "faults": [],
            "warnings": findings(&loaded.warnings),
            "node": *loaded.config.node.id,
            "portals": loaded.config.portals.iter().map(|portal| json!({
                "listen": portal.listen.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "advertise": portal.advertise.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "group_tag": portal.group_tag,
            })).collect::<Value>(),
            "api": loaded.config.api.as_ref().map(ToString::to_string),
            "targets": loaded.config.targets.iter().map(target).collect::<Value>(),
        }),
        Err(faults) => json!({
            "valid": false,
            "faults": findings(&faults.faults),
            "warnings": findings(&faults.warnings),
        }),
    }
}

fn finding(file: &Path, finding: &Finding) -> Value {
    let line = match finding.place {
        Place::Line(line) => Some(line),
        Place::Flag(_) | Place::File => None,
    };
    json!({ "file": file.display().to_string(), "line": line, "message": finding.message })
}

fn target(target: &TargetConfig) -> Value {
    json!({
        "name": *target.name,
        "iqn": *target.iqn,
        "alias": target.alias,
        "initiators": target.initiators.0,
        "authentication": authentication(&target.auth),
        "luns": target.luns.iter().map(|lun| {
            let identity = target.identity(lun);
            json!({
                "number": lun.number,
                "device": lun.device.to_string(),
                "size": lun.size,
                "block_size": lun.block_size,
                "physical_block_size": lun.physical_block_size,
                "grow": lun.grow,
                "shrink": lun.shrink,
                "low_space": lun.low_space.map(|space| space.to_string()),
                "preallocate": lun.preallocate,
                "provisioning": lun.provisioning.word(),
                "read_only": lun.read_only,
                "removable": lun.removable,
                "serial": identity.serial,
                "naa": format!("{:016x}", identity.naa),
            })
        }).collect::<Value>(),
    })
}
