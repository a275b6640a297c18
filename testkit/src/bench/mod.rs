//! glint and its peers side by side in one run: who serves ([`entrant`]), under which loads ([`work`]), what the client sees
//! ([`client`]) and the server spends ([`cost`]), round after round ([`contest`]), and what glint has to reach ([`goals`]).

pub mod client;
pub mod contest;
pub mod cost;
pub mod enclosure;
pub mod entrant;
pub mod goals;
pub mod options;
pub mod plot;
mod pump;
pub mod report;
pub mod setup;
pub mod stores;
mod tgt;
pub mod work;
