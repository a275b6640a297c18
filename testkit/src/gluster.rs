//! A real GlusterFS on this machine: glusterd with bricks in directories, and the means to break them.
//!
//! Every [`GlusterCluster`] is complete in itself: it listens on a loopback address of its own, and its
//! processes live in a PID and mount namespace that the kernel takes down when the cluster is dropped or the
//! test process dies, however it dies. So clusters run side by side and leave nothing behind. It takes root,
//! as GlusterFS' bricks do anyway.

use std::{
    collections::hash_map::RandomState,
    fs,
    hash::{BuildHasher, Hasher},
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rustix::fs::OFlags;
use tempfile::TempDir;

/// The management daemon's port, the same for every cluster.
pub const PORT: u16 = 24007;

/// How long a daemon may take to start, stop or come back.
const PATIENCE: Duration = Duration::from_secs(60);

/// Options that a volume for block files needs whatever its kind: caches off, direct I/O down to the bricks,
/// unprivileged clients.
pub(crate) const BLOCK_OPTIONS: &[(&str, &str)] = &[
    ("performance.quick-read", "off"),
    ("performance.read-ahead", "off"),
    ("performance.io-cache", "off"),
    ("performance.stat-prefetch", "off"),
    ("performance.open-behind", "off"),
    ("performance.readdir-ahead", "off"),
    ("performance.strict-o-direct", "on"),
    ("network.remote-dio", "disable"),
    ("server.allow-insecure", "on"),
    ("locks.mandatory-locking", "forced"),
    ("features.enforce-mandatory-lock", "on"),
];

/// Options that only a replicated volume accepts.
pub(crate) const REPLICA_OPTIONS: &[(&str, &str)] = &[
    ("cluster.eager-lock", "enable"),
    ("cluster.quorum-type", "auto"),
    ("cluster.choose-local", "off"),
    ("cluster.locking-scheme", "granular"),
];

/// What the first process of a cluster's namespace runs. It ends when its input does, which is when the test
/// process lets go of it or dies, and everything in the namespace ends with it. Until then it waits for, and
/// so reaps, whatever dies.
const INIT: &str = r#"
mkdir -p /var/log/glusterfs /var/run/gluster
mount --bind "$1/log" /var/log/glusterfs
mount --bind "$1/run" /var/run/gluster
exec 3<&0
glusterd --no-daemon --log-file="$1/log/glusterd.log" --pid-file="$1/run/glusterd.pid" \
    --xlator-option=management.working-directory="$1/lib" \
    --xlator-option=management.run-directory="$1/run" \
    --xlator-option=management.glusterd-sockfile="$1/cli.sock" \
    --xlator-option=management.transport.socket.bind-address="$2" </dev/null &
cat <&3 >/dev/null &
wait $!
"#;

/// A running glusterd. Cheap to clone; the last clone, or volume of it, takes it down.
#[derive(Debug, Clone)]
pub struct GlusterCluster {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    directory: TempDir,
    address: Ipv4Addr,
    /// `unshare`, whose only child is the namespace's first process.
    namespace: Child,
}

/// What a volume shall be.
#[derive(Debug, Clone)]
pub struct VolumeSpec {
    /// Copies: 1 or 3.
    pub replica: usize,
    /// Whether the last copy of each set keeps names and attributes only.
    pub arbiter: bool,
    /// Among how many sets of so many copies the files are distributed.
    pub sets: usize,
    /// Whether files are split into shards (of 4 MiB).
    pub sharded: bool,
    /// Bricks on file systems of this size (`48m`) in memory; none shares one with others.
    pub brick_size: Option<String>,
    /// Options beyond those for a volume of block files.
    pub options: Vec<(String, String)>,
}

impl Default for VolumeSpec {
    fn default() -> Self {
        Self { replica: 3, arbiter: false, sets: 1, sharded: false, brick_size: None, options: Vec::new() }
    }
}

impl VolumeSpec {
    /// Adds a volume option.
    #[must_use]
    pub fn option(mut self, key: &str, value: &str) -> Self {
        self.options.push((key.to_owned(), value.to_owned()));
        self
    }
}

/// A started volume of a [`GlusterCluster`].
#[derive(Debug)]
pub struct GlusterVolume {
    cluster: GlusterCluster,
    name: String,
    bricks: Vec<PathBuf>,
}

impl GlusterCluster {
    /// Starts a glusterd that knows no volumes yet.
    ///
    /// # Errors
    /// When GlusterFS is not installed, this is not root, or the daemon does not come up within a minute.
    pub fn start() -> io::Result<Self> {
        let directory = work_directory()?;
        for part in ["lib", "run", "log", "bricks"] {
            fs::create_dir(directory.path().join(part))?;
        }
        let address = free_address()?;
        let output = fs::File::create(directory.path().join("log/init.log"))?;
        let namespace = Command::new("unshare")
            .args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", INIT, "init"])
            .arg(directory.path())
            .arg(address.to_string())
            .stdin(Stdio::piped())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .map_err(|error| io::Error::other(format!("unshare (package util-linux): {error}")))?;
        let cluster = Self { inner: Arc::new(Inner { directory, address, namespace }) };
        let socket = cluster.inner.directory.path().join("cli.sock");
        let answered = wait_until(|| Ok(socket.exists() && cluster.gluster(&["pool", "list"]).is_ok()));
        match answered {
            Ok(()) => Ok(cluster),
            Err(error) => Err(io::Error::other(format!(
                "glusterd (package glusterfs-server) does not come up: {error}\n{}",
                cluster.logs()
            ))),
        }
    }

    /// The address at which clients find the management daemon, at port [`PORT`].
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        self.inner.address
    }

    /// Creates and starts a volume with the options of a volume for block files, and waits for its bricks.
    ///
    /// # Errors
    /// What the `gluster` command says.
    pub fn create_volume(&self, name: &str, spec: &VolumeSpec) -> io::Result<GlusterVolume> {
        let bricks: Vec<PathBuf> = (0..spec.replica * spec.sets)
            .map(|number| self.inner.directory.path().join(format!("bricks/{name}-{number}")))
            .collect();
        for brick in &bricks {
            let Some(size) = &spec.brick_size else { break };
            fs::create_dir(brick)?;
            self.within(&[
                "mount",
                "-t",
                "tmpfs",
                "-o",
                &format!("size={size}"),
                "tmpfs",
                &brick.display().to_string(),
            ])?;
        }
        let locations: Vec<String> =
            bricks.iter().map(|brick| format!("{}:{}", self.inner.address, brick.display())).collect();
        let replica = spec.replica.to_string();
        let mut create = vec!["volume", "create", name];
        if spec.replica > 1 {
            create.extend(["replica", &replica]);
        }
        if spec.arbiter {
            create.extend(["arbiter", "1"]);
        }
        create.extend(locations.iter().map(String::as_str));
        create.push("force");
        self.gluster(&create)?;

        let volume = GlusterVolume { cluster: self.clone(), name: name.to_owned(), bricks };
        let mut options: Vec<(&str, &str)> = BLOCK_OPTIONS.to_vec();
        if spec.replica > 1 {
            options.extend(REPLICA_OPTIONS);
        }
        if spec.sharded {
            options.extend([("features.shard", "on"), ("features.shard-block-size", "4MB")]);
        }
        options.extend(spec.options.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        volume.set(&options)?;
        self.gluster(&["volume", "start", name])?;
        volume.wait_online()?;
        Ok(volume)
    }

    /// Runs the `gluster` command against this cluster and returns what it prints.
    ///
    /// # Errors
    /// When it fails; the error holds what it printed.
    pub fn gluster(&self, arguments: &[&str]) -> io::Result<String> {
        let mut command = Command::new("gluster");
        command
            .arg(format!("--glusterd-sock={}", self.inner.directory.path().join("cli.sock").display()))
            .args(["--mode=script", "--log-file=/dev/null"])
            .args(arguments);
        succeed(&format!("gluster {}", arguments.join(" ")), command.output()?)
    }

    /// The ends of the daemons' logs, for messages of tests that fail.
    #[must_use]
    pub fn logs(&self) -> String {
        let mut text = String::new();
        for name in ["init.log", "glusterd.log"] {
            let log = fs::read_to_string(self.inner.directory.path().join("log").join(name));
            let lines: Vec<&str> = log.as_deref().map(|log| log.lines().collect()).unwrap_or_default();
            let tail = lines.split_at(lines.len().saturating_sub(20)).1.join("\n");
            text.push_str(&format!("--- {name}\n{tail}\n"));
        }
        text
    }

    /// Sends a signal to a process of the namespace, by its number there. `0` only asks whether it exists.
    fn signal(&self, signal: &str, process: &str) -> io::Result<()> {
        self.within(&["kill", "-s", signal, process])
    }

    /// Runs a command in the namespace.
    fn within(&self, command_line: &[&str]) -> io::Result<()> {
        succeed("nsenter", self.command_within(command_line)?.output()?).map(drop)
    }

    fn command_within(&self, command_line: &[&str]) -> io::Result<Command> {
        let parent = self.inner.namespace.id();
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))?;
        let mut command = Command::new("nsenter");
        command.args(["--target", children.trim(), "--mount", "--pid"]).args(command_line);
        Ok(command)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The end of its input ends the namespace's first process, and the kernel waits for the others before
        // `unshare` sees it.
        drop(self.namespace.stdin.take());
        // Only fails where it has been waited for already.
        let _ = self.namespace.wait();
    }
}

