use crate::scsi::asc;
use crate::scsi::sense::SenseKey;
use crate::testing::Bench;

#[test]
fn both_lists_are_empty_in_every_format() {
    let bench = Bench::new();
    for format in 0..=7 {
        for lists in [0x00, 0x08, 0x10, 0x18] {
            let asked = lists | format;
            let ten = [0x37, 0, asked, 0, 0, 0, 0, 0, 255, 0];
            let twelve = [0xb7, asked, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0];
            if format > 5 {
                for (cdb, byte) in [(&ten[..], 2), (&twelve[..], 1)] {
                    let refused = bench.fails(cdb, &[], SenseKey::IllegalRequest, asc::INVALID_FIELD_IN_CDB);
                    assert_eq!(refused.sense[15..18], [0xca, 0, byte]);
                }
                continue;
            }
            assert_eq!(bench.good(&ten, &[])[..], [0, asked, 0, 0]);
            assert_eq!(bench.good(&twelve, &[])[..], [0, asked, 0, 0, 0, 0, 0, 0]);
        }
    }
    assert_eq!(
        bench.good(&[0x37, 0, 0x18, 0, 0, 0, 0, 0, 2, 0], &[])[..],
        [0, 0x18],
        "cut to the allocation length"
    );
}
