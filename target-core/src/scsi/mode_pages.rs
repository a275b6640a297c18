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
    /// Takes over the parameters that can be changed.
    absorb: fn(&mut ModeValues, Fields<'_>),
}

/// All pages, in ascending order.
pub const PAGES: &[ModePage] = &[
    // Read-Write Error Recovery (SBC-4 6.5.10): AWRE and ARRE, for the store below relocates by itself.
    ModePage { code: 0x01, subpage: 0, render: |_| filled(10, &[(0, 0xc0)]), absorb: |_, _| {} },
    // Disconnect-Reconnect (SPC-5 7.5.16).
    ModePage { code: 0x02, subpage: 0, render: |_| filled(14, &[]), absorb: |_, _| {} },
    // Caching (SBC-4 6.5.6): WCE.
    ModePage {
        code: 0x08,
        subpage: 0,
        render: |values| filled(18, &[(0, u8::from(values.wce) << 2)]),
        absorb: |values, page| values.wce = page.bit(0, 2),
    },
    // Control (SPC-5 7.5.10): D_SENSE; QUEUE ALGORITHM MODIFIER 1h, commands may be reordered; SWP; TAS.
    ModePage {
        code: 0x0a,
        subpage: 0,
        render: |values| {
            filled(
                10,
                &[
                    (0, u8::from(values.d_sense) << 2),
                    (1, 0x10),
                    (2, u8::from(values.swp) << 3),
                    (3, u8::from(values.tas) << 6),
                ],
            )
        },
        absorb: |values, page| {
            values.d_sense = page.bit(0, 2);
            values.swp = page.bit(2, 3);
            values.tas = page.bit(3, 6);
        },
    },
    // Informational Exceptions Control (SBC-4 6.5.8): DEXCPT, there are none.
    ModePage { code: 0x1c, subpage: 0, render: |_| filled(10, &[(0, 0x08)]), absorb: |_, _| {} },
];

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
    /// The page for these parameters, header included.
    pub fn page(&self, values: &ModeValues) -> Vec<u8> {
        self.framed((self.render)(values))
    }

    /// The mask of what can be changed, as a page.
    pub fn changeable(&self, volatile_cache: bool) -> Vec<u8> {
        self.framed(self.mask(volatile_cache))
    }

    fn mask(&self, volatile_cache: bool) -> Vec<u8> {
        let set = (self.render)(&ModeValues::extreme(true, volatile_cache));
        let clear = (self.render)(&ModeValues::extreme(false, volatile_cache));
        set.iter().zip(clear).map(|(a, b)| a ^ b).collect()
    }

    fn framed(&self, parameters: Vec<u8>) -> Vec<u8> {
        let length = parameters.len() as u16; // constant and small
        let [high, low] = length.to_be_bytes();
        let mut page = match self.subpage {
            0 => vec![self.code, low],
            subpage => vec![0x40 | self.code, subpage, high, low],
        };
        page.extend(parameters);
        page
    }

    /// Takes over parameters. The error is the offset of a byte at fault: one that differs from what is in force though it cannot be
    /// changed (SPC-5 6.14), or the length.
    pub fn absorb(
        &self,
        values: &mut ModeValues,
        parameters: &[u8],
        volatile_cache: bool,
    ) -> Result<(), usize> {
        let now = (self.render)(values);
        let mask = self.mask(volatile_cache);
        if parameters.len() != now.len() {
            return Err(0);
        }
        let fault =
            parameters.iter().zip(&now).zip(&mask).position(|((new, now), mask)| (new ^ now) & !mask != 0);
        match fault {
            Some(at) => Err(at),
            None => {
                (self.absorb)(values, Fields(parameters));
                Ok(())
            }
        }
    }
}
