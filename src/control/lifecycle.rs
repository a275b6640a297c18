//! The life of a serving process: start, reload at SIGHUP, drain at SIGTERM.

use super::announce;
use super::apply::{ApplyError, Control};
use crate::api::{Api, ApiState};
use crate::config::{Config, ConfigSource, Endpoint, Finding, Loaded, LogFormat};
use crate::telemetry::logging::{self, LevelHandle};
use crate::telemetry::metrics::Metrics;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::future::Future;
use std::io::{self, Write};
use std::path::Path;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Descriptors that are needed beside those of connections.
const SPARE_FILES: u64 = 128;

/// A supervisor may signal both the process and its group: another signal to end that comes so soon is the same request.
const ONE_REQUEST: Duration = Duration::from_millis(500);

/// Serves what `loaded` says until SIGTERM or SIGINT; at SIGHUP reads `source` again. Logs go to stderr; one line for each LUN goes to
/// stdout when it can be used.
///
/// Succeeds when all initiators' data is on stable storage at the end.
pub fn serve(source: &ConfigSource, loaded: Loaded) -> ExitCode {
    let level = match logging::start(&loaded.config.log.level, loaded.config.log.format == LogFormat::Json) {
        Ok(level) => level,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    raise_file_limit(&loaded.config);
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "cannot start");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(async {
        let started = async {
            // Signals first: one that comes early must not kill the process half-way.
            let mut signals = Signals::new()?;
            let service = tokio::select! {
                service = Service::start(source, loaded, level) => service?,
                // A volume whose servers are silent takes long to open. Nothing was served yet, so nothing is lost.
                () = signals.end() => return Ok(None),
            };
            Ok::<_, StartError>(Some((service, signals)))
        };
        match started.await {
            Ok(Some((service, signals))) => service.run(signals).await,
            Ok(None) => {
                tracing::info!("told to end before the start was over");
                ExitCode::SUCCESS
            }
            Err(error) => {
                tracing::error!("cannot start: {error}");
                ExitCode::FAILURE
            }
        }
    });
    // System calls of backends that hang must not keep the process from ending.
    runtime.shutdown_background();
    code
}

/// Lets the process have as many descriptors as it may: each connection takes one. Backends have theirs beside.
fn raise_file_limit(config: &Config) {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
    let connections = u64::from(config.limits.max_connections);
    if let Some(files) =
        getrlimit(Resource::Nofile).current.filter(|files| *files < connections + SPARE_FILES)
    {
        tracing::warn!(files, connections, "the limit of open files may keep connections out");
    }
}

/// Why the service did not start; what could not be applied has been told one by one.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
    #[error("the API cannot listen on {0}: {1}")]
    Api(Endpoint, io::Error),
    #[error("{} of what is configured cannot be served", .0)]
    Apply(usize),
}

struct Service<'a> {
    source: &'a ConfigSource,
    config: Config,
    level: LevelHandle,
    control: Control,
    api: Option<Api>,
}

struct Signals {
    hangup: Signal,
    terminate: Signal,
    interrupt: Signal,
    /// Caught, so that a write beyond the file size limit of the process fails like any other instead of killing it (setrlimit(2)).
    _file_too_large: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            _file_too_large: signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?,
        })
    }

    async fn end(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Told once more, after `first`.
    async fn end_again(&mut self, first: Instant) {
        loop {
            self.end().await;
            if first.elapsed() >= ONE_REQUEST {
                return;
            }
        }
    }
}

impl<'a> Service<'a> {
    async fn start(source: &'a ConfigSource, loaded: Loaded, level: LevelHandle) -> Result<Self, StartError> {
        let Loaded { config, warnings } = loaded;
        tell_warnings(&warnings, source.file.as_deref());
        let control = Control::new(&config, Arc::new(Metrics::new()?))?;
        let mut service = Self { source, config, level, control, api: None };
        service.start_api().await?;
        let config = &service.config;
        let opened = service.control.open(config).await;
        check(&opened)?;
        let served = service.control.serve(config).await;
        check(&served)?;
        service.announce();
        Ok(service)
    }

    async fn run(mut self, mut signals: Signals) -> ExitCode {
        let told = loop {
            tokio::select! {
                _ = signals.terminate.recv() => break Instant::now(),
                _ = signals.interrupt.recv() => break Instant::now(),
                _ = signals.hangup.recv() => {}
            }
            let patience = self.config.limits.drain_timeout / 4;
            let mut reload = pin!(self.reload());
            tokio::select! {
                () = &mut reload => {}
                () = signals.end() => {
                    let told = Instant::now();
                    // What is half closed had better be flushed, but not at any price.
                    let _ = tokio::time::timeout(patience, reload).await;
                    break told;
                }
            }
        };
        let Self { mut control, config, api, .. } = self;
        let code = tokio::select! {
            code = drain(&mut control, told, config.limits.drain_timeout) => code,
            () = signals.end_again(told) => {
                tracing::warn!("told to end a second time: ending at once");
                ExitCode::FAILURE
            }
        };
        drop(api);
        code
    }

