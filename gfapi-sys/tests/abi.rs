//! The committed bindings against the installed header and library: sizes, offsets, constants, every
//! function's signature and symbol version. Needs a C compiler and the header (packages gcc, pkg-config and
//! libglusterfs-dev), not libclang.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::{
    ffi::{CStr, CString, c_char, c_void},
    fmt::Write as _,
    fs,
    mem::{offset_of, size_of},
    process::{Command, Output},
};

use glint_gfapi_sys::{self as sys, glfs_stat};

const BINDINGS: &str = include_str!("../src/bindings.rs");

/// Functions whose older versions have another callback or other arguments.
const VERSIONED: &[&str] = &[
    "glfs_pread",
    "glfs_pwrite",
    "glfs_fsync",
    "glfs_ftruncate",
    "glfs_pread_async",
    "glfs_preadv_async",
    "glfs_pwrite_async",
    "glfs_pwritev_async",
    "glfs_fsync_async",
    "glfs_fdatasync_async",
    "glfs_ftruncate_async",
    "glfs_discard_async",
    "glfs_zerofill_async",
];
const SINCE_6: &CStr = c"GFAPI_6.0";

/// The size of a C type and the offsets of its fields: expressions of C, and what they are in Rust.
macro_rules! layout {
    ($c:literal, $type:ty: $($field:ident)*) => {
        vec![
            (format!("sizeof({})", $c), size_of::<$type>() as i64),
            $((format!("offsetof({}, {})", $c, stringify!($field)), offset_of!($type, $field) as i64)),*
        ]
    };
}

fn layouts() -> Vec<(String, i64)> {
    [
        layout!("struct glfs_stat", glfs_stat:
            glfs_st_mask glfs_st_attributes glfs_st_attributes_mask glfs_st_atime glfs_st_btime glfs_st_ctime
            glfs_st_mtime glfs_st_ino glfs_st_size glfs_st_blocks glfs_st_rdev_major glfs_st_rdev_minor
            glfs_st_dev_major glfs_st_dev_minor glfs_st_blksize glfs_st_nlink glfs_st_uid glfs_st_gid glfs_st_mode),
        layout!("struct stat", libc::stat: st_mode st_size st_blocks st_blksize st_ino),
        layout!("struct statvfs", libc::statvfs: f_bsize f_blocks f_bavail),
        layout!("struct dirent", libc::dirent: d_ino d_off d_reclen d_type d_name),
        layout!("struct iovec", libc::iovec: iov_base iov_len),
        layout!("struct flock", libc::flock: l_type l_whence l_start l_len l_pid),
        layout!("struct timespec", libc::timespec: tv_sec tv_nsec),
        layout!("glfs_lock_mode_t", sys::glfs_lock_mode_t:),
        layout!("glfs_io_cbk", sys::glfs_io_cbk:),
    ]
    .concat()
}

