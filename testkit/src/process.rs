//! A child process whose output is kept and can be waited for, line by line, each wait with its limit.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// What a child has printed so far, on both streams, in the order it arrived.
#[derive(Default)]
struct Output {
    lines: Mutex<Vec<String>>,
    more: Condvar,
}

impl Output {
    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn follow(self: &Arc<Self>, stream: impl Read + Send + 'static) -> JoinHandle<()> {
        let output = Arc::clone(self);
        thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            while stream.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                output.lock().push(String::from_utf8_lossy(&line).trim_end().to_owned());
                output.more.notify_all();
                line.clear();
            }
        })
    }
}

/// A running child; killed when dropped, and its output shown if that happens in a failing test.
pub struct Process {
    name: String,
    child: Child,
    output: Arc<Output>,
    readers: Vec<JoinHandle<()>>,
    ended: Option<ExitStatus>,
}

impl Process {
    /// Start `command` with an empty standard input.
    pub fn start(command: &mut Command) -> Self {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {name}: {error}"));
        let output = Arc::new(Output::default());
        let readers = vec![
            output.follow(child.stdout.take().expect("stdout is piped")),
            output.follow(child.stderr.take().expect("stderr is piped")),
        ];
        Self { name, child, output, readers, ended: None }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// All lines so far.
    pub fn output(&self) -> String {
        self.output.lock().join("\n")
    }

    /// Wait for a line that `wanted` accepts, among those printed already too, and return it. Panics after `limit`, or when
    /// the process ends without having printed it.
    #[track_caller]
    pub fn wait_for_line(&mut self, what: &str, limit: Duration, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + limit;
        let mut seen = 0;
        loop {
            // Asked before looking at the lines: those of a process that has ended are all there once its readers are done.
            let over = self.try_wait().is_some() && self.readers.iter().all(JoinHandle::is_finished);
            let lines = self.output.lock();
            if let Some(line) = lines[seen..].iter().find(|line| wanted(line)) {
                return line.clone();
            }
            seen = lines.len();
            if over || Instant::now() >= deadline {
                drop(lines);
                let why = if over { "ended" } else { "is late" };
                panic!("{} {why} and did not print {what}", self.name);
            }
            let _ = self.output.more.wait_timeout(lines, Duration::from_millis(50));
        }
    }

    /// The exit status, if it has ended.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().expect("a child can be waited for");
        }
        self.ended
    }

    /// The exit status; panics when it has not ended within `limit`.
    #[track_caller]
    pub fn wait(&mut self, limit: Duration) -> ExitStatus {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.try_wait() {
                return status;
            }
            if Instant::now() >= deadline {
                panic!("{} did not end within {limit:?}", self.name);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// As [`Process::wait`], and then all that was printed.
    #[track_caller]
    pub fn finish(mut self, limit: Duration) -> (ExitStatus, String) {
        let status = self.wait(limit);
        (status, self.last_output())
    }

    /// As [`Process::finish`], but one that has not ended within `limit` is killed and has no exit status.
    pub fn finish_or_kill(mut self, limit: Duration) -> (Option<ExitStatus>, String) {
        let deadline = Instant::now() + limit;
        while self.try_wait().is_none() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(2));
        }
        let status = self.try_wait();
        self.kill();
        (status, self.last_output())
    }

    /// All that was printed by one that has ended.
    fn last_output(&self) -> String {
        // A grandchild may hold the streams open for longer than the child lives.
        let deadline = Instant::now() + Duration::from_secs(2);
        while !self.readers.iter().all(JoinHandle::is_finished) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        self.output()
    }

    /// Send a signal, unless it has ended.
    pub fn signal(&mut self, signal: Signal) {
        if self.try_wait().is_none() {
            let pid = i32::try_from(self.child.id())
                .ok()
                .and_then(Pid::from_raw)
                .expect("a child has a process id");
            kill_process(pid, signal).expect("a child can be signalled");
        }
    }

    /// `kill -9`, and wait until it is gone.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.wait(Duration::from_secs(10));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.try_wait().is_none() {
            let _ = self.child.kill();
            self.ended = self.child.wait().ok();
        }
        if thread::panicking() {
            eprintln!("--- {} ({}):\n{}\n---", self.name, describe(self.ended), self.output());
        }
    }
}

fn describe(status: Option<ExitStatus>) -> String {
    match status {
        None => "not waited for".to_owned(),
        Some(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit {code}"),
            (None, signal) => format!("signal {}", signal.unwrap_or_default()),
        },
    }
}
