//! The released binary, running.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::process::Process;
use crate::tools::{self, Finished};
use crate::{paths, ports};

/// What every target name begins with when the configuration does not say otherwise.
pub const IQN_BASE: &str = "iqn.2026-12.io.glint";

/// The time a start may take, opening gluster volumes included.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The time a drain may take.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// How to start glint: on ports of its own, in a directory of its own.
pub struct Builder {
    dir: TempDir,
    portal: SocketAddr,
    portal_2: Option<SocketAddr>,
    second_group: bool,
    portals: Option<String>,
    api: SocketAddr,
    advertised: Option<String>,
    arguments: Vec<String>,
    unprivileged: bool,
    small: Option<(PathBuf, String)>,
}

impl Builder {
    fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("glint-").tempdir().expect("a temporary directory");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("the directory's mode");
        Self {
            dir,
            portal: loopback(),
            portal_2: None,
            second_group: false,
            portals: None,
            api: loopback(),
            advertised: None,
            arguments: Vec::new(),
            unprivileged: false,
            small: None,
        }
    }

    /// A directory for the test's own files; it goes with the [`Glint`].
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Serve a volume, in the form of the command line: `NAME=DEVICE[,size=1GiB]...`.
    #[must_use]
    pub fn volume(self, volume: &str) -> Self {
        self.argument("--volume").argument(volume)
    }

    /// Tell initiators to connect to this host instead of loopback (port as bound), as a virtual machine needs it.
    #[must_use]
    pub fn advertise(mut self, host: &str) -> Self {
        self.advertised = Some(format!("{host}:{}", self.portal.port()));
        self
    }

    /// Take connections at a second address too.
    #[must_use]
    pub fn second_portal(mut self) -> Self {
        self.portal_2 = Some(loopback());
        self
    }

    /// Take connections at a second address too, which is a portal group of its own with the tag 2: to SCSI another target port. It takes
    /// a configuration file.
    #[must_use]
    pub fn second_group(mut self) -> Self {
        self.second_group = true;
        self.second_portal()
    }

    /// The `[[portal]]` sections of the configuration, instead of one that listens at [`Builder::portal`].
    #[must_use]
    pub fn portals(mut self, sections: &str) -> Self {
        self.portals = Some(sections.to_owned());
        self
    }

    /// Where it will take iSCSI connections.
    pub fn portal(&self) -> SocketAddr {
        self.portal
    }

    /// A further argument of `glint serve`.
    #[must_use]
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Run as uid and gid 65532 with no groups, no capabilities and no way to gain any.
    #[must_use]
    pub fn unprivileged(mut self) -> Self {
        self.unprivileged = true;
        self
    }

    /// Let it see an empty file system of this size (`32m`) at `place`, a directory; nobody else does, but see [`Glint::within`].
    #[must_use]
    pub fn small_file_system(mut self, place: &Path, size: &str) -> Self {
        self.small = Some((place.to_owned(), size.to_owned()));
        self
    }

    /// Start with flags alone.
    #[track_caller]
    pub fn start(self) -> Glint {
        self.launch(None)
    }

    /// Start with a configuration file: `targets` is its TOML from the first `[[target]]` on, the rest is added.
    #[track_caller]
    pub fn start_with_config(self, targets: &str) -> Glint {
        self.launch(Some(targets))
    }

    #[track_caller]
    fn launch(self, targets: Option<&str>) -> Glint {
        let general = General {
            file: self.dir.path().join("glint.toml"),
            portal: self.portal,
            portal_2: self.portal_2,
            second_group: self.second_group,
            omit_first_portal: false,
            portals: self.portals,
            api: self.api,
            advertised: self.advertised,
        };
        let mut arguments = vec!["serve".to_owned()];
        if let Some(targets) = targets {
            general.write(targets);
            arguments.extend(["-c".to_owned(), general.file.display().to_string()]);
        } else {
            arguments.extend(general.flags());
        }
        arguments.extend(self.arguments);
        let launcher = match (self.unprivileged, &self.small) {
            (true, _) => unprivileged(self.dir.path()),
            (false, Some((place, size))) => with_file_system(place, size),
            (false, None) => vec![paths::glint()],
        };
        let process = serve(&launcher, &arguments);
        Glint { process, launcher, arguments, dir: self.dir, general }
    }
}

/// What a test's glint has besides its targets: the one place where the tests know how that is told.
struct General {
    file: PathBuf,
    portal: SocketAddr,
    portal_2: Option<SocketAddr>,
    second_group: bool,
    omit_first_portal: bool,
    portals: Option<String>,
    api: SocketAddr,
    advertised: Option<String>,
}

