//! Mode pages (SPC-5 7.5, SBC-4 6.5). A page is one row: how its bytes come from the parameters in force, and how they are taken back. What
//! may be changed is not written down twice: it is what differs between the page with everything set and with everything clear.

use super::fields::Fields;
use super::mode_values::ModeValues;

/// A mode page.
pub struct ModePage {
    /// PAGE CODE.
    pub code: u8,
    /// SUBPAGE CODE; 0 for a page of the short format.
    pub subpage: u8,
    /// Its parameters: the bytes after PAGE LENGTH.
    render: fn(&ModeValues) -> Vec<u8>,
    /// Takes over the parameters that can be changed. The error is the offset among them of a byte whose value makes no sense.
    absorb: fn(&mut ModeValues, Fields<'_>) -> Result<(), usize>,
}

/// All pages, in ascending order.
pub const PAGES: &[ModePage] = &[
    // Read-Write Error Recovery (SBC-4 6.5.10): AWRE and ARRE, for the store below relocates by itself.
    ModePage { code: 0x01, subpage: 0, render: |_| filled(10, &[(0, 0xc0)]), absorb: |_, _| Ok(()) },
    // Disconnect-Reconnect (SPC-5 7.5.16).
    ModePage { code: 0x02, subpage: 0, render: |_| filled(14, &[]), absorb: |_, _| Ok(()) },
    // Caching (SBC-4 6.5.6): WCE.
    ModePage {
        code: 0x08,
        subpage: 0,
        render: |values| filled(18, &[(0, u8::from(values.wce) << 2)]),
        absorb: |values, page| {
            values.wce = page.bit(0, 2);
            Ok(())
        },
    },
    // Control (SPC-5 7.5.10): one task set for all nexuses (TST 000b); D_SENSE; GLTSD, for no log parameter is ever saved; QUEUE
    // ALGORITHM MODIFIER 1h, commands may be reordered; QERR 00b, an error aborts no other task; SWP; TAS; and how many seconds an
    // extended self-test takes at most.
    ModePage {
        code: 0x0a,
        subpage: 0,
        render: |values| {
            let [high, low] = EXTENDED_SELF_TEST_SECONDS.to_be_bytes();
            filled(
                10,
                &[
                    (0, u8::from(values.d_sense) << 2 | 0x02),
                    (1, 0x10),
                    (2, u8::from(values.swp) << 3),
                    (3, u8::from(values.tas) << 6),
                    (8, high),
                    (9, low),
                ],
            )
        },
        absorb: |values, page| {
            values.d_sense = page.bit(0, 2);
            values.swp = page.bit(2, 3);
            values.tas = page.bit(3, 6);
            Ok(())
        },
    },
    // Control Extension (SPC-5 7.5.11): TCMOS and SCSIP, the timestamp is the host's until SET TIMESTAMP sets another; IALUAE, the
    // access state may change by itself; INITIAL COMMAND PRIORITY.
    ModePage {
        code: 0x0a,
        subpage: 0x01,
        render: |values| filled(28, &[(0, 0x07), (1, values.initial_priority)]),
        absorb: |values, page| {
            values.initial_priority = page.u8(1) & 0x0f;
            Ok(())
        },
    },
    // Informational Exceptions Control (SPC-5 7.5.14, SBC-4 6.5.8): EWASC, DEXCPT, TEST, MRIE; an exception is reported once.
    ModePage {
        code: 0x1c,
        subpage: 0,
        render: |values| {
            let flags =
                u8::from(values.ewasc) << 4 | u8::from(values.dexcpt) << 3 | u8::from(values.test) << 2;
            filled(10, &[(0, flags), (1, values.mrie), (9, 1)])
        },
        absorb: |values, page| {
            let (dexcpt, test, mrie) = (page.bit(0, 3), page.bit(0, 2), page.u8(1) & 0x0f);
            // No exception can be both kept quiet and tried out.
            if dexcpt && test {
                return Err(0);
            }
            if !REPORTING_METHODS.contains(&mrie) {
                return Err(1);
            }
            (values.ewasc, values.dexcpt, values.test, values.mrie) = (page.bit(0, 4), dexcpt, test, mrie);
            Ok(())
        },
    },
    // Logical Block Provisioning (SBC-4 6.5.9): one threshold descriptor, of available LBA mapping resources (01h), armed decreasing.
    ModePage {
        code: 0x1c,
        subpage: 0x02,
        render: |values| {
            let mut page = filled(16, &[(12, if values.threshold > 0 { 0x80 } else { 0 }), (13, 0x01)]);
            page.extend_from_slice(&values.threshold.to_be_bytes());
            page
        },
        absorb: |_, _| Ok(()),
    },
];

/// Where the threshold descriptor begins in the Logical Block Provisioning page, its header counted.
pub const THRESHOLD_DESCRIPTOR: u64 = 16;

/// EXTENDED SELF-TEST COMPLETION TIME.
pub const EXTENDED_SELF_TEST_SECONDS: u16 = 60;

/// MRIE 0h, no reporting; 2h, a unit attention; 6h, on request by REQUEST SENSE.
pub const MRIE_UNIT_ATTENTION: u8 = 2;
/// See [`MRIE_UNIT_ATTENTION`].
pub const MRIE_ON_REQUEST: u8 = 6;
const REPORTING_METHODS: [u8; 3] = [0, MRIE_UNIT_ATTENTION, MRIE_ON_REQUEST];

/// Zeros with some bytes set.
fn filled(len: usize, bytes: &[(usize, u8)]) -> Vec<u8> {
    let mut page = vec![0; len];
    for (at, byte) in bytes {
        if let Some(place) = page.get_mut(*at) {
            *place = *byte;
        }
    }
    page
}

impl ModePage {
    /// The page for these parameters, header included; `saveable` is PS.
    pub fn page(&self, values: &ModeValues, saveable: bool) -> Vec<u8> {
        self.framed((self.render)(values), saveable)
    }

