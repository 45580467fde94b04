//! Settings of a run from flags, variables and the two configuration files, in that order of precedence. Pure.
//!
//! Owns what the settings are; `keys` has one row for each, `resolve` puts the layers on top of each other. Whoever
//! calls it reads the files and the environment.

mod error;
mod keys;
mod resolve;

pub use error::ConfigError;
pub use keys::{INTERNAL_VARIABLES, variable};
pub use resolve::{Origin, Resolved, Setting};

use std::path::PathBuf;
use std::time::Duration;

use crate::units::{Bytes, GIB};

/// Every setting, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Directories (or block devices) to measure, in order; empty: none configured.
    pub disk: Vec<PathBuf>,
    /// Folder name under `baselines/` instead of the one made from model, size and file system.
    pub disk_name: Option<String>,
    /// Where suite files lie; `None`: `suites` below the root if present, else the embedded ones.
    pub suites: Option<PathBuf>,
    /// Where baselines lie; `None`: `baselines` below the root.
    pub baselines: Option<PathBuf>,
    /// The same block device again: consent to write to it.
    pub destroy: Option<PathBuf>,
    /// Whether a baseline must be of this very disk.
    pub matching: Match,
    /// What must be there for the harness to pass.
    pub require: Option<Require>,
    /// Undecided tests fail.
    pub strict: bool,
    /// A cache below the block layer makes numbers invalid.
    pub strict_medium: bool,
    /// Most bytes one session of one test may write.
    pub max_write: Bytes,
    /// Undecided runs in a row after which a test fails.
    pub max_undecided: u32,
    /// Least time between two sessions of one test.
    pub gap: Duration,
    /// What a run does with its sessions.
    pub update: Update,
    /// Measure tmpfs and ramfs all the same.
    pub allow_memory: bool,
    /// Measure overlay all the same.
    pub allow_overlay: bool,
    /// Test targets that use the harness.
    pub targets: Vec<String>,
}

impl Default for Config {
    /// What holds where nothing is written.
    fn default() -> Self {
        Self {
            disk: Vec::new(),
            disk_name: None,
            suites: None,
            baselines: None,
            destroy: None,
            matching: Match::Identity,
            require: None,
            strict: false,
            strict_medium: false,
            max_write: Bytes(64 * GIB),
            max_undecided: 3,
            gap: Duration::from_secs(30),
            update: Update::Auto,
            allow_memory: false,
            allow_overlay: false,
            targets: Vec::new(),
        }
    }
}

/// Whether a baseline must be of this very disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// By serial, WWID or file-system UUID.
    Identity,
    /// A disk of the same model will do.
    Model,
}

/// What must be there for the harness to pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Require {
    /// A disk.
    Disk,
    /// A disk and a baseline.
    Baseline,
}

/// `IOGATE_UPDATE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// Candidates only.
    Auto,
    /// Writes where none exists.
    New,
    /// As `accept --append`.
    Always,
    /// Not even candidates.
    No,
}
