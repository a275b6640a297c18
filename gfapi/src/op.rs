//! An asynchronous operation, from submission to completion.

use std::{
    cell::UnsafeCell,
    ffi::{c_int, c_void},
    future::Future,
    panic::{self, AssertUnwindSafe},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use glint_gfapi_sys::{Symbols, glfs_fd_t, glfs_stat};
use libc::{iovec, off_t};
use smallvec::SmallVec;

use crate::{Error, completion::Home, error::last_errno, file::Open};

/// The parts of a write; few enough to lie inside the operation in the usual case.
pub(crate) type Parts = SmallVec<[Bytes; 2]>;

/// What to do.
pub(crate) enum Request {
    /// Read `len` bytes into the buffer, which is empty and has room for them.
    Read {
        buffer: Vec<u8>,
        offset: off_t,
        len: usize,
    },
    Write {
        parts: Parts,
        offset: off_t,
        flags: c_int,
    },
    Sync,
    DataSync,
    Truncate {
        size: off_t,
    },
    Discard {
        offset: off_t,
        len: usize,
    },
    Zerofill {
        offset: off_t,
        len: off_t,
    },
}

impl Request {
    /// The name of libgfapi's function, for errors.
    const fn name(&self) -> &'static str {
        match self {
            Self::Read { .. } => "pread",
            Self::Write { .. } => "pwritev",
            Self::Sync => "fsync",
            Self::DataSync => "fdatasync",
            Self::Truncate { .. } => "ftruncate",
            Self::Discard { .. } => "discard",
            Self::Zerofill { .. } => "zerofill",
        }
    }
}

/// The value of [`Op::result`] until the operation is complete.
const PENDING: i64 = i64::MIN;

/// An operation. Its buffers live here, so they outlast a future that is dropped while libgfapi uses them.
pub(crate) struct Op {
    /// Keeps the descriptor open until the operation is complete.
    file: Arc<Open>,
    name: &'static str,
    /// Who may touch this changes hands: the creator until the operation is queued; the submit thread until
    /// it calls libgfapi; the future once `result` is set.
    request: UnsafeCell<Request>,
    /// What libgfapi returned, or minus the error number.
    result: AtomicI64,
    /// The future is gone; if not yet submitted, do not.
    abandoned: AtomicBool,
    waker: AtomicWaker,
    home: Option<Arc<Home>>,
}

// SAFETY: `request` is the only part that is not already `Sync`, and has one user at a time, as said there.
// Each hand-over synchronises: the queue's push and pop, libgfapi's own passing on to its threads, and the
// release of `result`.
unsafe impl Sync for Op {}

impl Op {
    /// Queues `request` for submission.
    pub(crate) fn start(file: &Arc<Open>, request: Request) -> InFlight {
        let op = Arc::new(Self {
            file: Arc::clone(file),
            name: request.name(),
            request: UnsafeCell::new(request),
            result: AtomicI64::new(PENDING),
            abandoned: AtomicBool::new(false),
            waker: AtomicWaker::new(),
            home: Home::current(),
        });
        file.submitter().push(Arc::clone(&op));
        InFlight { op }
    }

    /// Hands the operation to libgfapi. Called once, on a submit thread. `vectors` is scratch space.
    pub(crate) fn submit(self: Arc<Self>, symbols: &Symbols, vectors: &mut Vec<iovec>) {
        if self.abandoned.load(Ordering::Relaxed) {
            return;
        }
        // The callback may run, and end the operation, before the call returns; `self` keeps it and the
        // descriptor.
        let data = Arc::into_raw(Arc::clone(&self)).cast_mut().cast::<c_void>();
        // SAFETY: popped from the queue and not yet submitted, so this thread is the request's only user.
        let request = unsafe { &mut *self.request.get() };
        // SAFETY: `data` is a reference to an operation, which the callback takes over.
        let status = unsafe { call(symbols, self.file.fd().0.as_ptr(), request, vectors, data) };
        if status != 0 {
            let errno = last_errno();
            // SAFETY: a call that is refused has no callback, so the reference made for it is still ours.
            drop(unsafe { Arc::from_raw(data.cast_const().cast::<Self>()) });
            self.complete(-i64::from(errno));
        }
    }

    fn complete(&self, result: i64) {
        self.result.store(result, Ordering::Release);
        if let Some(waker) = self.waker.take() {
            match &self.home {
                Some(home) => home.push(waker),
                None => waker.wake(),
            }
        }
    }

    fn poll_result(&self) -> Poll<i64> {
        match self.result.load(Ordering::Acquire) {
            PENDING => Poll::Pending,
            result => Poll::Ready(result),
        }
    }
}

