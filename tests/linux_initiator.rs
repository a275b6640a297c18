//! Linux's own initiator, in a virtual machine, uses volumes as a disk.

use std::fs;
use std::thread;
use std::time::Duration;

use glint_testkit::glint::Glint;
use glint_testkit::gluster::{GlusterCluster, VolumeSpec};
use glint_testkit::vm::Vm;

/// The host's loopback as the guest sees it.
const HOST: &str = "10.0.2.2";

/// A machine boots in ten to thirty seconds, more when two do at once.
const BOOT: Duration = Duration::from_secs(120);
const WORK: Duration = Duration::from_secs(240);

/// What each job begins with: the target's name, its portal as the guest sees it, and its record with these settings.
fn prologue(glint: &Glint, settings: &str) -> String {
    let port = glint.portal().port();
    format!(". /lib.sh\nT=iqn.2026-12.io.glint:disk\nP={HOST}:{port}\nnode $T $P {settings}\n")
}

#[test]
fn discovers_logs_in_with_chap_and_digests_and_keeps_a_file_system() {
    let cluster = GlusterCluster::start().unwrap();
    let volume = cluster.create_volume("vol", &VolumeSpec::default()).unwrap();
    let builder = Glint::serve().advertise(HOST);
    let secrets = builder.dir().to_path_buf();
    fs::write(secrets.join("secret"), "initiator-secret-1").unwrap();
    fs::write(secrets.join("mutual"), "target-secret-22").unwrap();
    let glint = builder.start_with_config(&format!(
        r#"
        [[target]]
        name = "disk"
        initiators = ["iqn.2026-12.io.glint.test:guest"]

        [target.chap]
        user = "alice"
        secret_file = "{secrets}/secret"
        mutual_user = "glint"
        mutual_secret_file = "{secrets}/mutual"

        [[target.lun]]
        device = "{device}"
        size = "256MiB"
        "#,
        secrets = secrets.display(),
        device = volume.uri("/blocks/disk.img"),
    ));

    let settings = "node.session.auth.authmethod=CHAP node.session.auth.username=alice \
                    node.session.auth.password=initiator-secret-1 node.session.auth.username_in=glint \
                    node.session.auth.password_in=target-secret-22 \
                    node.conn[0].iscsi.HeaderDigest=CRC32C node.conn[0].iscsi.DataDigest=CRC32C";
    let job = prologue(&glint, settings)
        + r#"
        found=$(iscsiadm -m discovery -t st -p $P -o nonpersistent)
        echo "found: $found"
        echo "$found" | grep -q "^$P,[0-9]* $T$"

        # The wrong secret first: the target has to refuse it.
        iscsiadm -m node -T $T -p $P -o update -n node.session.auth.password -v not-the-secret-9
        if login $T $P; then echo "logged in with a wrong secret"; exit 1; fi
        iscsiadm -m node -T $T -p $P -o update -n node.session.auth.password -v initiator-secret-1

        login $T $P
        D=$(disk $T)
        test "$(negotiated $T header_digest) $(negotiated $T data_digest)" = "1 1"
        sg_inq $D
        sg_vpd -p di $D
        mkfs.ext4 -qF $D
        mount $D /mnt
        dd if=/dev/urandom of=/tmp/data bs=1M count=24 2>/dev/null
        cp /tmp/data /mnt/data
        mkdir /mnt/many
        for i in $(seq 1 200); do echo "file $i" >/mnt/many/$i; done
        umount /mnt
        logout $T $P

        login $T $P
        D=$(disk $T)
        e2fsck -fn $D
        mount $D /mnt
        cmp /tmp/data /mnt/data
        test $(cat /mnt/many/* | wc -l) = 200
        rm -r /mnt/many
        fstrim -v /mnt
        umount /mnt
        e2fsck -fn $D
        no_io_errors
        logout $T $P
        "#;
    Vm::default().run(&job, BOOT + WORK).success();
}

#[test]
fn rides_out_the_death_and_restart_of_glint() {
    let cluster = GlusterCluster::start().unwrap();
    let volume = cluster.create_volume("vol", &VolumeSpec::default()).unwrap();
    let mut glint = Glint::serve()
        .advertise(HOST)
        .volume(&format!("disk={},size=256MiB", volume.uri("/blocks/disk.img")))
        .start();

    let job = prologue(&glint, "")
        + r#"
        login $T $P
        D=$(disk $T)
        mkfs.ext4 -qF $D
        mount $D /mnt
        dd if=/dev/urandom of=/tmp/data bs=1M count=4 2>/dev/null
        for i in $(seq 1 60); do
            dd if=/tmp/data of=/mnt/$((i % 20)) bs=256k conv=fsync 2>/dev/null
            mark wrote $i
        done
        dmesg | grep 'detected conn error'   # or glint's death went unnoticed and nothing was tried
        no_io_errors
        umount /mnt
        e2fsck -fn $D
        mount $D /mnt
        for i in $(seq 0 19); do cmp /tmp/data /mnt/$i; done
        umount /mnt
        no_io_errors
        logout $T $P
        "#;
    let mut vm = Vm::default().spawn(&job);
    vm.wait_for_mark("wrote 3", BOOT);
    // In the middle of the next file.
    thread::sleep(Duration::from_millis(100));
    glint.kill();
    thread::sleep(Duration::from_secs(3));
    glint.start_again();
    vm.finish(WORK).success();
}
