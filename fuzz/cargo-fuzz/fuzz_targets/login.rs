//! See `glint_fuzz::login`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    glint_fuzz::login(data);
});
