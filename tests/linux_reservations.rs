//! Linux's own initiator, in a virtual machine: persistent reservations by sg_persist and by the kernel's own interface, and
//! what its tools and its block layer read of a volume's abilities.

use std::time::Duration;

use glint_testkit::glint::Glint;
use glint_testkit::vm::Vm;

/// The host's loopback as the guest sees it.
const HOST: &str = "10.0.2.2";
const LIMIT: Duration = Duration::from_secs(420);

/// Two initiators in one machine see the volume `disk`, as $A and $B.
fn two_nodes(glint: &Glint) -> String {
    let port = glint.portal().port();
    format!(
        ". /lib.sh\nT=iqn.2026-12.io.glint:disk\nP={HOST}:{port}\nnode $T $P\nlogin $T $P\nA=$(disk $T)\n\
         node_as $T $P other\nB=$(disk_as $T $P other)\nreads() {{ dd if=$1 of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null; }}\n\
         writes() {{ dd if=/dev/zero of=$1 bs=4k count=1 oflag=direct 2>/dev/null; }}\n"
    )
}

#[test]
fn sg_persist_and_the_kernel_reserve_a_disk() {
    let mut glint = Glint::serve().advertise(HOST).volume("disk=ram:,size=64MiB").start();
    let job = two_nodes(&glint)
        + r#"
        says 'there are NO registered reservation keys' -- sg_persist -k $A
        says 'there is NO reservation held' -- sg_persist -r $A
        says 'Persist Through Power Loss Capable(PTPL_C): 1' 'All Target Ports Capable(ATP_C): 1' \
            'Specify Initiator Ports Capable(SIP_C): 1' 'Compatible Reservation Handling(CRH): 1' \
            'Write Exclusive, all registrants: 1' 'Exclusive Access, all registrants: 1' \
            'Exclusive Access, registrants only: 1' 'Write Exclusive, registrants only: 1' -- sg_persist -c $A

        sg_persist -o -G -S 0xa1 $A
        sg_persist -o -I -S 0xb1 $B
        says 'PR generation=0x2, 2 registered reservation keys follow' '0xa1' '0xb1' -- sg_persist -k $B
        for type in 1 3 5 6 7 8; do
            sg_persist -o -R -K 0xa1 -T $type $A
            reads $A && writes $A
            # Registered ones are kept out by types 1 and 3 alone.
            case $type in
                1) reads $B; refused writes $B; name='Write Exclusive'; key=0xa1 ;;
                3) refused reads $B; refused writes $B; name='Exclusive Access'; key=0xa1 ;;
                5) reads $B; writes $B; name='Write Exclusive, registrants only'; key=0xa1 ;;
                6) reads $B; writes $B; name='Exclusive Access, registrants only'; key=0xa1 ;;
                7) reads $B; writes $B; name='Write Exclusive, all registrants'; key=0x0 ;;
                8) reads $B; writes $B; name='Exclusive Access, all registrants'; key=0x0 ;;
            esac
            says "Key=$key" 'scope: LU_SCOPE' "type: $name" -- sg_persist -r $B
            says 'iqn.2026-12.io.glint.test:guest' 'iqn.2026-12.io.glint.test:other' 'Key=0xa1' 'Key=0xb1' \
                "type: $name" 'Relative port address: 0x1' -- sg_persist -s $B
            sg_persist -o -L -K 0xa1 -T $type $A
            [ $type -lt 5 ] || sg_turs $B || true
            mark type $type
        done

        # One who is not registered.
        sg_persist -o -G -K 0xb1 -S 0 $B
        sg_persist -o -R -K 0xa1 -T 6 $A
        refused reads $B
        refused writes $B
        refused sg_persist -o -R -K 0xb1 -T 6 $B
        sg_persist -o -G -S 0xb1 $B
        reads $B
        sg_persist -o -P -K 0xb1 -S 0xa1 -T 5 $B
        sg_turs $A || true
        says 'type: Write Exclusive, registrants only' 'Key=0xb1' -- sg_persist -r $A
        reads $A
        refused writes $A
        sg_persist -o -G -S 0xa1 $A
        sg_persist -o -A -K 0xa1 -S 0xb1 -T 1 $A
        sg_turs $B || true
        says '1 registered reservation key follows' 0xa1 -- sg_persist -k $A
        sg_persist -o -C -K 0xa1 $A
        says 'there are NO registered reservation keys' -- sg_persist -k $A
        # It outlives glint; Linux comes back as the same initiator port.
        sg_persist -o -G -S 0xb1 -Z $B
        sg_persist -o -R -K 0xb1 -T 3 $B
        says 'Persist Through Power Loss Active(PTPL_A): 1' -- sg_persist -c $A
        mark reserved
        until dmesg | grep -q 'detected conn error'; do usleep 200000; done
        reads $B
        refused reads $A
        writes $B
        refused writes $A
        sg_persist -o -C -K 0xb1 $B
        mark sg_persist

        # The kernel's own interface.
        is() { answer=$(blkpr $2 $3 $4 $5 $6 $7); [ "$answer" = "$1" ] || { echo "blkpr $*: $answer"; return 1; }; }
        is 0 $A register 0 161
        is 0 $B register 0 177
        for type in 1 2 3 4 5 6; do
            is 0 $A reserve 161 $type
            case $type in
                1) name='Write Exclusive' ;;
                2) name='Exclusive Access' ;;
                3) name='Write Exclusive, registrants only' ;;
                4) name='Exclusive Access, registrants only' ;;
                5) name='Write Exclusive, all registrants' ;;
                6) name='Exclusive Access, all registrants' ;;
            esac
            sg_persist -r $A | grep -q "type: $name$"
            is 0 $A release 161 $type
            sg_turs $B || true
        done
        is 0 $A reserve 161 4
        # Whoever is registered and holds nothing: a conflict, which the kernel passes on.
        refused is 0 $B reserve 177 4
        is 0 $B preempt 177 161 3
        sg_turs $A || true
        refused writes $A
        is 0 $A register 0 161
        is 0 $A preempt-abort 161 177 1
        sg_turs $B || true
        says 'type: Write Exclusive' 0xa1 -- sg_persist -r $B
        is 0 $A clear 161
        says 'there is NO reservation held' -- sg_persist -r $B
        writes $B
        mark blkpr
        "#;
    let mut vm = Vm::default().spawn(&job);
    vm.wait_for_mark("reserved", LIMIT);
    glint.kill();
    glint.start_again();
    let console = vm.finish(LIMIT).success();
    for mark in ["type 8", "sg_persist", "blkpr"] {
        assert!(console.contains(&format!("GLINT-VM-MARK {mark}")), "{console}");
    }
}

