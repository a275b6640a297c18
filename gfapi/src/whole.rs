//! Small files, read and written as a whole.

use std::{ffi::CStr, mem::MaybeUninit, ptr};

use bytes::Bytes;
use rustix::io::Errno;

use crate::{
    Error, Volume,
    instance::{Fd, Instance, c_string, check},
};

/// Only the process' own user, and root, may use what is made.
const MODE: u32 = 0o600;

impl Volume {
    /// The contents of the file at `path`; no more than `most` bytes of them.
    ///
    /// # Errors
    /// ENOENT where it does not exist, and others.
    pub async fn read_whole(&self, path: &str, most: usize) -> Result<Vec<u8>, Error> {
        let path = c_string("open", path)?;
        self.shared.control.call(move |instance| instance.read_whole(&path, most)).await
    }

    /// Makes a file with these contents, in a directory that exists, and brings them to stable storage.
    ///
    /// # Errors
    /// EEXIST where it exists already, and others, after which it may be there with part of its contents.
    pub async fn create_whole(&self, path: &str, contents: Bytes) -> Result<(), Error> {
        let path = c_string("creat", path)?;
        self.shared.control.call(move |instance| instance.create_whole(&path, &contents)).await
    }

    /// Makes these the contents of the file at `path`, in place; makes it where it does not exist. It does not
    /// wait for stable storage, and who reads meanwhile may see some of the old and some of the new.
    ///
    /// # Errors
    /// What the bricks say; part of it may have been written.
    pub async fn overwrite_whole(&self, path: &str, contents: Bytes) -> Result<(), Error> {
        let path = c_string("creat", path)?;
        self.shared.control.call(move |instance| instance.overwrite_whole(&path, &contents)).await
    }
}

impl Instance {
    pub(crate) fn read_whole(&self, path: &CStr, most: usize) -> Result<Vec<u8>, Error> {
        let fd = self.open(path, libc::O_RDONLY)?;
        let contents = self.read_at_most(fd, most);
        self.close(fd)?;
        contents
    }

    fn read_at_most(&self, fd: Fd, most: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(most).map_err(|_| Error::os("pread", Errno::NOMEM))?;
        bytes.resize(most, 0);
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let offset = i64::try_from(filled).map_err(|_| Error::os("pread", Errno::INVAL))?;
            // SAFETY: an open descriptor and a buffer of the length that is given; no attributes are asked for.
            let got = unsafe {
                self.symbols.glfs_pread(
                    fd.0.as_ptr(),
                    rest.as_mut_ptr().cast(),
                    rest.len(),
                    offset,
                    0,
                    ptr::null_mut(),
                )
            };
            match usize::try_from(got).map_err(|_| Error::last("pread"))? {
                0 => break,
                got => filled += got,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    fn create_whole(&self, path: &CStr, contents: &[u8]) -> Result<(), Error> {
        let fd = self.create(path, libc::O_WRONLY | libc::O_EXCL, MODE)?;
        let written = self.write_from_start(fd, contents).and_then(|_| {
            // SAFETY: an open descriptor; no attributes are asked for.
            check("fsync", unsafe {
                self.symbols.glfs_fsync(fd.0.as_ptr(), ptr::null_mut(), ptr::null_mut())
            })
        });
        let closed = self.close(fd);
        written.and(closed)
    }

    fn overwrite_whole(&self, path: &CStr, contents: &[u8]) -> Result<(), Error> {
        let fd = self.create(path, libc::O_WRONLY, MODE)?;
        let written = self.write_from_start(fd, contents).and_then(|size| {
            let len = i64::try_from(contents.len()).map_err(|_| Error::os("pwrite", Errno::INVAL))?;
            if size <= len {
                return Ok(());
            }
            // SAFETY: an open descriptor; no attributes are asked for.
            check("ftruncate", unsafe {
                self.symbols.glfs_ftruncate(fd.0.as_ptr(), len, ptr::null_mut(), ptr::null_mut())
            })
        });
        let closed = self.close(fd);
        written.and(closed)
    }

    /// Tells the size of the file afterwards; 0 where nothing was to be written.
    fn write_from_start(&self, fd: Fd, contents: &[u8]) -> Result<i64, Error> {
        let mut after = MaybeUninit::<glint_gfapi_sys::glfs_stat>::zeroed();
        let mut written = 0;
        while let Some(rest) = contents.get(written..).filter(|rest| !rest.is_empty()) {
            let offset = i64::try_from(written).map_err(|_| Error::os("pwrite", Errno::INVAL))?;
            // SAFETY: an open descriptor, bytes of the length that is given, and room for the attributes.
            let put = unsafe {
                self.symbols.glfs_pwrite(
                    fd.0.as_ptr(),
                    rest.as_ptr().cast(),
                    rest.len(),
                    offset,
                    0,
                    ptr::null_mut(),
                    after.as_mut_ptr(),
                )
            };
            match usize::try_from(put).map_err(|_| Error::last("pwrite"))? {
                0 => return Err(Error::os("pwrite", Errno::IO)),
                put => written += put,
            }
        }
        // SAFETY: zeroed, and perhaps filled; any bytes make attributes.
        Ok(unsafe { after.assume_init() }.glfs_st_size)
    }
}
