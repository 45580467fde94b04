//! The accepted past of one suite on one disk, and the candidates that may become it.
//!
//! Owns the form of the files and what may be in them; reading, locking and renaming is `store`'s.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::facts::Identity;
use crate::plan::WorkloadKey;
use crate::sample::Session;
use crate::stats::SessionStat;
use crate::suite::Metric;
use crate::units::Bytes;

/// Version of the files this module writes. A file with a higher one is refused.
pub const SCHEMA: u32 = 1;

/// Sessions below which a baseline is provisional.
pub const BLOCKING_SESSIONS: usize = 3;

/// `baselines/<disk>/<suite>.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Suite name.
    pub suite: String,
    /// Whose numbers these are.
    pub disk: Identity,
    /// What is accepted, by test name without the suite.
    pub tests: BTreeMap<String, Accepted>,
}

/// What is accepted for one test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Accepted {
    /// Per gated metric: the figures a reviewer reads, derived from the sessions.
    pub summary: BTreeMap<Metric, Summary>,
    /// Seconds since 1970 of the last accept.
    pub accepted: u64,
    /// Source revision at the accept, where git tells.
    pub revision: Option<String>,
    /// Why a worse one was accepted.
    pub reason: Option<String>,
    /// Hash of the test's effective text.
    pub text: String,
    /// The workload every session shares.
    pub workload: WorkloadKey,
    /// Bytes per leg, fixed by this baseline.
    pub leg_bytes: Vec<Bytes>,
    /// Whether the directory was a mount point of its own when this was accepted.
    pub mount_point: bool,
    /// The first accepted sessions, frozen: drift is told against them.
    pub anchor: Anchor,
    /// Raw sessions; one line each in the file.
    pub sessions: Vec<Session>,
}

/// One metric of an accepted test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Mean over the sessions, in the metric's unit.
    pub value: f64,
    /// Lowest session mean.
    pub lowest: f64,
    /// Highest session mean.
    pub highest: f64,
    /// The `auto` tolerance these sessions support, a share of one.
    pub tolerance: f64,
}

/// The first accepted sessions of a test in brief.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Anchor {
    /// Seconds since 1970.
    pub accepted: u64,
    /// Why it was set anew, if it was.
    pub reason: Option<String>,
    /// Per metric, one entry a session.
    pub sessions: BTreeMap<Metric, Vec<SessionStat>>,
}

/// `pending/<disk>/…`: the sessions one test left behind, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Suite name.
    pub suite: String,
    /// Test name without the suite.
    pub test: String,
    /// Whose numbers these are.
    pub disk: Identity,
    /// Hash of the test's effective text when the newest session ran.
    pub text: String,
    /// Whether the directory was a mount point of its own.
    pub mount_point: bool,
    /// Sessions with the text hash each ran under.
    pub sessions: Vec<CandidateSession>,
}

/// One pending session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CandidateSession {
    /// Hash of the test's effective text when it ran.
    pub text: String,
    /// Why it must not be accepted (invalid, interrupted, an attempt above 1); `None` when it may.
    pub barred: Option<String>,
    /// The raw session.
    pub session: Session,
}
