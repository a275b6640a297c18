//! glint-testkit
