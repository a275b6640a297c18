//! Every row's reservation class against the standards' tables of what is allowed in the presence of a reservation.

use super::fields::Fields;
use super::row::ReservationClass::{self, Exempt, Persistent, Read, Release, Reserve, Tolerant, Write};
use super::table::Table;
use crate::testing::RamDevice;

/// SPC-5 table 68 and SBC-4 table 13 by operation code and service action. In their columns [`Tolerant`] and [`Exempt`] are "allowed" all
/// through, [`Read`] conflicts with exclusive access of others, [`Write`] with any persistent reservation of others. `Exempt` are those
/// that SPC-2 lets past RESERVE too.
const STANDARD: &[(u8, Option<u16>, ReservationClass)] = &[
    (0x00, None, Tolerant), // TEST UNIT READY
    (0x03, None, Exempt),   // REQUEST SENSE
    (0x04, None, Write),    // FORMAT UNIT
    (0x08, None, Read),     // READ(6)
    (0x0a, None, Write),    // WRITE(6)
    (0x12, None, Exempt),   // INQUIRY
    (0x15, None, Write),    // MODE SELECT(6)
    (0x16, None, Reserve),
    (0x17, None, Release),
    (0x1a, None, Read),     // MODE SENSE(6)
    (0x1c, None, Read),     // RECEIVE DIAGNOSTIC RESULTS
    (0x1d, None, Write),    // SEND DIAGNOSTIC
    (0x25, None, Tolerant), // READ CAPACITY(10)
    (0x28, None, Read),
    (0x2a, None, Write),
    (0x2e, None, Write),       // WRITE AND VERIFY(10)
    (0x2f, None, Read),        // VERIFY(10)
    (0x34, None, Read),        // PRE-FETCH(10)
    (0x35, None, Write),       // SYNCHRONIZE CACHE(10)
    (0x37, None, Read),        // READ DEFECT DATA(10)
    (0x3b, None, Write),       // WRITE BUFFER
    (0x3c, None, Read),        // READ BUFFER(10)
    (0x41, None, Write),       // WRITE SAME(10)
    (0x42, None, Write),       // UNMAP
    (0x48, Some(0x01), Write), // SANITIZE
    (0x48, Some(0x02), Write),
    (0x48, Some(0x03), Write),
    (0x48, Some(0x1f), Write),
    (0x4c, None, Write),  // LOG SELECT
    (0x4d, None, Exempt), // LOG SENSE
    (0x55, None, Write),  // MODE SELECT(10)
    (0x56, None, Reserve),
    (0x57, None, Release),
    (0x5a, None, Read), // MODE SENSE(10)
    (0x88, None, Read),
    (0x89, None, Write), // COMPARE AND WRITE
    (0x8a, None, Write),
    (0x8b, None, Write), // ORWRITE(16)
    (0x8e, None, Write),
    (0x8f, None, Read),
    (0x90, None, Read),
    (0x91, None, Write),
    (0x93, None, Write),          // WRITE SAME(16)
    (0x9b, None, Read),           // READ BUFFER(16)
    (0x9c, None, Write),          // WRITE ATOMIC(16)
    (0x9e, Some(0x10), Tolerant), // READ CAPACITY(16)
    (0x9e, Some(0x12), Read),     // GET LBA STATUS(16)
    (0xa0, None, Exempt),         // REPORT LUNS
    (0xa3, Some(0x05), Tolerant), // REPORT IDENTIFYING INFORMATION
    (0xa3, Some(0x0a), Exempt),   // REPORT TARGET PORT GROUPS
    (0xa3, Some(0x0c), Read),     // REPORT SUPPORTED OPERATION CODES
    (0xa3, Some(0x0d), Read),     // REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS
    (0xa3, Some(0x0e), Tolerant), // REPORT PRIORITY
    (0xa3, Some(0x0f), Tolerant), // REPORT TIMESTAMP
    (0xa4, Some(0x06), Write),    // SET IDENTIFYING INFORMATION
    (0xa4, Some(0x0a), Write),    // SET TARGET PORT GROUPS
    (0xa4, Some(0x0e), Write),    // SET PRIORITY
    (0xa4, Some(0x0f), Write),    // SET TIMESTAMP
    (0xa8, None, Read),
    (0xaa, None, Write),
    (0xae, None, Write),
    (0xaf, None, Read),
    (0xb7, None, Read), // READ DEFECT DATA(12)
];

/// Where operation codes with many service actions, or a CDB's bits, decide.
fn standard(opcode: u8, service_action: Option<u16>, cdb: &[u8]) -> Option<ReservationClass> {
    let bits = |at: usize, mask: u8| cdb.get(at).map_or(0, |byte| byte & mask);
    match opcode {
        // START STOP UNIT: START one, POWER CONDITION zero; or anything else.
        0x1b => Some(if bits(4, 0xf1) == 0x01 { Tolerant } else { Write }),
        // PREVENT ALLOW MEDIUM REMOVAL: PREVENT zero; or not.
        0x1e => Some(if bits(4, 0x03) == 0 { Tolerant } else { Write }),
        0x5e | 0x5f => Some(Persistent),
        // EXTENDED COPY, POPULATE TOKEN, WRITE USING TOKEN, COPY OPERATION ABORT; the RECEIVE commands that go with them.
        0x83 => Some(if service_action == Some(0x10) { Read } else { Write }),
        0x84 => Some(Write),
        // Variable length: READ(32) and VERIFY(32) read, all others write.
        0x7f => Some(if matches!(service_action, Some(0x09 | 0x0a)) { Read } else { Write }),
        _ => STANDARD
            .iter()
            .find(|(own, action, _)| (*own, *action) == (opcode, service_action))
            .map(|(_, _, class)| *class),
    }
}

#[test]
fn all_rows_are_classified_as_the_standards_say() {
    let mut faults = Vec::new();
    for row in Table::<RamDevice>::rows() {
        for byte in 0..=0xff_u8 {
            let mut cdb = vec![0; row.usage.len()];
            cdb[4] = byte;
            let expected = standard(row.opcode, row.service_action, &cdb);
            let own = row.reservation.of(Fields(&cdb));
            if expected != Some(own) {
                faults.push(format!("{} ({:02x?}): {own:?}, not {expected:?}", row.name, cdb));
                break;
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
