//! Whether a session was of one piece: no change of regime from first to last, no leg that shapes the next.

use super::robust::{mean, variance};

/// Standard errors beyond which a difference is not chance.
const ERRORS: f64 = 3.0;
/// A change of regime below this share is of no interest.
const LEAST_SHIFT: f64 = 0.05;
/// Rounds needed in each third to speak of a regime, and on each side to speak of an order effect.
const LEAST_ROUNDS: usize = 2;

/// How far the last third of a series (logarithms, time order) lies from the first, when that is more than three
/// standard errors and more than 5 %; on the log scale.
#[must_use]
pub fn regime_shift(series: &[f64]) -> Option<f64> {
    let third = series.len() / 3;
    if third < LEAST_ROUNDS {
        return None;
    }
    let (first, last) = (&series[..third], &series[series.len() - third..]);
    difference(last, first).filter(|d| d.abs() > LEAST_SHIFT.ln_1p())
}

/// How far rounds that read first lie from rounds that wrote first, when that is more than three standard errors and
/// more than half of `theta`; on the log scale.
#[must_use]
pub fn order_effect(read_first: &[f64], write_first: &[f64], theta: f64) -> Option<f64> {
    difference(read_first, write_first).filter(|d| d.abs() > theta / 2.0)
}

/// mean(a) − mean(b) when it exceeds three standard errors (Welch).
fn difference(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len().min(b.len()) < LEAST_ROUNDS {
        return None;
    }
    let error = (variance(a) / a.len() as f64 + variance(b) / b.len() as f64).sqrt();
    let difference = mean(a) - mean(b);
    (difference.abs() > ERRORS * error).then_some(difference)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wobble(n: usize) -> Vec<f64> {
        (0..n).map(|i| 0.01 * ((i * 7 % 5) as f64 - 2.0)).collect()
    }

    #[test]
    fn a_step_of_a_tenth_is_a_regime_and_a_step_of_two_percent_is_none() {
        let mut y = wobble(20);
        assert_eq!(regime_shift(&y), None);
        y[12..].iter_mut().for_each(|v| *v -= 0.02);
        assert_eq!(regime_shift(&y), None, "2 % is below what matters");
        y[12..].iter_mut().for_each(|v| *v -= 0.1);
        let shift = regime_shift(&y).expect("a drop of 12 % after two thirds");
        assert!((shift + 0.12).abs() < 0.02, "{shift}");
    }

    #[test]
    fn a_noisy_series_is_no_regime() {
        let y: Vec<f64> = (0..20)
            .map(|i| if i % 2 == 0 { 0.5 } else { -0.5 })
            .collect();
        assert_eq!(regime_shift(&y), None);
    }

    #[test]
    fn order_matters_beyond_half_the_tolerance_only() {
        let a = wobble(10);
        let b: Vec<f64> = a.iter().map(|y| y - 0.03).collect();
        assert!(order_effect(&a, &b, 0.05).is_some());
        assert_eq!(order_effect(&a, &b, 0.08), None);
        assert_eq!(order_effect(&a, &[], 0.05), None);
        assert_eq!(regime_shift(&[]), None);
    }
}
