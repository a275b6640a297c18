//! The space below thin volumes: writes fail while there is none, and go on when there is again; initiators are told before that.

use std::fs;
use std::time::Duration;

use glint_testkit::glint::Glint;
use glint_testkit::gluster::{GlusterCluster, VolumeSpec};
use glint_testkit::tools::{Finished, tool};
use glint_testkit::vm::Vm;
use glint_testkit::wait;

const LIMIT: Duration = Duration::from_secs(30);

/// QEMU's own initiator does these things with a volume, in one session. It takes DATA PROTECT, SPACE ALLOCATION FAILED WRITE PROTECT for ENOSPC.
fn qemu_io_all(url: &str, commands: &[&str]) -> Finished {
    let commands = commands.iter().flat_map(|command| ["-c", command]);
    let options = ["-f", "raw", "-t", "none", "-d", "unmap"];
    tool("qemu-io", options.into_iter().chain(commands).chain([url]), LIMIT)
}

fn qemu_io(url: &str, command: &str) -> Finished {
    qemu_io_all(url, &[command])
}

/// The lines of the log that say something of this.
fn lines_with(glint: &Glint, text: &str) -> usize {
    glint.log().lines().filter(|line| line.contains(text)).count()
}

#[test]
fn a_full_file_system_fails_writes_until_there_is_space() {
    let place = tempfile::tempdir().unwrap();
    let disk = place.path().join("disk.img");
    let mut glint = Glint::serve()
        .small_file_system(place.path(), "32m")
        .volume(&format!("disk=file:{},size=64MiB,low_space=50%", disk.display()))
        .start();
    let url = glint.url("disk");
    let ballast = glint.within(&place.path().join("ballast"));

    let first = qemu_io(&url, "write -P 0x11 0 4M").success();
    assert!(first.contains("wrote"), "{first}");
    assert_eq!(lines_with(&glint, "runs low"), 0, "{}", glint.log());
    fs::write(&ballast, vec![0; 20 << 20]).unwrap();
    glint.wait_for_log("runs low", LIMIT);

    // More than there is, several times over: each is refused, and the log does not grow with them.
    let said = glint.log().lines().count();
    let outcome = qemu_io_all(&url, &["write -P 0x22 16M 32M"; 20]);
    assert_eq!(outcome.output.matches("No space left on device").count(), 20, "{}", outcome.output);
    let said = glint.log().lines().count() - said;
    assert!(said < 5, "{said} lines more:\n{}", glint.log());
    // What is there can be read, written again, and given back.
    qemu_io(&url, "read -P 0x11 0 4M").success();
    qemu_io(&url, "write -P 0x33 0 4M").success();
    qemu_io(&url, "discard 16M 32M").success();
    fs::remove_file(&ballast).unwrap();
    qemu_io(&url, "write -P 0x22 16M 8M").success();
    qemu_io(&url, "read -P 0x22 16M 8M").success();
    qemu_io(&url, "read -P 0x33 0 4M").success();
    wait::until("the log says that there is space again", LIMIT, || {
        lines_with(&glint, "has space again") == 1
    });
    assert_eq!(lines_with(&glint, "runs low"), 1, "{}", glint.log());
    glint.assert_alive();
}

#[test]
fn a_full_gluster_volume_fails_writes_until_there_is_space() {
    let cluster = GlusterCluster::start().unwrap();
    let spec = VolumeSpec { brick_size: Some("48m".into()), ..VolumeSpec::default() };
    let volume = cluster.create_volume("vol", &spec).unwrap();
    let mut glint =
        Glint::with_volume(&format!("disk={},size=64MiB,low_space=50%", volume.uri("/blocks/disk.img")));
    let url = glint.url("disk");
    qemu_io(&url, "write -P 0x11 0 4M").success();

    volume.take_space(36).unwrap();
    glint.wait_for_log("runs low", LIMIT);
    let outcome = qemu_io_all(&url, &["write -P 0x22 16M 32M"; 5]);
    assert_eq!(outcome.output.matches("No space left on device").count(), 5, "{}", outcome.output);
    qemu_io(&url, "read -P 0x11 0 4M").success();
    qemu_io(&url, "write -P 0x33 0 4M").success();
    volume.take_space(0).unwrap();
    qemu_io(&url, "discard 16M 32M").success();
    qemu_io(&url, "write -P 0x22 16M 8M").success();
    qemu_io(&url, "read -P 0x22 16M 8M").success();
    qemu_io(&url, "read -P 0x33 0 4M").success();
    wait::until("the log says that there is space again", LIMIT, || {
        lines_with(&glint, "has space again") == 1
    });
    assert_eq!(lines_with(&glint, "runs low"), 1, "{}", glint.log());
    glint.assert_alive();
}

#[test]
fn linux_learns_of_low_space_and_of_sizes() {
    let builder = Glint::serve().advertise("10.0.2.2");
    let volume = |size: &str| {
        format!(
            "[[target]]\nname = \"disk\"\n[[target.lun]]\ndevice = \"ram:\"\nsize = \"{size}\"\nlow_space = \"50%\"\n{RESIZABLE}"
        )
    };
    let mut glint = builder.start_with_config(&volume("64MiB"));
    let job =
        format!(". /lib.sh\nT=iqn.2026-12.io.glint:disk\nP=10.0.2.2:{}\nnode $T $P\n", glint.portal().port())
            + r#"
        login $T $P
        D=$(disk $T)
        B=/sys/block/${D#/dev/}
        test "$(cat $B/queue/logical_block_size $B/queue/physical_block_size | xargs)" = "512 16384"
        test "$(cat $B/device/scsi_disk/*/provisioning_mode)" = unmap
        test $(cat $B/size) = 131072
        dd if=/dev/zero of=$D bs=1M count=20 oflag=direct 2>/dev/null
        sleep 7
        dd if=$D of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
        if dmesg | grep 'thin provisioning soft threshold'; then echo "told too early"; exit 1; fi
        dd if=/dev/zero of=$D bs=1M count=40 oflag=direct 2>/dev/null
        sleep 7
        dd if=$D of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
        dmesg | grep 'thin provisioning soft threshold'
        mark shrink
        for i in $(seq 1 30); do
            sleep 1
            dd if=$D of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
            if dmesg | grep 'Capacity data has changed'; then break; fi
        done
        dmesg | grep 'Capacity data has changed'
        echo 1 >$B/device/rescan
        test $(cat $B/size) = 65536
        logout $T $P
        "#;
    let mut vm = Vm::default().spawn(&job);
    vm.wait_for_mark("shrink", Duration::from_secs(180));
    glint.reconfigure(&volume("32MiB"));
    vm.finish(Duration::from_secs(120)).success();
    glint.assert_alive();
}

/// Further keys of the volume that Linux looks at.
const RESIZABLE: &str = "shrink = true\nphysical_block_size = \"16KiB\"\n";
