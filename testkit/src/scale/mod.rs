//! What glint costs where there is much of everything, and how it shares itself out. `tests/scale.rs` asserts what must hold on any

mod crowd;
mod fairness;
mod flood;
mod idle;
mod latency;
mod load;
mod soak;
mod store;
mod work;

pub use crowd::{Crowd, allow_files};
pub use fairness::{Fairness, Flood, fairness};
pub use flood::{Flooded, flood};
pub use idle::{Footprint, footprint, idleness};
pub use latency::Latency;
pub use load::{Load, load};
pub use soak::{Sample, Soak, Verdict};
pub use store::Store;
pub use work::Work;

use std::fmt::Write;

use crate::glint::IQN_BASE;
use crate::initiator::Port;

/// `count` targets `v0`, `v1` and so on, with one unit each, on what `device` says.
pub fn targets(count: usize, size: &str, device: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0..count {
        let device = device(number);
        let target = format!(
            "[[target]]\nname = \"v{number}\"\n[[target.lun]]\ndevice = \"{device}\"\nsize = \"{size}\"\n"
        );
        text.write_str(&target).expect("memory");
    }
    text
}

/// An initiator port for the target of this number.
pub fn port(number: usize) -> Port {
    Port::new(&format!("{IQN_BASE}:v{number}"), 1)
}