impl GlusterVolume {
    /// The volume's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cluster that it belongs to.
    #[must_use]
    pub const fn cluster(&self) -> &GlusterCluster {
        &self.cluster
    }

    /// The directory of brick `number`, where the volume's files can be seen as they are on disk.
    #[must_use]
    pub fn brick(&self, number: usize) -> Option<&Path> {
        self.bricks.get(number).map(PathBuf::as_path)
    }

    /// Takes so many MiB of the space of every brick that was given a size, instead of what was taken so before; 0 gives all of it back.
    ///
    /// # Errors
    /// When there is not so much.
    pub fn take_space(&self, mebibytes: u32) -> io::Result<()> {
        for brick in &self.bricks {
            let ballast = brick.join("ballast").display().to_string();
            let count = format!("count={mebibytes}");
            self.cluster.within(&["dd", "if=/dev/zero", &format!("of={ballast}"), "bs=1M", &count])?;
        }
        Ok(())
    }

    /// The device `path` of the volume, as QEMU and glint write it.
    #[must_use]
    pub fn uri(&self, path: &str) -> String {
        format!("gluster://{}/{}/{}", self.cluster.address(), self.name, path.trim_start_matches('/'))
    }

    /// Sets volume options, all at once.
    ///
    /// # Errors
    /// What the `gluster` command says.
    pub fn set(&self, options: &[(&str, &str)]) -> io::Result<()> {
        let mut arguments = vec!["volume", "set", self.name.as_str()];
        for (key, value) in options {
            arguments.extend([*key, *value]);
        }
        self.cluster.gluster(&arguments).map(drop)
    }

