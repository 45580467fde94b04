//! What reports write beside the figures of `units`: a metric with its interval, its limit, a time, an age.

use crate::units::Nanos;
use crate::units::figures::value_between;
use crate::verdict::MetricResult;

/// A metric's value with its interval: `412 MB/s (405–420)`.
pub(super) fn with_interval(m: &MetricResult) -> String {
    value_between(&m.unit, m.value, m.lower, m.upper)
}

/// A time span: `45 s`, `2 min 5 s`, `1 h 10 min`.
pub(super) fn span(time: Nanos) -> String {
    let seconds = time.seconds();
    if seconds < 10.0 {
        return format!("{seconds:.1} s");
    }
    match seconds.round() as u64 {
        s if s < 120 => format!("{s} s"),
        s if s < 3600 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

/// An age in one unit: `just now`, `5 min ago`, `3 h ago`, `12 days ago`. A time to come is a clock set back.
pub(super) fn age(then: u64, now: u64) -> String {
    let Some(seconds) = now.checked_sub(then) else {
        return "in the future by this clock".to_owned();
    };
    let days = match seconds {
        s if s < 60 => return "just now".to_owned(),
        s if s < 7200 => return format!("{} min ago", s / 60),
        s if s < 48 * 3600 => return format!("{} h ago", s / 3600),
        s => s / 86_400,
    };
    format!("{days} days ago")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_ages_use_two_units_at_most() {
        let span_of = |s: f64| span(Nanos((s * 1e9) as u64));
        assert_eq!(span_of(4.24), "4.2 s");
        assert_eq!(span_of(45.4), "45 s");
        assert_eq!(span_of(125.0), "2 min 5 s");
        assert_eq!(span_of(4200.0), "1 h 10 min");
        assert_eq!(age(100, 100), "just now");
        assert_eq!(age(0, 7199), "119 min ago");
        assert_eq!(age(0, 86_400 * 12 + 5), "12 days ago");
        assert_eq!(age(5, 4), "in the future by this clock");
    }
}
