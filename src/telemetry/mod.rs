//! What the process tells about itself: logs on stderr, metrics for Prometheus.

pub mod logging;
pub mod metrics;
mod operation;
mod process;
mod reading;
mod throttle;
mod volume;
mod volumes;

pub use operation::Operation;
pub use throttle::Throttle;
pub use volume::VolumeMetrics;
