//! What a configuration would serve, for people and for machines.

use crate::config::{
    ByteSize, ClientCertificates, ClusterConfig, Config, Faults, Finding, Loaded, LunConfig, Place, Portal,
    Provisioning, TargetConfig, named_limits, shared_name,
};
use glint_target_core::login::catalog::AuthPolicy;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// One line for each portal, target and unit.
pub(super) fn summary(config: &Config) -> String {
    let mut text = format!("node {}\n", config.node.id);
    if let Some(cluster) = &config.cluster {
        text += &format!("store {}, internal address {}", cluster.store, cluster.internal);
        if let Some(advertise) = &cluster.internal_advertise {
            text += &format!(", advertised as {advertise}");
        }
        text += &format!(", commands wait {:?} for an owner\n", cluster.hold);
    }
    for portal in &config.portals {
        let (listen, advertise) = (strings(&portal.listen), strings(&portal.advertise));
        text += &format!("portal {} (group {}), {}", listen.join(", "), portal.group_tag, security(portal));
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
        text += &format!("target {}: {}, {}", target.iqn, initiators(target), authentication(&target.auth));
        if !target.groups.is_empty() {
            text += &format!(", by {}", listed("group", &target.groups));
        }
        if let Some(redirect) = &target.redirect {
            let how = if redirect.permanent { "for good" } else { "for now" };
            text += &format!(", redirected {how} to {}", redirect.to);
        }
        text.push('\n');
        for lun in &target.luns {
            text += &unit(lun, config.cluster.as_ref().map(|_| shared_name(target, lun)));
        }
    }
    if config.targets.is_empty() {
        text += "no targets: nothing would be served\n";
    }
    text
}

/// A line about a unit, and how the nodes know it where there are several.
fn unit(lun: &LunConfig, shared: Option<String>) -> String {
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
    for limit in named_limits(lun.limits) {
        let ((name, _), [most, burst]) = (limit.keys, limit.shown);
        let _ = write!(text, ", {name} {most} (burst {burst})");
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
    if let Some(name) = shared {
        let _ = write!(text, ", shared as {name}");
    }
    text.push('\n');
    text
}

fn initiators(target: &TargetConfig) -> String {
    let names = match target.initiators.0.as_slice() {
        [] => "any initiator".into(),
        some => some.join(", "),
    };
    match target.networks.as_slice() {
        [] => names,
        networks => format!("{names} from {}", strings(networks).join(", ")),
    }
}

fn listed(what: &str, numbers: &[u16]) -> String {
    let plural = if numbers.len() > 1 { "s" } else { "" };
    format!("{what}{plural} {}", strings(numbers).join(", "))
}

fn strings<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

fn security(portal: &Portal) -> &'static str {
    match portal.tls.as_ref().map(|tls| tls.clients) {
        None => "no TLS",
        Some(ClientCertificates::NotAsked) => "TLS",
        Some(ClientCertificates::Optional) => "TLS, client certificates optional",
        Some(ClientCertificates::Required) => "TLS, client certificates required",
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
            "cluster": loaded.config.cluster.as_ref().map(cluster),
            "portals": loaded.config.portals.iter().map(|portal| json!({
                "listen": strings(&portal.listen),
                "advertise": strings(&portal.advertise),
                "group_tag": portal.group_tag,
                "security": security(portal),
            })).collect::<Value>(),
            "api": loaded.config.api.as_ref().map(ToString::to_string),
            "targets": loaded.config.targets.iter().map(|each| target(each, loaded.config.cluster.is_some())).collect::<Value>(),
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

/// By the keys of the configuration; those that there are.
fn limits(lun: &LunConfig) -> Value {
    let pairs = named_limits(lun.limits).flat_map(|named| {
        let (most, burst) = named.keys;
        [(most.to_owned(), json!(named.limit.rate)), (burst.to_owned(), json!(named.limit.burst))]
    });
    Value::Object(pairs.collect())
}

fn cluster(cluster: &ClusterConfig) -> Value {
    json!({
        "node": cluster.node.as_str(),
        "store": cluster.store.to_string(),
        "internal": cluster.internal.to_string(),
        "internal_advertise": cluster.internal_advertise.as_ref().map(ToString::to_string),
        "hold_milliseconds": u64::try_from(cluster.hold.as_millis()).unwrap_or(u64::MAX),
    })
}

fn target(target: &TargetConfig, is_shared: bool) -> Value {
    json!({
        "name": *target.name,
        "iqn": *target.iqn,
        "alias": target.alias,
        "initiators": target.initiators.0,
        "networks": strings(&target.networks),
        "groups": target.groups,
        "redirect": target.redirect.as_ref().map(|redirect| json!({
            "to": redirect.to.to_string(),
            "permanent": redirect.permanent,
        })),
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
                "limits": limits(lun),
                "preallocate": lun.preallocate,
                "provisioning": lun.provisioning.word(),
                "read_only": lun.read_only,
                "removable": lun.removable,
                "shared_name": is_shared.then(|| shared_name(target, lun)),
                "serial": identity.serial,
                "naa": format!("{:016x}", identity.naa),
            })
        }).collect::<Value>(),
    })
}