fn constants() -> Vec<(String, i64)> {
    [
        ("GFAPI_MAX_LOCK_OWNER_LEN", i64::from(sys::GFAPI_MAX_LOCK_OWNER_LEN)),
        ("GLFS_LK_ADVISORY", i64::from(sys::glfs_lock_mode::GLFS_LK_ADVISORY)),
        ("GLFS_LK_MANDATORY", i64::from(sys::glfs_lock_mode::GLFS_LK_MANDATORY)),
        ("O_DIRECT", i64::from(libc::O_DIRECT)),
        ("O_DSYNC", i64::from(libc::O_DSYNC)),
        ("O_EXCL", i64::from(libc::O_EXCL)),
        ("SEEK_DATA", i64::from(libc::SEEK_DATA)),
        ("SEEK_HOLE", i64::from(libc::SEEK_HOLE)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

/// Name, parameter types and result type of each function in the bindings, as Rust spells them.
fn functions() -> Vec<(&'static str, Vec<&'static str>, &'static str)> {
    let fields = BINDINGS.split_once("pub struct Symbols {").unwrap().1.split_once("\n}").unwrap().0;
    let mut functions = Vec::new();
    for field in fields.split("pub ").skip(1) {
        let (name, rest) = field.split_once(':').unwrap();
        let (parameters, result) = rest.split_once("fn(").unwrap().1.rsplit_once(") -> ").unwrap();
        let types = parameters
            .split(',')
            .map(str::trim)
            .filter(|parameter| !parameter.is_empty())
            .map(|parameter| parameter.split_once(": ").unwrap().1)
            .collect();
        functions.push((name, types, result.trim().trim_end_matches(',')));
    }
    functions
}

/// The C spelling of a type of the bindings.
fn c_type(rust: &str) -> String {
    if let Some(pointee) = rust.strip_prefix("*mut ") {
        return format!("{} *", c_type(pointee));
    }
    if let Some(pointee) = rust.strip_prefix("*const ") {
        return format!("const {} *", c_type(pointee));
    }
    match rust.trim_start_matches("::core::ffi::") {
        "c_char" => "char",
        "c_int" => "int",
        "c_void" => "void",
        "usize" => "size_t",
        "isize" => "ssize_t",
        "stat" => "struct stat",
        "statvfs" => "struct statvfs",
        "dirent" => "struct dirent",
        "iovec" => "struct iovec",
        "flock" => "struct flock",
        "glfs_stat" => "struct glfs_stat",
        other => other,
    }
    .to_owned()
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Compiles `source` against the installed header, with warnings as errors, runs it, and returns what it
/// prints.
fn compile_and_run(source: &str) -> String {
    let flags = run(Command::new("pkg-config").args(["--cflags", "glusterfs-api >= 7.6"]));
    let directory = tempfile::tempdir().unwrap();
    let (file, program) = (directory.path().join("abi.c"), directory.path().join("abi"));
    fs::write(&file, source).unwrap();
    run(Command::new("cc")
        .args(String::from_utf8(flags.stdout).unwrap().split_whitespace())
        .args(["-Wall", "-Werror", "-o"])
        .args([&program, &file]));
    String::from_utf8(run(&mut Command::new(program)).stdout).unwrap()
}

#[test]
fn layouts_and_constants_are_those_of_the_header() {
    let values = [layouts(), constants()].concat();
    let mut source =
        "#include <glusterfs/api/glfs.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n"
            .to_owned();
    for (expression, _) in &values {
        writeln!(source, "printf(\"%lld\\n\", (long long)({expression}));").unwrap();
    }
    source.push_str("return 0; }\n");
    let printed = compile_and_run(&source);
    let printed: Vec<i64> = printed.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(printed.len(), values.len());
    for ((expression, ours), theirs) in values.into_iter().zip(printed) {
        assert_eq!(ours, theirs, "{expression}");
    }
}

#[test]
fn signatures_are_those_of_the_header() {
    let callback =
        "void (*)(glfs_fd_t *, ssize_t, struct glfs_stat *, struct glfs_stat *, void *)".to_owned();
    let mut signatures = vec![("(glfs_io_cbk)0".to_owned(), callback)];
    for (name, parameters, result) in functions() {
        let parameters: Vec<String> = parameters.into_iter().map(c_type).collect();
        signatures.push((format!("&{name}"), format!("{} (*)({})", c_type(result), parameters.join(", "))));
    }
    assert!(signatures.len() > 30, "only {} functions were found in the bindings", signatures.len());
    let mut source = "#include <glusterfs/api/glfs.h>\nint main(void) { return 0; }\n".to_owned();
    for (value, expected) in signatures {
        writeln!(
            source,
            "_Static_assert(__builtin_types_compatible_p(__typeof__({value}), {expected}), \"{value}\");"
        )
        .unwrap();
    }
    compile_and_run(&source);
}

#[test]
fn the_library_has_every_function_in_the_version_that_is_bound() {
    sys::library().unwrap();
    let name = CString::new(sys::SONAME).unwrap();
    // SAFETY: loading libgfapi has no precondition; besides, it is loaded already.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
    assert!(!handle.is_null());
    for (function, ..) in functions() {
        let symbol = CString::new(function).unwrap();
        // SAFETY: an open library and a C string.
        let found = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
        assert!(!found.is_null(), "{function}");
        if VERSIONED.contains(&function) {
            // SAFETY: an open library and C strings.
            let version_6 = unsafe { dlvsym(handle, symbol.as_ptr(), SINCE_6.as_ptr()) };
            assert_eq!(found, version_6, "{function} is not the one of GlusterFS 6");
        }
    }
}

unsafe extern "C" {
    /// As `dlsym`, for one version of the symbol; glibc's.
    fn dlvsym(handle: *mut c_void, symbol: *const c_char, version: *const c_char) -> *mut c_void;
}
