//! Logs on stderr: text for people or JSON for machines.

use tracing_subscriber::filter::{EnvFilter, ParseError};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Registry, fmt, reload};

/// Overrides the configured level, in the same form.
pub const LEVEL_VARIABLE: &str = "GLINT_LOG";

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The filter does not parse.
    #[error("{0} in the log level {1:?}")]
    Filter(ParseError, String),
    /// Something else writes the process's logs already.
    #[error(transparent)]
    Taken(#[from] TryInitError),
}

/// Changes the level while the process runs.
#[derive(Clone)]
pub struct LevelHandle(reload::Handle<EnvFilter, Registry>);

impl LevelHandle {
    /// From now on `level` holds, unless [`LEVEL_VARIABLE`] overrides it.
    pub fn set(&self, level: &str) -> Result<(), LoggingError> {
        // The subscriber lives as long as the process, so the handle never dangles.
        let _ = self.0.reload(filter(level)?);
        Ok(())
    }
}

/// Sends the process's events, panics included, to stderr.
pub fn start(level: &str, json: bool) -> Result<LevelHandle, LoggingError> {
    let (filter, handle) = reload::Layer::new(filter(level)?);
    let registry = tracing_subscriber::registry().with(filter);
    if json {
        registry.with(fmt::layer().json().flatten_event(true).with_writer(std::io::stderr)).try_init()?;
    } else {
        let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
        registry.with(fmt::layer().with_ansi(colours).with_writer(std::io::stderr)).try_init()?;
    }
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        tracing::error!(thread = thread.name().unwrap_or("unnamed"), "{panic}");
    }));
    Ok(LevelHandle(handle))
}

fn filter(level: &str) -> Result<EnvFilter, LoggingError> {
    let level = std::env::var(LEVEL_VARIABLE).unwrap_or_else(|_| level.to_owned());
    EnvFilter::try_new(&level).map_err(|error| LoggingError::Filter(error, level))
}
