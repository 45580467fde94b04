//! Numbers as people read them: a value with its interval, a change, a time, an age.

use crate::units::Nanos;
use crate::verdict::MetricResult;

/// One unit's way of being written, fixed by the size of the value so that an interval has its digits.
struct Scale {
    divisor: f64,
    digits: usize,
    suffix: &'static str,
}

impl Scale {
    fn of(unit: &str, value: f64) -> Self {
        let (divisor, suffix) = match unit {
            "B/s" => (1e6, " MB/s"),
            "1/s" => (1.0, "/s"),
            "ns/B" => (1.0, " ns/B"),
            "ns" => match value.abs() {
                v if v < 1e4 => (1.0, " ns"),
                v if v < 1e7 => (1e3, " µs"),
                v if v < 1e10 => (1e6, " ms"),
                _ => (1e9, " s"),
            },
            _ => (1.0, ""),
        };
        let digits = match (unit, value.abs() / divisor) {
            ("ns", v) if divisor == 1.0 || v >= 1000.0 => 0,
            (_, v) if v < 1.0 => 3,
            ("1" | "ns/B", v) if v < 100.0 => 3,
            (_, v) if v < 100.0 => 1,
            ("1", _) => 1,
            _ => 0,
        };
        Self {
            divisor,
            digits,
            suffix,
        }
    }

    fn write(&self, value: f64) -> String {
        if value.is_finite() {
            minus(format!("{:.*}", self.digits, value / self.divisor))
        } else {
            "?".to_owned()
        }
    }
}

/// A value with its unit: `412 MB/s`, `0.544`.
pub(super) fn value(unit: &str, value: f64) -> String {
    let scale = Scale::of(unit, value);
    if value.is_finite() {
        scale.write(value) + scale.suffix
    } else {
        "?".to_owned()
    }
}

/// A metric's value with its interval: `412 MB/s (405–420)`.
pub(super) fn with_interval(m: &MetricResult) -> String {
    value_between(&m.unit, m.value, m.lower, m.upper)
}

/// A value with limits in the same unit.
pub(super) fn value_between(unit: &str, value: f64, lower: f64, upper: f64) -> String {
    let scale = Scale::of(unit, value);
    format!(
        "{}{} ({}–{})",
        scale.write(value),
        scale.suffix,
        scale.write(lower),
        scale.write(upper)
    )
}

/// A change or tolerance as signed percent: `−18.2 %`.
pub(super) fn percent(share: f64) -> String {
    if !share.is_finite() {
        return "?".to_owned();
    }
    let text = format!("{:+.1} %", share * 100.0);
    // A rounded zero has no direction.
    match text.as_str() {
        "-0.0 %" | "+0.0 %" => "0.0 %".to_owned(),
        _ => minus(text),
    }
}

/// Two limits as signed percent: `−21.0…−15.1 %`.
pub(super) fn percent_between(lower: f64, upper: f64) -> String {
    let lower = percent(lower);
    format!("{}…{}", lower.trim_end_matches(" %"), percent(upper))
}

/// The share by which a metric may get worse, signed the way it gets worse.
///
/// θ = −ln(1 − tolerance) either way, so a metric where less is better may grow to 1 / (1 − tolerance).
pub(super) fn limit_share(m: &MetricResult) -> Option<f64> {
    let tolerance = m.tolerance?;
    if m.metric.kind.higher_is_better() {
        Some(-tolerance)
    } else {
        Some(1.0 / (1.0 - tolerance) - 1.0)
    }
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

/// A true minus sign.
fn minus(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_reads_in_its_unit() {
        let table = [
            ("1", 0.5437, "0.544"),
            ("1", 12.34, "12.340"),
            ("B/s", 75_040_000.0, "75.0 MB/s"),
            ("B/s", 3_412_000_000.0, "3412 MB/s"),
            ("B/s", 120_000.0, "0.120 MB/s"),
            ("1/s", 39.87, "39.9/s"),
            ("1/s", 412_345.6, "412346/s"),
            ("ns", 950.0, "950 ns"),
            ("ns", 95_000.0, "95.0 µs"),
            ("ns", 2_500_000.0, "2500 µs"),
            ("ns", 95_000_000.0, "95.0 ms"),
            ("ns/B", 0.25, "0.250 ns/B"),
            ("1", f64::NAN, "?"),
            ("B/s", f64::INFINITY, "?"),
        ];
        for (unit, number, want) in table {
            assert_eq!(value(unit, number), want);
        }
    }

    #[test]
    fn an_interval_has_the_digits_of_its_value() {
        assert_eq!(
            value_between("B/s", 101e6, 96.4e6, 106e6),
            "101 MB/s (96–106)"
        );
        assert_eq!(
            value_between("ns", 9.9e6, 9.0e6, 12.0e6),
            "9900 µs (9000–12000)"
        );
    }

    #[test]
    fn percents_carry_their_sign_and_zero_none() {
        assert_eq!(percent(-0.1824), "−18.2 %");
        assert_eq!(percent(0.06), "+6.0 %");
        assert_eq!(percent(-0.0001), "0.0 %");
        assert_eq!(percent(f64::NAN), "?");
        assert_eq!(percent_between(-0.21, 0.05), "−21.0…+5.0 %");
    }

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