#[test]
fn tools_and_the_block_layer_read_what_a_disk_can() {
    let glint = Glint::serve()
        .advertise(HOST)
        .volume("disk=ram:,size=64MiB")
        .volume("full=ram:,size=64MiB,provisioning=full")
        .start();
    let job = two_nodes(&glint)
        + r#"
        F=iqn.2026-12.io.glint:full
        node $F $P
        login $F $P
        FULL=$(disk $F)
        for D in $A $FULL; do
            describes sg_inq $D
            describes sg_vpd -a $D
            for page in 0x00 0x80 0x83 0x86 0xb0 0xb1 0xb2; do describes sg_vpd -p $page $D; done
            describes sg_readcap -l $D
            describes sg_opcodes $D
            describes sg_opcodes -R $D
            describes sg_opcodes -t $D
            describes sg_logs -a $D
            describes sg_modes -a $D
            describes sg_modes -a -6 $D
            describes sg_luns -d $D
            describes sg_rtpg -d $D
            describes sg_requests $D
            echo "tools read ${D##*/}"
        done
        says 'Unmap command supported (LBPU): 1' 'Provisioning type: 2 (thin provisioned)' 'LBPRZ): 1' -- sg_vpd -p lbpv $A
        says 'Maximum unmap LBA count' 'Optimal unmap granularity' -- sg_vpd -p bl $A
        queue() { cat /sys/block/${1##*/}/queue/$2; }
        [ $(queue $A discard_max_bytes) -gt 0 ]
        [ $(queue $A discard_granularity) -gt 0 ]
        [ $(queue $A write_zeroes_max_bytes) -gt 0 ]
        # One that is fully provisioned gives nothing back, and is zeroed all the same.
        [ $(queue $FULL discard_max_bytes) = 0 ]
        [ $(queue $FULL write_zeroes_max_bytes) -gt 0 ]

        head -c 8388608 /dev/zero >/tmp/zeroes
        tr '\0' '\252' </tmp/zeroes >/tmp/data
        data() { dd if=/tmp/data of=$1 bs=1M oflag=direct 2>/dev/null; }
        same() { dd if=$1 bs=1M count=8 iflag=direct 2>/dev/null | cmp - $2; }
        data $A
        same $A /tmp/data
        # By its path, for the shell has one of its own that cannot zero. LBPRZ: what is given back reads as zeroes.
        /usr/sbin/blkdiscard -l 8388608 $A
        same $A /tmp/zeroes
        says 'deallocated' -- sg_get_lba_status -l 0 $A
        refused /usr/sbin/blkdiscard -l 8388608 $FULL
        for D in $A $FULL; do
            data $D
            /usr/sbin/blkdiscard -z -o 4096 -l 4096 $D
            { head -c 4096 /tmp/data; head -c 4096 /tmp/zeroes; tail -c 8380416 /tmp/data; } >/tmp/expected
            same $D /tmp/expected
            /usr/sbin/blkdiscard -z $D
            same $D /tmp/zeroes
        done
        no_io_errors
        mark discarded
        "#;
    let console = Vm::default().run(&job, LIMIT).success();
    assert!(console.contains("GLINT-VM-MARK discarded"), "{console}");
}
