//! Registrations and a reservation of two hosts that have to stay whatever happens to the nodes, and a third host that they keep out.

use std::collections::BTreeMap;

use super::block::BLOCK;
use super::cdb;
use super::multipath::{Failed, Multipath};
use super::site::Site;
use crate::initiator::{GOOD, Transfer};

/// WRITE EXCLUSIVE - REGISTRANTS ONLY.
const TYPE: u8 = 5;

const KEYS: [u64; 2] = [0xa11c_e000_0000_0001, 0xb0b0_0000_0000_0002];

/// Service actions.
const REGISTER_AND_IGNORE: u8 = 6;
const RESERVE: u8 = 1;
const READ_KEYS: u8 = 0;
const READ_RESERVATION: u8 = 1;

/// See the module.
pub struct Reservations {
    registrants: [Multipath; 2],
    third: Multipath,
}

impl Reservations {
    /// Registers both hosts through all portals, to last beyond the loss of power, and has the first reserve the unit through the first
    /// portal.
    pub fn establish(site: &Site) -> Result<Self, Failed> {
        let registrants = ["holder", "registrant"].map(|name| site.host(name));
        let mut this = Self { registrants, third: site.host("third") };
        for (host, key) in this.registrants.iter_mut().zip(KEYS) {
            for path in 0..site.portals.len() {
                // APTPL
                out(host, path, REGISTER_AND_IGNORE, 0, (0, key), 1)?;
            }
        }
        let [holder, _] = &mut this.registrants;
        out(holder, 0, RESERVE, TYPE, (KEYS[0], 0), 0)?;
        Ok(this)
    }

    /// What is not as it was established, through any portal.
    pub fn check(&mut self) -> Result<Vec<String>, Failed> {
        let mut faults = Vec::new();
        let [holder, other] = &mut self.registrants;
        let paths = holder.paths().len();
        let registered: BTreeMap<u64, usize> = KEYS.into_iter().map(|key| (key, paths)).collect();
        for path in 0..paths {
            let portal = holder.paths()[path].portal();
            let mut keys: BTreeMap<u64, usize> = BTreeMap::new();
            for key in list(holder, path, READ_KEYS)?.chunks_exact(8) {
                *keys.entry(word(key)).or_default() += 1;
            }
            if keys != registered {
                faults.push(format!("{portal}: the keys are {keys:x?} instead of {registered:x?}"));
            }
            let reservation = list(holder, path, READ_RESERVATION)?;
            let told = (word(&reservation), reservation.get(13).copied());
            if told != (KEYS[0], Some(TYPE)) {
                faults.push(format!("{portal}: the reservation is {reservation:02x?}"));
            }
        }
        let block = vec![0; BLOCK];
        let write = (cdb::write(0, 1), Transfer::Out(&block));
        let read = (cdb::read(0, 1), Transfer::In(BLOCK as u32));
        let third = &mut self.third;
        let mut expect =
            |who: &str, host: &mut Multipath, (cdb, transfer): ([u8; 10], Transfer<'_>), is_kept_out| {
                let found = host.conflicts(&cdb, transfer)?;
                if found.iter().any(|conflict| *conflict != is_kept_out) {
                    faults.push(format!("{who} meets a conflict at each portal: {found:?}"));
                }
                Ok(())
            };
        expect("a third host's write", third, write, true)?;
        expect("a third host's read", third, read, false)?;
        expect("the registrant's write", other, write, false)?;
        expect("the holder's write", holder, write, false)?;
        Ok(faults)
    }
}

/// PERSISTENT RESERVE OUT; `flags`: APTPL and the like.
fn out(
    host: &mut Multipath,
    path: usize,
    action: u8,
    kind: u8,
    (key, action_key): (u64, u64),
    flags: u8,
) -> Result<(), Failed> {
    let mut list = [0; 24];
    list[..8].copy_from_slice(&key.to_be_bytes());
    list[8..16].copy_from_slice(&action_key.to_be_bytes());
    list[20] = flags;
    let cdb = [0x5f, action, kind, 0, 0, 0, 0, 0, 24, 0];
    let answer = host.run_on(path, &cdb, Transfer::Out(&list))?;
    assert_eq!(answer.end.status, GOOD, "PERSISTENT RESERVE OUT {action}: {:02x?}", answer.end);
    Ok(())
}

/// The list that PERSISTENT RESERVE IN gives.
fn list(host: &mut Multipath, path: usize, action: u8) -> Result<Vec<u8>, Failed> {
    let cdb = [0x5e, action, 0, 0, 0, 0, 0, 0x10, 0, 0];
    let data = host.run_on(path, &cdb, Transfer::In(4096))?.end.good();
    Ok(data.get(8..).unwrap_or_default().to_vec())
}

fn word(bytes: &[u8]) -> u64 {
    bytes.get(..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes)
}
