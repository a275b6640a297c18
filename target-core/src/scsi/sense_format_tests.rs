use super::*;
use crate::scsi::asc;
use crate::scsi::sense::SenseKey;

#[test]
fn fixed_format() {
    let plain = Sense::new(SenseKey::NotReady, asc::MEDIUM_NOT_PRESENT);
    assert_eq!(
        render(&plain, SenseFormat::Fixed).as_slice(),
        [0x70, 0, 2, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x3a, 0, 0, 0, 0, 0]
    );
    let field = Sense::invalid_field_in_cdb(0x102, 5);
    assert_eq!(
        render(&field, SenseFormat::Fixed).as_slice(),
        [0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x24, 0, 0, 0xcd, 0x01, 0x02]
    );
    let parameters = Sense::invalid_field_in_parameters(7);
    assert_eq!(render(&parameters, SenseFormat::Fixed)[15..], [0x80, 0, 7]);
    let range = Sense::out_of_range(0x0102_0304);
    assert_eq!(
        render(&range, SenseFormat::Fixed).as_slice(),
        [0xf0, 0, 5, 1, 2, 3, 4, 10, 0, 0, 0, 0, 0x21, 0, 0, 0, 0, 0]
    );
}

#[test]
fn fixed_format_leaves_out_information_that_does_not_fit() {
    let far = Sense::out_of_range(1 << 32);
    let bytes = render(&far, SenseFormat::Fixed);
    assert_eq!(bytes[0], 0x70);
    assert_eq!(bytes[3..7], [0; 4]);
}

#[test]
fn descriptor_format() {
    let range = Sense::out_of_range(0x0102_0304_0506_0708);
    assert_eq!(
        render(&range, SenseFormat::Descriptor).as_slice(),
        [0x72, 5, 0x21, 0, 0, 0, 0, 12, 0, 10, 0x80, 0, 1, 2, 3, 4, 5, 6, 7, 8]
    );
    let field = Sense::invalid_field_in_cdb(1, 7);
    assert_eq!(
        render(&field, SenseFormat::Descriptor).as_slice(),
        [0x72, 5, 0x24, 0, 0, 0, 0, 8, 2, 6, 0, 0, 0xcf, 0, 1, 0]
    );
    let progress =
        Sense::new(SenseKey::NotReady, asc::NO_ADDITIONAL_SENSE).pointing(SenseSpecific::Progress(0x8001));
    assert_eq!(render(&progress, SenseFormat::Descriptor)[12..], [0x80, 0x80, 0x01, 0]);
}
