//! A whole connection against an initiator, in virtual time.

mod bench;
mod login;
mod reads;
mod writes;