    /// The page with every bit set that can be changed, for a device with or without a volatile cache.
    pub fn changeable(&self, volatile_cache: bool, saveable: bool) -> Vec<u8> {
        self.framed(self.mask(volatile_cache), saveable)
    }

    fn mask(&self, volatile_cache: bool) -> Vec<u8> {
        let set = (self.render)(&ModeValues::extreme(true, volatile_cache));
        let clear = (self.render)(&ModeValues::extreme(false, volatile_cache));
        set.iter().zip(clear).map(|(a, b)| a ^ b).collect()
    }

    fn framed(&self, parameters: Vec<u8>, saveable: bool) -> Vec<u8> {
        let length = parameters.len() as u16; // constant and small
        let [high, low] = length.to_be_bytes();
        let code = self.code | if saveable { 0x80 } else { 0 };
        let mut page = match self.subpage {
            0 => vec![code, low],
            subpage => vec![0x40 | code, subpage, high, low],
        };
        page.extend(parameters);
        page
    }

    /// Takes over parameters. The error is the offset in the page of a byte at fault: PAGE LENGTH, a byte that differs from what is in
    /// force though it cannot be changed (SPC-5 6.14), or one whose value makes no sense.
    pub fn absorb(
        &self,
        values: &mut ModeValues,
        parameters: &[u8],
        volatile_cache: bool,
    ) -> Result<(), usize> {
        let now = (self.render)(values);
        let mask = self.mask(volatile_cache);
        let (length_at, header) = match self.subpage {
            0 => (1, 2),
            _ => (2, 4),
        };
        if parameters.len() != now.len() {
            return Err(length_at);
        }
        let fault =
            parameters.iter().zip(&now).zip(&mask).position(|((new, now), mask)| (new ^ now) & !mask != 0);
        let absorbed = match fault {
            Some(at) => Err(at),
            None => (self.absorb)(values, Fields(parameters)),
        };
        absorbed.map_err(|at| header + at)
    }

    /// Takes over of saved parameters what can be changed, and leaves all else as it is: what they were saved by may have known other
    /// ones. Nothing is taken over that makes no sense today.
    pub fn recall(&self, values: &mut ModeValues, parameters: &[u8], volatile_cache: bool) {
        let now = (self.render)(values);
        let mask = self.mask(volatile_cache);
        let saved = parameters.iter().copied().chain(std::iter::repeat(0));
        let mixed: Vec<u8> =
            now.iter().zip(&mask).zip(saved).map(|((now, mask), saved)| now & !mask | saved & mask).collect();
        let mut recalled = *values;
        if parameters.len() >= now.len() && (self.absorb)(&mut recalled, Fields(&mixed)).is_ok() {
            *values = recalled;
        }
    }
}

/// One mode page of a list: where it begins, and its parameters.
pub struct Found<'a> {
    /// Offset of the header.
    pub at: usize,
    /// The page, or none of this code.
    pub page: Option<&'static ModePage>,
    /// What comes after PAGE LENGTH.
    pub parameters: &'a [u8],
}

/// Cuts a list of mode pages from `at` on; the error is that the list ends within a page.
pub fn cut(list: &[u8], mut at: usize) -> impl Iterator<Item = Result<Found<'_>, ()>> {
    std::iter::from_fn(move || {
        let rest = list.get(at..).filter(|rest| !rest.is_empty()).map(Fields)?;
        let code = rest.u8(0) & 0x3f;
        let (subpage, header, length) = match rest.bit(0, 6) {
            true => (rest.u8(1), 4, usize::from(rest.u16(2))),
            false => (0, 2, usize::from(rest.u8(1))),
        };
        let Some(parameters) = rest.0.get(header..header + length) else {
            at = list.len();
            return Some(Err(()));
        };
        let page = PAGES.iter().find(|page| page.code == code && page.subpage == subpage);
        let found = Found { at, page, parameters };
        at += header + length;
        Some(Ok(found))
    })
}
