//! One instance of libgfapi's client: a volume in use. All calls here block.

use std::{
    ffi::{CStr, CString},
    mem::MaybeUninit,
    ptr::{self, NonNull},
    thread,
    time::{Duration, Instant},
};

use glint_gfapi_sys::{Symbols, glfs, glfs_fd};
use rustix::io::Errno;

use crate::{
    Error, TranslatorOption, VolumeConfig, reach,
    volfile::{self, Translator},
};

/// The virtual directory in which a client's translators show their state.
const META: &str = "/.meta/graphs/active";

/// More bytes than such a state has.
const MOST_META: usize = 4096;

/// How long the description may take to be stored after the client is ready. A matter of microseconds.
const VOLFILE_TIMEOUT: Duration = Duration::from_secs(5);

/// A client, initialised or about to be. It lives until [`finish`](Self::finish).
#[derive(Clone, Copy)]
pub(crate) struct Instance {
    pub(crate) symbols: &'static Symbols,
    pub(crate) fs: NonNull<glfs>,
}

// SAFETY: libgfapi locks its `glfs_t` internally; any thread may use it at any time between `glfs_new` and
// `glfs_fini`.
unsafe impl Send for Instance {}
// SAFETY: as above.
unsafe impl Sync for Instance {}

/// An open file of an [`Instance`].
#[derive(Clone, Copy)]
pub(crate) struct Fd(pub(crate) NonNull<glfs_fd>);

// SAFETY: libgfapi locks its `glfs_fd_t` internally, and counts references to it while a call is under way.
unsafe impl Send for Fd {}
// SAFETY: as above.
unsafe impl Sync for Fd {}

impl Instance {
    /// A client that is configured but not yet connected.
    pub(crate) fn new(config: &VolumeConfig) -> Result<Self, Error> {
        let symbols = glint_gfapi_sys::library()?;
        reach::any_of(&config.hosts)?;
        let name = c_string("new", &config.volume)?;
        // SAFETY: the name is a C string; libgfapi copies it.
        let fs =
            NonNull::new(unsafe { symbols.glfs_new(name.as_ptr()) }).ok_or_else(|| Error::last("new"))?;
        let instance = Self { symbols, fs };
        match instance.configure(config) {
            Ok(()) => Ok(instance),
            Err(error) => {
                instance.finish();
                Err(error)
            }
        }
    }

    fn configure(&self, config: &VolumeConfig) -> Result<(), Error> {
        const LOG: &str = "set_logging";
        let log_file = match &config.log_file {
            None => c"/dev/null".to_owned(),
            Some(path) => CString::new(path.as_os_str().as_encoded_bytes()).map_err(Error::nul(LOG))?,
        };
        // SAFETY: a live instance and a C string, which libgfapi copies.
        check(LOG, unsafe {
            self.symbols.glfs_set_logging(self.fs.as_ptr(), log_file.as_ptr(), config.log_level as i32)
        })?;
        for host in &config.hosts {
            let name = c_string("set_volfile_server", &host.name)?;
            // SAFETY: a live instance and C strings, which libgfapi copies.
            check("set_volfile_server", unsafe {
                self.symbols.glfs_set_volfile_server(
                    self.fs.as_ptr(),
                    c"tcp".as_ptr(),
                    name.as_ptr(),
                    i32::from(host.port),
                )
            })?;
        }
        for option in &config.options {
            self.set_option(option)?;
        }
        Ok(())
    }

    fn set_option(&self, option: &TranslatorOption) -> Result<(), Error> {
        const NAME: &str = "set_xlator_option";
        let translator = c_string(NAME, &option.translator)?;
        let key = c_string(NAME, &option.key)?;
        let value = c_string(NAME, &option.value)?;
        // SAFETY: a live instance and C strings, which libgfapi copies.
        check(NAME, unsafe {
            self.symbols.glfs_set_xlator_option(
                self.fs.as_ptr(),
                translator.as_ptr(),
                key.as_ptr(),
                value.as_ptr(),
            )
        })
    }

