//! glint-target-core
