//! What an error number of the operating system means to a unit: one table.

use glint_target_core::device::DeviceError;
use rustix::io::Errno;

/// Numbers that are not here mean that the medium failed.
const TABLE: [(Errno, DeviceError); 22] = [
    (Errno::NOSPC, DeviceError::NoSpace),
    (Errno::DQUOT, DeviceError::NoSpace),
    (Errno::ROFS, DeviceError::ReadOnly),
    (Errno::PERM, DeviceError::ReadOnly),
    (Errno::ACCESS, DeviceError::ReadOnly),
    (Errno::TXTBSY, DeviceError::ReadOnly),
    (Errno::NOENT, DeviceError::Gone),
    (Errno::STALE, DeviceError::Gone),
    (Errno::NODEV, DeviceError::Gone),
    (Errno::NXIO, DeviceError::Gone),
    (Errno::NOMEDIUM, DeviceError::Gone),
    (Errno::NOMEM, DeviceError::Busy),
    (Errno::AGAIN, DeviceError::Busy),
    (Errno::BUSY, DeviceError::Busy),
    (Errno::NOBUFS, DeviceError::Busy),
    (Errno::OPNOTSUPP, DeviceError::Unsupported),
    (Errno::NOSYS, DeviceError::Unsupported),
    (Errno::FBIG, DeviceError::OutOfRange),
    (Errno::NOTCONN, DeviceError::Unreachable),
    (Errno::TIMEDOUT, DeviceError::Unreachable),
    (Errno::HOSTUNREACH, DeviceError::Unreachable),
    (Errno::NOLINK, DeviceError::Unreachable),
];

/// Classifies an error number.
pub(super) fn classify(errno: Errno) -> DeviceError {
    let row = TABLE.iter().find(|(number, _)| *number == errno);
    row.map_or(DeviceError::Medium, |(_, error)| *error)
}

/// Whether the kernel or the file system lacks the operation, so that another way has to be found.
pub(super) fn is_unsupported(errno: Errno) -> bool {
    classify(errno) == DeviceError::Unsupported
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_stands_once() {
        for (index, (errno, _)) in TABLE.iter().enumerate() {
            assert!(TABLE.iter().skip(index + 1).all(|(other, _)| other != errno), "{errno} twice");
        }
    }

    #[test]
    fn what_is_unknown_is_a_medium_error() {
        assert_eq!(classify(Errno::IO), DeviceError::Medium);
        assert_eq!(classify(Errno::ILSEQ), DeviceError::Medium);
        assert_eq!(classify(Errno::DQUOT), DeviceError::NoSpace);
        assert!(is_unsupported(Errno::OPNOTSUPP));
    }
}
