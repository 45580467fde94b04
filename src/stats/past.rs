//! Accepted sessions of one metric, and new ones judged against them with the spread between sessions in the error.
//!
//! A random-effects model: a session's mean is the disk's value, plus a session effect of variance tau², plus noise of
//! its rounds. Tau² is estimated from few sessions, so it is pulled up to a prior and never down (after the moderated
//! variances of Smyth 2004): a gate that believes a lucky calm baseline cries wolf for ever after.

use super::robust::{mean, mean_of, variance, vif};
use super::{Change, SessionStat, dist, share};

/// Weight of the prior on tau, in degrees of freedom.
const PRIOR_DF: f64 = 2.0;
/// The prior: tau is half the spread of a round, and never below half a percent.
const PRIOR_SHARE: f64 = 0.5;
const PRIOR_LEAST: f64 = 0.005;
/// Rounds that the baseline's variance counts for when it is pooled with the candidate's.
const POOLED_ROUNDS: f64 = 8.0;
/// No `auto` tolerance is below this.
pub const LEAST_TOLERANCE: f64 = 0.05;

/// Accepted sessions of one metric in brief.
#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    /// Mean of the session means.
    pub mean: f64,
    /// Mean variance of a round.
    pub var: f64,
    /// What autocorrelation makes of it.
    pub vif: f64,
    /// Sessions.
    pub sessions: usize,
    /// Mean of 1/rounds.
    per_round: f64,
    /// Variance between the session means.
    between: f64,
}

/// Variance between sessions, and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tau {
    /// The variance.
    pub squared: f64,
    /// Degrees of freedom.
    pub df: f64,
}

impl Past {
    /// Accepted sessions in brief; `None` of none.
    #[must_use]
    pub fn new(sessions: &[SessionStat]) -> Option<Self> {
        (!sessions.is_empty()).then(|| Self {
            mean: mean_of(sessions, |s| s.mean),
            var: mean_of(sessions, |s| s.var),
            vif: vif(sessions),
            sessions: sessions.len(),
            per_round: mean_of(sessions, |s| 1.0 / f64::from(s.n.max(1))),
            between: variance(&means(sessions)),
        })
    }

    /// Variance of one round, inflated by autocorrelation.
    #[must_use]
    pub fn within(&self) -> f64 {
        self.var * self.vif
    }

    /// The spread between sessions, from the accepted ones and, when there are several, the new ones.
    #[must_use]
    pub fn tau(&self, candidates: &[SessionStat]) -> Tau {
        let own = self.excess(self.between, self.per_round, self.sessions);
        let per_round = mean_of(candidates, |s| 1.0 / f64::from(s.n.max(1)));
        let new = self.excess(variance(&means(candidates)), per_round, candidates.len());
        let (squares, df) = (own.0 + new.0, own.1 + new.1);
        let prior = PRIOR_LEAST.max(PRIOR_SHARE * self.var.sqrt());
        let pulled = (PRIOR_DF * prior * prior + squares) / (PRIOR_DF + df);
        if df > 0.0 && squares / df > pulled {
            Tau {
                squared: squares / df,
                df,
            }
        } else {
            Tau {
                squared: pulled,
                df: PRIOR_DF + df,
            }
        }
    }

    /// Sum of squares between session means beyond what their rounds explain, and its degrees of freedom.
    fn excess(&self, between: f64, per_round: f64, sessions: usize) -> (f64, f64) {
        let df = sessions.saturating_sub(1) as f64;
        (df * (between - self.within() * per_round).max(0.0), df)
    }

    /// New sessions against the accepted ones; `None` of none.
    #[must_use]
    pub fn change(&self, candidates: &[SessionStat]) -> Option<Change> {
        if candidates.is_empty() {
            return None;
        }
        let tau = self.tau(candidates);
        let df_rounds: f64 = candidates.iter().map(spare_rounds).sum();
        let spread: f64 = candidates.iter().map(|s| s.var * spare_rounds(s)).sum();
        let var = (POOLED_ROUNDS * self.var + spread) / (POOLED_ROUNDS + df_rounds);
        let within = var * self.vif;
        let weight = |s: &SessionStat| 1.0 / (tau.squared + within / f64::from(s.n.max(1)));
        let information: f64 = candidates.iter().map(weight).sum();
        let value = candidates.iter().map(|s| weight(s) * s.mean).sum::<f64>() / information;
        let total = 1.0 / information + self.own_variance(tau.squared);
        let shared =
            tau.squared * (1.0 / candidates.len() as f64 + 1.0 / self.sessions.max(1) as f64);
        let rest = (total - shared).max(0.0);
        let doubt = shared * shared / tau.df + rest * rest / (POOLED_ROUNDS + df_rounds);
        Some(Change {
            delta: value - self.mean,
            var: total,
            df: total * total / doubt,
            tau2: tau.squared,
            within,
        })
    }

    /// Variance that `change` would have had after the sessions given (their rounds), all else as it is.
    #[must_use]
    pub fn variance_after(&self, tau2: f64, within: f64, rounds: &[u32]) -> f64 {
        let information: f64 = rounds
            .iter()
            .map(|&n| 1.0 / (tau2 + within / f64::from(n.max(1))))
            .sum();
        1.0 / information + self.own_variance(tau2)
    }

    /// Variance of the mean of the accepted sessions.
    fn own_variance(&self, tau2: f64) -> f64 {
        (tau2 + self.within() * self.per_round) / self.sessions.max(1) as f64
    }

    /// The loss, on the log scale, that runs of `most_sessions` sessions of `rounds` rounds can tell from nothing:
    /// (t.95 + t.90)·SE with K − 1 degrees of freedom. One session leaves none; the prior's certainty of a single
    /// degree then stands in, which is as wide as it should be.
    #[must_use]
    pub fn resolvable(&self, most_sessions: u32, rounds: u32) -> f64 {
        let tau2 = self.tau(&[]).squared;
        let plan = vec![rounds; most_sessions.max(1) as usize];
        let error = self.variance_after(tau2, self.within(), &plan).sqrt();
        let df = self.sessions.saturating_sub(1).max(1) as f64;
        (dist::t_quantile(0.95, df) + dist::t_quantile(0.90, df)) * error
    }

    /// The `auto` tolerance these sessions support, a share of one: what can be told apart, at least 5 %.
    #[must_use]
    pub fn auto_tolerance(&self, most_sessions: u32, rounds: u32, higher_is_better: bool) -> f64 {
        share(self.resolvable(most_sessions, rounds), higher_is_better).max(LEAST_TOLERANCE)
    }

    /// Whether more sessions would help more than more rounds: the spread between sessions outweighs what
    /// `rounds` rounds leave of the spread within.
    #[must_use]
    pub fn sessions_would_help(&self, tau2: f64, rounds: u32) -> bool {
        tau2 > self.within() / f64::from(rounds.max(1))
    }
}

fn means(sessions: &[SessionStat]) -> Vec<f64> {
    sessions.iter().map(|s| s.mean).collect()
}

fn spare_rounds(s: &SessionStat) -> f64 {
    f64::from(s.n.saturating_sub(1))
}

/// Mean of session means; `None` of none.
#[must_use]
pub fn mean_of_sessions(sessions: &[SessionStat]) -> Option<f64> {
    (!sessions.is_empty()).then(|| mean(&means(sessions)))
}
