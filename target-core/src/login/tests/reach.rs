//! Targets that are not for everyone: by network, by portal group, and those that are found elsewhere.

use super::bench::{CHAP, Lab, ONE_WAY, OPEN, PRIVATE, SHARED, login_to, request};
use super::text_phase::{Talk, told};
use crate::login::catalog::{Redirect, TargetEntry, Whereabouts};
use crate::login::parameters::Offer;
use crate::login::{LoginFailure, Step};

const ELSEWHERE: &str = "[2001:db8::9]:3260";

fn moved(permanent: bool) -> impl Fn(&mut TargetEntry) {
    move |entry| entry.whereabouts = Whereabouts::Moved(Redirect { address: ELSEWHERE.into(), permanent })
}

/// Class and detail of the refusal of a login to `target` by `initiator`, and the text that goes with it.
fn refused(lab: Lab, initiator: &str, target: &str, stage: u8) -> (u8, u8, String) {
    let mut login = login_to(lab, Offer::default());
    let said = format!("InitiatorName={initiator} TargetName={target}");
    match login.handle(request(stage, None, &said)) {
        Step::Fail(response) => {
            assert!(!response.transit && !response.continues);
            assert_eq!((response.current_stage, response.tsih), (stage, 0));
            let text = String::from_utf8(response.data.to_vec()).expect("UTF-8");
            (response.status_class, response.status_detail, text)
        }
        other => panic!("expected a refusal, not {other:?}"),
    }
}

#[test]
fn a_target_that_moved_tells_its_address() {
    let told = format!("TargetAddress={ELSEWHERE}\0");
    for (permanent, detail) in [(false, 1), (true, 2)] {
        // Before anything is to be proved, too: CHAP has a secret, and asks for no response.
        for (target, stage) in [(OPEN, 0), (OPEN, 1), (CHAP, 0)] {
            let lab = Lab::changed(target, moved(permanent));
            assert_eq!(refused(lab, "iqn.x:y", target, stage), (1, detail, told.clone()), "{target} {stage}");
        }
    }
}

/// Nobody is sent on while commands may still be written here; and whoever comes is to come again, not to give up.
#[test]
fn a_target_that_is_about_to_move_is_unavailable() {
    let lab = || Lab::changed(OPEN, |entry| entry.whereabouts = Whereabouts::Moving);
    assert_eq!(refused(lab(), "iqn.x:y", OPEN, 0), (3, 1, String::new()));
    assert_eq!(
        Talk::new(lab(), "iqn.x:y", None).ask("SendTargets=All"),
        told(&[OPEN, CHAP, ONE_WAY, SHARED])
    );
}

#[test]
fn only_who_may_see_a_target_is_told_where_it_went() {
    let lab = || Lab::changed(PRIVATE, moved(true));
    assert_eq!(refused(lab(), "iqn.x:y", PRIVATE, 1), (2, 2, String::new()));
    assert_eq!(refused(lab(), "iqn.2026-12.bar:vm", PRIVATE, 1).0, 1);
    let foreign = Lab::changed(OPEN, |entry| {
        moved(true)(entry);
        entry.lets_in_network = false;
    });
    assert_eq!(refused(foreign, "iqn.x:y", OPEN, 1), (2, 2, String::new()));
}

#[test]
fn a_target_that_moved_is_still_told_of() {
    let mut talk = Talk::new(Lab::changed(OPEN, moved(false)), "iqn.x:y", None);
    assert_eq!(talk.ask("SendTargets=All"), told(&[OPEN, CHAP, ONE_WAY, SHARED]));
}

#[test]
fn a_foreign_network_sees_nothing_of_a_target() {
    let lab = || Lab::changed(CHAP, |entry| entry.lets_in_network = false);
    assert_eq!(refused(lab(), "iqn.x:y", CHAP, 0), (2, 2, String::new()));
    let mut talk = Talk::new(lab(), "iqn.x:y", None);
    assert_eq!(talk.ask("SendTargets=All"), told(&[OPEN, ONE_WAY, SHARED]));
    assert_eq!(talk.ask(&format!("SendTargets={CHAP}")), "");
}

#[test]
fn a_target_of_another_portal_group_is_told_of_and_not_found_here() {
    let lab = || Lab::changed(ONE_WAY, |entry| entry.served_here = false);
    let mut login = login_to(lab(), Offer::default());
    let said = format!("InitiatorName=iqn.x:y TargetName={ONE_WAY}");
    assert!(matches!(login.handle(request(0, None, &said)), Step::Fail(_)));
    assert_eq!(login.failure(), Some(LoginFailure::TargetNotFound));
    let mut talk = Talk::new(lab(), "iqn.x:y", None);
    assert_eq!(talk.ask("SendTargets=All"), told(&[OPEN, CHAP, ONE_WAY, SHARED]));
}

/// An initiator would take a target without an address to be where it asks.
#[test]
fn a_target_without_an_address_is_not_told_of() {
    let lab = Lab::changed(SHARED, |entry| entry.addresses.clear());
    let mut talk = Talk::new(lab, "iqn.x:y", None);
    assert_eq!(talk.ask("SendTargets=All"), told(&[OPEN, CHAP, ONE_WAY]));
}
