use std::{
    sync::atomic::AtomicUsize,
    task::Wake,
    thread,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, poll};

use super::*;

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Count {
    fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

fn readable(queue: &CompletionQueue) -> bool {
    let timeout = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(queue, PollFlags::IN)], Some(&timeout)).unwrap() == 1
}

#[test]
fn many_completions_signal_once_and_are_drained_together() {
    let queue = CompletionQueue::attach_current_thread().unwrap();
    let count = Arc::new(Count::default());
    assert!(!readable(&queue));
    for _ in 0..3 {
        Home::current().unwrap().push(Arc::clone(&count).into());
    }
    let mut written = [0_u8; 8];
    rustix::io::read(&queue, &mut written).unwrap();
    assert_eq!(u64::from_ne_bytes(written), 1);
    assert_eq!(count.get(), 0);
    assert_eq!(queue.drain(), 3);
    assert_eq!(count.get(), 3);
    assert!(!readable(&queue));
    Home::current().unwrap().push(Arc::clone(&count).into());
    assert!(readable(&queue));
}

#[test]
fn a_dropped_queue_loses_no_completion() {
    let queue = CompletionQueue::attach_current_thread().unwrap();
    let home = Home::current().unwrap();
    let count = Arc::new(Count::default());
    home.push(Arc::clone(&count).into());
    drop(queue);
    assert_eq!(count.get(), 1, "pushed before the drop");
    home.push(Arc::clone(&count).into());
    assert_eq!(count.get(), 2, "pushed after the drop");
    assert!(Home::current().is_none());
}

#[test]
fn no_wake_up_is_lost_between_threads() {
    const EACH: usize = 20_000;
    let queue = CompletionQueue::attach_current_thread().unwrap();
    let home = Home::current().unwrap();
    let count = Arc::new(Count::default());
    let pushers: Vec<_> = (0..2)
        .map(|_| {
            let (home, count) = (Arc::clone(&home), Arc::clone(&count));
            thread::spawn(move || (0..EACH).for_each(|_| home.push(Arc::clone(&count).into())))
        })
        .collect();
    let deadline = Instant::now() + Duration::from_secs(20);
    while count.get() < 2 * EACH {
        assert!(Instant::now() < deadline, "{} of {}", count.get(), 2 * EACH);
        // A lost signal would make this time out although completions are queued.
        let second = rustix::event::Timespec { tv_sec: 5, tv_nsec: 0 };
        assert_eq!(poll(&mut [PollFd::new(&queue, PollFlags::IN)], Some(&second)), Ok(1));
        queue.drain();
    }
    for pusher in pushers {
        pusher.join().unwrap();
    }
}
