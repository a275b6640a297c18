//! One io_uring and what is in flight in it. All the `unsafe` of this crate is in here: the kernel uses memory that only the ring keeps
//! alive and apart from everybody else.

use super::super::range_lock::RangeGuard;
use super::{Done, TICK, Transfer, What};
use io_uring::{IoUring, opcode, squeue, types};
use rustix::event::EventfdFlags;
use rustix::io::{Errno, ReadWriteFlags};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot::Sender;

/// Transfers that can wait for one submission; as many as a worker's sessions are likely to have open. More are submitted in between.
const ENTRIES: u32 = 256;

/// Kernel threads that a ring may have, for what cannot be begun without blocking: writes that allocate, and disks whose own queue is full.
/// The kernel's own choice is four for each processor, which one hung disk would take soon.
const KERNEL_THREADS: u32 = 32;

/// Most pieces that one vectored transfer takes (IOV_MAX).
const MAX_PIECES: usize = 1024;

/// Where a transfer that has ended is to be told, and what came of it.
pub(super) type Ended = (Option<Sender<Done>>, Done);

/// An io_uring. It is made, used and dropped by one thread.
pub(super) struct Ring {
    ring: IoUring,
    eventfd: Arc<OwnedFd>,
    slots: Vec<Option<InFlight>>,
    vacant: Vec<usize>,
    now: Tick,
}

/// Time in units of [`TICK`].
type Tick = u128;

fn ticks(duration: Duration) -> Tick {
    duration.as_millis().div_ceil(TICK.as_millis())
}

/// What the kernel may be at work on. It stays where it is, and nobody else can get at it, until the kernel has told of its end.
struct InFlight {
    transfer: Transfer,
    /// `None` once nobody is to wait any longer.
    answer: Option<Sender<Done>>,
    began: Tick,
    /// What a vectored transfer consists of; read by the kernel when it is submitted.
    _pieces: Vec<Piece>,
}

/// `struct iovec`.
#[repr(C)]
struct Piece {
    base: *const u8,
    len: usize,
}

