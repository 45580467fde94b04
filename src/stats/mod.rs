//! Estimates with intervals, the spread between sessions, and how much evidence a decision needs.
//!
//! Pure arithmetic on logarithms of metrics; knows no disk and no gate key. Formulas carry their source.

use serde::{Deserialize, Serialize};

/// A value in its own unit with the 95 % limits within the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Point estimate.
    pub value: f64,
    /// Lower 95 % limit.
    pub lower: f64,
    /// Upper 95 % limit.
    pub upper: f64,
}

/// One session of one metric on the log scale.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SessionStat {
    /// 20 % trimmed mean of the rounds.
    pub mean: f64,
    /// Winsorised variance of one round, corrected for the trimming; 0 for metrics pooled over the session.
    pub var: f64,
    /// Kept rounds; 1 for metrics pooled over the session.
    pub n: u32,
    /// Lag-1 autocorrelation of the winsorised rounds, corrected for small samples.
    pub rho: f64,
}

/// A candidate against a baseline on the log scale, between-session spread included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// ln(candidate / baseline).
    pub delta: f64,
    /// Its variance.
    pub var: f64,
    /// Satterthwaite degrees of freedom.
    pub df: f64,
    /// Between-session variance used.
    pub tau2: f64,
    /// Variance of one round used, inflated by autocorrelation.
    pub within: f64,
}