    /// Kills the process of brick `number`, and waits until it is gone.
    ///
    /// # Errors
    /// When there is no such process.
    pub fn kill_brick(&self, number: usize) -> io::Result<()> {
        let process = self.brick_process(number)?;
        self.cluster.signal("KILL", &process)?;
        wait_until(|| Ok(self.cluster.signal("0", &process).is_err()))
    }

    /// Stops the process of brick `number` where it is, so that it hangs with its connections open.
    ///
    /// # Errors
    /// When there is no such process.
    pub fn pause_brick(&self, number: usize) -> io::Result<()> {
        self.cluster.signal("STOP", &self.brick_process(number)?)
    }

    /// Lets brick `number` go on after [`pause_brick`](Self::pause_brick).
    ///
    /// # Errors
    /// When there is no such process.
    pub fn resume_brick(&self, number: usize) -> io::Result<()> {
        self.cluster.signal("CONT", &self.brick_process(number)?)
    }

    /// Has every write of brick `number` to its file system take so much longer, for the rest of the process' life: what goes on
    /// above it in the brick does not wait.
    ///
    /// # Errors
    /// When there is no such process, or strace cannot trace it.
    pub fn slow_writes(&self, number: usize, delay: Duration) -> io::Result<()> {
        let process = self.brick_process(number)?;
        let report =
            self.cluster.inner.directory.path().join(format!("log/strace-{}-{number}.log", self.name));
        let inject = format!("inject=pwrite64,pwritev:delay_enter={}", delay.as_micros());
        self.cluster
            .command_within(&["strace", "-f", "-p", &process, "-e", "trace=pwrite64,pwritev", "-e", &inject])?
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&report)?)
            .spawn()
            .map_err(|error| io::Error::other(format!("strace (package strace): {error}")))?;
        wait_until(|| Ok(fs::read_to_string(&report)?.contains("attached")))
    }

    /// Starts the bricks that are down, and waits until all are up.
    ///
    /// # Errors
    /// What the `gluster` command says, or when they do not come up within a minute.
    pub fn start_force(&self) -> io::Result<()> {
        self.cluster.gluster(&["volume", "start", &self.name, "force"])?;
        self.wait_online()
    }

    /// Has the self-heal daemon bring all bricks to the same state, and waits until it has.
    ///
    /// # Errors
    /// When that takes longer than a minute.
    pub fn wait_healed(&self) -> io::Result<()> {
        wait_until(|| {
            if self.is_healed()? {
                return Ok(true);
            }
            // By itself the daemon looks when a brick comes up, which may be too early, and then every ten
            // minutes. It refuses while it is not yet connected to a brick.
            let _ = self.cluster.gluster(&["volume", "heal", &self.name]);
            Ok(false)
        })
    }

    fn is_healed(&self) -> io::Result<bool> {
        for brick in &self.bricks {
            for index in ["xattrop", "dirty"] {
                if entries_to_heal(&brick.join(".glusterfs/indices").join(index))? > 0 {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Stops the volume and removes it with its data.
    ///
    /// # Errors
    /// What the `gluster` command says.
    pub fn delete(self) -> io::Result<()> {
        self.cluster.gluster(&["volume", "stop", &self.name, "force"])?;
        self.cluster.gluster(&["volume", "delete", &self.name])?;
        self.bricks.iter().try_for_each(fs::remove_dir_all)
    }

    fn wait_online(&self) -> io::Result<()> {
        wait_until(|| {
            let status = self.cluster.gluster(&["volume", "status", &self.name, "--xml"])?;
            let online = status
                .split("<node>")
                .filter(|node| node.contains("/bricks/") && node.contains("<status>1</status>"))
                .count();
            Ok(online == self.bricks.len())
        })
    }

    /// Where clients find the management daemon and the bricks that are up.
    ///
    /// # Errors
    /// What the `gluster` command says.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let status = self.cluster.gluster(&["volume", "status", &self.name, "--xml"])?;
        let bricks = status.split("<node>").filter(|node| node.contains("/bricks/"));
        let ports = bricks.filter_map(|brick| {
            let (_, rest) = brick.split_once("<port>")?;
            rest.split('<').next()?.parse().ok()
        });
        let address = |port| SocketAddr::from((self.cluster.address(), port));
        Ok([PORT].into_iter().chain(ports).map(address).collect())
    }

    /// The number of a brick's process inside the namespace.
    fn brick_process(&self, number: usize) -> io::Result<String> {
        let brick = self.bricks.get(number).ok_or_else(|| io::Error::other(format!("no brick {number}")))?;
        let name =
            format!("{}{}.pid", self.cluster.inner.address, brick.display().to_string().replace('/', "-"));
        let file = self.cluster.inner.directory.path().join("run/vols").join(&self.name).join(name);
        Ok(fs::read_to_string(file)?.trim().to_owned())
    }
}

/// A directory on a file system that bricks can live on: with direct I/O, which a tmpfs may lack.
fn work_directory() -> io::Result<TempDir> {
    let mut last = None;
    for parent in [std::env::temp_dir(), PathBuf::from("/var/tmp"), std::env::current_dir()?] {
        let attempt = TempDir::with_prefix_in("glint-gluster-", &parent).and_then(|directory| {
            fs::OpenOptions::new()
                .write(true)
                .create(true)
                .custom_flags(OFlags::DIRECT.bits() as i32)
                .open(directory.path().join("direct"))?;
            Ok(directory)
        });
        match attempt {
            Ok(directory) => return Ok(directory),
            Err(error) => last = Some(format!("{}: {error}", parent.display())),
        }
    }
    Err(io::Error::other(format!("no directory with direct I/O for bricks: {}", last.unwrap_or_default())))
}

/// A loopback address on which nobody listens at glusterd's port. There are so many that picking one at
/// random suffices.
fn free_address() -> io::Result<Ipv4Addr> {
    let mut last = None;
    for _ in 0..8 {
        let [a, b, c, ..] = RandomState::new().build_hasher().finish().to_ne_bytes();
        let address = Ipv4Addr::new(127, a.max(1), b, c.clamp(1, 254));
        match TcpListener::bind((address, PORT)) {
            Ok(_) => return Ok(address),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into()))
}

/// The files that a brick has marked as to be healed elsewhere: all in the index but the file that the marks
/// are links to.
fn entries_to_heal(index: &Path) -> io::Result<usize> {
    let base = index.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let mut count = 0;
    match fs::read_dir(index) {
        Ok(entries) => {
            for entry in entries {
                count += usize::from(!entry?.file_name().to_string_lossy().starts_with(base));
            }
            Ok(count)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

fn wait_until(mut done: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !done()? {
        if Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

fn succeed(what: &str, output: Output) -> io::Result<String> {
    let stdout = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        return Ok(stdout.into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{what}: {} {}", stdout.trim(), stderr.trim())))
}
