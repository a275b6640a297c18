//! See `glint_fuzz::multiple`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    glint_fuzz::multiple(data);
});