impl General {
    fn flags(&self) -> Vec<String> {
        let mut flags = vec!["--api".to_owned(), self.api.to_string()];
        for portal in self.portals() {
            flags.extend(["--listen".to_owned(), portal.to_string()]);
        }
        flags.extend(["--state-dir".to_owned(), self.state().display().to_string()]);
        if let Some(address) = &self.advertised {
            flags.extend(["--advertise".to_owned(), address.clone()]);
        }
        flags
    }

    /// Where it keeps what outlives it.
    fn state(&self) -> PathBuf {
        self.file.with_file_name("state")
    }

    fn portals(&self) -> impl Iterator<Item = SocketAddr> {
        [self.portal].into_iter().chain(self.portal_2)
    }

    /// Write the configuration file with these targets.
    fn write(&self, targets: &str) {
        let state = self.state();
        let groups: Vec<Vec<SocketAddr>> = match self.second_group {
            true => self.portals().map(|portal| vec![portal]).collect(),
            false => vec![self.portals().collect()],
        };
        let api = self.api;
        let advertise = self
            .advertised
            .iter()
            .map(|address| format!("advertise = [\"{address}\"]\n"))
            .collect::<String>();
        let written = || {
            (1..)
                .zip(groups)
                .skip(usize::from(self.omit_first_portal))
                .map(|(tag, group): (u16, _)| {
                    let listen: Vec<_> = group.iter().map(|portal| format!("\"{portal}\"")).collect();
                    format!("[[portal]]\nlisten = [{}]\ngroup_tag = {tag}\n{advertise}\n", listen.join(", "))
                })
                .collect::<String>()
        };
        let portals = self.portals.clone().unwrap_or_else(written);
        let text = format!(
            "[node]\nid = \"test\"\nstate_dir = \"{}\"\n\n{portals}\n[api]\nlisten = \"{api}\"\n\n{targets}\n",
            state.display()
        );
        // Not in place: glint may be reading it.
        let new = self.file.with_extension("new");
        fs::write(&new, text).expect("the configuration is written");
        fs::rename(&new, &self.file).expect("the configuration is put in its place");
    }
}

/// A glint that has said it is ready. It is killed when dropped.
pub struct Glint {
    process: Process,
    launcher: Vec<PathBuf>,
    arguments: Vec<String>,
    dir: TempDir,
    general: General,
}

impl Glint {
    /// Begin to describe a glint.
    #[must_use]
    pub fn serve() -> Builder {
        Builder::new()
    }

    /// A glint that serves one volume, in the form of the command line.
    #[track_caller]
    pub fn with_volume(volume: &str) -> Self {
        Builder::new().volume(volume).start()
    }

    /// A directory for the test's own files.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Where it takes iSCSI connections.
    pub fn portal(&self) -> SocketAddr {
        self.general.portal
    }

    /// Where else it takes iSCSI connections; panics unless it was started with [`Builder::second_portal`].
    pub fn portal_2(&self) -> SocketAddr {
        self.general.portal_2.expect("glint was started with two portals")
    }

    /// Where it answers `/metrics`, `/livez` and `/readyz`.
    pub fn api(&self) -> SocketAddr {
        self.general.api
    }

    /// libiscsi's and QEMU's URL of LUN 0 of a volume.
    pub fn url(&self, volume: &str) -> String {
        self.url_at(self.general.portal, None, volume)
    }

    /// As [`Glint::url`], with CHAP.
    pub fn url_as(&self, user: &str, secret: &str, volume: &str) -> String {
        self.url_at(self.general.portal, Some((user, secret)), volume)
    }

    /// As [`Glint::url`], at this portal, with CHAP as this user with this secret.
    pub fn url_at(&self, portal: SocketAddr, chap: Option<(&str, &str)>, volume: &str) -> String {
        let chap = chap.map_or_else(String::new, |(user, secret)| format!("{user}%{secret}@"));
        format!("iscsi://{chap}{portal}/{IQN_BASE}:{volume}/0")
    }

