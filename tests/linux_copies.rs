//! Linux's own initiator, in a virtual machine: sg_xcopy has glint copy between volumes, and the data does not pass through the machine.

use std::time::Duration;

use glint_testkit::glint::Glint;
use glint_testkit::vm::Vm;

/// The host's loopback as the guest sees it.
const HOST: &str = "10.0.2.2";
const LIMIT: Duration = Duration::from_secs(420);

#[test]
fn sg_xcopy_copies_between_volumes() {
    let glint = Glint::serve()
        .advertise(HOST)
        .volume("one=ram:,size=64MiB")
        .volume("two=ram:,size=64MiB,provisioning=full")
        .start();
    let port = glint.portal().port();
    let job = format!(". /lib.sh\nP={HOST}:{port}\n")
        + r#"
        T=iqn.2026-12.io.glint:
        for name in one two; do node ${T}$name $P; login ${T}$name $P; done
        A=$(disk ${T}one) B=$(disk ${T}two)
        says 'Maximum target descriptor count: 64' 'Maximum segment descriptor count: 256' \
            'Copy from block device to block device' 'Identification descriptor' -- sg_copy_results -p $B
        says 'Extended copy' 'Populate token' 'Write using token' 'Receive copy status' -- sg_opcodes $B
        says 'Maximum range descriptors: 64' 'Maximum token transfer size: 524288' 'block -> block [0x2]' 'Remote tokens: 0' \
            'ROD type: block device zero' 'Maximum identified concurrent copies: 16' -- sg_vpd -p tpc $B

        # A megabyte of noise, again and again, but shifted a little.
        head -c 1048576 /dev/urandom >/tmp/noise
        for at in $(seq 0 23); do { echo "part $at"; cat /tmp/noise; } | head -c 1048576; done >/tmp/data
        dd if=/tmp/data of=$A bs=1M oflag=direct 2>/dev/null
        # sg_xcopy wants the generic devices.
        sg() { echo /dev/$(ls /sys/block/${1##*/}/device/scsi_generic); }
        GA=$(sg $A) GB=$(sg $B)
        passed() { iscsiadm -m session -s | awk '/xdata_octets/ { all += $2 } END { print all }'; }
        before=$(passed)
        sg_xcopy if=$GA of=$GB bs=512 count=49152 bpt=8192 list_id=3 time=1
        # To the unit that is read, with overlap, and within it.
        sg_xcopy --on_src if=$GB of=$GA bs=512 count=32768 skip=8192 seek=4096 bpt=65535
        sg_xcopy if=$GA of=$GA bs=512 count=8192 skip=0 seek=4096 bpt=65535
        after=$(passed)
        echo "passed $((after - before)) bytes"
        [ $before -gt 25165824 ]
        [ $((after - before)) -lt 65536 ]
        dd if=$B bs=1M count=24 iflag=direct 2>/dev/null | cmp - /tmp/data
        part() { dd if=/tmp/data bs=1M skip=$1 count=$2 2>/dev/null; }
        { part 0 2; part 0 2; part 4 2; part 8 12; part 18 6; } >/tmp/expected
        dd if=$A bs=1M count=24 iflag=direct 2>/dev/null | cmp - /tmp/expected
        mark copied

        # By the exit status of sg3_utils: 24 is a reservation conflict, 10 is COPY ABORTED.
        ends() { wanted=$1; shift; status=0; "$@" || status=$?; [ $status = $wanted ]; }
        # Another's reservation holds for copies from and to the volume.
        node_as ${T}two $P other
        C=$(disk_as ${T}two $P other)
        sg_persist -o -G -S 0xc1 $C
        sg_persist -o -R -K 0xc1 -T 3 $C
        sg_turs $B || true
        ends 24 sg_xcopy if=$GA of=$GB bs=512 count=8 seek=0
        ends 24 sg_xcopy --on_src if=$GA of=$GB bs=512 count=8 seek=0
        ends 24 sg_xcopy if=$GB of=$GA bs=512 count=8 seek=0
        sg_persist -o -C -K 0xc1 $C
        sg_turs $B || true
        dd if=$B bs=1M count=24 iflag=direct 2>/dev/null | cmp - /tmp/data
        # More than there is.
        ends 10 sg_xcopy if=$GA of=$GB bs=512 count=8 skip=131072 seek=0
        ends 10 sg_xcopy if=$GA of=$GB bs=512 count=8 seek=131070
        sg_xcopy if=$GA of=$GB bs=512 count=8 seek=131064
        mark refused
        "#;
    let console = Vm::default().run(&job, LIMIT).success();
    for mark in ["copied", "refused"] {
        assert!(console.contains(&format!("GLINT-VM-MARK {mark}")), "{console}");
    }
}
