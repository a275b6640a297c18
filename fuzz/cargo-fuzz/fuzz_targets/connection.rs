//! See `glint_fuzz::connection`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    glint_fuzz::connection(data);
});