impl Ring {
    /// A ring whose completions are made ready when this thread enters the kernel anyway, and not by interrupting it (Linux 5.19), or the
    /// ordinary kind.
    pub(super) fn new() -> io::Result<Self> {
        let cooperating =
            IoUring::builder().setup_submit_all().setup_coop_taskrun().setup_taskrun_flag().build(ENTRIES);
        let ring = cooperating.or_else(|_| IoUring::new(ENTRIES))?;
        let params = ring.params();
        // RW_CUR_POS came with READ and WRITE (Linux 5.6); NODROP and SUBMIT_STABLE are what the rest here counts on.
        if !(params.is_feature_rw_cur_pos()
            && params.is_feature_nodrop()
            && params.is_feature_submit_stable())
        {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let eventfd = Arc::new(rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        ring.submitter().register_eventfd(eventfd.as_raw_fd())?;
        // Linux 5.15. Where it fails the kernel's own choice has to do.
        let _ = ring.submitter().register_iowq_max_workers(&mut [KERNEL_THREADS, 0]);
        Ok(Self { ring, eventfd, slots: Vec::new(), vacant: Vec::new(), now: Tick::default() })
    }

    /// Sends nothing through a ring and back, to see whether the kernel lets this process have one.
    pub(super) fn probe() -> io::Result<()> {
        let ring = &mut Self::new()?.ring;
        // SAFETY: NOP touches no memory.
        unsafe { ring.submission().push(&opcode::Nop::new().build()) }.map_err(io::Error::other)?;
        ring.submit_and_wait(1)?;
        match ring.completion().next().map(|entry| entry.result()) {
            Some(0) => Ok(()),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// The eventfd that is signalled when [`turn`](Self::turn) has something to do, for the runtime on this thread. Edges are what counts:
    /// it is never read.
    pub(super) fn watch(&self) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
        // SAFETY: the descriptor is open, the same one throughout, and outlives the registration, which owns it.
        let watch = unsafe { AsyncFd::register_with_interest(Arc::clone(&self.eventfd), Interest::READABLE) };
        Ok(watch?)
    }

    /// Queues a transfer for the next submission; gives its lock back when it is none for a ring, or there is no room for it.
    pub(super) fn push(
        &mut self,
        mut transfer: Transfer,
        answer: Sender<Done>,
    ) -> Result<(), Option<RangeGuard>> {
        if self.ring.submission().is_full() {
            // Whatever keeps it from being submitted keeps the queue full.
            let _ = self.ring.submit();
        }
        let at = self.vacant.last().copied().unwrap_or(self.slots.len());
        let Some((entry, pieces)) = prepare(&mut transfer) else { return Err(transfer.lock) };
        let entry = entry.user_data(at as u64);
        // SAFETY: the file, the memory and the vector that the entry names belong to `transfer` and `pieces`. Those go into a slot now, which
        // gives them out when the kernel has told of the end of the transfer and not before, whatever happens to who waits for it
        // ([`reap`](Self::reap), and `drop`). All of them lie on the heap, and do not move with their owners. The kernel writes only into a
        // buffer that nobody else has.
        if unsafe { self.ring.submission().push(&entry) }.is_err() {
            return Err(transfer.lock);
        }
        let flight = InFlight { transfer, answer: Some(answer), began: self.now, _pieces: pieces };
        self.vacant.pop();
        match self.slots.get_mut(at) {
            Some(slot) => *slot = Some(flight),
            None => self.slots.push(Some(flight)),
        }
        Ok(())
    }

    /// Submits what is queued and collects what has ended; tells whether another turn is needed soon.
    pub(super) fn turn(&mut self, ended: &mut Vec<Ended>) -> io::Result<bool> {
        let queue = self.ring.submission();
        let due = !queue.is_empty() || queue.taskrun() || queue.cq_overflow();
        drop(queue);
        if due {
            match self.ring.submit().map_err(|error| (Errno::from_io_error(&error), error)) {
                // The kernel is short of memory, or has more to tell than there was room for: what has ended makes room.
                Ok(_) | Err((Some(Errno::INTR | Errno::AGAIN | Errno::BUSY), _)) => {}
                Err((_, error)) => return Err(error),
            }
        }
        self.reap(ended);
        Ok(due && !self.ring.submission().is_empty())
    }

    fn reap(&mut self, ended: &mut Vec<Ended>) {
        for entry in self.ring.completion() {
            let at = usize::try_from(entry.user_data()).unwrap_or(usize::MAX);
            let Some(flight) = self.slots.get_mut(at).and_then(Option::take) else { continue };
            self.vacant.push(at);
            let result = entry.result();
            let result = usize::try_from(result).map_err(|_| Errno::from_raw_os_error(-result));
            ended.push((flight.answer, Done { transfer: flight.transfer, result }));
        }
    }

    /// Another tick has passed: gives the answers of those that nobody is to wait for any longer, to be dropped. Their transfers go on.
    pub(super) fn expire(&mut self) -> impl Iterator<Item = Sender<Done>> {
        self.now += 1;
        let now = self.now;
        let late = move |flight: &&mut InFlight| now - flight.began > ticks(flight.transfer.patience);
        self.slots.iter_mut().flatten().filter(late).filter_map(|flight| flight.answer.take())
    }

    /// Transfers that have begun and not ended.
    pub(super) fn in_flight(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }

    /// Waits for all that is in flight; its answers are given.
    fn finish(&mut self) -> io::Result<()> {
        let mut ended = Vec::new();
        while self.in_flight() > 0 {
            match self.ring.submit_and_wait(1).map_err(|error| (Errno::from_io_error(&error), error)) {
                Ok(_) | Err((Some(Errno::INTR | Errno::AGAIN | Errno::BUSY), _)) => {}
                Err((_, error)) => return Err(error),
            }
            self.reap(&mut ended);
            super::tell(&mut ended);
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if let Err(error) = self.finish() {
            tracing::error!(%error, transfers = self.in_flight(), "an io_uring cannot be finished");
            // Nobody waits for what nobody will tell any more. But the kernel may still use the memory.
            self.slots.iter_mut().flatten().for_each(|flight| flight.answer = None);
            std::mem::forget(std::mem::take(&mut self.slots));
        }
    }
}

/// The entry for a transfer, without its number, and the vector that it points to.
fn prepare(transfer: &mut Transfer) -> Option<(squeue::Entry, Vec<Piece>)> {
    let file = types::Fd(transfer.file.as_raw_fd());
    match &mut transfer.what {
        What::Read(buffer) => {
            let memory = buffer.as_mut();
            let len = u32::try_from(memory.len()).ok()?;
            let read = opcode::Read::new(file, memory.as_mut_ptr(), len).offset(transfer.offset);
            Some((read.build(), Vec::new()))
        }
        What::Write { data, durable } => {
            let flags = if *durable { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
            let flags = flags.bits().cast_signed();
            if let [piece] = data.pieces() {
                let len = u32::try_from(piece.len()).ok()?;
                let write = opcode::Write::new(file, piece.as_ptr(), len).offset(transfer.offset);
                return Some((write.rw_flags(flags).build(), Vec::new()));
            }
            let pieces = data.pieces().iter().map(|piece| Piece { base: piece.as_ptr(), len: piece.len() });
            let pieces: Vec<_> = pieces.collect();
            let count = u32::try_from(pieces.len()).ok().filter(|_| pieces.len() <= MAX_PIECES)?;
            let write = opcode::Writev::new(file, pieces.as_ptr().cast(), count).offset(transfer.offset);
            Some((write.rw_flags(flags).build(), pieces))
        }
    }
}
