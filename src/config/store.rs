//! Where the nodes of a cluster keep what they have to agree on.

use super::device::{GLUSTER_FORM, GlusterFile, no_transport, parse_file, parse_gluster};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A directory for the documents of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StoreUrl {
    /// On a GlusterFS volume.
    Gluster(GlusterFile),
    /// A local directory, by its absolute path: for nodes that share a file system or a machine.
    Local(PathBuf),
}

impl FromStr for StoreUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A directory may be written with a slash at its end; the root is left, and refused.
        let directory = match text.trim_end_matches('/') {
            "" => text,
            directory => directory,
        };
        match directory.split_once(':') {
            Some(("gluster" | "gluster+tcp", rest)) => parse_gluster(text, rest).map(Self::Gluster),
            Some((scheme @ ("gluster+unix" | "gluster+rdma"), _)) => Err(no_transport(scheme)),
            Some(("file", rest)) => parse_file(text, rest).map(Self::Local),
            _ if text.starts_with('/') => parse_file(text, directory).map(Self::Local),
            _ => Err(format!("{text:?} is no store; use {GLUSTER_FORM}, file:/PATH or /PATH")),
        }
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gluster(directory) => directory.fmt(f),
            Self::Local(path) => write!(f, "file:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<StoreUrl, String> {
        text.parse()
    }

    #[test]
    fn stores_print_as_they_are_written() {
        for text in ["gluster://a:24008,b/vol1/glint/store", "file:/srv/glint"] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        assert_eq!(parse("/srv/glint/"), parse("file:/srv/glint"));
        assert_eq!(parse("gluster+tcp://a/v/glint/"), parse("gluster://a:24007/v/./glint"));
        assert_eq!(parse("/srv/a:b"), parse("file:/srv/a:b"));
    }

    #[test]
    fn what_is_no_store_is_told() {
        for (text, told) in [
            ("", "gluster://"),
            ("glint", "no store"),
            ("ram:", "no store"),
            ("http://a/b", "no store"),
            ("file:glint", "absolute"),
            ("file:", "absolute"),
            ("/", "no file"),
            ("/a/../b", ".."),
            ("gluster://a/v", "form"),
            ("gluster://a/v/", "form"),
            ("gluster://a:0/v/b", "port 0"),
            ("gluster://a/v/../b", ".."),
            ("gluster+rdma://a/v/b", "TCP"),
        ] {
            let fault = parse(text).unwrap_err();
            assert!(fault.contains(told), "{text:?}: {fault}");
        }
    }
}
