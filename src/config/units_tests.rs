use super::*;

#[test]
fn sizes_have_units() {
    let sizes = [
        ("512", 512),
        ("64KiB", 65_536),
        ("512MiB", 512 << 20),
        ("1GiB", 1 << 30),
        ("2 TiB", 2 << 40),
        ("1kB", 1000),
        ("3MB", 3_000_000),
        ("7B", 7),
    ];
    for (text, bytes) in sizes {
        assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
    }
    for text in
        ["", "GiB", "1.5GiB", "-1", "1gib", "1Gi", "1 gigabyte", "99999999999999999999", "20000000TiB"]
    {
        assert!(text.parse::<ByteSize>().is_err(), "{text}");
    }
}

#[test]
fn sizes_print_with_the_largest_unit_that_divides_them() {
    let texts =
        [(1 << 30, "1GiB"), (1536 << 20, "1536MiB"), (512, "512 bytes"), (0, "0 bytes"), (4096, "4KiB")];
    for (bytes, text) in texts {
        assert_eq!(ByteSize(bytes).to_string(), text);
    }
}

#[test]
fn low_space_is_a_part_or_a_size() {
    let texts = [
        ("10%", LowSpace::Percent(10)),
        (" 1 %", LowSpace::Percent(1)),
        ("50GiB", LowSpace::Bytes(50 << 30)),
    ];
    for (text, space) in texts {
        assert_eq!(parse_low_space(text), Ok(space), "{text}");
    }
    for text in ["0%", "100%", "256%", "-1%", "%", "", "ten", "1.5%"] {
        assert!(parse_low_space(text).unwrap_err().contains("10") || !text.contains("10"), "{text}");
    }
}

#[test]
fn durations_have_units() {
    for (text, milliseconds) in [("500ms", 500), ("15s", 15_000), ("2m", 120_000), ("1h", 3_600_000)] {
        assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
    }
    for text in ["15", "", "s", "1.5s", "-1s", "1d", "99999999999999999999h"] {
        assert!(parse_duration(text).is_err(), "{text}");
    }
}
