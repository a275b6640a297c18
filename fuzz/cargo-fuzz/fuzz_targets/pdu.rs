//! See `glint_fuzz::pdu`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| glint_fuzz::pdu(data));
