//! One series of rounds as a 20 % trimmed mean, the winsorised variance that goes with it (Tukey and McLaughlin 1963)
//! and its lag-1 autocorrelation; several sessions as one value with its limits within the run.

use super::{Estimate, SessionStat, dist};

/// Share of rounds dropped at each end.
const TRIM: f64 = 0.2;

/// Largest autocorrelation believed: beyond it the rounds say next to nothing.
const MOST_RHO: f64 = 0.9;

/// What is assumed of the autocorrelation before any round is seen, and how many rounds that assumption is worth:
/// a session of eight rounds cannot estimate its own.
const PRIOR_RHO: f64 = 0.2;
const PRIOR_ROUNDS: f64 = 20.0;

/// Rounds below which a series has no autocorrelation to speak of.
const ROUNDS_FOR_RHO: usize = 6;

/// A series in time order, already on the log scale, in brief. `None` when it is empty or holds anything not finite.
///
/// With g = ⌊0.2 n⌋: the mean without the g smallest and g largest; the variance of the series with those pulled
/// in to their neighbours, over (1 − 2g/n)²; rho = (n·r₁ + 1)/(n − 4), the small-sample correction of r₁.
#[must_use]
pub fn session_stat(series: &[f64]) -> Option<SessionStat> {
    let n = series.len();
    if n == 0 || series.iter().any(|y| !y.is_finite()) {
        return None;
    }
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    let g = trimmed(n);
    let (lowest, highest) = (sorted[g], sorted[n - g - 1]);
    let winsorised: Vec<f64> = series.iter().map(|y| y.clamp(lowest, highest)).collect();
    let kept_share = 1.0 - 2.0 * g as f64 / n as f64;
    Some(SessionStat {
        mean: mean(&sorted[g..n - g]),
        var: variance(&winsorised) / (kept_share * kept_share),
        n: u32::try_from(n).unwrap_or(u32::MAX),
        rho: corrected_rho(&winsorised),
    })
}

/// A value that a session yields only once (a percentile, a flush): no spread of its own.
#[must_use]
pub fn pooled_stat(y: f64) -> Option<SessionStat> {
    y.is_finite().then_some(SessionStat {
        mean: y,
        var: 0.0,
        n: 1,
        rho: 0.0,
    })
}

/// Factor by which autocorrelated rounds inflate the variance of their mean: (1 + rho)/(1 − rho) of an AR(1) series,
/// with rho the plain mean over the sessions, between 0 and 0.9.
#[must_use]
pub fn vif(sessions: &[SessionStat]) -> f64 {
    inflation(mean_of(sessions, |s| s.rho))
}

/// Sessions of one run as one value on the log scale with its 95 % limits **within** the run: rounds pooled, the
/// spread between sessions left out. t has ⌈0.6 n⌉ − 1 degrees of freedom a session (Yuen 1974).
#[must_use]
pub fn within_run(sessions: &[SessionStat]) -> Option<Estimate> {
    let rounds: f64 = sessions.iter().map(|s| f64::from(s.n)).sum();
    if rounds < 1.0 {
        return None;
    }
    let rho = sessions.iter().map(|s| s.rho * f64::from(s.n)).sum::<f64>();
    let vif = inflation((rho + PRIOR_RHO * PRIOR_ROUNDS) / (rounds + PRIOR_ROUNDS));
    let weigh = |f: &dyn Fn(&SessionStat) -> f64| {
        sessions.iter().map(|s| f(s) * f64::from(s.n)).sum::<f64>() / rounds
    };
    let value = weigh(&|s| s.mean);
    let squared_error = vif * weigh(&|s| s.var) / rounds;
    let df: f64 = sessions.iter().map(|s| untrimmed(s.n) - 1.0).sum();
    let reach = if squared_error > 0.0 && df > 0.0 {
        dist::t_quantile(0.975, df) * squared_error.sqrt()
    } else {
        0.0
    };
    Some(Estimate {
        value,
        lower: value - reach,
        upper: value + reach,
    })
}

/// Arithmetic mean; 0 of nothing.
pub(super) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    values.iter().sum::<f64>() / values.len() as f64
}

/// Variance over n − 1; 0 of fewer than two.
pub(super) fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let m = mean(values);
    values.iter().map(|y| (y - m).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// Mean of one figure over sessions; 0 of none.
pub(super) fn mean_of(sessions: &[SessionStat], f: impl Fn(&SessionStat) -> f64) -> f64 {
    mean(&sessions.iter().map(f).collect::<Vec<_>>())
}

fn inflation(rho: f64) -> f64 {
    let rho = rho.clamp(0.0, MOST_RHO);
    (1.0 + rho) / (1.0 - rho)
}

fn trimmed(n: usize) -> usize {
    (TRIM * n as f64).floor() as usize
}

fn untrimmed(n: u32) -> f64 {
    f64::from(n) - 2.0 * (TRIM * f64::from(n)).floor()
}

fn corrected_rho(series: &[f64]) -> f64 {
    let n = series.len();
    if n < ROUNDS_FOR_RHO {
        return 0.0;
    }
    let m = mean(series);
    let all: f64 = series.iter().map(|y| (y - m).powi(2)).sum();
    let lagged: f64 = series.windows(2).map(|w| (w[0] - m) * (w[1] - m)).sum();
    (n as f64 * lagged / all.max(1e-18) + 1.0) / (n as f64 - 4.0)
}
