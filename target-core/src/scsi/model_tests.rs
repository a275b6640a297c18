//! A disk against a plain vector.

use crate::scsi::sense::Status;
use crate::testing::{Bench, RamDevice, config};
use proptest::prelude::*;

const BLOCKS: u64 = 256;

#[derive(Clone, Debug)]
enum Operation {
    Read { lba: u64, blocks: u32 },
    Write { lba: u64, blocks: u32, fill: u8 },
    Unmap { lba: u64, blocks: u32 },
    WriteSame { lba: u64, blocks: u32, fill: u8, flags: u8 },
    CompareAndWrite { lba: u64, blocks: u32, expected: u8, fill: u8 },
}

fn operation() -> impl Strategy<Value = Operation> {
    let at = || (0..BLOCKS + 2, 0..20_u32);
    // Few values, so that comparisons succeed now and then.
    let fill = || 0..3_u8;
    prop_oneof![
        at().prop_map(|(lba, blocks)| Operation::Read { lba, blocks }),
        (at(), fill()).prop_map(|((lba, blocks), fill)| Operation::Write { lba, blocks, fill }),
        at().prop_map(|(lba, blocks)| Operation::Unmap { lba, blocks }),
        (at(), fill(), prop_oneof![Just(0), Just(8)])
            .prop_map(|((lba, blocks), fill, flags)| Operation::WriteSame { lba, blocks, fill, flags }),
        (at(), fill(), fill()).prop_map(|((lba, blocks), expected, fill)| Operation::CompareAndWrite {
            lba,
            blocks,
            expected,
            fill
        }),
    ]
}

fn cdb(opcode: u8, flags: u8, lba: u64, blocks: u32) -> [u8; 16] {
    let mut cdb = [0; 16];
    (cdb[0], cdb[1]) = (opcode, flags);
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    match opcode {
        0x89 => cdb[13] = blocks as u8,
        _ => cdb[10..14].copy_from_slice(&blocks.to_be_bytes()),
    }
    cdb
}

proptest! {
    #[test]
    fn the_disk_is_what_was_written(
        large in any::<bool>(),
        write_zeroes in any::<bool>(),
        operations in prop::collection::vec(operation(), 1..40),
    ) {
        let size: usize = if large { 4096 } else { 512 };
        let mut device = RamDevice::new(size * BLOCKS as usize);
        device.capabilities.write_zeroes = write_zeroes;
        device.capabilities.max_transfer = 8192;
        let bench = Bench::with(config(size as u32), device);
        let mut model = vec![0_u8; size * BLOCKS as usize];
        for operation in operations {
            let (lba, blocks) = match operation {
                Operation::WriteSame { lba, blocks: 0, .. } => (lba, BLOCKS.saturating_sub(lba) as u32),
                Operation::Read { lba, blocks }
                | Operation::Write { lba, blocks, .. }
                | Operation::Unmap { lba, blocks }
                | Operation::WriteSame { lba, blocks, .. }
                | Operation::CompareAndWrite { lba, blocks, .. } => (lba, blocks),
            };
            let len = blocks as usize * size;
            let response = match &operation {
                Operation::Read { .. } => bench.run(&cdb(0x88, 0, lba, blocks), &[]),
                Operation::Write { fill, .. } => bench.run(&cdb(0x8a, 0, lba, blocks), &vec![*fill; len]),
                Operation::Unmap { .. } => {
                    let mut list = vec![0, 22, 0, 16, 0, 0, 0, 0];
                    list.extend_from_slice(&lba.to_be_bytes());
                    list.extend_from_slice(&blocks.to_be_bytes());
                    list.extend_from_slice(&[0; 4]);
                    bench.run(&[0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0], &list)
                }
                Operation::WriteSame { blocks, fill, flags, .. } => {
                    bench.run(&cdb(0x93, *flags, lba, *blocks), &vec![*fill; size])
                }
                Operation::CompareAndWrite { expected, fill, .. } => {
                    let data = [vec![*expected; len], vec![*fill; len]].concat();
                    bench.run(&cdb(0x89, 0, lba, blocks), &data)
                }
            };
            if lba + u64::from(blocks) > BLOCKS {
                prop_assert_eq!(response.status, Status::CheckCondition);
                continue;
            }
            let range = lba as usize * size..lba as usize * size + len;
            let own = &mut model[range];
            match operation {
                Operation::Read { .. } => prop_assert_eq!(response.data_in.to_bytes(), &*own),
                Operation::Write { fill, .. } | Operation::WriteSame { fill, .. } => own.fill(fill),
                Operation::Unmap { .. } => own.fill(0),
                Operation::CompareAndWrite { expected, fill, .. } => {
                    let equal = own.iter().all(|byte| *byte == expected);
                    prop_assert_eq!(response.status == Status::Good, equal);
                    if equal {
                        own.fill(fill);
                    }
                    continue;
                }
            }
            prop_assert_eq!(response.status, Status::Good);
        }
        prop_assert_eq!(&*bench.device().data.lock().unwrap(), &model);
    }
}
