//! Linux's own initiator, in a virtual machine: sg3-utils send the commands that its block layer does not, and read each page; and a reload
//! has it log in anew in the middle of its writes.

use std::thread;
use std::time::Duration;

use glint_testkit::glint::Glint;
use glint_testkit::vm::Vm;

/// The host's loopback as the guest sees it.
const HOST: &str = "10.0.2.2";
const LIMIT: Duration = Duration::from_secs(300);

const DISK: &str = "[[target]]\nname = \"disk\"\n[[target.lun]]\ndevice = \"ram:\"\nsize = \"64MiB\"\n";

/// One machine for all: to boot it is most of the work.
#[test]
fn linux_sends_each_command_and_negotiates_anew() {
    let mut glint = Glint::serve().advertise(HOST).start_with_config(DISK);
    let port = glint.portal().port();
    let begin = format!(
        ". /lib.sh\nT=iqn.2026-12.io.glint:disk\nP={HOST}:{port}\nnode $T $P\nlogin $T $P\nA=$(disk $T)\n"
    );
    let mut vm = Vm::default().spawn(&(begin + WORDS + PAGES + MODES_AND_STATES + MEDIUM + NEGOTIATION));
    vm.wait_for_mark("writing 2", LIMIT);
    // In the middle of a write.
    thread::sleep(Duration::from_millis(100));
    glint.reconfigure(&format!("[limits]\nmax_recv_data_segment = \"512KiB\"\n{DISK}"));
    let console = vm.finish(LIMIT).success();
    let marks = [
        "vital",
        "modes",
        "diagnosed",
        "told",
        "states",
        "overwritten",
        "sanitized",
        "formatted",
        "verified",
        "negotiated",
    ];
    for mark in marks {
        assert!(console.contains(&format!("GLINT-VM-MARK {mark}")), "{console}");
    }
    glint.assert_alive();
}

const WORDS: &str = r#"
    set -x
    head -c 1048576 /dev/zero >/tmp/zeroes
    tr '\0' '\252' </tmp/zeroes >/tmp/data
    fill() { dd if=/tmp/data of=$A bs=1M seek=$1 count=1 oflag=direct 2>/dev/null; }
    # The megabyte at $1 is as the file $2.
    same() { dd if=$A bs=1M skip=$1 count=1 iflag=direct 2>/dev/null | cmp - $2; }
    # Start "$@", which leaves work behind; see its progress, and wait for its end.
    watch() {
        told="$1"
        shift
        "$@"
        progress=
        while sg_requests $A >/tmp/sense 2>&1; grep -qi "$told" /tmp/sense; do
            grep -q 'Progress indication: [0-9.]*%' /tmp/sense
            grep -q 'indication: 0.00%' /tmp/sense || progress=seen
        done
        sg_turs $A
        [ -n "$progress" ]
    }
"#;

/// Each page of vital product data.
const PAGES: &str = r#"
    # Not through the disk, which is not to be opened for writing where it is write-protected.
    G=/dev/$(ls /sys/block/${A##*/}/device/scsi_generic)
    # Each page that page 00h lists, as a page of its own.
    sg_vpd --raw --page=0x00 $A >/tmp/pages
    pages=$(tail -c +5 /tmp/pages | hexdump -v -e '1/1 "0x%02x "')
    echo "pages: $pages"
    case "$pages" in *0x83*0x86*0xb0*0xb2*) ;; *) exit 1 ;; esac
    for page in $pages; do
        describes sg_vpd --page=$page --long $A
        # It knows the page, or it would show it in hex.
        refused grep -q 'Only hex output supported' /tmp/said
        describes sg_inq --vpd --page=$page $A
    done
    mark vital
"#;

