//! Where the things under test and the tools built for it are.

use std::env;
use std::path::{Path, PathBuf};

/// Cargo's target directory: the nearest one above the running test, wherever `CARGO_TARGET_DIR` put it.
pub fn target_dir() -> PathBuf {
    let test = env::current_exe().expect("the running test has a path");
    test.ancestors()
        .find(|dir| dir.join(".rustc_info.json").exists())
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), Path::to_path_buf)
}

/// The released binary: `GLINT_BIN`, or the one in the target directory.
pub fn glint() -> PathBuf {
    let path = env::var_os("GLINT_BIN").map_or_else(|| target_dir().join("release/glint"), PathBuf::from);
    assert!(path.exists(), "no glint at {}: run `make build`, or `make test` for everything", path.display());
    path
}

/// A tool that `make test` builds: a path below `GLINT_TOOLS`, or below `tools` in the target directory.
pub fn tool(path: &str) -> PathBuf {
    let tools = env::var_os("GLINT_TOOLS").map_or_else(|| target_dir().join("tools"), PathBuf::from);
    let path = tools.join(path);
    assert!(path.exists(), "no {}: run `make test-deps`, or `make test` for everything", path.display());
    path
}
