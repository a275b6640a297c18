//! What a connection needs to know from its driver.

use crate::login::parameters::Offer;
use std::time::Duration;

/// Settings of connections, shared by many.
#[derive(Clone, Debug)]
pub struct ConnectionConfig {
    /// What is offered and accepted in negotiation.
    pub offer: Offer,
    /// From the first byte of a connection to the end of its login.
    pub login_timeout: Duration,
    /// A connection that has been silent for so long is sent a NOP-In; zero: never.
    pub nop_interval: Duration,
    /// Silence after that NOP-In which ends the connection.
    pub nop_timeout: Duration,
    /// How long a logout may wait for commands that still run.
    pub logout_timeout: Duration,
    /// Commands that an initiator may have under way at a time: MaxCmdSN - ExpCmdSN + 1 when none is. At least 1.
    pub command_window: u32,
    /// Most bytes of data-out that are asked for on behalf of one command, whatever length it announces.
    pub max_command_bytes: u32,
    /// Bytes that the connection may have asked for with R2Ts on behalf of commands whose data is incomplete. The oldest of those
    /// may always ask, so up to `max_command_bytes` come on top. What [rationing](super::connection::Connection::ration) allows is less at times.
    pub data_out_budget: usize,
    /// Fills a buffer with unforeseeable bytes.
    pub entropy: fn(&mut [u8]),
}
