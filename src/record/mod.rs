//! The whole story of one test in one run: what was asked, found, measured and concluded. Reports draw from it alone.

mod lines;

use serde::{Deserialize, Serialize};

pub use lines::{Counts, Figure, MetricLine, Report, SummaryLine, VerdictLine};

use crate::facts::Facts;
use crate::sample::Session;
use crate::verdict::Judgement;

/// Version of record files and of the JSON stream.
pub const SCHEMA: u32 = 1;

/// One test in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Tool version.
    pub version: String,
    /// Source revision measured from, where git tells.
    pub revision: Option<String>,
    /// Suite name.
    pub suite: String,
    /// Test name without the suite.
    pub test: String,
    /// Hash of the test's effective text.
    pub text: String,
    /// Start and end, seconds since 1970.
    pub window: [f64; 2],
    /// Attempt of the runner; above 1 is never a candidate.
    pub attempt: u32,
    /// The quick look without configuration.
    pub trial: bool,
    /// What was found; `None` when the target was refused.
    pub facts: Option<Facts>,
    /// What was measured, raw.
    pub sessions: Vec<Session>,
    /// What was concluded.
    pub judgement: Judgement,
    /// The test does not fail whatever the verdict.
    pub advisory: bool,
    /// The target was refused; the judgement's detail says what was found and what to do.
    #[serde(default)]
    pub refused: bool,
    /// A second session may change the verdict, and the caller comes back for it.
    #[serde(default)]
    pub unconfirmed: bool,
    /// The signal that ended it.
    #[serde(default)]
    pub signal: Option<i32>,
    /// Whether the test failed under the settings of this run.
    pub failed: bool,
}
