//! One of the nodes: a process that is started, killed, frozen and started again, always at the same addresses.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use super::proxy::Proxy;
use crate::process::Process;

/// The time a start may take, with a store whose bricks may be coming back.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The time to hand over and drain.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// Lines of a log that are shown.
const TAIL: usize = 60;

/// See the module.
pub struct Node {
    /// Its id.
    pub id: String,
    /// Where initiators find it.
    pub portal: SocketAddr,
    /// In front of where the other nodes find it.
    pub internal: Proxy,
    command: Vec<PathBuf>,
    process: Option<Process>,
    /// The logs of its former starts.
    logs: Vec<String>,
    /// Panics in its logs that were told.
    panics: usize,
}

impl Node {
    /// One that is not started.
    pub fn new(id: String, portal: SocketAddr, internal: Proxy, command: Vec<PathBuf>) -> Self {
        Self { id, portal, internal, command, process: None, logs: Vec::new(), panics: 0 }
    }

    /// Starts it, unless it runs. It is not ready then.
    pub fn start(&mut self) {
        if self.is_running() {
            return;
        }
        self.keep_log();
        let (program, arguments) = self.command.split_first().expect("a command is at least a program");
        self.process = Some(Process::start(Command::new(program).args(arguments)));
    }

    /// Waits until it says that it is ready; panics when it does not.
    #[track_caller]
    pub fn wait_ready(&mut self) {
        let process = self.process.as_mut().expect("it was started");
        process.wait_for_line("its ready line", START_LIMIT, |line| line.starts_with("ready "));
    }

    /// Whether it runs, be it frozen.
    pub fn is_running(&mut self) -> bool {
        self.process.as_mut().is_some_and(|process| process.try_wait().is_none())
    }

    /// How it ended, if nobody has asked for it since it was started.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.process.as_mut().and_then(Process::try_wait)?;
        Some(format!("{} ended by itself: {status}", self.id))
    }

    /// Lines of its logs that tell of a panic, but those that were given before.
    pub fn take_panics(&mut self) -> Vec<String> {
        let last = self.process.as_ref().map(Process::output);
        let logs = self.logs.iter().chain(&last);
        let lines = logs.flat_map(|log| log.lines()).filter(|line| line.contains("panicked at"));
        let new: Vec<_> = lines.skip(self.panics).map(|line| format!("{}: {line}", self.id)).collect();
        self.panics += new.len();
        new
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        if let Some(process) = &mut self.process {
            process.kill();
        }
    }

    /// Stops it where it is, with all its connections.
    pub fn freeze(&mut self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on after [`Node::freeze`].
    pub fn thaw(&mut self) {
        self.signal(Signal::CONT);
    }

    /// Has it hand over and end.
    pub fn terminate(&mut self) -> Result<(), String> {
        self.signal(Signal::TERM);
        let Some(process) = &mut self.process else { return Ok(()) };
        let deadline = std::time::Instant::now() + STOP_LIMIT;
        while process.try_wait().is_none() && std::time::Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        match process.try_wait() {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(format!("{} ended with {status} when it was asked to", self.id)),
            None => {
                process.kill();
                Err(format!("{} did not end within {STOP_LIMIT:?}", self.id))
            }
        }
    }

    fn signal(&mut self, signal: Signal) {
        if let Some(process) = &mut self.process {
            process.signal(signal);
        }
    }

    fn keep_log(&mut self) {
        if let Some(process) = self.process.take() {
            self.logs.push(process.output());
        }
    }

    /// The ends of the logs of its last two starts.
    pub fn told(&self) -> String {
        let last = self.process.as_ref().map(Process::output);
        let logs: Vec<_> = self.logs.last().cloned().into_iter().chain(last).collect();
        let mut told = String::new();
        for log in &logs {
            let lines: Vec<_> = log.lines().collect();
            let tail = lines.get(lines.len().saturating_sub(TAIL)..).unwrap_or_default();
            told += &format!("--- {}\n{}\n", self.id, tail.join("\n"));
        }
        told
    }
}
