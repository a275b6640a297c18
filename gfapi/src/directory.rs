//! The names in a volume's directories.

use std::{
    ffi::{CStr, CString},
    mem::MaybeUninit,
    ptr::{self, NonNull},
};

use crate::{
    Error, Volume,
    instance::{Fd, Instance, c_string, check},
};

impl Volume {
    /// The names in the directory at `path`, without `.` and `..`, as the bricks have them: one that is there
    /// during all of the call is among them. Names that are not UTF-8 are left out.
    ///
    /// # Errors
    /// ENOENT where the directory does not exist, ENOTDIR where it is none, and others.
    pub async fn list(&self, path: &str) -> Result<Vec<String>, Error> {
        let path = c_string("opendir", path)?;
        self.shared.control.call(move |instance| instance.list(&path)).await
    }

    /// Gives the file at `from` one more name, `to`. Never replaces.
    ///
    /// # Errors
    /// EEXIST where `to` is there already, ENOENT where `from` is not, and others.
    pub async fn link(&self, from: &str, to: &str) -> Result<(), Error> {
        let paths = two("link", from, to)?;
        self.shared.control.call(move |instance| instance.link(&paths.0, &paths.1)).await
    }

    /// Gives the file at `from` the name `to` instead; what had that name loses it.
    ///
    /// # Errors
    /// ENOENT where `from` does not exist, and others.
    pub async fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        let paths = two("rename", from, to)?;
        self.shared.control.call(move |instance| instance.rename(&paths.0, &paths.1)).await
    }
}

fn two(operation: &'static str, from: &str, to: &str) -> Result<(CString, CString), Error> {
    Ok((c_string(operation, from)?, c_string(operation, to)?))
}

/// What libgfapi fills for each name; its header says that 512 bytes suffice, which is more than a `dirent` has.
#[repr(C)]
struct Entry {
    dirent: libc::dirent,
    room: [u8; 512],
}

impl Instance {
    fn list(&self, path: &CStr) -> Result<Vec<String>, Error> {
        let fd = self.open_directory(path)?;
        let names = self.names(fd);
        self.close_directory(fd)?;
        names
    }

    fn open_directory(&self, path: &CStr) -> Result<Fd, Error> {
        // SAFETY: a live instance and a C string.
        let fd = unsafe { self.symbols.glfs_opendir(self.fs.as_ptr(), path.as_ptr()) };
        NonNull::new(fd).map(Fd).ok_or_else(|| Error::last("opendir"))
    }

    fn close_directory(&self, fd: Fd) -> Result<(), Error> {
        // SAFETY: an open descriptor of a directory; its owner gives it up.
        check("closedir", unsafe { self.symbols.glfs_closedir(fd.0.as_ptr()) })
    }

    fn names(&self, fd: Fd) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        let mut entry = MaybeUninit::<Entry>::zeroed();
        loop {
            let mut found = ptr::null_mut();
            // SAFETY: an open descriptor of a directory and room for an entry.
            check("readdir", unsafe {
                self.symbols.glfs_readdir_r(fd.0.as_ptr(), entry.as_mut_ptr().cast(), &raw mut found)
            })?;
            if found.is_null() {
                return Ok(names);
            }
            // SAFETY: all bytes were set, by us or by the call, and any make an entry.
            let name = unsafe { &entry.assume_init_ref().dirent.d_name };
            let name: Vec<u8> =
                name.iter().map(|byte| byte.cast_unsigned()).take_while(|byte| *byte != 0).collect();
            match String::from_utf8(name) {
                Ok(name) if name == "." || name == ".." => {}
                Ok(name) => names.push(name),
                Err(_) => {}
            }
        }
    }

    fn link(&self, from: &CStr, to: &CStr) -> Result<(), Error> {
        // SAFETY: a live instance and C strings.
        check("link", unsafe { self.symbols.glfs_link(self.fs.as_ptr(), from.as_ptr(), to.as_ptr()) })
    }

    fn rename(&self, from: &CStr, to: &CStr) -> Result<(), Error> {
        // SAFETY: a live instance and C strings.
        check("rename", unsafe { self.symbols.glfs_rename(self.fs.as_ptr(), from.as_ptr(), to.as_ptr()) })
    }
}
