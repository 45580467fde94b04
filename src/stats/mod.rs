//! Estimates with intervals, the spread between sessions, and how much evidence a decision needs.
//!
//! Pure arithmetic on logarithms of metrics; knows no disk and no gate key. Formulas carry their source.
//!
//! - [`yields`]: from a session's raw rounds to one series a metric.
//! - [`robust`]: from a series to a trimmed mean, its variance and its autocorrelation.
//! - [`past`]: accepted sessions against new ones, the spread between sessions included.
//! - [`looks`]: how small a p-value must be when the data is looked at more than once.
//! - [`steady`]: whether a session was of one piece.

mod dist;
pub mod looks;
pub mod past;
pub mod robust;
pub mod steady;
pub mod yields;

use serde::{Deserialize, Serialize};

pub use looks::Looks;
pub use past::Past;
pub use yields::{Yield, metrics};

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

impl Change {
    /// Evidence that the loss is more than `theta`: P(t ≤ (delta + theta) / SE). Small means worse.
    #[must_use]
    pub fn p_worse_than(&self, theta: f64) -> f64 {
        dist::t_below((self.delta + theta) / self.var.sqrt(), self.df)
    }

    /// Evidence that the loss is less than `theta`: P(t ≥ (delta + theta) / SE). Small means not worse.
    #[must_use]
    pub fn p_within(&self, theta: f64) -> f64 {
        dist::t_below(-(self.delta + theta) / self.var.sqrt(), self.df)
    }

    /// 95 % limits of `delta`, between-session spread included.
    #[must_use]
    pub fn limits(&self) -> (f64, f64) {
        let reach = dist::t_quantile(0.975, self.df) * self.var.sqrt();
        (self.delta - reach, self.delta + reach)
    }

    /// (candidate − baseline) / baseline with its 95 % limits. A metric where less is better was turned before.
    #[must_use]
    pub fn as_share(&self, higher_is_better: bool) -> Estimate {
        let sign = if higher_is_better { 1.0 } else { -1.0 };
        let natural = |y: f64| (sign * y).exp_m1();
        let limits = self.limits();
        let (a, b) = (natural(limits.0), natural(limits.1));
        Estimate {
            value: natural(self.delta),
            lower: a.min(b),
            upper: a.max(b),
        }
    }

    /// The smallest loss, on the log scale, that an unchanged disk would have been cleared of nine times in ten
    /// at the nominal level `level` with the precision of this run.
    #[must_use]
    pub fn resolvable(&self, level: f64) -> f64 {
        let quantiles = dist::t_quantile(1.0 - level, self.df) + dist::t_quantile(0.9, self.df);
        quantiles * self.var.sqrt()
    }
}

/// A tolerance, a share of one, as a loss on the log scale: −ln(1 − tolerance) where more is better, and
/// ln(1 + tolerance) where less is, so that both bounds are at the share written.
#[must_use]
pub fn theta(tolerance: f64, higher_is_better: bool) -> f64 {
    if higher_is_better {
        -(1.0 - tolerance.clamp(0.0, 0.999_999)).ln()
    } else {
        tolerance.max(0.0).ln_1p()
    }
}

/// A loss on the log scale as the tolerance it stands for; the inverse of [`theta`].
#[must_use]
pub fn share(theta: f64, higher_is_better: bool) -> f64 {
    if higher_is_better {
        -(-theta).exp_m1()
    } else {
        theta.exp_m1()
    }
}

#[cfg(test)]
mod tests;
