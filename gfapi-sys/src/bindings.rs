// Written by `make bindings` from the header of libgfapi. Do not edit.
use libc::{
    blkcnt_t, blksize_t, dirent, flock, gid_t, ino_t, iovec, mode_t, nlink_t, off_t, stat, statvfs, timespec,
    uid_t,
};

pub const GFAPI_MAX_LOCK_OWNER_LEN: u32 = 255;
#[repr(C)]
#[derive(Debug)]
pub struct glfs {
    _unused: [u8; 0],
}
pub type glfs_t = glfs;
#[repr(C)]
#[derive(Debug)]
pub struct glfs_fd {
    _unused: [u8; 0],
}
pub type glfs_fd_t = glfs_fd;
#[repr(C)]
pub struct glfs_stat {
    pub glfs_st_mask: u64,
    pub glfs_st_attributes: u64,
    pub glfs_st_attributes_mask: u64,
    pub glfs_st_atime: timespec,
    pub glfs_st_btime: timespec,
    pub glfs_st_ctime: timespec,
    pub glfs_st_mtime: timespec,
    pub glfs_st_ino: ino_t,
    pub glfs_st_size: off_t,
    pub glfs_st_blocks: blkcnt_t,
    pub glfs_st_rdev_major: u32,
    pub glfs_st_rdev_minor: u32,
    pub glfs_st_dev_major: u32,
    pub glfs_st_dev_minor: u32,
    pub glfs_st_blksize: blksize_t,
    pub glfs_st_nlink: nlink_t,
    pub glfs_st_uid: uid_t,
    pub glfs_st_gid: gid_t,
    pub glfs_st_mode: mode_t,
}
pub type glfs_io_cbk = ::core::option::Option<
    unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        ret: isize,
        prestat: *mut glfs_stat,
        poststat: *mut glfs_stat,
        data: *mut ::core::ffi::c_void,
    ),
