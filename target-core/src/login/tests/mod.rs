//! The login phase as a whole, played against [`bench`].

mod bench;
mod chap;
mod failures;
mod initiators;
mod long_texts;
mod negotiation;
mod properties;
mod reach;
mod text_phase;
