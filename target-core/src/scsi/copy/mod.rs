//! Third-party copies (SPC-5 5.17): EXTENDED COPY, copies by ROD tokens (SBC-4 4.28), and the commands that ask what became of them.
//!
//! The copy manager itself, which knows who reaches what, is [`crate::lun::copy`].

pub mod limits;

pub(super) mod abort;
pub(super) mod extended_copy;
pub(super) mod populate_token;
pub(super) mod results;
pub(super) mod write_using_token;

mod cscd;
mod list;
mod order;
mod ranges;
mod segment;
mod transfer;

#[cfg(test)]
mod copy_tests;
#[cfg(test)]
mod course_tests;
#[cfg(test)]
mod failure_tests;
#[cfg(test)]
mod lab;
#[cfg(test)]
mod token_tests;
