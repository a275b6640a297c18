use super::*;

fn extent(lba: u64, blocks: u64) -> Extent {
    Extent { lba, blocks }
}

#[test]
fn layouts_read_their_fields() {
    let cdb: Vec<u8> = (0..16).collect();
    let cdb = Fields(&cdb);
    assert_eq!(Layout::None.extent(cdb), extent(0, 0));
    assert_eq!(Layout::Six.extent(cdb), extent(0x1_0203, 4));
    assert_eq!(Layout::Ten.extent(cdb), extent(0x0203_0405, 0x0708));
    assert_eq!(Layout::Twelve.extent(cdb), extent(0x0203_0405, 0x0607_0809));
    assert_eq!(Layout::Sixteen.extent(cdb), extent(0x0203_0405_0607_0809, 0x0a0b_0c0d));
    assert_eq!(Layout::CompareAndWrite.extent(cdb), extent(0x0203_0405_0607_0809, 13));
}

#[test]
fn six_byte_length_of_zero_is_256_and_upper_bits_are_not_address() {
    assert_eq!(Layout::Six.extent(Fields(&[8, 0xff, 0xff, 0xff, 0, 0])), extent(0x1f_ffff, 256));
}

#[test]
fn bounds() {
    assert_eq!(extent(0, 8).within(8), Ok(0..8));
    assert_eq!(extent(8, 0).within(8), Ok(8..8));
    assert_eq!(extent(4, 5).within(8), Err(Sense::out_of_range(8)));
    assert_eq!(extent(9, 0).within(8), Err(Sense::out_of_range(9)));
    assert_eq!(extent(u64::MAX, 1).within(8), Err(Sense::out_of_range(u64::MAX)));
    assert_eq!(extent(u64::MAX, u64::MAX).saturating(), u64::MAX..u64::MAX);
}
