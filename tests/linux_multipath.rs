//! Linux's own initiator, in a virtual machine: one disk by two portals is one device of dm-multipath, which outlives a path.

use std::time::Duration;

use glint_testkit::glint::Glint;
use glint_testkit::vm::Vm;

/// The host's loopback as the guest sees it.
const HOST: &str = "10.0.2.2";
const LIMIT: Duration = Duration::from_secs(420);
const DISK: &str = "[[target]]\nname = \"disk\"\n[[target.lun]]\ndevice = \"ram:\"\nsize = \"64MiB\"\n";

#[test]
fn a_disk_goes_on_without_one_of_its_paths() {
    let mut glint = Glint::serve().second_group().start_with_config(DISK);
    let (one, two) = (glint.portal().port(), glint.portal_2().port());
    let portals = format!("P={HOST}:{one}\nQ={HOST}:{two}\n");
    let job = String::from(". /lib.sh\nT=iqn.2026-12.io.glint:disk\n")
        + &portals
        + r#"
        node $T $P
        node $T $Q
        multipathing
        login $T $P
        A=$(disk $T)
        login $T $Q
        M=/dev/mapper/$(map_of $A)
        # How many paths are "$1" (active, failed), of the priority $2.
        paths() { multipathd show paths format '%t %p' | grep -c "^$1 *$2\$"; }
        becomes() { for try in $(seq 1 200); do [ "$(paths $2 $3)" = $1 ] && return; usleep 200000; done; multipath -ll; return 1; }
        becomes 2 active 50
        says "hwhandler='1 alua'" 'queue_if_no_path' -- multipath -ll
        mark paths

        # Explicit asymmetric access: the priority follows the state, for both paths are one group.
        sg_stpg --active --tp=1 $A
        becomes 2 active 10
        sg_stpg --optimized --tp=1 $A
        becomes 2 active 50
        mark states

        mpathpersist --out --register --param-sark=0xa1 $M
        says '2 registered reservation keys follow' 0xa1 -- mpathpersist --in -k $M
        mpathpersist --out --reserve --param-rk=0xa1 --prout-type=5 $M
        says 'Key = 0xa1' 'Write Exclusive, registrants only' -- mpathpersist --in -r $M
        says 'Relative port address: 0x1' 'Relative port address: 0x2' -- mpathpersist --in -s $M
        says 'Write Exclusive, registrants only' -- mpathpersist --in -c $M
        mark reserved

        head -c 262144 /dev/urandom >/tmp/data
        write() { dd if=/tmp/data of=$M bs=256k seek=$1 count=1 oflag=direct 2>/dev/null; }
        written=0
        # Write on until there are "$1" paths that are "$2".
        write_until() {
            for try in $(seq 1 400); do
                write $((written % 200))
                written=$((written + 1))
                [ "$(paths $2 .*)" = $1 ] && return
                mark wrote $written
            done
            multipath -ll
            return 1
        }
        write_until 1 failed
        mark failed
        # The one that is left takes over.
        for i in $(seq 1 20); do write $i; done
        mark alone
        write_until 2 active
        # The key is there again, by whichever path.
        says '2 registered reservation keys follow' -- mpathpersist --in -k $M
        mpathpersist --out --release --param-rk=0xa1 --prout-type=5 $M
        mpathpersist --out --register --param-rk=0xa1 --param-sark=0 $M
        says 'there are NO registered' -- mpathpersist --in -k $M
        [ $written -gt 20 ]
        for i in 0 1 2 3 4; do dd if=$M bs=256k skip=$i count=1 iflag=direct 2>/dev/null | cmp - /tmp/data; done
        # Paths may fail, their device may not.
        ! dmesg | grep -E 'I/O error.* dm-|Buffer I/O error'
        mark done
        "#;
    let mut vm = Vm::default().spawn(&job);
    vm.wait_for_mark("wrote 3", LIMIT);
    glint.omit_first_portal(true);
    glint.reconfigure(DISK);
    vm.wait_for_mark("alone", LIMIT);
    glint.omit_first_portal(false);
    glint.reconfigure(DISK);
    let console = vm.finish(LIMIT).success();
    assert!(console.contains("GLINT-VM-MARK done"), "{console}");
    glint.assert_alive();
}
