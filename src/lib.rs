//! glint