    /// Connects, and verifies the options. Takes until the bricks have answered, or as long as libgfapi
    /// tries.
    pub(crate) fn connect(&self, options: &[TranslatorOption]) -> Result<(), Error> {
        // SAFETY: a live instance that has not been initialised.
        check("init", unsafe { self.symbols.glfs_init(self.fs.as_ptr()) })?;
        self.become_root()?;
        let translators = self.translators()?;
        for option in options {
            for translator in translators.iter().filter(|t| volfile::matches(&option.translator, &t.name)) {
                match self.verify(option, &translator.name) {
                    Err(error @ Error::Option { .. }) if !option.essential => {
                        tracing::debug!(%error, "an option of GlusterFS' client has no effect");
                    }
                    verified => verified?,
                }
            }
        }
        Ok(())
    }

    /// Setting an option never fails, not even for a translator that is absent; so look at what the
    /// translator has.
    fn verify(&self, option: &TranslatorOption, translator: &str) -> Result<(), Error> {
        let path = format!("{META}/{translator}/options/{}", option.key);
        let found = match self.read_whole(&c_string("open", &path)?, MOST_META) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).trim_end().to_owned()),
            Err(error) if error.errno() == Some(Errno::NOENT.raw_os_error()) => None,
            Err(error) => return Err(error),
        };
        if found.as_deref() == Some(&option.value) {
            return Ok(());
        }
        Err(Error::Option {
            translator: translator.to_owned(),
            key: option.key.clone(),
            wanted: option.value.clone(),
            found,
        })
    }

    /// Lets the calling thread act as root towards the bricks, whatever the process runs as. libgfapi then
    /// also need not ask for the process' identity in each operation.
    pub(crate) fn become_root(&self) -> Result<(), Error> {
        // SAFETY: these only set variables of the calling thread; an empty list is not read.
        unsafe {
            check("setfsuid", self.symbols.glfs_setfsuid(0))?;
            check("setfsgid", self.symbols.glfs_setfsgid(0))?;
            check("setfsgroups", self.symbols.glfs_setfsgroups(0, ptr::null()))
        }
    }

    /// The translators of the client's graph.
    pub(crate) fn translators(&self) -> Result<Vec<Translator>, Error> {
        Ok(volfile::translators(&String::from_utf8_lossy(&self.volfile()?)))
    }

    /// The volume's description. libgfapi copies as many bytes as the buffer has, also beyond the
    /// description's end; so the buffer must not be larger than it.
    fn volfile(&self) -> Result<Vec<u8>, Error> {
        let get = |buffer: &mut [u8]| {
            // SAFETY: the buffer has the length that is given; with none, nothing is written to it.
            unsafe {
                self.symbols.glfs_get_volfile(self.fs.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len())
            }
        };
        // It may be replaced by a longer one between the question for its size and that for its text. And the
        // thread that received it stores it only after it has set up the graph, whose bricks may connect, and
        // let glfs_init return, before that.
        let deadline = Instant::now() + VOLFILE_TIMEOUT;
        loop {
            let missing = get(&mut []).unsigned_abs();
            let mut volfile = vec![0_u8; missing];
            if get(&mut volfile) > 0 {
                return Ok(volfile);
            }
            if Instant::now() >= deadline {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        Err(Error::os("get_volfile", Errno::IO))
    }

    pub(crate) fn open(&self, path: &CStr, flags: i32) -> Result<Fd, Error> {
        // SAFETY: a live instance and a C string.
        let fd = unsafe { self.symbols.glfs_open(self.fs.as_ptr(), path.as_ptr(), flags) };
        NonNull::new(fd).map(Fd).ok_or_else(|| Error::last("open"))
    }

    pub(crate) fn create(&self, path: &CStr, flags: i32, mode: u32) -> Result<Fd, Error> {
        // SAFETY: a live instance and a C string.
        let fd = unsafe { self.symbols.glfs_creat(self.fs.as_ptr(), path.as_ptr(), flags, mode) };
        NonNull::new(fd).map(Fd).ok_or_else(|| Error::last("creat"))
    }

    /// Closes a descriptor that has no I/O in flight: completions that are outstanding would be dropped.
    pub(crate) fn close(&self, fd: Fd) -> Result<(), Error> {
        // SAFETY: an open descriptor; its owner gives it up.
        check("close", unsafe { self.symbols.glfs_close(fd.0.as_ptr()) })
    }

    pub(crate) fn mkdir(&self, path: &CStr, mode: u32) -> Result<(), Error> {
        // SAFETY: a live instance and a C string.
        check("mkdir", unsafe { self.symbols.glfs_mkdir(self.fs.as_ptr(), path.as_ptr(), mode) })
    }

    pub(crate) fn unlink(&self, path: &CStr) -> Result<(), Error> {
        // SAFETY: a live instance and a C string.
        check("unlink", unsafe { self.symbols.glfs_unlink(self.fs.as_ptr(), path.as_ptr()) })
    }

    pub(crate) fn stat(&self, path: &CStr) -> Result<libc::stat, Error> {
        let mut stat = MaybeUninit::zeroed();
        // SAFETY: a live instance, a C string and room for the attributes.
        check("stat", unsafe { self.symbols.glfs_stat(self.fs.as_ptr(), path.as_ptr(), stat.as_mut_ptr()) })?;
        // SAFETY: filled by the call; besides, any bytes make a `stat`.
        Ok(unsafe { stat.assume_init() })
    }

    pub(crate) fn statvfs(&self, path: &CStr) -> Result<libc::statvfs, Error> {
        let mut stat = MaybeUninit::zeroed();
        // SAFETY: a live instance, a C string and room for the numbers.
        let result = unsafe { self.symbols.glfs_statvfs(self.fs.as_ptr(), path.as_ptr(), stat.as_mut_ptr()) };
        check("statvfs", result)?;
        // SAFETY: filled by the call; besides, any bytes make a `statvfs`.
        Ok(unsafe { stat.assume_init() })
    }

    pub(crate) fn fstat(&self, fd: Fd) -> Result<libc::stat, Error> {
        let mut stat = MaybeUninit::zeroed();
        // SAFETY: an open descriptor and room for the attributes.
        check("fstat", unsafe { self.symbols.glfs_fstat(fd.0.as_ptr(), stat.as_mut_ptr()) })?;
        // SAFETY: filled by the call; besides, any bytes make a `stat`.
        Ok(unsafe { stat.assume_init() })
    }

    /// The extended attribute `name`, at most 64 KiB of it as the bricks' kernel allows; `None` where the
    /// file does not have it.
    pub(crate) fn fgetxattr(&self, fd: Fd, name: &CStr) -> Result<Option<Vec<u8>>, Error> {
        let mut value = vec![0_u8; 65_536];
        // SAFETY: an open descriptor, a C string and a buffer of the length that is given.
        let got = unsafe {
            self.symbols.glfs_fgetxattr(fd.0.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len())
        };
        match usize::try_from(got) {
            Ok(len) => {
                value.truncate(len);
                Ok(Some(value))
            }
            Err(_) => match Error::last("fgetxattr") {
                error if error.errno() == Some(Errno::NODATA.raw_os_error()) => Ok(None),
                error => Err(error),
            },
        }
    }

    pub(crate) fn fallocate(&self, fd: Fd, keep_size: bool, offset: i64, len: usize) -> Result<(), Error> {
        // SAFETY: an open descriptor.
        check("fallocate", unsafe {
            self.symbols.glfs_fallocate(fd.0.as_ptr(), i32::from(keep_size), offset, len)
        })
    }

    /// `None` for ENXIO: nothing of the kind from `offset` on.
    pub(crate) fn lseek(&self, fd: Fd, offset: i64, whence: i32) -> Result<Option<u64>, Error> {
        // SAFETY: an open descriptor. The file position that this moves is used by nobody.
        let found = unsafe { self.symbols.glfs_lseek(fd.0.as_ptr(), offset, whence) };
        match u64::try_from(found) {
            Ok(found) => Ok(Some(found)),
            Err(_) => match Error::last("lseek") {
                error if error.errno() == Some(Errno::NXIO.raw_os_error()) => Ok(None),
                error => Err(error),
            },
        }
    }

    /// Takes the client down; about ten seconds.
    pub(crate) fn finish(self) {
        // SAFETY: the caller uses the instance no more, and every descriptor has been closed.
        let result = unsafe { self.symbols.glfs_fini(self.fs.as_ptr()) };
        tracing::debug!(result, "gluster client taken down");
    }
}

/// `text` for libgfapi; EINVAL where it holds a NUL byte.
pub(crate) fn c_string(operation: &'static str, text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(Error::nul(operation))
}

pub(crate) fn check(operation: &'static str, result: i32) -> Result<(), Error> {
    if result == 0 { Ok(()) } else { Err(Error::last(operation)) }
}
