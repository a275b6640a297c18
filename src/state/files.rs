//! Files that are replaced as a whole. All of this blocks.

use super::envelope::{MOST_BYTES, MOST_HEADER};
use bytes::Bytes;
use rustix::fs::{Access, FlockOperation};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// For the owner alone.
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Makes a directory with its parents where they are missing, and makes the new names durable.
pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path)?;
    path.parent().map_or(Ok(()), sync_directory)
}

/// Whether files can be made there.
pub(super) fn check_writable(directory: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(directory, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK)?)
}

/// Takes the lock of a file until it is closed; none when another process has it.
pub(super) fn lock(path: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(FILE_MODE).open(path)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A file's bytes, none where it is missing. One that is too large for a document is cut off, so that its length is wrong.
pub(super) fn read(path: &Path) -> io::Result<Option<Bytes>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take((MOST_BYTES + MOST_HEADER) as u64).read_to_end(&mut bytes)?;
    Ok(Some(bytes.into()))
}

/// Replaces a file. At any time, and after a crash, the name leads to the old bytes or to the new ones, whole; after success, to the new
/// ones.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = beside(path, "new");
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(FILE_MODE).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    path.parent().map_or(Ok(()), sync_directory)
}

/// Puts a file aside under a name that no file has, for people to look at; gives that name. Nothing happens where it is missing.
pub(super) fn set_aside(path: &Path) -> io::Result<Option<PathBuf>> {
    let names = std::iter::once("damaged".to_owned()).chain((2..100).map(|n| format!("damaged-{n}")));
    for name in names {
        let aside = beside(path, &name);
        // A hard link, unlike a rename, never replaces what is there.
        match fs::hard_link(path, &aside) {
            Ok(()) => {
                fs::remove_file(path)?;
                return Ok(Some(aside));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many damaged files are kept there already"))
}

fn beside(path: &Path, extension: &str) -> PathBuf {
    path.with_extension(extension)
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