/// Calls the function of libgfapi for `request`.
///
/// # Safety
/// `fd` is open; `data` came from `Arc::<Op>::into_raw` and stands for a reference to the operation that owns
/// `request`.
unsafe fn call(
    symbols: &Symbols,
    fd: *mut glfs_fd_t,
    request: &mut Request,
    vectors: &mut Vec<iovec>,
    data: *mut c_void,
) -> c_int {
    let then = Some(completed as unsafe extern "C" fn(_, _, _, _, _));
    match request {
        Request::Read { buffer, offset, len } => {
            let len = (*len).min(buffer.capacity());
            // SAFETY: the buffer belongs to the operation, which outlives the callback, and nobody touches it
            // before.
            unsafe { symbols.glfs_pread_async(fd, buffer.as_mut_ptr().cast(), len, *offset, 0, then, data) }
        }
        Request::Write { parts, offset, flags } => {
            // Out of the operation: the parts are needed until the call returns, and are freed then, not at
            // completion.
            let parts = std::mem::take(parts);
            vectors.clear();
            vectors.extend(
                parts
                    .iter()
                    .map(|part| iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() }),
            );
            let count = c_int::try_from(vectors.len()).unwrap_or(c_int::MAX);
            // SAFETY: the vectors describe `parts`, which libgfapi only reads, and only during the call: it
            // copies them.
            unsafe { symbols.glfs_pwritev_async(fd, vectors.as_ptr(), count, *offset, *flags, then, data) }
        }
        // SAFETY: for all of these: an open descriptor, and no memory involved but `data`.
        Request::Sync => unsafe { symbols.glfs_fsync_async(fd, then, data) },
        // SAFETY: as above.
        Request::DataSync => unsafe { symbols.glfs_fdatasync_async(fd, then, data) },
        // SAFETY: as above.
        Request::Truncate { size } => unsafe { symbols.glfs_ftruncate_async(fd, *size, then, data) },
        // SAFETY: as above.
        Request::Discard { offset, len } => unsafe {
            symbols.glfs_discard_async(fd, *offset, *len, then, data)
        },
        // SAFETY: as above.
        Request::Zerofill { offset, len } => unsafe {
            symbols.glfs_zerofill_async(fd, *offset, *len, then, data)
        },
    }
}

/// libgfapi's callback. It calls nothing of libgfapi: dropping the last reference to a file only queues its
/// closing.
///
/// # Safety
/// Called by libgfapi, once, with the `data` that was given to it at submission.
unsafe extern "C" fn completed(
    _fd: *mut glfs_fd_t,
    ret: isize,
    _before: *mut glfs_stat,
    _after: *mut glfs_stat,
    data: *mut c_void,
) {
    // First of all, before anything can change it. It means nothing when the call succeeded.
    let result = if ret < 0 { -i64::from(last_errno()) } else { ret as i64 };
    // SAFETY: `data` is the reference made by `submit` for this one callback.
    let op = unsafe { Arc::from_raw(data.cast_const().cast::<Op>()) };
    // Unwinding into C is not allowed, and a waker is foreign code.
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(move || op.complete(result))) {
        std::mem::forget(payload);
    }
}

/// Resolves to what libgfapi returns. May be dropped at any time.
pub(crate) struct InFlight {
    op: Arc<Op>,
}

impl InFlight {
    /// The buffer of a read that is complete, with the first `len` bytes filled.
    pub(crate) fn take_read_buffer(&mut self, len: usize) -> Bytes {
        if self.op.poll_result().is_pending() {
            return Bytes::new();
        }
        // SAFETY: the operation is complete, so libgfapi and the submit thread are done with the request; and
        // this future, borrowed mutably, is the only one.
        match unsafe { &mut *self.op.request.get() } {
            Request::Read { buffer, .. } => {
                let mut buffer = std::mem::take(buffer);
                // SAFETY: libgfapi has filled as many bytes as it returned; never more than the capacity.
                unsafe { buffer.set_len(len.min(buffer.capacity())) };
                Bytes::from(buffer)
            }
            _ => Bytes::new(),
        }
    }
}

impl Future for InFlight {
    type Output = Result<usize, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let op = &*self.op;
        let mut result = op.poll_result();
        if result.is_pending() {
            op.waker.register(cx.waker());
            // It may have completed between the look and the registration.
            result = op.poll_result();
        }
        result.map(|result| {
            usize::try_from(result).map_err(|_| Error::Os {
                operation: op.name,
                errno: i32::try_from(-result).unwrap_or(libc::EIO),
            })
        })
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.op.abandoned.store(true, Ordering::Relaxed);
    }
}