>;
pub mod glfs_lock_mode {
    #[allow(unused_imports)]
    use super::*;
    pub type Type = ::core::ffi::c_uint;
    pub const GLFS_LK_ADVISORY: Type = 0;
    pub const GLFS_LK_MANDATORY: Type = 1;
}
pub use self::glfs_lock_mode::Type as glfs_lock_mode_t;
pub struct Symbols {
    __library: ::libloading::Library,
    pub glfs_new: unsafe extern "C" fn(volname: *const ::core::ffi::c_char) -> *mut glfs_t,
    pub glfs_set_volfile_server: unsafe extern "C" fn(
        fs: *mut glfs_t,
        transport: *const ::core::ffi::c_char,
        host: *const ::core::ffi::c_char,
        port: ::core::ffi::c_int,
    ) -> ::core::ffi::c_int,
    pub glfs_set_logging: unsafe extern "C" fn(
        fs: *mut glfs_t,
        logfile: *const ::core::ffi::c_char,
        loglevel: ::core::ffi::c_int,
    ) -> ::core::ffi::c_int,
    pub glfs_init: unsafe extern "C" fn(fs: *mut glfs_t) -> ::core::ffi::c_int,
    pub glfs_fini: unsafe extern "C" fn(fs: *mut glfs_t) -> ::core::ffi::c_int,
    pub glfs_get_volfile:
        unsafe extern "C" fn(fs: *mut glfs_t, buf: *mut ::core::ffi::c_void, len: usize) -> isize,
    pub glfs_setfsuid: unsafe extern "C" fn(fsuid: uid_t) -> ::core::ffi::c_int,
    pub glfs_setfsgid: unsafe extern "C" fn(fsgid: gid_t) -> ::core::ffi::c_int,
    pub glfs_setfsgroups: unsafe extern "C" fn(size: usize, list: *const gid_t) -> ::core::ffi::c_int,
    pub glfs_open: unsafe extern "C" fn(
        fs: *mut glfs_t,
        path: *const ::core::ffi::c_char,
        flags: ::core::ffi::c_int,
    ) -> *mut glfs_fd_t,
    pub glfs_creat: unsafe extern "C" fn(
        fs: *mut glfs_t,
        path: *const ::core::ffi::c_char,
        flags: ::core::ffi::c_int,
        mode: mode_t,
    ) -> *mut glfs_fd_t,
    pub glfs_close: unsafe extern "C" fn(fd: *mut glfs_fd_t) -> ::core::ffi::c_int,
    pub glfs_set_xlator_option: unsafe extern "C" fn(
        fs: *mut glfs_t,
        xlator: *const ::core::ffi::c_char,
        key: *const ::core::ffi::c_char,
        value: *const ::core::ffi::c_char,
    ) -> ::core::ffi::c_int,
    pub glfs_pread: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        buf: *mut ::core::ffi::c_void,
        count: usize,
        offset: off_t,
        flags: ::core::ffi::c_int,
        poststat: *mut glfs_stat,
    ) -> isize,
    pub glfs_pwrite: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        buf: *const ::core::ffi::c_void,
        count: usize,
        offset: off_t,
        flags: ::core::ffi::c_int,
        prestat: *mut glfs_stat,
        poststat: *mut glfs_stat,
    ) -> isize,
    pub glfs_pread_async: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        buf: *mut ::core::ffi::c_void,
        count: usize,
        offset: off_t,
        flags: ::core::ffi::c_int,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int,
    pub glfs_pwrite_async: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        buf: *const ::core::ffi::c_void,
        count: ::core::ffi::c_int,
        offset: off_t,
        flags: ::core::ffi::c_int,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int,
    pub glfs_preadv_async: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        iov: *const iovec,
        count: ::core::ffi::c_int,
        offset: off_t,
        flags: ::core::ffi::c_int,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int,
    pub glfs_pwritev_async: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        iov: *const iovec,
        count: ::core::ffi::c_int,
        offset: off_t,
        flags: ::core::ffi::c_int,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int,
    pub glfs_lseek:
        unsafe extern "C" fn(fd: *mut glfs_fd_t, offset: off_t, whence: ::core::ffi::c_int) -> off_t,
    pub glfs_ftruncate: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        length: off_t,
        prestat: *mut glfs_stat,
        poststat: *mut glfs_stat,
    ) -> ::core::ffi::c_int,
    pub glfs_ftruncate_async: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        length: off_t,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int,
    pub glfs_stat: unsafe extern "C" fn(
        fs: *mut glfs_t,
        path: *const ::core::ffi::c_char,
        buf: *mut stat,
    ) -> ::core::ffi::c_int,
    pub glfs_fstat: unsafe extern "C" fn(fd: *mut glfs_fd_t, buf: *mut stat) -> ::core::ffi::c_int,
    pub glfs_fsync: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        prestat: *mut glfs_stat,
        poststat: *mut glfs_stat,
    ) -> ::core::ffi::c_int,
    pub glfs_fsync_async: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int,
    pub glfs_fdatasync_async: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int,
    pub glfs_mkdir: unsafe extern "C" fn(
        fs: *mut glfs_t,
        path: *const ::core::ffi::c_char,
        mode: mode_t,
    ) -> ::core::ffi::c_int,
    pub glfs_unlink:
        unsafe extern "C" fn(fs: *mut glfs_t, path: *const ::core::ffi::c_char) -> ::core::ffi::c_int,
    pub glfs_rename: unsafe extern "C" fn(
        fs: *mut glfs_t,
        oldpath: *const ::core::ffi::c_char,
        newpath: *const ::core::ffi::c_char,
    ) -> ::core::ffi::c_int,
    pub glfs_link: unsafe extern "C" fn(
        fs: *mut glfs_t,
        oldpath: *const ::core::ffi::c_char,
        newpath: *const ::core::ffi::c_char,
    ) -> ::core::ffi::c_int,
    pub glfs_opendir:
        unsafe extern "C" fn(fs: *mut glfs_t, path: *const ::core::ffi::c_char) -> *mut glfs_fd_t,
    pub glfs_readdir_r: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        dirent: *mut dirent,
        result: *mut *mut dirent,
    ) -> ::core::ffi::c_int,
    pub glfs_closedir: unsafe extern "C" fn(fd: *mut glfs_fd_t) -> ::core::ffi::c_int,
    pub glfs_statvfs: unsafe extern "C" fn(
        fs: *mut glfs_t,
        path: *const ::core::ffi::c_char,
        buf: *mut statvfs,
    ) -> ::core::ffi::c_int,
    pub glfs_getxattr: unsafe extern "C" fn(
        fs: *mut glfs_t,
        path: *const ::core::ffi::c_char,
        name: *const ::core::ffi::c_char,
        value: *mut ::core::ffi::c_void,
        size: usize,
    ) -> isize,
    pub glfs_fgetxattr: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        name: *const ::core::ffi::c_char,
        value: *mut ::core::ffi::c_void,
        size: usize,
    ) -> isize,
    pub glfs_fsetxattr: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        name: *const ::core::ffi::c_char,
        value: *const ::core::ffi::c_void,
        size: usize,
        flags: ::core::ffi::c_int,
    ) -> ::core::ffi::c_int,
    pub glfs_fallocate: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        keep_size: ::core::ffi::c_int,
        offset: off_t,
        len: usize,
    ) -> ::core::ffi::c_int,
    pub glfs_discard_async: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        length: off_t,
        lent: usize,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int,
    pub glfs_zerofill_async: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        length: off_t,
        len: off_t,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int,
    pub glfs_posix_lock: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        cmd: ::core::ffi::c_int,
        flock: *mut flock,
    ) -> ::core::ffi::c_int,
    pub glfs_file_lock: unsafe extern "C" fn(
        fd: *mut glfs_fd_t,
        cmd: ::core::ffi::c_int,
        flock: *mut flock,
        lk_mode: glfs_lock_mode_t,
    ) -> ::core::ffi::c_int,
    pub glfs_fd_set_lkowner: unsafe extern "C" fn(
        glfd: *mut glfs_fd_t,
        data: *mut ::core::ffi::c_void,
        len: ::core::ffi::c_int,
    ) -> ::core::ffi::c_int,
}
impl Symbols {
    pub unsafe fn new<P>(path: P) -> Result<Self, ::libloading::Error>
    where
        P: AsRef<::std::ffi::OsStr>,
    {
        let path = path.as_ref();
        let library = unsafe { ::libloading::Library::new(path) }?;
        unsafe { Self::from_library(library) }
    }
    pub unsafe fn from_library<L>(library: L) -> Result<Self, ::libloading::Error>
    where
        L: Into<::libloading::Library>,
    {
        let __library = library.into();
        let glfs_new = unsafe { __library.get(b"glfs_new\0") }.map(|sym| *sym)?;
        let glfs_set_volfile_server =
            unsafe { __library.get(b"glfs_set_volfile_server\0") }.map(|sym| *sym)?;
        let glfs_set_logging = unsafe { __library.get(b"glfs_set_logging\0") }.map(|sym| *sym)?;
        let glfs_init = unsafe { __library.get(b"glfs_init\0") }.map(|sym| *sym)?;
        let glfs_fini = unsafe { __library.get(b"glfs_fini\0") }.map(|sym| *sym)?;
        let glfs_get_volfile = unsafe { __library.get(b"glfs_get_volfile\0") }.map(|sym| *sym)?;
        let glfs_setfsuid = unsafe { __library.get(b"glfs_setfsuid\0") }.map(|sym| *sym)?;
        let glfs_setfsgid = unsafe { __library.get(b"glfs_setfsgid\0") }.map(|sym| *sym)?;
        let glfs_setfsgroups = unsafe { __library.get(b"glfs_setfsgroups\0") }.map(|sym| *sym)?;
        let glfs_open = unsafe { __library.get(b"glfs_open\0") }.map(|sym| *sym)?;
        let glfs_creat = unsafe { __library.get(b"glfs_creat\0") }.map(|sym| *sym)?;
        let glfs_close = unsafe { __library.get(b"glfs_close\0") }.map(|sym| *sym)?;
        let glfs_set_xlator_option = unsafe { __library.get(b"glfs_set_xlator_option\0") }.map(|sym| *sym)?;
        let glfs_pread = unsafe { __library.get(b"glfs_pread\0") }.map(|sym| *sym)?;
        let glfs_pwrite = unsafe { __library.get(b"glfs_pwrite\0") }.map(|sym| *sym)?;
        let glfs_pread_async = unsafe { __library.get(b"glfs_pread_async\0") }.map(|sym| *sym)?;
        let glfs_pwrite_async = unsafe { __library.get(b"glfs_pwrite_async\0") }.map(|sym| *sym)?;
        let glfs_preadv_async = unsafe { __library.get(b"glfs_preadv_async\0") }.map(|sym| *sym)?;
        let glfs_pwritev_async = unsafe { __library.get(b"glfs_pwritev_async\0") }.map(|sym| *sym)?;
        let glfs_lseek = unsafe { __library.get(b"glfs_lseek\0") }.map(|sym| *sym)?;
        let glfs_ftruncate = unsafe { __library.get(b"glfs_ftruncate\0") }.map(|sym| *sym)?;
        let glfs_ftruncate_async = unsafe { __library.get(b"glfs_ftruncate_async\0") }.map(|sym| *sym)?;
        let glfs_stat = unsafe { __library.get(b"glfs_stat\0") }.map(|sym| *sym)?;
        let glfs_fstat = unsafe { __library.get(b"glfs_fstat\0") }.map(|sym| *sym)?;
        let glfs_fsync = unsafe { __library.get(b"glfs_fsync\0") }.map(|sym| *sym)?;
        let glfs_fsync_async = unsafe { __library.get(b"glfs_fsync_async\0") }.map(|sym| *sym)?;
        let glfs_fdatasync_async = unsafe { __library.get(b"glfs_fdatasync_async\0") }.map(|sym| *sym)?;
        let glfs_mkdir = unsafe { __library.get(b"glfs_mkdir\0") }.map(|sym| *sym)?;
        let glfs_unlink = unsafe { __library.get(b"glfs_unlink\0") }.map(|sym| *sym)?;
        let glfs_rename = unsafe { __library.get(b"glfs_rename\0") }.map(|sym| *sym)?;
        let glfs_link = unsafe { __library.get(b"glfs_link\0") }.map(|sym| *sym)?;
        let glfs_opendir = unsafe { __library.get(b"glfs_opendir\0") }.map(|sym| *sym)?;
        let glfs_readdir_r = unsafe { __library.get(b"glfs_readdir_r\0") }.map(|sym| *sym)?;
        let glfs_closedir = unsafe { __library.get(b"glfs_closedir\0") }.map(|sym| *sym)?;
        let glfs_statvfs = unsafe { __library.get(b"glfs_statvfs\0") }.map(|sym| *sym)?;
        let glfs_getxattr = unsafe { __library.get(b"glfs_getxattr\0") }.map(|sym| *sym)?;
        let glfs_fgetxattr = unsafe { __library.get(b"glfs_fgetxattr\0") }.map(|sym| *sym)?;
        let glfs_fsetxattr = unsafe { __library.get(b"glfs_fsetxattr\0") }.map(|sym| *sym)?;
        let glfs_fallocate = unsafe { __library.get(b"glfs_fallocate\0") }.map(|sym| *sym)?;
        let glfs_discard_async = unsafe { __library.get(b"glfs_discard_async\0") }.map(|sym| *sym)?;
        let glfs_zerofill_async = unsafe { __library.get(b"glfs_zerofill_async\0") }.map(|sym| *sym)?;
        let glfs_posix_lock = unsafe { __library.get(b"glfs_posix_lock\0") }.map(|sym| *sym)?;
        let glfs_file_lock = unsafe { __library.get(b"glfs_file_lock\0") }.map(|sym| *sym)?;
        let glfs_fd_set_lkowner = unsafe { __library.get(b"glfs_fd_set_lkowner\0") }.map(|sym| *sym)?;
        Ok(Symbols {
            __library,
            glfs_new,
            glfs_set_volfile_server,
            glfs_set_logging,
            glfs_init,
            glfs_fini,
            glfs_get_volfile,
            glfs_setfsuid,
            glfs_setfsgid,
            glfs_setfsgroups,
            glfs_open,
            glfs_creat,
            glfs_close,
            glfs_set_xlator_option,
            glfs_pread,
            glfs_pwrite,
            glfs_pread_async,
            glfs_pwrite_async,
            glfs_preadv_async,
            glfs_pwritev_async,
            glfs_lseek,
            glfs_ftruncate,
            glfs_ftruncate_async,
            glfs_stat,
            glfs_fstat,
            glfs_fsync,
            glfs_fsync_async,
            glfs_fdatasync_async,
            glfs_mkdir,
            glfs_unlink,
            glfs_rename,
            glfs_link,
            glfs_opendir,
            glfs_readdir_r,
            glfs_closedir,
            glfs_statvfs,
            glfs_getxattr,
            glfs_fgetxattr,
            glfs_fsetxattr,
            glfs_fallocate,
            glfs_discard_async,
            glfs_zerofill_async,
            glfs_posix_lock,
            glfs_file_lock,
            glfs_fd_set_lkowner,
        })
    }
    pub unsafe fn glfs_new(&self, volname: *const ::core::ffi::c_char) -> *mut glfs_t {
        unsafe { (self.glfs_new)(volname) }
    }
    pub unsafe fn glfs_set_volfile_server(
        &self,
        fs: *mut glfs_t,
        transport: *const ::core::ffi::c_char,
        host: *const ::core::ffi::c_char,
        port: ::core::ffi::c_int,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_set_volfile_server)(fs, transport, host, port) }
    }
    pub unsafe fn glfs_set_logging(
        &self,
        fs: *mut glfs_t,
        logfile: *const ::core::ffi::c_char,
        loglevel: ::core::ffi::c_int,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_set_logging)(fs, logfile, loglevel) }
    }
    pub unsafe fn glfs_init(&self, fs: *mut glfs_t) -> ::core::ffi::c_int {
        unsafe { (self.glfs_init)(fs) }
    }
    pub unsafe fn glfs_fini(&self, fs: *mut glfs_t) -> ::core::ffi::c_int {
        unsafe { (self.glfs_fini)(fs) }
    }
    pub unsafe fn glfs_get_volfile(
        &self,
        fs: *mut glfs_t,
        buf: *mut ::core::ffi::c_void,
        len: usize,
    ) -> isize {
        unsafe { (self.glfs_get_volfile)(fs, buf, len) }
    }
    pub unsafe fn glfs_setfsuid(&self, fsuid: uid_t) -> ::core::ffi::c_int {
        unsafe { (self.glfs_setfsuid)(fsuid) }
    }
    pub unsafe fn glfs_setfsgid(&self, fsgid: gid_t) -> ::core::ffi::c_int {
        unsafe { (self.glfs_setfsgid)(fsgid) }
    }
    pub unsafe fn glfs_setfsgroups(&self, size: usize, list: *const gid_t) -> ::core::ffi::c_int {
        unsafe { (self.glfs_setfsgroups)(size, list) }
    }
    pub unsafe fn glfs_open(
        &self,
        fs: *mut glfs_t,
        path: *const ::core::ffi::c_char,
        flags: ::core::ffi::c_int,
    ) -> *mut glfs_fd_t {
        unsafe { (self.glfs_open)(fs, path, flags) }
    }
    pub unsafe fn glfs_creat(
        &self,
        fs: *mut glfs_t,
        path: *const ::core::ffi::c_char,
        flags: ::core::ffi::c_int,
        mode: mode_t,
    ) -> *mut glfs_fd_t {
        unsafe { (self.glfs_creat)(fs, path, flags, mode) }
    }
    pub unsafe fn glfs_close(&self, fd: *mut glfs_fd_t) -> ::core::ffi::c_int {
        unsafe { (self.glfs_close)(fd) }
    }
    pub unsafe fn glfs_set_xlator_option(
        &self,
        fs: *mut glfs_t,
        xlator: *const ::core::ffi::c_char,
        key: *const ::core::ffi::c_char,
        value: *const ::core::ffi::c_char,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_set_xlator_option)(fs, xlator, key, value) }
    }
    pub unsafe fn glfs_pread(
        &self,
        fd: *mut glfs_fd_t,
        buf: *mut ::core::ffi::c_void,
        count: usize,
        offset: off_t,
        flags: ::core::ffi::c_int,
        poststat: *mut glfs_stat,
    ) -> isize {
        unsafe { (self.glfs_pread)(fd, buf, count, offset, flags, poststat) }
    }
    pub unsafe fn glfs_pwrite(
        &self,
        fd: *mut glfs_fd_t,
        buf: *const ::core::ffi::c_void,
        count: usize,
        offset: off_t,
        flags: ::core::ffi::c_int,
        prestat: *mut glfs_stat,
        poststat: *mut glfs_stat,
    ) -> isize {
        unsafe { (self.glfs_pwrite)(fd, buf, count, offset, flags, prestat, poststat) }
    }
    pub unsafe fn glfs_pread_async(
        &self,
        fd: *mut glfs_fd_t,
        buf: *mut ::core::ffi::c_void,
        count: usize,
        offset: off_t,
        flags: ::core::ffi::c_int,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_pread_async)(fd, buf, count, offset, flags, fn_, data) }
    }
    pub unsafe fn glfs_pwrite_async(
        &self,
        fd: *mut glfs_fd_t,
        buf: *const ::core::ffi::c_void,
        count: ::core::ffi::c_int,
        offset: off_t,
        flags: ::core::ffi::c_int,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_pwrite_async)(fd, buf, count, offset, flags, fn_, data) }
    }
    pub unsafe fn glfs_preadv_async(
        &self,
        fd: *mut glfs_fd_t,
        iov: *const iovec,
        count: ::core::ffi::c_int,
        offset: off_t,
        flags: ::core::ffi::c_int,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_preadv_async)(fd, iov, count, offset, flags, fn_, data) }
    }
    pub unsafe fn glfs_pwritev_async(
        &self,
        fd: *mut glfs_fd_t,
        iov: *const iovec,
        count: ::core::ffi::c_int,
        offset: off_t,
        flags: ::core::ffi::c_int,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_pwritev_async)(fd, iov, count, offset, flags, fn_, data) }
    }
    pub unsafe fn glfs_lseek(&self, fd: *mut glfs_fd_t, offset: off_t, whence: ::core::ffi::c_int) -> off_t {
        unsafe { (self.glfs_lseek)(fd, offset, whence) }
    }
    pub unsafe fn glfs_ftruncate(
        &self,
        fd: *mut glfs_fd_t,
        length: off_t,
        prestat: *mut glfs_stat,
        poststat: *mut glfs_stat,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_ftruncate)(fd, length, prestat, poststat) }
    }
    pub unsafe fn glfs_ftruncate_async(
        &self,
        fd: *mut glfs_fd_t,
        length: off_t,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_ftruncate_async)(fd, length, fn_, data) }
    }
    pub unsafe fn glfs_stat(
        &self,
        fs: *mut glfs_t,
        path: *const ::core::ffi::c_char,
        buf: *mut stat,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_stat)(fs, path, buf) }
    }
    pub unsafe fn glfs_fstat(&self, fd: *mut glfs_fd_t, buf: *mut stat) -> ::core::ffi::c_int {
        unsafe { (self.glfs_fstat)(fd, buf) }
    }
    pub unsafe fn glfs_fsync(
        &self,
        fd: *mut glfs_fd_t,
        prestat: *mut glfs_stat,
        poststat: *mut glfs_stat,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_fsync)(fd, prestat, poststat) }
    }
    pub unsafe fn glfs_fsync_async(
        &self,
        fd: *mut glfs_fd_t,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_fsync_async)(fd, fn_, data) }
    }
    pub unsafe fn glfs_fdatasync_async(
        &self,
        fd: *mut glfs_fd_t,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_fdatasync_async)(fd, fn_, data) }
    }
    pub unsafe fn glfs_mkdir(
        &self,
        fs: *mut glfs_t,
        path: *const ::core::ffi::c_char,
        mode: mode_t,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_mkdir)(fs, path, mode) }
    }
    pub unsafe fn glfs_unlink(
        &self,
        fs: *mut glfs_t,
        path: *const ::core::ffi::c_char,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_unlink)(fs, path) }
    }
    pub unsafe fn glfs_rename(
        &self,
        fs: *mut glfs_t,
        oldpath: *const ::core::ffi::c_char,
        newpath: *const ::core::ffi::c_char,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_rename)(fs, oldpath, newpath) }
    }
    pub unsafe fn glfs_link(
        &self,
        fs: *mut glfs_t,
        oldpath: *const ::core::ffi::c_char,
        newpath: *const ::core::ffi::c_char,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_link)(fs, oldpath, newpath) }
    }
    pub unsafe fn glfs_opendir(&self, fs: *mut glfs_t, path: *const ::core::ffi::c_char) -> *mut glfs_fd_t {
        unsafe { (self.glfs_opendir)(fs, path) }
    }
    pub unsafe fn glfs_readdir_r(
        &self,
        fd: *mut glfs_fd_t,
        dirent: *mut dirent,
        result: *mut *mut dirent,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_readdir_r)(fd, dirent, result) }
    }
    pub unsafe fn glfs_closedir(&self, fd: *mut glfs_fd_t) -> ::core::ffi::c_int {
        unsafe { (self.glfs_closedir)(fd) }
    }
    pub unsafe fn glfs_statvfs(
        &self,
        fs: *mut glfs_t,
        path: *const ::core::ffi::c_char,
        buf: *mut statvfs,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_statvfs)(fs, path, buf) }
    }
    pub unsafe fn glfs_getxattr(
        &self,
        fs: *mut glfs_t,
        path: *const ::core::ffi::c_char,
        name: *const ::core::ffi::c_char,
        value: *mut ::core::ffi::c_void,
        size: usize,
    ) -> isize {
        unsafe { (self.glfs_getxattr)(fs, path, name, value, size) }
    }
    pub unsafe fn glfs_fgetxattr(
        &self,
        fd: *mut glfs_fd_t,
        name: *const ::core::ffi::c_char,
        value: *mut ::core::ffi::c_void,
        size: usize,
    ) -> isize {
        unsafe { (self.glfs_fgetxattr)(fd, name, value, size) }
    }
    pub unsafe fn glfs_fsetxattr(
        &self,
        fd: *mut glfs_fd_t,
        name: *const ::core::ffi::c_char,
        value: *const ::core::ffi::c_void,
        size: usize,
        flags: ::core::ffi::c_int,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_fsetxattr)(fd, name, value, size, flags) }
    }
    pub unsafe fn glfs_fallocate(
        &self,
        fd: *mut glfs_fd_t,
        keep_size: ::core::ffi::c_int,
        offset: off_t,
        len: usize,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_fallocate)(fd, keep_size, offset, len) }
    }
    pub unsafe fn glfs_discard_async(
        &self,
        fd: *mut glfs_fd_t,
        length: off_t,
        lent: usize,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_discard_async)(fd, length, lent, fn_, data) }
    }
    pub unsafe fn glfs_zerofill_async(
        &self,
        fd: *mut glfs_fd_t,
        length: off_t,
        len: off_t,
        fn_: glfs_io_cbk,
        data: *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_zerofill_async)(fd, length, len, fn_, data) }
    }
    pub unsafe fn glfs_posix_lock(
        &self,
        fd: *mut glfs_fd_t,
        cmd: ::core::ffi::c_int,
        flock: *mut flock,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_posix_lock)(fd, cmd, flock) }
    }
    pub unsafe fn glfs_file_lock(
        &self,
        fd: *mut glfs_fd_t,
        cmd: ::core::ffi::c_int,
        flock: *mut flock,
        lk_mode: glfs_lock_mode_t,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_file_lock)(fd, cmd, flock, lk_mode) }
    }
    pub unsafe fn glfs_fd_set_lkowner(
        &self,
        glfd: *mut glfs_fd_t,
        data: *mut ::core::ffi::c_void,
        len: ::core::ffi::c_int,
    ) -> ::core::ffi::c_int {
        unsafe { (self.glfs_fd_set_lkowner)(glfd, data, len) }
    }
}
