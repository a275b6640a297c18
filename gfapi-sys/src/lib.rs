//! Raw bindings to libgfapi, the client library of GlusterFS, loaded at run time.
//!
//! Nothing links against libgfapi: [`library`] opens it when the first gluster volume is used, so that glint
//! builds and runs without GlusterFS. The declarations are bindgen's, from an allow-list; `make bindings`
//! writes them anew and `tests/abi.rs` compares them with the installed header.
//!
//! The asynchronous calls are those whose callback carries the attributes before and after (symbol version
//! `GFAPI_6.0`, GlusterFS 6 and later).

use std::sync::{Mutex, OnceLock, PoisonError};

#[allow(
    non_camel_case_types,
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "generated"
)]
#[rustfmt::skip] // kept as the generator wrote it
mod bindings;

pub use bindings::*;

/// The name under which the dynamic linker knows libgfapi.
pub const SONAME: &str = "libgfapi.so.0";

/// A function that came with GlusterFS 6, and with it the asynchronous calls in the form that is bound here.
/// An older library has them under the same names with another callback, so its presence must be checked.
const SINCE_6: &str = "glfs_fsetattr";

/// libgfapi could not be loaded.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LoadError {
    /// The dynamic linker found no usable library.
    #[error(
        "{SONAME} could not be loaded ({tried}); install GlusterFS' client library: package libgfapi0 with \
         glusterfs-common on Debian and Ubuntu, glusterfs-api on other distributions"
    )]
    Missing {
        /// What was tried and what the dynamic linker said.
        tried: String,
    },
    /// A library is there but lacks a function.
    #[error("{SONAME} is too old, GlusterFS 6 or later is needed: {reason}")]
    TooOld {
        /// What the dynamic linker said.
        reason: String,
    },
}

/// The loaded library. The first call opens it; a failure is not remembered, so that a later call succeeds
/// once the package has been installed.
///
/// # Errors
/// [`LoadError`], which names the package to install.
pub fn library() -> Result<&'static Symbols, LoadError> {
    static LIBRARY: OnceLock<Symbols> = OnceLock::new();
    static LOADING: Mutex<()> = Mutex::new(());

    if let Some(symbols) = LIBRARY.get() {
        return Ok(symbols);
    }
    let _one_at_a_time = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(symbols) = LIBRARY.get() {
        return Ok(symbols);
    }
    let symbols = load(SONAME)?;
    Ok(LIBRARY.get_or_init(|| symbols))
}

fn load(name: &str) -> Result<Symbols, LoadError> {
    // SAFETY: the initialisers of libgfapi and of the libraries it needs have no precondition.
    let library = unsafe { libloading::Library::new(name) }
        .map_err(|error| LoadError::Missing { tried: format!("dlopen {name}: {}", Causes(&error)) })?;
    let too_old = |error: libloading::Error| LoadError::TooOld { reason: Causes(&error).to_string() };
    // SAFETY: only the address is looked up; the type of the symbol does not matter.
    unsafe { library.get::<*const ()>(SINCE_6) }.map_err(too_old)?;
    // SAFETY: the signatures are those of the header of GlusterFS 6 and later, which the check above has
    // found.
    unsafe { Symbols::from_library(library) }.map_err(too_old)
}

/// Shows an error with what caused it; libloading keeps the dynamic linker's words in the cause.
struct Causes<'a>(&'a dyn std::error::Error);

impl std::fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut next = self.0.source();
        while let Some(cause) = next {
            write!(f, ": {cause}")?;
            next = cause.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_library_names_the_package_and_what_was_tried() {
        let message = load("libgfapi-of-nobody.so.0").err().map(|e| e.to_string()).unwrap_or_default();
        for part in ["libgfapi0", "glusterfs-api", "dlopen libgfapi-of-nobody.so.0", "No such file"] {
            assert!(message.contains(part), "{message:?} lacks {part:?}");
        }
    }

    #[test]
    fn a_library_without_the_functions_is_called_too_old() {
        let error = load("libc.so.6").err();
        assert!(matches!(error, Some(LoadError::TooOld { .. })), "{error:?}");
    }
}
