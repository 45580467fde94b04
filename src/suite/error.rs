//! What is wrong with a suite file, said so that it can be mended without the manual.

use std::fmt;

use super::written::{self, Fault};

/// One thing wrong with a suite file. Displays as `file:line:column: key: found …, allowed: …; hint`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteError {
    /// The file, as it was named to [`parse`](super::parse).
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The key concerned, dotted (`test.block`); empty when the text as a whole is meant.
    pub key: String,
    /// What was found.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
    /// The nearest key, the translation of fio's word, or another next step.
    pub hint: Option<String>,
}

impl SuiteError {
    pub(super) fn at(file: &str, text: &str, fault: Fault) -> Self {
        let (line, column) = written::place(text, fault.at);
        Self {
            file: file.to_owned(),
            line,
            column,
            key: fault.key,
            found: fault.found,
            allowed: fault.allowed,
            hint: fault.hint,
        }
    }
}

impl fmt::Display for SuiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file, self.line, self.column)?;
        let hint = self.hint.as_deref();
        written::sentence(f, &self.key, &self.found, &self.allowed, hint)
    }
}

impl std::error::Error for SuiteError {}
