//! False histories, each of which it has to find, and true ones that look odd.

use super::*;

fn wrote(ledger: &Ledger) -> u64 {
    let claim = ledger.claim(0..1, 1).unwrap();
    let sequence = claim.stamps[0].sequence;
    ledger.acknowledge(claim, "");
    sequence
}

fn doubted(ledger: &Ledger) -> u64 {
    let claim = ledger.claim(0..1, 1).unwrap();
    let sequence = claim.stamps[0].sequence;
    ledger.doubt(claim, "");
    sequence
}

fn content(sequence: u64) -> Content {
    match sequence {
        0 => Content::Blank,
        _ => Content::Written(Stamp { block: 0, sequence, writer: 1 }),
    }
}

/// What is wrong with a read that begins and ends now.
fn read(ledger: &Ledger, sequence: u64) -> Option<Wrong> {
    let floors = ledger.before_read(0..1);
    ledger.after_read(&floors, &[content(sequence)], "");
    let (count, mut faults) = ledger.take_faults();
    assert_eq!(count, faults.len());
    faults.pop().map(|fault| fault.wrong)
}

#[test]
fn a_lost_write_is_found() {
    let ledger = Ledger::new(1);
    assert_eq!(read(&ledger, 0), None);
    wrote(&ledger);
    assert_eq!(read(&ledger, 0), Some(Wrong::Lost { found: 0, acknowledged: 1 }));
    assert_eq!(read(&ledger, 1), None);
    wrote(&ledger);
    assert_eq!(read(&ledger, 1), Some(Wrong::Lost { found: 1, acknowledged: 2 }));
}

#[test]
fn a_stale_read_is_found_though_nothing_was_acknowledged() {
    let ledger = Ledger::new(1);
    wrote(&ledger);
    doubted(&ledger);
    // It may be done or not, and it may be done later.
    assert_eq!(read(&ledger, 1), None);
    assert_eq!(read(&ledger, 2), None);
    assert_eq!(read(&ledger, 1), Some(Wrong::WentBack { found: 1, seen: 2 }));
}

/// The first try of a write that was repeated elsewhere lands after the write that came next.
#[test]
fn a_write_that_is_executed_twice_is_found() {
    let ledger = Ledger::new(1);
    let repeated = wrote(&ledger);
    let next = wrote(&ledger);
    assert_eq!(read(&ledger, next), None);
    assert_eq!(read(&ledger, repeated), Some(Wrong::Lost { found: 1, acknowledged: 2 }));
}

/// One that became an I/O error must not come about once a later one was acknowledged.
#[test]
fn a_write_that_lands_late_is_found() {
    let ledger = Ledger::new(1);
    let doubtful = doubted(&ledger);
    let next = wrote(&ledger);
    assert_eq!(read(&ledger, next), None);
    assert!(read(&ledger, doubtful).is_some());
}

#[test]
fn a_read_beside_a_write_may_give_either() {
    let ledger = Ledger::new(1);
    wrote(&ledger);
    let floors = ledger.before_read(0..1);
    let claim = ledger.claim(0..1, 1).unwrap();
    assert_eq!(read(&ledger, 1), None);
    assert_eq!(read(&ledger, 2), None);
    ledger.acknowledge(claim, "");
    // It began before the write was acknowledged and before anybody had seen it.
    ledger.after_read(&floors, &[content(1)], "");
    assert_eq!(ledger.take_faults().0, 0);
    assert!(read(&ledger, 1).is_some());
}

#[test]
fn what_nobody_wrote_is_found() {
    let ledger = Ledger::new(2);
    wrote(&ledger);
    assert_eq!(read(&ledger, 2), Some(Wrong::Unsent { found: 2, sent: 1 }));
    let other = Content::Written(Stamp { block: 1, sequence: 1, writer: 1 });
    for content in [other, Content::Damaged] {
        let floors = ledger.before_read(0..1);
        ledger.after_read(&floors, &[content], "");
        assert_eq!(ledger.take_faults().1[0].wrong, Wrong::Foreign(content));
    }
}

#[test]
fn a_block_has_one_write_at_a_time() {
    let ledger = Ledger::new(4);
    let claim = ledger.claim(2..4, 1).unwrap();
    assert!(ledger.claim(0..3, 2).is_none());
    // What was claimed in vain was not sent.
    let floors = ledger.before_read(0..1);
    ledger.after_read(&floors, &[content(1)], "");
    assert_eq!(ledger.take_faults().1[0].wrong, Wrong::Unsent { found: 1, sent: 0 });
    ledger.doubt(claim, "");
    let all = ledger.claim(0..4, 2).unwrap();
    let sequences: Vec<_> = all.stamps.iter().map(|stamp| stamp.sequence).collect();
    assert_eq!(sequences, [1, 1, 2, 2]);
    assert_eq!(all.bytes().len(), 4 * crate::torture::block::BLOCK);
    ledger.acknowledge(all, "");
}
