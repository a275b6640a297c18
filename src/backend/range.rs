//! Small helpers on byte ranges that every backend needs.

use bytes::Bytes;
use glint_target_core::device::{DeviceError, Extent};
use std::ops::Range;

/// Most bytes of zeros that [`zeros`] gives at once.
pub(super) const MAX_ZEROS: usize = 16 << 20;

/// Never written, so it takes no memory.
static ZEROS: [u8; MAX_ZEROS] = [0; MAX_ZEROS];

/// `len` zeros without a copy; fewer than asked beyond [`MAX_ZEROS`].
pub(super) fn zeros(len: usize) -> Bytes {
    Bytes::from_static(ZEROS.get(..len).unwrap_or(&ZEROS))
}

/// The range of `len` bytes from `offset`, if it lies within a device of `size` bytes.
pub(super) fn within(offset: u64, len: u64, size: u64) -> Result<Range<u64>, DeviceError> {
    match offset.checked_add(len) {
        Some(end) if end <= size => Ok(offset..end),
        _ => Err(DeviceError::OutOfRange),
    }
}

/// The smallest range of whole units around `range`; `unit` is a power of two.
pub(super) fn widen(range: &Range<u64>, unit: u64) -> Range<u64> {
    let mask = unit - 1;
    range.start & !mask..range.end.saturating_add(mask) & !mask
}

/// Cuts a range into consecutive pieces of at most `longest` bytes.
pub(super) fn chunks(range: Range<u64>, longest: u64) -> impl Iterator<Item = Range<u64>> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        let end = at.saturating_add(longest).min(range.end);
        let piece = at..end;
        at = end;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Adds a run to an allocation map, joining it to the last one of the same kind.
pub(super) fn push_extent(map: &mut Vec<Extent>, range: Range<u64>, mapped: bool) {
    if range.is_empty() {
        return;
    }
    match map.last_mut() {
        Some(last) if last.mapped == mapped && last.range.end == range.start => last.range.end = range.end,
        _ => map.push(Extent { range, mapped }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_to_fit() {
        assert_eq!(within(512, 512, 1024), Ok(512..1024));
        assert_eq!(within(1024, 0, 1024), Ok(1024..1024));
        assert_eq!(within(512, 513, 1024), Err(DeviceError::OutOfRange));
        assert_eq!(within(u64::MAX, 2, u64::MAX), Err(DeviceError::OutOfRange));
    }

    #[test]
    fn widening_covers_whole_units() {
        assert_eq!(widen(&(512..1024), 4096), 0..4096);
        assert_eq!(widen(&(4096..8192), 4096), 4096..8192);
        assert_eq!(widen(&(4095..8193), 4096), 0..12288);
    }

    #[test]
    fn chunks_cover_the_range_without_gap() {
        let pieces: Vec<_> = chunks(10..35, 10).collect();
        assert_eq!(pieces, [10..20, 20..30, 30..35]);
        assert_eq!(chunks(5..5, 10).count(), 0);
    }

    #[test]
    fn neighbours_of_one_kind_are_joined() {
        let mut map = Vec::new();
        push_extent(&mut map, 0..10, true);
        push_extent(&mut map, 10..20, true);
        push_extent(&mut map, 20..20, false);
        push_extent(&mut map, 20..30, false);
        assert_eq!(map, [Extent { range: 0..20, mapped: true }, Extent { range: 20..30, mapped: false }]);
    }
}
