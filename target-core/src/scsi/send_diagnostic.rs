//! SEND DIAGNOSTIC (SPC-5 6.42) and RECEIVE DIAGNOSTIC RESULTS (6.28). A self-test reads blocks and changes nothing, so that DEVOFFL and
//! UNITOFFL make no difference. It is short enough to be over when the command ends, in the background mode too: that differs in that
//! only the Self-Test Results log page tells what came of it.

use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::{Fault, Sense, SenseKey};
use super::{asc, blocks, read_capacity};
use crate::device::BlockDevice;
use crate::lun::self_tests::Verdict;
use std::collections::BTreeSet;

/// SELF-TEST CODE (SPC-5 table 319).
const BACKGROUND_SHORT: u8 = 0b001;
const BACKGROUND_EXTENDED: u8 = 0b010;
const ABORT_BACKGROUND: u8 = 0b100;
const FOREGROUND_SHORT: u8 = 0b101;
const FOREGROUND_EXTENDED: u8 = 0b110;

/// Blocks that a self-test reads, spread over the medium.
const SHORT: u64 = 4;
const EXTENDED: u64 = 1024;

/// The Supported Diagnostic Pages page (SPC-5 7.2.2), which is the only one.
const SUPPORTED_PAGES: [u8; 5] = [0, 0, 0, 1, 0];

/// With SELFTEST, reads the last block; with a SELF-TEST CODE, more blocks; with a page, there is nothing to do before its results are
/// asked for.
pub fn send_diagnostic<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let (cdb, unit) = (request.cdb(), request.unit);
        let (code, self_test, length) = (cdb.u8(1) >> 5, cdb.bit(1, 2), cdb.u16(3));
        if (self_test || code != 0) && length != 0 {
            return Err(Sense::invalid_field_in_cdb(3, 7).into());
        }
        if self_test && code != 0 {
            return Err(Sense::invalid_field_in_cdb(1, 7).into());
        }
        match code {
            0 if self_test => default_self_test(request).await?,
            0 if length != 0 => page(request)?,
            0 => {}
            BACKGROUND_SHORT | FOREGROUND_SHORT => run(request, code, SHORT).await?,
            BACKGROUND_EXTENDED | FOREGROUND_EXTENDED => run(request, code, EXTENDED).await?,
            ABORT_BACKGROUND if unit.self_tests().stop() => {}
            _ => return Err(Sense::invalid_field_in_cdb(1, 7).into()),
        }
        Ok(Reply::good())
    })
}

/// Tells which pages there are: with PCV whatever page is asked for, without it what the last SEND DIAGNOSTIC asked for, both of which can
/// only be page 00h.
pub fn receive_diagnostic_results<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    match (request.cdb().bit(1, 0), request.cdb().u8(2)) {
        (true, 0) | (false, _) => Ok(Reply::data(SUPPORTED_PAGES.to_vec())),
        (true, _) => Err(Sense::invalid_field_in_cdb(2, 7).into()),
    }
}

/// A parameter list has to be page 00h, whole.
fn page<D: BlockDevice>(request: &Request<'_, D>) -> Result<(), Sense> {
    if !request.cdb().bit(1, 4) {
        // PF zero: vendor specific, and there is no such list here.
        return Err(Sense::invalid_field_in_cdb(1, 4));
    }
    let list = request.parameter_list()?;
    let fields = super::fields::Fields(&list);
    if list.len() < 4 + usize::from(fields.u16(2)) || list.len() < 4 {
        // SPC-5 table 320: a page that is cut.
        return Err(Sense::invalid_field_in_cdb(3, 7));
    }
    match (fields.u8(0), fields.u16(2)) {
        (0, 0) => Ok(()),
        (0, _) => Err(Sense::invalid_field_in_parameters(2)),
        _ => Err(Sense::invalid_field_in_parameters(0)),
    }
}

async fn default_self_test<D: BlockDevice>(request: &Request<'_, D>) -> Result<(), Fault> {
    match request.unit.capacity() > 0 && request.unit.medium().is_loaded() {
        true => probe(request, read_capacity::last_block(request.unit)).await,
        false => Ok(()),
    }
}

async fn probe<D: BlockDevice>(request: &Request<'_, D>, block: u64) -> Result<(), Fault> {
    blocks::probe(request, request.bytes(&(block..block + 1))).await
}

/// Reads `count` blocks from the first to the last.
async fn run<D: BlockDevice>(request: &Request<'_, D>, code: u8, count: u64) -> Result<(), Fault> {
    let unit = request.unit;
    let hours = unit.clock().power_on_hours();
    let Some(test) = unit.self_tests().begin(code, hours) else {
        return Err(Sense::new(SenseKey::NotReady, asc::NOT_READY_SELF_TEST_IN_PROGRESS).into());
    };
    for block in spread(unit.capacity(), count) {
        if test.is_stopped() {
            test.end(Verdict::AbortedOnDemand, None);
            return Ok(());
        }
        // An abort drops the test.
        request.pause().await?;
        match probe(request, block).await {
            Ok(()) => {}
            Err(Fault::Check(sense)) => {
                test.end(Verdict::Failed, Some((block, sense)));
                let failed = Sense::new(SenseKey::HardwareError, asc::LOGICAL_UNIT_FAILED_SELF_TEST);
                return match code {
                    FOREGROUND_SHORT | FOREGROUND_EXTENDED => Err(failed.into()),
                    _ => Ok(()),
                };
            }
            Err(other) => return Err(other),
        }
    }
    test.end(Verdict::Passed, None);
    Ok(())
}

/// At most `count` blocks, evenly spread, the first and the last among them.
fn spread(capacity: u64, count: u64) -> BTreeSet<u64> {
    let last = u128::from(capacity.saturating_sub(1));
    let intervals = u128::from(count.max(2) - 1);
    let at = |step: u64| (last * u128::from(step) / intervals) as u64;
    (0..count).map(at).filter(|block| *block < capacity).collect()
}

#[cfg(test)]
#[path = "diagnostic_tests.rs"]
mod tests;
