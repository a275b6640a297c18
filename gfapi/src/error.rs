//! What can go wrong, and which of a few kinds it is.

use std::ffi::NulError;

use glint_gfapi_sys::LoadError;
use rustix::io::Errno;

/// A call of libgfapi failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// libgfapi is not installed, or too old.
    #[error(transparent)]
    Library(#[from] LoadError),
    /// The call `operation` failed with `errno`.
    #[error("{operation}: {} (errno {errno})", std::io::Error::from_raw_os_error(*errno))]
    Os {
        /// What was being done, as libgfapi names it without `glfs_`.
        operation: &'static str,
        /// The C library's error number; gluster's own (above 1024) occur too.
        errno: i32,
    },
    /// An option that was set before the connection was made has not taken effect.
    #[error("translator {translator} of the volume has option {key} = {found:?}, not {wanted:?}")]
    Option {
        /// The translator's name in the client's graph.
        translator: String,
        /// The option.
        key: String,
        /// The value that was asked for.
        wanted: String,
        /// The value in effect, `None` where the translator does not know the option.
        found: Option<String>,
    },
}

/// What an [`Error`] means to whoever did the I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Quorum or the connection to the bricks is gone. It may come back; a write may have landed in part.
    NotConnected,
    /// Another node has taken the file over, or a lock that was held is lost.
    OwnershipLost,
    /// The data could not be read or written.
    Io,
    /// No space, or over quota.
    NoSpace,
    /// The volume, or a brick of it, is read-only.
    ReadOnly,
    /// The file or its volume no longer exists.
    Gone,
    /// Not enough memory to begin; nothing was done.
    OutOfMemory,
    /// The bricks cannot do this; the same can be had in another way.
    Unsupported,
    /// The arguments do not suit the file: alignment, range, name.
    Invalid,
    /// Anything else.
    Other,
}

/// The classification, error number by error number. Numbers that are not here are [`Kind::Other`].
const KINDS: &[(Errno, Kind)] = &[
    (Errno::NOTCONN, Kind::NotConnected),
    (Errno::TIMEDOUT, Kind::NotConnected),
    (Errno::CONNREFUSED, Kind::NotConnected),
    (Errno::CONNRESET, Kind::NotConnected),
    (Errno::CONNABORTED, Kind::NotConnected),
    (Errno::HOSTUNREACH, Kind::NotConnected),
    (Errno::NETUNREACH, Kind::NotConnected),
    (Errno::BUSY, Kind::OwnershipLost),
    (Errno::AGAIN, Kind::OwnershipLost),
    (Errno::BADF, Kind::OwnershipLost),
    (Errno::BADFD, Kind::OwnershipLost),
    (Errno::IO, Kind::Io),
    (Errno::NOSPC, Kind::NoSpace),
    (Errno::DQUOT, Kind::NoSpace),
    (Errno::ROFS, Kind::ReadOnly),
    (Errno::NOENT, Kind::Gone),
    (Errno::STALE, Kind::Gone),
    (Errno::NOMEM, Kind::OutOfMemory),
    (Errno::OPNOTSUPP, Kind::Unsupported),
    (Errno::NOSYS, Kind::Unsupported),
    (Errno::INVAL, Kind::Invalid),
    (Errno::FBIG, Kind::Invalid),
    (Errno::NAMETOOLONG, Kind::Invalid),
    (Errno::ISDIR, Kind::Invalid),
    (Errno::NOTDIR, Kind::Invalid),
];

impl Error {
    pub(crate) const fn os(operation: &'static str, errno: Errno) -> Self {
        Self::Os { operation, errno: errno.raw_os_error() }
    }

    /// For a name with a NUL byte in it, which libgfapi cannot take.
    pub(crate) fn nul(operation: &'static str) -> impl FnOnce(NulError) -> Self {
        move |_| Self::os(operation, Errno::INVAL)
    }

    /// The error number of the last call on this thread, right after it failed. A call that fails without one
    /// counts as EIO.
    pub(crate) fn last(operation: &'static str) -> Self {
        Self::Os { operation, errno: last_errno() }
    }

    /// What the error means.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Os { errno, .. } => KINDS
                .iter()
                .find(|(number, _)| number.raw_os_error() == *errno)
                .map_or(Kind::Other, |(_, kind)| *kind),
            Self::Library(_) | Self::Option { .. } => Kind::Other,
        }
    }

    /// The C library's error number, where the error has one.
    #[must_use]
    pub const fn errno(&self) -> Option<i32> {
        match self {
            Self::Os { errno, .. } => Some(*errno),
            Self::Library(_) | Self::Option { .. } => None,
        }
    }
}

/// `errno` of this thread; never 0, so that a failure stays one.
pub(crate) fn last_errno() -> i32 {
    match std::io::Error::last_os_error().raw_os_error() {
        None | Some(0) => Errno::IO.raw_os_error(),
        Some(errno) => errno,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_classified_once() {
        for (at, (errno, _)) in KINDS.iter().enumerate() {
            assert!(KINDS.iter().skip(at + 1).all(|(other, _)| other != errno), "{errno:?} twice");
        }
    }

    #[test]
    fn errors_are_classified_by_number() {
        assert_eq!(Error::os("pread", Errno::NOTCONN).kind(), Kind::NotConnected);
        assert_eq!(Error::os("pwrite", Errno::NOTSUP).kind(), Kind::Unsupported);
        assert_eq!(Error::os("pwrite", Errno::PERM).kind(), Kind::Other);
    }

    #[test]
    fn the_message_names_operation_and_number() {
        let message = Error::os("fdatasync", Errno::NOTCONN).to_string();
        assert!(message.starts_with("fdatasync: ") && message.contains("107"), "{message}");
    }
}
