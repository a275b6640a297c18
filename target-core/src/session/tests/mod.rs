//! A whole connection against an initiator, in virtual time.

mod bad_input;
mod bench;
mod data_out_errors;
mod login;
mod logout;
mod numbering;
mod ordering;
mod reads;
mod small_talk;
mod task_management;
mod timers;
mod whole_way;
mod writes;
