//! What a directory has to be able to do.

use bytes::Bytes;
use std::future::Future;
use std::time::Instant;

/// Why a call did not do its work, or may not have done it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DirectoryError {
    /// The new name is there already.
    #[error("the name is there already")]
    Exists,
    /// The file is not there.
    #[error("the file is not there")]
    Missing,
    /// Nothing was done, and nothing will be (no space, no permission).
    #[error("refused: {0}")]
    Refused(String),
    /// It may have been done, or it may still be done at any later time (connection lost, deadline passed).
    #[error("no answer: {0}")]
    Unknown(String),
}

/// A directory of small files. Every call has a deadline of its own: it always returns.
///
/// A future that is dropped may or may not have done its work, and may still do it.
pub trait Directory: Send + Sync {
    /// The names of all files. One that is there during all of the call is in it; others may be.
    fn list(&self) -> impl Future<Output = Result<Vec<String>, DirectoryError>> + Send;

    /// All of a file; no more than `most` bytes of it.
    fn read(&self, name: &str, most: usize) -> impl Future<Output = Result<Bytes, DirectoryError>> + Send;

    /// Makes a file that is not there yet, and makes its contents durable.
    fn create(&self, name: &str, contents: &[u8]) -> impl Future<Output = Result<(), DirectoryError>> + Send;

    /// Gives a file one more name, unless that is taken: never replaces.
    fn link(&self, from: &str, to: &str) -> impl Future<Output = Result<(), DirectoryError>> + Send;

    /// Gives a file another name.
    fn rename(&self, from: &str, to: &str) -> impl Future<Output = Result<(), DirectoryError>> + Send;

    /// Takes a name away.
    fn unlink(&self, name: &str) -> impl Future<Output = Result<(), DirectoryError>> + Send;

    /// Makes durable that there is a file of this name.
    fn sync(&self, name: &str) -> impl Future<Output = Result<(), DirectoryError>> + Send;

    /// Writes a whole small file in place, making it where it is missing: for heartbeats, of which a reader may see a mixture.
    fn overwrite(
        &self,
        name: &str,
        contents: &[u8],
    ) -> impl Future<Output = Result<(), DirectoryError>> + Send;

    /// A clock that goes on while the process is stopped and never goes back.
    fn now(&self) -> Instant;
}