/// Mode and log pages, diagnostics, time stamps, names, the states of the port.
const MODES_AND_STATES: &str = r#"
    describes sg_modes --all --all $G
    # Each page control: current, changeable, default, saved.
    for control in 0 1 2 3; do
        describes sg_modes --control=$control --page=0x0a $G
        describes sg_modes --control=$control --page=0x0a,0x01 $G
    done
    # SWP, for a while. The kernel sees it when it looks.
    sg_wr_mode --page=0x0a --contents=0a,0a,02,10,08,40,00,00,00,00,00,3c $G
    refused fill 0
    echo 1 >/sys/block/${A##*/}/device/rescan
    [ $(cat /sys/block/${A##*/}/ro) = 1 ]
    sg_wr_mode --page=0x0a --rtd $G
    echo 1 >/sys/block/${A##*/}/device/rescan
    [ $(cat /sys/block/${A##*/}/ro) = 0 ]
    fill 0
    same 0 /tmp/data
    # D_SENSE is saved, so it outlives a reset; then all at their defaults again.
    sg_wr_mode --save --page=0x0a --contents=0a,0a,06,10,00,40,00,00,00,00,00,3c $G
    says '8a 0a 06' -- sg_modes --control=3 --page=0x0a $G
    sg_reset --device $G
    sg_turs $G || true
    says '8a 0a 06' -- sg_modes --page=0x0a $G
    sg_wr_mode --save --page=0x0a --rtd $G
    says '8a 0a 02' -- sg_modes --page=0x0a $G
    # The wrong PAGE LENGTH: it knows better than to send that, so by hand.
    printf '\0\0\0\0\012\001\0' | refused sg_raw --send=7 $G 15 10 00 00 07 00
    mark modes

    for page in $(sg_logs --list $G | sed -n 's/^ *\(0x[0-9a-f]*\) .*/\1/p' | sort -u); do
        describes sg_logs --page=$page $G
        echo "log $page"
    done
    describes sg_logs --all --all $G
    sg_senddiag --test $G
    sg_senddiag --selftest=1 $G
    sg_senddiag --selftest=5 $G
    describes sg_senddiag --list $G
    # The results are kept.
    says 'foreground short' 'background short' -- sg_logs --page=0x10 $G
    mark diagnosed

    sg_timestamp --origin $G
    sg_timestamp --seconds=1700000000 $G
    says '17000000' -- sg_timestamp --srep $G
    says '2' -- sg_timestamp --origin --origin --no-timestamp $G
    describes sg_opcodes --all $G
    describes sg_opcodes --opcode=0x48,0x01 $G
    describes sg_opcodes --opcode=0x28 --rctd $G
    describes sg_ident $G
    printf 'a name from Linux' | sg_ident --set $G
    says 'a name from Linux' -- sg_ident --ascii $G
    describes sg_luns --decode $G
    describes sg_copy_results --params $G
    describes sg_rtpg --decode --extended $G
    mark told

    says 'active/optimized' -- sg_rtpg --decode $G
    sg_stpg --active --tp=1 $G
    sg_turs $G || true
    says 'active/non optimized' -- sg_rtpg --decode $G
    fill 0
    # Its exit status does not tell.
    sg_stpg --standby --tp=1 $G 2>&1 | grep 'Illegal request'
    sg_stpg --optimized --tp=1 $G
    sg_turs $G || true
    says 'active/optimized' -- sg_rtpg --decode $G
    fill 1
    no_io_errors
    mark states
"#;

/// What changes the medium, or compares with it.
const MEDIUM: &str = r#"
    fill 0
    fill 63
    # Others wait for its end: Linux tries again.
    printf 'PATTERN!' >/tmp/pattern
    yes PATTERN! | tr -d '\n' | head -c 1048576 >/tmp/patterns
    watch 'Sanitize in progress' sg_sanitize --overwrite --pattern=/tmp/pattern --count=31 --quick --early $A
    same 0 /tmp/patterns
    same 63 /tmp/patterns
    fill 0
    sg_sanitize --overwrite --zero --count=8 --quick --early $A
    same 0 /tmp/zeroes
    mark overwritten
    fill 0
    fill 63
    sg_sanitize --block --quick --wait $A
    same 0 /tmp/zeroes
    same 63 /tmp/zeroes
    says 'deallocated' -- sg_get_lba_status -l 0 $A
    refused sg_sanitize --crypto --quick --wait $A
    # There is no failure to leave. "Early", or it sleeps for a minute before it looks whether that is done.
    sg_sanitize --fail --quick --early $A
    mark sanitized

    fill 0
    sg_format --format --quick --wait $A
    same 0 /tmp/zeroes
    fill 0
    fill 63
    sg_format --format --quick --early $A
    # Linux waits for the end of this as well.
    same 0 /tmp/zeroes
    same 63 /tmp/zeroes
    refused sg_format --format --quick --wait --size=4096 $A
    sg_turs $A
    mark formatted

    fill 0
    sg_verify --count=2048 $A
    sg_verify --16 --count=2048 --bpc=1024 $A
    sg_verify --ndo=1048576 --count=2048 --in=/tmp/data $A
    refused sg_verify --ndo=1048576 --count=2048 --in=/tmp/zeroes --quiet $A
    head -c 512 /tmp/data >/tmp/block
    sg_verify --ebytchk=3 --ndo=512 --count=2048 --in=/tmp/block $A
    sg_write_same --10 --lba=0 --num=2048 --in=/tmp/patterns --xferlen=512 $A
    same 0 /tmp/patterns
    sg_write_same --16 --ndob --lba=0 --num=1024 $A
    { head -c 524288 /tmp/zeroes; head -c 524288 /tmp/patterns; } >/tmp/halves
    same 0 /tmp/halves
    sg_unmap --force --lba=1024 --num=1024 $A
    same 0 /tmp/zeroes
    says 'deallocated' -- sg_get_lba_status --lba=1024 $A
    fill 0
    says 'mapped' -- sg_get_lba_status --lba=0 $A
    sg_write_same --16 --unmap --ndob --lba=0 --num=2048 $A
    same 0 /tmp/zeroes
    sg_compare_and_write --lba=0 --num=1 --in=/tmp/zeroes --inw=/tmp/block --xferlen=1024 $A
    refused sg_compare_and_write --lba=0 --num=1 --in=/tmp/zeroes --inw=/tmp/block --xferlen=1024 --quiet $A
    sg_write_verify --lba=0 --num=1 --ilen=512 --in=/tmp/patterns $A
    dd if=$A bs=512 count=1 iflag=direct 2>/dev/null >/tmp/read
    head -c 512 /tmp/patterns | cmp - /tmp/read
    sg_sync $A
    no_io_errors
    mark verified
"#;

/// A reload changes `max_recv_data_segment`: glint asks to negotiate (event 4), for which Linux drops its session and logs in anew.
const NEGOTIATION: &str = r#"
    longest() { negotiated $T max_xmit_dlength; }
    [ $(longest) = 262144 ]
    head -c 4194304 /dev/urandom >/tmp/random
    round=0
    anew=0
    while [ $anew -lt 2 ]; do
        round=$((round + 1))
        [ $round -le 60 ]
        mark writing $round
        dd if=/tmp/random of=$A bs=256k seek=$(((round - 1) % 4 * 16)) oflag=direct 2>/dev/null
        [ "$(longest)" = 262144 ] || anew=$((anew + 1))
    done
    [ $(longest) = 524288 ]
    for part in 0 1 2 3; do
        [ $part -ge $round ] || dd if=$A bs=4M skip=$part count=1 iflag=direct 2>/dev/null | cmp - /tmp/random
    done
    grep 'async event param negotiation, dropping session' /tmp/messages
    no_io_errors
    mark negotiated
"#;
