//! glint-gfapi
