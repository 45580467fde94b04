//! Student's t and the normal distribution with their edges closed: no answer is NaN, no argument panics.

use std::sync::LazyLock;

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::erf::erfc;

/// Beyond this many degrees of freedom t is normal for every purpose here.
const MANY: f64 = 1e6;

static NORMAL: LazyLock<Normal> = LazyLock::new(Normal::standard);

fn student(df: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, df).ok().filter(|_| df < MANY)
}

/// P(t ≤ x) with `df` degrees of freedom. NaN counts as no evidence: 1.
pub(super) fn t_below(x: f64, df: f64) -> f64 {
    match student(df) {
        _ if x.is_nan() => 1.0,
        _ if x == f64::NEG_INFINITY => 0.0,
        _ if x == f64::INFINITY => 1.0,
        Some(t) => t.cdf(x),
        None => normal_above(-x),
    }
}

/// The value below which a share `p` of t lies; `p` in (0, 1).
pub(super) fn t_quantile(p: f64, df: f64) -> f64 {
    let p = p.clamp(1e-12, 1.0 - 1e-12);
    student(df).map_or_else(|| NORMAL.inverse_cdf(p), |t| t.inverse_cdf(p))
}

/// P(z ≥ x), accurate in the far tail.
pub(super) fn normal_above(x: f64) -> f64 {
    0.5 * erfc(x / std::f64::consts::SQRT_2)
}

/// The normal density.
pub(super) fn normal_density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (std::f64::consts::TAU).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_agrees_with_published_quantiles() {
        for (p, df, want) in [
            (0.975, 11.0, 2.200_985_160),
            (0.95, 2.0, 2.919_985_580),
            (0.90, 2.0, 1.885_618_083),
            (0.95, 1.0, 6.313_751_515),
            (0.975, 2.7, 3.392_148_383),
        ] {
            assert!((t_quantile(p, df) - want).abs() < 1e-6, "{p} {df}");
            assert!((t_below(want, df) - p).abs() < 1e-9, "{p} {df}");
        }
        assert!((t_below(-40.0, 2.0) - 3.122_073_361e-4).abs() < 1e-12);
    }

    #[test]
    fn edges_are_closed() {
        assert_eq!(t_below(f64::NAN, 3.0), 1.0);
        assert_eq!(t_below(f64::NEG_INFINITY, 3.0), 0.0);
        assert_eq!(t_below(f64::INFINITY, 3.0), 1.0);
        assert!(t_quantile(1.0, 0.0).is_finite());
        assert!((t_below(-1.959_963_985, f64::INFINITY) - 0.025).abs() < 1e-9);
    }
}