    /// Where a path that it sees is to be found.
    pub fn within(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.id()));
        root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// All it printed and logged since its last start.
    pub fn log(&self) -> String {
        self.process.output()
    }

    /// Wait until it prints a line that contains `text`.
    pub fn wait_for_log(&mut self, text: &str, limit: Duration) {
        self.process.wait_for_line(&format!("{text:?}"), limit, |line| line.contains(text));
    }

    /// Put other targets into the configuration file, for its next start.
    pub fn write_config(&self, targets: &str) {
        self.general.write(targets);
    }

    /// Whether the configuration that is written next leaves out the first portal.
    pub fn omit_first_portal(&mut self, omit: bool) {
        self.general.omit_first_portal = omit;
    }

    /// Use other `[[portal]]` sections from the next [`Glint::reconfigure`] on.
    pub fn set_portals(&mut self, sections: &str) {
        self.general.portals = Some(sections.to_owned());
    }

    /// Put other targets (TOML from the first `[[target]]` on) into the configuration file and have it read again.
    pub fn reconfigure(&mut self, targets: &str) {
        self.general.write(targets);
        self.process.signal(Signal::HUP);
    }

    /// Ask it to drain, and return how it exited; panics when that takes longer than the 10 s it has.
    #[track_caller]
    pub fn terminate(&mut self) -> ExitStatus {
        self.process.signal(Signal::TERM);
        self.process.wait(STOP_LIMIT)
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Start it again as it was started first, same ports and files, after [`Glint::kill`] or [`Glint::terminate`].
    #[track_caller]
    pub fn start_again(&mut self) {
        assert!(self.process.try_wait().is_some(), "glint still runs");
        self.process = serve(&self.launcher, &self.arguments);
    }

    /// Start it again where that has to fail, and give what it said.
    #[track_caller]
    pub fn fail_to_start_again(&mut self) -> String {
        assert!(self.process.try_wait().is_some(), "glint still runs");
        let (program, rest) = self.launcher.split_first().expect("a launcher is at least the binary");
        tools::run(Command::new(program).args(rest).args(&self.arguments), START_LIMIT).failure()
    }

    /// Where it keeps what outlives it.
    pub fn state_dir(&self) -> PathBuf {
        self.general.state()
    }

    /// How it exited, if it no longer runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait()
    }

    /// Panics, with its log, unless it still runs.
    #[track_caller]
    pub fn assert_alive(&mut self) {
        if let Some(status) = self.ended() {
            panic!("glint ended, {status}:\n{}", self.log());
        }
    }

    /// Resident memory in KiB.
    pub fn resident_kib(&self) -> u64 {
        self.status("VmRSS:").parse().expect("VmRSS is a number")
    }

    /// Open file descriptors.
    pub fn open_files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.id())).expect("glint runs").count()
    }

    /// User and system time that all its threads have taken.
    pub fn cpu_time(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id())).expect("glint runs");
        // proc_pid_stat(5): the name in brackets may hold anything; after it utime and stime are the 12th and 13th.
        let (_, fields) = stat.rsplit_once(')').expect("a name in brackets");
        let ticks =
            fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("ticks"));
        Duration::from_secs_f64(ticks.sum::<u64>() as f64 / rustix::param::clock_ticks_per_second() as f64)
    }

    /// The first word of a field of `/proc/PID/status`.
    pub fn status(&self, field: &str) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).expect("glint runs");
        let line = status.lines().find(|line| line.starts_with(field));
        line.and_then(|line| line.split_whitespace().nth(1))
            .unwrap_or_else(|| panic!("no {field} in:\n{status}"))
            .to_owned()
    }
}

/// A free address on loopback.
pub fn loopback() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, ports::free_port()))
}

/// Run `glint` with these arguments to its end.
#[track_caller]
pub fn run(arguments: &[&str]) -> Finished {
    tools::run(Command::new(paths::glint()).args(arguments), Duration::from_secs(20))
}

#[track_caller]
fn serve(launcher: &[PathBuf], arguments: &[String]) -> Process {
    let (program, rest) = launcher.split_first().expect("a launcher is at least the binary");
    let mut process = Process::start(Command::new(program).args(rest).args(arguments));
    process.wait_for_line("its ready line", START_LIMIT, |line| line.starts_with("ready "));
    process
}

/// The command that runs glint in a mount namespace of its own, with a file system in memory.
fn with_file_system(place: &Path, size: &str) -> Vec<PathBuf> {
    let mount = format!("mount -t tmpfs -o size={size} tmpfs \"$0\" && exec \"$@\"");
    ["unshare", "--mount", "sh", "-c", &mount]
        .iter()
        .map(PathBuf::from)
        .chain([place.into(), paths::glint()])
        .collect()
}

/// The command that runs a copy of glint with nothing but a uid. A copy, since that user may not reach the build.
fn unprivileged(dir: &Path) -> Vec<PathBuf> {
    let binary = dir.join("glint");
    fs::copy(paths::glint(), &binary).expect("glint can be copied");
    let setpriv = "setpriv --reuid 65532 --regid 65532 --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs";
    setpriv.split(' ').map(PathBuf::from).chain([binary]).collect()
}
