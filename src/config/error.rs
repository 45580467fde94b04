//! What is wrong with a setting, and where it was set.

use std::fmt;

use crate::suite::written::{Fault, place, sentence};

/// One wrong setting. Displays as `place: key: found …, allowed: …; hint`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// `flag --disk`, `variable IOGATE_DISK` or `.config/iogate.toml:3:8`.
    pub place: String,
    /// The key concerned; empty when a file is no TOML.
    pub key: String,
    /// What was found.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
    /// The nearest key, or another next step.
    pub hint: Option<String>,
}

impl ConfigError {
    pub(super) fn new(place: impl fmt::Display, fault: Fault) -> Self {
        Self {
            place: place.to_string(),
            key: fault.key,
            found: fault.found,
            allowed: fault.allowed,
            hint: fault.hint,
        }
    }

    pub(super) fn in_file(path: &str, text: &str, fault: Fault) -> Self {
        let (line, column) = place(text, fault.at);
        Self::new(format!("{path}:{line}:{column}"), fault)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        let hint = self.hint.as_deref();
        sentence(f, &self.key, &self.found, &self.allowed, hint)
    }
}

impl std::error::Error for ConfigError {}
