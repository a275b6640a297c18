//! A safe, asynchronous view of files on GlusterFS, through libgfapi.
//!
//! [`Volume::connect`] reaches a volume, [`Volume::open`] opens a [`File`] on it. The futures work under any
//! executor.
//!
//! # Threads
//! Every volume has threads of its own, none of which is the caller's: *submit* threads that start
//! asynchronous I/O, and one *control* thread that makes the blocking calls (opening, closing, size, names,
//! allocation map). Both act as root towards the bricks, so an unprivileged process may use files that it
//! does not own, and libgfapi need not set the identity for each operation. Completions arrive on libgfapi's
//! threads; [`CompletionQueue`] takes them in batches to the thread that asked, and without one the task is
//! woken from libgfapi's thread.
//!
//! # Dropping
//! Any future may be dropped at any time. What has been submitted goes on below, with its buffer kept until
//! libgfapi is done with it, and its result is discarded; what has not been submitted does not happen. A
//! [`File`] is closed once the last of its operations has completed: closing earlier would lose their
//! completions.

mod call;
mod completion;
mod config;
mod control;
mod directory;
mod error;
mod fence;
mod file;
mod instance;
mod op;
mod reach;
mod stuck;
mod submit;
mod volfile;
mod volume;
mod whole;

pub use completion::CompletionQueue;
pub use config::{Host, LogLevel, TranslatorOption, VolumeConfig};
pub use error::{Error, Kind};
pub use fence::LockOwner;
pub use file::File;
pub use glint_gfapi_sys::LoadError;
pub use volfile::Translator;
pub use volume::{OpenOptions, Stat, Volume};
