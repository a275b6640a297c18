//! What the system's allocator does with memory that is free again.
//!
//! Left alone it gives the buffers of large transfers back to the kernel each time, which clears their pages anew for the next: more than half of what a read
//! of 256 KiB costs. Other allocators keep a heap for each thread, and there are many that do little.
#![allow(unsafe_code)]

/// Larger blocks are mapped, and given back when they are freed; no transfer needs as much.
const MAPPED_FROM: i32 = 4 << 20;
/// So much may stay free at the end of each arena: a worker has 32 transfers of 256 KiB under way, and their answers.
const KEPT: i32 = 16 << 20;

/// Has the buffers of transfers kept for the next. To be called before the first thread is started.
pub fn keep_buffers() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (parameter, value) in [(libc::M_MMAP_THRESHOLD, MAPPED_FROM), (libc::M_TRIM_THRESHOLD, KEPT)] {
        // SAFETY: it takes two numbers and no memory of ours, and no other thread allocates meanwhile. One that is refused leaves all as it was, only slower.
        unsafe { libc::mallopt(parameter, value) };
    }
}
