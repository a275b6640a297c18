//! cpio archives in the form the kernel takes for an initramfs ("newc").

use std::io::{self, Write};

/// Write an archive of `files`, each a path, a mode with its type bits, and its content.
pub(super) fn write(out: &mut impl Write, files: &[(&str, u32, &[u8])]) -> io::Result<()> {
    for (number, (path, mode, content)) in files.iter().enumerate() {
        entry(out, number + 1, path, *mode, content)?;
    }
    entry(out, 0, "TRAILER!!!", 0, &[])
}

fn entry(out: &mut impl Write, inode: usize, path: &str, mode: u32, content: &[u8]) -> io::Result<()> {
    let name_size = path.len() + 1;
    // magic, inode, mode, uid, gid, links, mtime, size, device and rdevice in two parts each, size of the name, checksum
    write!(out, "070701{inode:08x}{mode:08x}{0:08x}{0:08x}{1:08x}{0:08x}{2:08x}", 0, 1, content.len())?;
    write!(out, "{0:08x}{0:08x}{0:08x}{0:08x}{name_size:08x}{0:08x}{path}\0", 0)?;
    pad(out, 110 + name_size)?;
    out.write_all(content)?;
    pad(out, content.len())
}

/// Names, with the header before them, and contents end at a multiple of four.
fn pad(out: &mut impl Write, length: usize) -> io::Result<()> {
    out.write_all(&[0; 3][..length.next_multiple_of(4) - length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_aligned() {
        let mut archive = Vec::new();
        write(&mut archive, &[("job", 0o100_644, b"hello")]).unwrap();
        let field = |number: usize| &archive[6 + 8 * number..][..8];
        assert_eq!(field(1), b"000081a4", "mode");
        assert_eq!(field(6), b"00000005", "size of the content");
        assert_eq!(field(11), b"00000004", "size of the name");
        assert_eq!(&archive[110..116], b"job\0\0\0");
        assert_eq!(&archive[116..124], b"hello\0\0\0");
        assert_eq!(&archive[124..130], b"070701");
        assert!(archive.len().is_multiple_of(4));
    }
}
