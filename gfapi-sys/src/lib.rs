//! glint-gfapi-sys
