//! libiscsi's command line tools find, describe and read what glint serves.

use glint_testkit::glint::Glint;
use glint_testkit::tools::libiscsi;

#[test]
fn iscsi_ls_finds_every_volume() {
    let glint = Glint::serve().volume("small=ram:,size=64MiB").volume("large=null:,size=3TiB").start();
    let listed = libiscsi("iscsi-ls", &["-s", &format!("iscsi://{}", glint.portal())]);
    for name in ["small", "large"] {
        let target = format!("Target:iqn.2026-12.io.glint:{name} Portal:{}", glint.portal());
        assert!(listed.contains(&target), "no {name} in:\n{listed}");
    }
    assert_eq!(listed.matches("Type:DIRECT_ACCESS").count(), 2, "{listed}");
    // The tool shows one below the size, since it takes the last block's address for the count.
    assert!(listed.contains("Lun:0    Type:DIRECT_ACCESS (Size:63M)"), "{listed}");
}

#[test]
fn iscsi_ls_is_told_the_advertised_addresses() {
    let glint = Glint::serve().volume("a=ram:,size=1MiB").advertise("storage.example.net").start();
    let listed = libiscsi("iscsi-ls", &[&format!("iscsi://{}", glint.portal())]);
    let advertised = format!("Portal:storage.example.net:{}", glint.portal().port());
    assert!(listed.contains(&advertised), "{listed}");
    assert!(
        !listed.contains("127.0.0.1"),
        "the bound address is told although another is advertised:\n{listed}"
    );
}

#[test]
fn iscsi_inq_reads_standard_data_and_identification() {
    let glint = Glint::serve().volume("a=ram:,size=64MiB,serial=example-0042").start();
    let url = glint.url("a");
    let standard = libiscsi("iscsi-inq", &[&url]);
    assert!(standard.contains("Device Type:DIRECT_ACCESS"), "{standard}");
    assert!(standard.to_lowercase().contains("glint"), "{standard}");
    let serial = libiscsi("iscsi-inq", &["-e", "1", "-c", "128", &url]);
    assert!(serial.contains("example-0042"), "{serial}");
    let identification = libiscsi("iscsi-inq", &["-e", "1", "-c", "131", &url]);
    assert!(
        identification.contains("DEVICE DESIGNATOR") || identification.contains("Designator"),
        "{identification}"
    );
}

#[test]
fn iscsi_readcapacity16_tells_size_and_block_length() {
    let glint =
        Glint::serve().volume("a=ram:,size=64MiB").volume("b=null:,size=5TiB,block_size=4096").start();
    for (name, size, block) in [("a", 64_u64 << 20, 512), ("b", 5 << 40, 4096)] {
        let told = libiscsi("iscsi-readcapacity16", &[&glint.url(name)]);
        let last = format!("RETURNED LOGICAL BLOCK ADDRESS:{}", size / block - 1);
        for expected in [last, format!("BYTES:{block}"), format!("Total size:{size}")] {
            assert!(told.contains(&expected), "no {expected:?} for {name} in:\n{told}");
        }
    }
}

#[test]
fn iscsi_perf_reads_without_an_error() {
    let glint = Glint::serve().volume("a=ram:,size=64MiB").volume("b=null:,size=1GiB").start();
    for name in ["a", "b"] {
        // -x 0: a lost connection is an error, not a reason to come back.
        let told = libiscsi("iscsi-perf", &["-t", "2", "-m", "32", "-r", "-x", "0", &glint.url(name)]);
        assert!(told.contains("finished"), "{told}");
    }
}
