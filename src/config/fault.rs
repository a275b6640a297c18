//! What is wrong, or doubtful, in a configuration, and where.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where a fault or a warning lies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A line of the configuration file, from 1.
    Line(usize),
    /// A flag of the command line, as it was given.
    Flag(String),
    /// The configuration file as a whole.
    File,
}

/// One finding: a fault that forbids serving, or a warning that does not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Where it lies.
    pub place: Place,
    /// What is wrong and what to do about it.
    pub message: String,
}

impl Finding {
    /// The finding as `FILE:LINE: message`, or `--flag value: message`.
    pub fn display<'a>(&'a self, file: Option<&'a Path>) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| {
            let file = file.unwrap_or(Path::new("configuration")).display();
            match &self.place {
                Place::Line(line) => write!(f, "{file}:{line}: {}", self.message),
                Place::Flag(flag) => write!(f, "{flag}: {}", self.message),
                Place::File => write!(f, "{file}: {}", self.message),
            }
        })
    }
}

/// Every fault of a configuration, in the order of the file; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// The file that was read, if one was.
    pub file: Option<PathBuf>,
    /// The faults.
    pub faults: Vec<Finding>,
    /// What is doubtful besides.
    pub warnings: Vec<Finding>,
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            let end = if index == 0 { "" } else { "\n" };
            write!(f, "{end}{}", fault.display(self.file.as_deref()))?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

/// Collects findings while a configuration is read, so that one run tells all.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) faults: Vec<Finding>,
    pub(super) warnings: Vec<Finding>,
}

impl Findings {
    pub(super) fn fault(&mut self, place: Place, message: impl Into<String>) {
        self.faults.push(Finding { place, message: message.into() });
    }

    pub(super) fn warn(&mut self, place: Place, message: impl Into<String>) {
        self.warnings.push(Finding { place, message: message.into() });
    }
}

/// A value and where it was given.
#[derive(Clone, Debug)]
pub(super) struct Placed<T> {
    pub(super) value: T,
    pub(super) place: Place,
}
