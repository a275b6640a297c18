//! A whole session against an initiator, in virtual time.

mod bad_input;
mod bench;
mod connections;
mod connections_leaving;
mod connections_lost;
mod data_out_errors;
mod group;
mod interleaving;
mod login;
mod logout;
mod numbering;
mod ordering;
mod reads;
mod renegotiation;
mod small_talk;
mod task_management;
mod third_party;
mod timers;
mod whole_way;
mod writes;
