//! See `glint_fuzz::commands`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    glint_fuzz::commands(data);
});
