//! Documents that several nodes change by compare-and-set, over a plain directory: local, or on a GlusterFS volume.
//!
//! ```text
//! <directory>/<document>.<version>            the document as of that version, whole and durable before it has this name
//! <directory>/.<document>.<version>.<nonce>   what a writer has prepared
//! <directory>/<document>.<version>.damaged    what was found not to be what had been written
//! ```
//!
//! Version n + 1 belongs to whoever manages to `link` it. There is no lock, which a frozen process could keep. A version number is never given
//! to another content: so what a reader knows never goes back, even where the newest version turns out to be damaged.

mod directory;
mod documents;
mod envelope;
#[cfg(test)]
pub(crate) mod fake;
mod names;

pub use directory::{Directory, DirectoryError};
pub use documents::{Documents, Found, Outcome, State, StoreError, Survey, Timing};
pub use envelope::{Body, Fault, MOST_BYTES};
pub use names::{DocumentName, Nonce};
