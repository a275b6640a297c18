//! Login: stages, the table of text keys, CHAP; and the text keys of the full feature phase.

pub mod catalog;
pub mod parameters;
