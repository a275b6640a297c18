//! Log pages (SPC-5 7.3). A page is one row: its code, and how its parameters come from the unit.

use super::{asc, limits};
use crate::device::{BlockDevice, Space};
use crate::lun::self_tests::{RESULTS, SelfTest};
use crate::lun::statistics::{Statistics, Tally};
use crate::lun::unit::LogicalUnit;
use std::marker::PhantomData;

/// FORMAT AND LINKING of the parameter control byte (SPC-5 7.3.2.2.2). With it goes TSD: no parameter is ever saved.
const BOUNDED_COUNTER: u8 = 0x20;
const BINARY_LIST: u8 = 0x23;

/// TEMPERATURE that is not known (SPC-5 7.3.21).
const UNKNOWN_TEMPERATURE: u8 = 0xff;

/// A log parameter.
pub struct Parameter {
    /// PARAMETER CODE.
    pub code: u16,
    control: u8,
    value: Vec<u8>,
}

impl Parameter {
    fn list(code: u16, value: impl Into<Vec<u8>>) -> Self {
        Self { code, control: BINARY_LIST, value: value.into() }
    }

    /// Appends it; a counter that is to be told by its default is zero.
    pub fn push(&self, data: &mut Vec<u8>, by_default: bool) {
        data.extend_from_slice(&self.code.to_be_bytes());
        data.extend_from_slice(&[self.control, self.value.len() as u8]); // constant and small
        match by_default && self.control == BOUNDED_COUNTER {
            true => data.resize(data.len() + self.value.len(), 0),
            false => data.extend_from_slice(&self.value),
        }
    }
}

/// What a page is made of.
pub enum Contents<D> {
    /// The codes of all pages.
    Pages,
    /// Counters, which can be reset.
    Counters(fn(&Statistics) -> &Tally),
    /// Parameters without thresholds, which nobody changes.
    List(fn(&LogicalUnit<D>) -> Vec<Parameter>),
}

/// A log page with subpage 00h.
pub struct LogPage<D> {
    /// PAGE CODE.
    pub code: u8,
    /// What it is made of.
    pub contents: Contents<D>,
}

/// The pages of units over devices of type `D`.
pub struct LogPages<D>(PhantomData<D>);

impl<D: BlockDevice> LogPages<D> {
    /// In ascending order of the page code (SPC-5 7.3.18).
    pub const ROWS: &'static [LogPage<D>] = &[
        LogPage { code: 0x00, contents: Contents::Pages },
        // Write Error Counters (SPC-5 7.3.24).
        LogPage { code: 0x02, contents: Contents::Counters(|statistics| &statistics.written) },
        // Read Error Counters (SPC-5 7.3.15).
        LogPage { code: 0x03, contents: Contents::Counters(|statistics| &statistics.read) },
        LogPage { code: 0x0c, contents: Contents::List(logical_block_provisioning) },
        // Temperature (SPC-5 7.3.21): a unit without a body has none.
        LogPage {
            code: 0x0d,
            contents: Contents::List(|_| vec![Parameter::list(0, [0, UNKNOWN_TEMPERATURE])]),
        },
        // Start-Stop Cycle Counter (SPC-5 7.3.17): the cycles of a unit without a spindle are those of its medium, in and out.
        LogPage {
            code: 0x0e,
            contents: Contents::List(|unit| vec![Parameter::list(4, unit.medium().loads().to_be_bytes())]),
        },
        LogPage { code: 0x10, contents: Contents::List(self_test_results) },
        LogPage { code: 0x2f, contents: Contents::List(informational_exceptions) },
    ];

    /// The page of this code.
    pub fn find(code: u8) -> Option<&'static LogPage<D>> {
        Self::ROWS.iter().find(|page| page.code == code)
    }
}

/// The parameters of an error counter page (SPC-5 table 392): nothing is ever corrected here, and what is not told is lost.
pub fn counters(tally: &Tally) -> Vec<Parameter> {
    let counter =
        |code, value: u64| Parameter { code, control: BOUNDED_COUNTER, value: value.to_be_bytes().to_vec() };
    vec![
        counter(0x0000, 0), // corrected without substantial delay
        counter(0x0001, 0), // corrected with possible delays
        counter(0x0002, 0), // rewrites or rereads
        counter(0x0003, 0), // errors corrected
        counter(0x0004, 0), // times a correction algorithm was processed
        counter(0x0005, tally.bytes()),
        counter(0x0006, tally.unrecovered()),
    ]
}

/// SBC-4 6.4.5: resource counts in threshold sets, each with its scope: 01b where the resource is the unit's own, 10b where it may be
/// shared. A unit that cannot tell has all of its blocks for itself.
fn logical_block_provisioning<D: BlockDevice>(unit: &LogicalUnit<D>) -> Vec<Parameter> {
    let own =
        Space { total: 0, free: 0, used: unit.capacity() * u64::from(unit.block_size()), shared: false };
    let space = unit.space().seen().unwrap_or(own);
    let resource = |code, bytes, scope| {
        let [a, b, c, d] = limits::resource_count(unit, bytes).to_be_bytes();
        Parameter::list(code, [a, b, c, d, scope, 0, 0, 0])
    };
    vec![
        resource(0x0001, space.free, if space.shared { 0b10 } else { 0b01 }), // available LBA mapping resources
        resource(0x0002, space.used, 0b01),                                   // used LBA mapping resources
    ]
}

/// SPC-5 7.3.16.
fn self_test_results<D: BlockDevice>(unit: &LogicalUnit<D>) -> Vec<Parameter> {
    let results = unit.self_tests().results();
    let slots = results.iter().map(Some).chain(std::iter::repeat(None));
    (1..=RESULTS as u16).zip(slots).map(|(code, result)| Parameter::list(code, self_test(result))).collect()
}

/// One result; all zeros where there is none.
fn self_test(result: Option<&SelfTest>) -> [u8; 16] {
    let mut value = [0; 16];
    if let Some(test) = result {
        value[0] = test.code << 5 | test.verdict as u8;
        value[2..4].copy_from_slice(&test.hours.to_be_bytes());
        let lba = test.failure.map_or(u64::MAX, |(lba, _)| lba);
        value[4..12].copy_from_slice(&lba.to_be_bytes());
        if let Some((_, sense)) = test.failure {
            (value[12], value[13], value[14]) = (sense.key as u8, sense.asc.0, sense.asc.1);
        }
    }
    value
}

/// SPC-5 7.3.10.
fn informational_exceptions<D: BlockDevice>(unit: &LogicalUnit<D>) -> Vec<Parameter> {
    let code = match unit.modes().get().has_exception() {
        true => asc::FAILURE_PREDICTION_THRESHOLD_EXCEEDED_FALSE,
        false => asc::NO_ADDITIONAL_SENSE,
    };
    vec![Parameter::list(0, [code.0, code.1, UNKNOWN_TEMPERATURE, 0])]
}
