//! Figures as people read them: a value with its interval, a change. One way for the sentence of a verdict and for
//! every report.

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
pub(crate) fn value(unit: &str, value: f64) -> String {
    let scale = Scale::of(unit, value);
    if value.is_finite() {
        scale.write(value) + scale.suffix
    } else {
        "?".to_owned()
    }
}

/// A value with limits in the same unit.
pub(crate) fn value_between(unit: &str, value: f64, lower: f64, upper: f64) -> String {
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
pub(crate) fn percent(share: f64) -> String {
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
pub(crate) fn percent_between(lower: f64, upper: f64) -> String {
    let lower = percent(lower);
    format!("{}…{}", lower.trim_end_matches(" %"), percent(upper))
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
}
