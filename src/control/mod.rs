//! The verbs of the service: bring what runs in line with a configuration, start, reload, drain.
//!
//! The first start and every reload are the same code: [`Control::apply`] compares what runs with what is wanted and changes what
//! differs.

mod announce;
mod apply;
mod lifecycle;
mod limits;
mod portals;
mod shared;
mod space;
mod state;
mod volumes;

pub use apply::{ApplyError, Control};
pub use lifecycle::serve;
