//! Fencing: a file that the bricks let nobody use but the one who has taken it last.
//!
//! It takes a volume with `locks.mandatory-locking forced` and `features.enforce-mandatory-lock on`, that is
//! not sharded: of a sharded file only the first shard would be fenced.
//!
//! The lock owner goes along with each operation. libgfapi keeps it for the *thread*, not for the file, so a
//! fenced file has a submit thread of its own: two files, or two owners in turn, can't be mistaken for each
//! other.

use std::{fmt, mem, ptr};

use glint_gfapi_sys::{glfs_fd, glfs_lock_mode};
use rustix::io::Errno;

use crate::{
    Error, File, call,
    instance::{Fd, Instance, check},
    stuck,
};

/// On a file that has it the bricks do no I/O but that of who holds a mandatory lock.
const ENFORCE: &std::ffi::CStr = c"trusted.glusterfs.enforce-mandatory-lock";

/// Whom a lock belongs to: 1 to 255 bytes that nobody else uses, such as the name of a node and an epoch.
#[derive(Clone, PartialEq, Eq)]
pub struct LockOwner(Vec<u8>);

impl LockOwner {
    /// None where it is empty or too long, or all zeros, which GlusterFS takes for no owner at all.
    #[must_use]
    pub fn new(owner: impl Into<Vec<u8>>) -> Option<Self> {
        let owner = owner.into();
        let most = glint_gfapi_sys::GFAPI_MAX_LOCK_OWNER_LEN as usize;
        ((1..=most).contains(&owner.len()) && owner.iter().any(|byte| *byte != 0)).then_some(Self(owner))
    }
}

impl LockOwner {
    /// Its name.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for LockOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

impl File {
    /// Takes the file for `owner`, from whoever has it: from now on the bricks refuse the I/O of all others,
    /// with EBUSY or EAGAIN, until the next one does the same. What this file is asked for afterwards goes out under this
    /// owner. The file stays one that needs a lock, for good; closing it gives up the lock, not that.
    ///
    /// A former holder whose process stands still keeps the locks of replication for as long as its connections live. When these are in
    /// the way for six seconds, they are broken.
    ///
    /// It may take as long as GlusterFS waits for a brick that hangs. A caller that cannot wait drops the future;
    /// then the lock may be taken, or not, at any time as long as the file is open.
    ///
    /// # Errors
    /// What the bricks say: EINVAL or EOPNOTSUPP where the volume has no such locks.
    pub async fn fence(&self, owner: &LockOwner) -> Result<(), Error> {
        let (open, owner) = (self.open.clone(), owner.clone());
        let own = self.open.volume.control.call({
            let open = open.clone();
            move |instance| match open.own_submitter(*instance) {
                Ok(own) => Ok(own.clone()),
                Err(_) => Err(Error::os("thread", Errno::NOMEM)),
            }
        });
        let own = own.await?;
        let (promise, fenced) = call::pair();
        own.call(Box::new(move |instance| {
            if promise.is_awaited() {
                let awaited = || promise.is_awaited();
                let fenced = stuck::breaking_locks(instance, open.path(), &awaited, || {
                    instance.fence(open.fd(), &owner, awaited)
                });
                promise.keep(fenced);
            }
        }));
        fenced.await
    }
}

impl Instance {
    /// Sets the rule. Always, also where it is there: a replicated brick that has restarted minds it only then, if nothing but writes
    /// has come since.
    fn enforce(&self, fd: *mut glfs_fd) -> Result<(), Error> {
        let value = b"1";
        // SAFETY: the callers' descriptor is open; a C string and bytes of the length that is given.
        check("fsetxattr", unsafe {
            self.symbols.glfs_fsetxattr(fd, ENFORCE.as_ptr(), value.as_ptr().cast(), value.len(), 0)
        })
    }

    /// Takes the lock, and makes the owner that of the calling thread.
    fn fence(&self, fd: Fd, owner: &LockOwner, awaited: impl Fn() -> bool) -> Result<(), Error> {
        let fd = fd.0.as_ptr();
        let mut bytes = owner.0.clone();
        let len = i32::try_from(bytes.len()).map_err(|_| Error::os("fd_set_lkowner", Errno::INVAL))?;
        // SAFETY: an open descriptor and bytes of the length that is given, which are only read.
        check("fd_set_lkowner", unsafe {
            self.symbols.glfs_fd_set_lkowner(fd, bytes.as_mut_ptr().cast(), len)
        })?;
        // First the rule, durably, then the lock: nobody comes in between, also after a brick has lost power.
        self.enforce(fd)?;
        // SAFETY: an open descriptor; no attributes are asked for.
        check("fsync", unsafe { self.symbols.glfs_fsync(fd, ptr::null_mut(), ptr::null_mut()) })?;
        // What came before may have taken long. The lock is taken from whoever has it, so only for one who is there.
        if !awaited() {
            return Err(Error::os("file_lock", Errno::CANCELED));
        }
        // SAFETY: any bytes make an `flock`. A length of 0 reaches to whatever end the file will have.
        let mut all: libc::flock = unsafe { mem::zeroed() };
        all.l_type = libc::F_WRLCK as libc::c_short;
        all.l_whence = libc::SEEK_SET as libc::c_short;
        // SAFETY: an open descriptor and a lock that libgfapi may change.
        check("file_lock", unsafe {
            self.symbols.glfs_file_lock(fd, libc::F_SETLK, &raw mut all, glfs_lock_mode::GLFS_LK_MANDATORY)
        })?;
        // The bricks may grant it while they still write for the one before. On a replicated volume this waits
        // for that: it is a transaction, as each write is.
        self.enforce(fd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_never_null() {
        assert!(LockOwner::new([0; 16]).is_none());
        assert!(LockOwner::new([]).is_none());
        assert!(LockOwner::new([1; 256]).is_none());
        assert!(LockOwner::new(*b"node-1 7").is_some());
    }
}
