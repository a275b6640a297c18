//! What to serve: a TOML file and the flags of the command line, read into types that hold only what is valid.
//!
//! [`ConfigSource::load`] tells every fault at once, each with its line and what to do about it.

mod chap;
mod cluster;
mod device;
mod endpoint;
mod fault;
mod flags;
mod load;
mod model;
mod name;
mod network;
mod reader;
mod store;
mod targets;
mod throttle;
mod tls;
mod units;
mod whole;

pub use cluster::{ClusterConfig, shared_name};
pub use device::{DeviceSpec, GlusterFile, GlusterVolume};
pub use endpoint::{Endpoint, Host};
pub use fault::{Faults, Finding, Place};
pub use flags::Flags;
pub use load::{ConfigSource, Loaded};
pub use model::{
    Config, FileIo, Limits, Log, LogFormat, LunConfig, LunIdentity, Node, Portal, Provisioning,
    RedirectConfig, TargetConfig,
};
pub use name::{IscsiName, NodeId, Serial, TargetLabel};
pub use store::StoreUrl;
pub use throttle::{NamedLimit, named as named_limits};
pub use tls::{ClientCertificates, Tls};
pub use units::ByteSize;
pub(crate) use units::parse_duration;
