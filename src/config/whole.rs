//! Checks that need the whole configuration: nothing is there twice, nothing lies open unawares.

use super::endpoint::Endpoint;
use super::fault::{Findings, Place};
use super::load::Draft;
use super::model::Portal;
use super::targets::TargetDraft;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(draft: &Draft, findings: &mut Findings) {
    check_portals(draft, findings);
    check_groups(draft, findings);
    check_redirects(draft, findings);
    check_names(draft, findings);
    check_devices(draft, findings);
    warn_of_open_targets(draft, findings);
}

fn check_portals(draft: &Draft, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for portal in &draft.portals {
        for fault in portal.value.listen.iter().filter_map(Endpoint::why_not_bound) {
            findings.fault(portal.place.clone(), fault);
        }
        if portal.value.tls.is_some() && portal.value.advertise.is_empty() {
            findings.warn(
                portal.place.clone(),
                "initiators are told to connect to this portal itself, which speaks TLS; set `advertise` to where their own end of the tunnel listens",
            );
        }
        for address in portal.value.listen.iter().filter(|address| address.port != 0) {
            if !seen.insert(address.to_string()) {
                findings.fault(portal.place.clone(), format!("{address} is bound twice"));
            }
        }
    }
}

/// A target of a portal group that is not there could be reached by nobody.
fn check_groups(draft: &Draft, findings: &mut Findings) {
    let known: BTreeSet<u16> = draft.portals.iter().map(|portal| portal.value.group_tag).collect();
    for TargetDraft { target, .. } in &draft.targets {
        for group in target.value.groups.iter().filter(|group| !known.contains(group)) {
            findings.fault(target.place.clone(), format!("`groups`: no [[portal]] has group_tag = {group}"));
        }
    }
}

/// Initiators that are sent back to where they came from would go round in circles.
fn check_redirects(draft: &Draft, findings: &mut Findings) {
    for TargetDraft { target, .. } in &draft.targets {
        let Some(redirect) = &target.value.redirect else { continue };
        let own =
            |portal: &Portal| portal.listen.iter().chain(&portal.advertise).any(|own| *own == redirect.to);
        if draft.portals.iter().any(|portal| own(&portal.value)) {
            let message =
                format!("target {} is redirected to this node itself, {}", target.value.name, redirect.to);
            findings.fault(target.place.clone(), message);
        }
    }
}

fn check_names(draft: &Draft, findings: &mut Findings) {
    let mut names = BTreeMap::new();
    let mut serials = BTreeMap::new();
    for target in &draft.targets {
        let place = &target.target.place;
        let config = &target.target.value;
        if let Some(first) = names.insert(format!("name {}", config.name.to_lowercase()), place) {
            findings.fault(place.clone(), twice("the name", &config.name, first));
        } else if let Some(first) = names.insert(config.iqn.to_string(), place) {
            findings.fault(place.clone(), twice("the IQN", &config.iqn, first));
        }
        for (lun, place) in config.luns.iter().zip(&target.lun_places) {
            if let Some(serial) = &lun.serial
                && let Some(first) = serials.insert(serial.clone(), place)
            {
                findings.fault(place.clone(), twice("the serial number", serial, first));
            }
        }
    }
}

fn twice(what: &str, value: &str, first: &Place) -> String {
    format!("{what} {value} is taken already, {}; each needs its own", shown(first))
}

fn shown(place: &Place) -> String {
    match place {
        Place::Line(line) => format!("in line {line}"),
        Place::Flag(flag) => format!("by {flag}"),
        Place::File => "in the file".into(),
    }
}

/// Two units that write one file would destroy each other's data; reading one file twice is harmless.
fn check_devices(draft: &Draft, findings: &mut Findings) {
    let units: Vec<_> = draft
        .targets
        .iter()
        .flat_map(|target| target.target.value.luns.iter().zip(&target.lun_places))
        .collect();
    for (index, (lun, place)) in units.iter().enumerate() {
        let other = units
            .iter()
            .take(index)
            .find(|(other, _)| other.device.overlaps(&lun.device) && !(other.read_only && lun.read_only));
        if let Some((_, first)) = other {
            findings.fault(
                (*place).clone(),
                format!(
                    "{} is used already, {}; two units may share it only when both are read_only",
                    lun.device,
                    shown(first)
                ),
            );
        }
    }
}

fn warn_of_open_targets(draft: &Draft, findings: &mut Findings) {
    let exposed =
        draft.portals.iter().flat_map(|portal| &portal.value.listen).find(|address| !address.is_loopback());
    let Some(address) = exposed else { return };
    for target in draft.targets.iter().filter(|target| target.target.value.is_open()) {
        findings.warn(
            target.target.place.clone(),
            format!(
                "target {} has neither CHAP nor a list of `initiators` or `networks`: whoever reaches {address} may read and write it",
                target.target.value.name
            ),
        );
    }
}
