//! iPXE, the boot firmware of network cards, boots a machine from a volume: `sanboot`.

use std::fs;
use std::process::Command;
use std::time::Duration;

use glint_testkit::glint::{Glint, IQN_BASE};
use glint_testkit::process::Process;
use glint_testkit::tools::qemu_img;

/// Two seconds on an idle machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Where the boot sector's text is: far beyond what the firmware reads by itself.
const TEXT_BLOCK: usize = 2048;
const TEXT: &[u8] = b"\r\nbooted from the volume\r\n\0";

/// Machine code of a boot sector: it reads the text's block through the BIOS, hence through iPXE and glint, and prints it on the
/// first serial port.
const BOOT_CODE: &[&[u8]] = &[
    &[0x31, 0xc0],             //       xor  ax, ax
    &[0x8e, 0xd8],             //       mov  ds, ax
    &[0x8e, 0xd0],             //       mov  ss, ax
    &[0xbc, 0x00, 0x7c],       //       mov  sp, 7c00h
    &[0xbe, 0x23, 0x7c],       //       mov  si, packet
    &[0xb4, 0x42],             //       mov  ah, 42h        ; extended read; the BIOS left the drive in dl
    &[0xcd, 0x13],             //       int  13h
    &[0x72, 0x0e],             //       jc   halt
    &[0xbe, 0x00, 0x80],       //       mov  si, 8000h
    &[0xac],                   // next: lodsb
    &[0x84, 0xc0],             //       test al, al
    &[0x74, 0x06],             //       jz   halt
    &[0xba, 0xf8, 0x03],       //       mov  dx, 3f8h
    &[0xee],                   //       out  dx, al
    &[0xeb, 0xf5],             //       jmp  next
    &[0xf4],                   // halt: hlt
    &[0xeb, 0xfd],             //       jmp  halt
    &[16, 0, 1, 0],            // packet: its size, one block,
    &[0x00, 0x80, 0x00, 0x00], //       to 0000:8000
    &(TEXT_BLOCK as u64).to_le_bytes(),
];

fn bootable_image() -> Vec<u8> {
    let mut image = vec![0; 4 << 20];
    let code = BOOT_CODE.concat();
    image[..code.len()].copy_from_slice(&code);
    image[510..512].copy_from_slice(&[0x55, 0xaa]);
    image[TEXT_BLOCK * 512..][..TEXT.len()].copy_from_slice(TEXT);
    image
}

#[test]
fn boots_a_machine_from_a_volume() {
    let builder = Glint::serve();
    let volume = format!("disk=file:{}/disk.img,size=64MiB", builder.dir().display());
    let glint = builder.volume(&volume).start();
    let image = glint.dir().join("image");
    fs::write(&image, bootable_image()).unwrap();
    qemu_img(&["convert", "-n", "-f", "raw", "-O", "raw", image.to_str().unwrap(), &glint.url("disk")]);

    // The card's firmware gets this script by DHCP and TFTP; the host's loopback is 10.0.2.2 there.
    let tftp = glint.dir().join("tftp");
    fs::create_dir(&tftp).unwrap();
    let port = glint.portal().port();
    fs::write(tftp.join("boot.ipxe"), format!("#!ipxe\nsanboot iscsi:10.0.2.2::{port}::{IQN_BASE}:disk\n"))
        .unwrap();
    let mut machine = Process::start(
        Command::new("qemu-system-x86_64")
            .args(["-machine", "pc,graphics=off", "-accel", "tcg", "-m", "64", "-boot", "n"])
            .args(["-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio"])
            .arg("-netdev")
            .arg(format!("user,id=net,tftp={},bootfile=boot.ipxe", tftp.display()))
            .args(["-device", "virtio-net-pci,netdev=net"]),
    );
    machine.wait_for_line("what the boot sector says", LIMIT, |line| line.contains("booted from the volume"));
    assert!(glint.log().contains("org.ipxe"), "the machine's session is not iPXE's:\n{}", glint.log());
}
