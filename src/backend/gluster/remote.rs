//! The calls that the device makes on its file, so that its patience can be tested without a volume.

use bytes::Bytes;
use glint_gfapi::{Error, File};
use std::future::Future;

/// A file on a volume: what [`File`] does, and a stand-in in tests.
pub(super) trait RemoteFile: Send + Sync + 'static {
    /// Fewer bytes only at the end of the file.
    fn read(&self, offset: u64, len: usize) -> impl Future<Output = Result<Bytes, Error>> + Send;
    /// Says how many bytes were written.
    fn write(
        &self,
        offset: u64,
        data: &[Bytes],
        dsync: bool,
    ) -> impl Future<Output = Result<usize, Error>> + Send;
    fn fdatasync(&self) -> impl Future<Output = Result<(), Error>> + Send;
    fn discard(&self, offset: u64, len: u64) -> impl Future<Output = Result<(), Error>> + Send;
    fn zerofill(&self, offset: u64, len: u64) -> impl Future<Output = Result<(), Error>> + Send;
    fn truncate(&self, size: u64) -> impl Future<Output = Result<(), Error>> + Send;
    fn size(&self) -> impl Future<Output = Result<u64, Error>> + Send;
    /// `None` where no data follows.
    fn seek_data(&self, offset: u64) -> impl Future<Output = Result<Option<u64>, Error>> + Send;
    fn seek_hole(&self, offset: u64) -> impl Future<Output = Result<Option<u64>, Error>> + Send;
}

/// Hands each call on to the method of the same name.
macro_rules! delegate {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        impl RemoteFile for File {
            $(fn $name(&self, $($argument: $kind),*) -> impl Future<Output = Result<$result, Error>> + Send {
                File::$name(self, $($argument),*)
            })*
        }
    };
}
delegate! {
    read(offset: u64, len: usize) -> Bytes;
    write(offset: u64, data: &[Bytes], dsync: bool) -> usize;
    fdatasync() -> ();
    discard(offset: u64, len: u64) -> ();
    zerofill(offset: u64, len: u64) -> ();
    truncate(size: u64) -> ();
    size() -> u64;
    seek_data(offset: u64) -> Option<u64>;
    seek_hole(offset: u64) -> Option<u64>;
}
