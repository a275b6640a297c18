//! Regenerates `gfapi-sys/src/bindings.rs`, or with `--check` says whether it is up to date.
//!
//! A program of its own rather than a build script, so that building glint needs neither libgfapi's header
//! nor libclang.

use std::{
    fmt,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// Every function that glint may call. What is not here cannot be called: `glfs_copy_file_range`, for one,
/// loses data on replicated volumes and is left out on purpose.
const FUNCTIONS: &[&str] = &[
    // the instance
    "glfs_new",
    "glfs_set_volfile_server",
    "glfs_set_logging",
    "glfs_set_xlator_option",
    "glfs_init",
    "glfs_fini",
    "glfs_get_volfile",
    // the identity of the calling thread
    "glfs_setfsuid",
    "glfs_setfsgid",
    "glfs_setfsgroups",
    // paths
    "glfs_mkdir",
    "glfs_link",
    "glfs_unlink",
    "glfs_rename",
    "glfs_stat",
    "glfs_statvfs",
    // directories; glfs_readdir_r alone tells an error from the end
    "glfs_opendir",
    "glfs_readdir_r",
    "glfs_closedir",
    "glfs_getxattr",
    // descriptors
    "glfs_open",
    "glfs_creat",
    "glfs_close",
    "glfs_fstat",
    "glfs_fgetxattr",
    "glfs_fsetxattr",
    "glfs_pread",
    "glfs_pwrite",
    "glfs_fsync",
    "glfs_lseek",
    "glfs_ftruncate",
    "glfs_fallocate",
    // asynchronous I/O, in the forms whose callback carries the attributes before and after (GFAPI_6.0)
    "glfs_pread_async",
    "glfs_preadv_async",
    "glfs_pwrite_async",
    "glfs_pwritev_async",
    "glfs_fsync_async",
    "glfs_fdatasync_async",
    "glfs_ftruncate_async",
    "glfs_discard_async",
    "glfs_zerofill_async",
    // locks
    "glfs_posix_lock",
    "glfs_file_lock",
    "glfs_fd_set_lkowner",
];

/// Types of the C library that libgfapi's signatures use. They are taken from the `libc` crate, which knows
/// them for every architecture; spelled out here they would be right for the generating machine only.
const LIBC_TYPES: &[&str] = &[
    "stat",
    "statvfs",
    "dirent",
    "timespec",
    "iovec",
    "flock",
    "ino_t",
    "off_t",
    "blkcnt_t",
    "blksize_t",
    "nlink_t",
    "uid_t",
    "gid_t",
    "mode_t",
];

/// Other spellings of those types inside the headers.
const LIBC_ALIASES: &str = "__.*";

/// The minor number of the workspace's `rust-version`: what the bindings are written for.
const RUST_MINOR: u64 = 95;

const HEADER: &str = "glusterfs/api/glfs.h";

fn main() -> ExitCode {
    let check = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--check") => true,
        Some(other) => {
            eprintln!("unknown argument {other:?}; usage: glint-bindings [--check]");
            return ExitCode::from(2);
        }
    };
    match run(check) {
        Ok(message) => {
            println!("{message}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("glint-bindings: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(check: bool) -> Result<String, Error> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/bindings.rs");
    let fresh = generate()?;
    if check {
        let committed = std::fs::read_to_string(&path).map_err(|e| Error::File(path.clone(), e))?;
        return if committed == fresh {
            Ok("bindings.rs is up to date".to_owned())
        } else {
            Err(Error::Stale(path))
        };
    }
    std::fs::write(&path, fresh).map_err(|e| Error::File(path.clone(), e))?;
    Ok(format!("wrote {}", path.display()))
}

fn generate() -> Result<String, Error> {
    let mut builder = bindgen::Builder::default()
        .header_contents("wrapper.h", &format!("#include <{HEADER}>\n"))
        .clang_args(include_flags()?)
        .rust_target(
            bindgen::RustTarget::stable(RUST_MINOR, 0).map_err(|e| Error::RustTarget(e.to_string()))?,
        )
        .rust_edition(bindgen::RustEdition::Edition2024)
        .dynamic_library_name("Symbols")
        .dynamic_link_require_all(true)
        .allowlist_type("glfs_stat")
        .allowlist_type("glfs_io_cbk")
        .allowlist_var("GFAPI_MAX_LOCK_OWNER_LEN")
        .allowlist_recursively(true)
        .default_enum_style(bindgen::EnumVariation::ModuleConsts)
        .wrap_unsafe_ops(true)
        .layout_tests(false)
        .derive_debug(false)
        .generate_comments(false)
        .use_core()
        .disable_header_comment()
        .formatter(bindgen::Formatter::Rustfmt)
        .rustfmt_configuration_file(Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rustfmt.toml")))
        .raw_line("// Written by `make bindings` from the header of libgfapi. Do not edit.")
        .raw_line(format!("use libc::{{{}}};", LIBC_TYPES.join(", ")))
        .blocklist_type(LIBC_ALIASES);
    for function in FUNCTIONS {
        builder = builder.allowlist_function(function);
    }
    for name in LIBC_TYPES {
        builder = builder.blocklist_type(name);
    }
    Ok(builder.generate().map_err(Error::Bindgen)?.to_string())
}

/// The header may live outside the default include path; pkg-config knows.
fn include_flags() -> Result<Vec<String>, Error> {
    let output = Command::new("pkg-config")
        .args(["--cflags", "glusterfs-api >= 7.6"])
        .output()
        .map_err(|e| Error::PkgConfig(e.to_string()))?;
    if !output.status.success() {
        return Err(Error::PkgConfig(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned).collect())
}

enum Error {
    PkgConfig(String),
    RustTarget(String),
    Bindgen(bindgen::BindgenError),
    File(PathBuf, std::io::Error),
    Stale(PathBuf),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PkgConfig(why) => {
                write!(f, "pkg-config does not find glusterfs-api (package libglusterfs-dev): {why}")
            }
            Self::RustTarget(why) => write!(f, "bindgen does not write for Rust 1.{RUST_MINOR}: {why}"),
            Self::Bindgen(why) => {
                write!(f, "the header could not be read (is libclang-dev installed?): {why}")
            }
            Self::File(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Stale(path) => {
                write!(f, "{} differs from the header's; run `make bindings`", path.display())
            }
        }
    }
}