    /// A configuration with a fault changes nothing.
    async fn reload(&mut self) {
        let loaded = match self.source.load() {
            Ok(loaded) => loaded,
            Err(faults) => {
                tell_warnings(&faults.faults, faults.file.as_deref());
                tracing::error!("the new configuration has faults: the old one stays");
                return;
            }
        };
        tell_warnings(&loaded.warnings, self.source.file.as_deref());
        let old = std::mem::replace(&mut self.config, loaded.config);
        if let Err(error) = self.level.set(&self.config.log.level) {
            tracing::error!("the log level stays: {error}");
        }
        self.tell_what_needs_a_restart(&old);
        let failed = self.control.apply(&self.config).await;
        failed.iter().for_each(|error| tracing::error!("{error}"));
        // One that could not be bound before is tried again.
        let api_is_as_wanted = self.config.api == old.api && self.config.api.is_some() == self.api.is_some();
        if !api_is_as_wanted && let Err(error) = self.start_api().await {
            tracing::error!("{error}");
        }
        tracing::info!(failed = failed.len(), "configuration reloaded");
    }

    fn tell_what_needs_a_restart(&self, old: &Config) {
        let (old, new) = (old, &self.config);
        let changed = [
            ("workers", old.limits.workers != new.limits.workers),
            ("bytes_in_flight", old.limits.bytes_in_flight != new.limits.bytes_in_flight),
            // Connections take it as it comes; initiators have read it as the MAXIMUM TRANSFER LENGTH of volumes.
            (
                "max_command_bytes of open volumes",
                old.limits.max_command_bytes != new.limits.max_command_bytes,
            ),
            ("io_deadline", old.limits.io_deadline != new.limits.io_deadline),
            ("file_io", old.limits.file_io != new.limits.file_io),
            ("log format", old.log.format != new.log.format),
            ("node", old.node != new.node),
            ("what the nodes share (node, store, internal, hold)", old.cluster != new.cluster),
        ];
        for (what, _) in changed.iter().filter(|(_, changed)| *changed) {
            tracing::warn!("a change of {what} takes effect at the next start");
        }
    }

    async fn start_api(&mut self) -> Result<(), StartError> {
        self.api = None;
        let Some(endpoint) = self.config.api.clone() else { return Ok(()) };
        let failed = |error| StartError::Api(endpoint.clone(), error);
        let address = endpoint.resolve().await.map_err(failed)?.into_iter().next();
        let address = address.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let node = self.control.node();
        let state = ApiState { metrics: Arc::clone(node.metrics()), readiness: Arc::clone(node.readiness()) };
        self.api = Some(Api::start(address, state).map_err(failed)?);
        Ok(())
    }

    /// A reader of stdout that has gone away is no reason not to serve.
    fn announce(&self) {
        let mut out = io::stdout().lock();
        for line in announce::lines(&self.config, |wanted| self.control.bound(wanted)) {
            let _ = writeln!(out, "{line}");
        }
        let _ = out.flush();
    }
}

fn check(failed: &[ApplyError]) -> Result<(), StartError> {
    failed.iter().for_each(|error| tracing::error!("{error}"));
    if failed.is_empty() { Ok(()) } else { Err(StartError::Apply(failed.len())) }
}

fn tell_warnings(findings: &[Finding], file: Option<&Path>) {
    findings.iter().for_each(|finding| tracing::warn!("{}", finding.display(file)));
}

/// Lets initiators log out, ends those that do not, and puts everything onto stable storage, in `patience` from `start` altogether.
async fn drain(control: &mut Control, start: Instant, patience: Duration) -> ExitCode {
    tracing::info!("draining");
    control.stop_listening();
    let node = Arc::clone(control.node());
    if by(start + patience / 2, node.drain()).await.is_none() {
        tracing::warn!("initiators did not log out in time: ending their connections");
        if by(start + patience * 3 / 4, node.cut()).await.is_none() {
            tracing::error!("commands did not end in time");
        }
    }
    let code = match by(start + patience, control.flush()).await {
        Some(0) => ExitCode::SUCCESS,
        Some(failed) => {
            tracing::error!(failed, "volumes could not be flushed");
            ExitCode::FAILURE
        }
        None => {
            tracing::error!("volumes were not flushed in time");
            ExitCode::FAILURE
        }
    };
    tracing::info!(took = ?start.elapsed(), "drained");
    code
}

async fn by<T>(deadline: Instant, work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout_at(deadline.into(), work).await.ok()
}
