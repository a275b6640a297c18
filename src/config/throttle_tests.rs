use super::*;

fn checked(draft: LimitsDraft) -> Result<Limits, Vec<String>> {
    let mut faults = Vec::new();
    let limits = draft.finish(|key, message| faults.push(format!("{key}: {message}")));
    if faults.is_empty() { Ok(limits) } else { Err(faults) }
}

fn rate(most: impl Into<Option<u64>>, burst: impl Into<Option<u64>>) -> Rate {
    Rate { most: most.into(), burst: burst.into() }
}

#[test]
fn a_burst_is_a_tenth_of_a_second_unless_it_is_given() {
    assert_eq!(checked(LimitsDraft::default()), Ok(Limits::NONE));
    let draft =
        LimitsDraft { iops: rate(5000, None), read_bytes: rate(1 << 20, 4096), ..LimitsDraft::default() };
    let limits = Limits {
        iops: Some(Limit { rate: 5000, burst: 500 }),
        read_bytes: Some(Limit { rate: 1 << 20, burst: 4096 }),
        ..Limits::NONE
    };
    assert_eq!(checked(draft), Ok(limits));
    assert_eq!(
        checked(LimitsDraft { iops: rate(1, None), ..LimitsDraft::default() }).map(|limits| limits.iops),
        Ok(Some(Limit { rate: 1, burst: 1 }))
    );
    let named: Vec<_> = named(limits).map(|it| (it.keys.0, it.shown)).collect();
    assert_eq!(
        named,
        [
            ("max_iops", ["5000".into(), "500".into()]),
            ("max_read_bytes_per_second", ["1MiB".into(), "4KiB".into()])
        ]
    );
}

#[test]
fn what_makes_no_sense() {
    let none = LimitsDraft::default;
    for (draft, key, says) in [
        (LimitsDraft { iops: rate(0, None), ..none() }, "max_iops", "leave it out for no limit"),
        (
            LimitsDraft { bytes: rate(4096, None), ..none() },
            "max_bytes_per_second",
            "64KiB at least, not 4KiB",
        ),
        (
            LimitsDraft { write_bytes: rate(None, 1 << 20), ..none() },
            "write_bytes_burst",
            "`max_write_bytes_per_second`",
        ),
        (LimitsDraft { iops: rate(10, 0), ..none() }, "iops_burst", "leave it out for the default"),
    ] {
        let faults = checked(draft).unwrap_err();
        assert!(faults.len() == 1 && faults[0].starts_with(key) && faults[0].contains(says), "{faults:?}");
    }
}
