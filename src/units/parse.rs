//! Reading units as people write them: `4GiB`, `650 kB`, `500 MB/s`, `5%`, `1min 30s`.
//!
//! A number without a unit, or with one that two trades read differently (`4k`), is refused rather than guessed:
//! fio takes `4k` for 4096 and `4KiB` for 4000 unless told otherwise, dd takes `4kB` for 4000, and a factor of
//! 1.024 is a regression to this tool.

use std::str::FromStr;
use std::time::Duration;

use super::{Bytes, Fraction, Rate};

/// A text that is no quantity of the kind asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found {found}, expected {expected}")]
pub struct UnitError {
    /// What was written, quoted, and what is wrong with it.
    pub found: String,
    /// What is allowed, or the two meanings of an ambiguous text.
    pub expected: String,
}

/// The longest time a key takes: a month. Longer ones are a slip, most often `5M` (five months) for `5m`.
pub const LONGEST: Duration = Duration::from_secs(31 * 24 * 3600);

const BYTE_UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

const BYTES_EXPECTED: &str =
    "bytes with a unit of B, KiB, MiB, GiB, TiB, kB, MB, GB or TB, such as \"4GiB\"";
const FRACTION_EXPECTED: &str = "a percentage such as \"5%\"";
const DURATION_EXPECTED: &str = "a time with a unit, such as \"500ms\", \"2s\" or \"1min 30s\"";
const RATE_EXPECTED: &str = "a rate with a unit, such as \"500 MB/s\" or \"1GiB/s\"";

/// A decimal number as written: all its digits as one integer, and how many of them follow the point.
struct Decimal {
    digits: u128,
    scale: u32,
}

impl Decimal {
    /// Splits `1.5 GiB` into the number and `GiB`; `None` when it does not start with plain decimal digits.
    fn split(text: &str) -> Option<(Self, &str)> {
        let text = text.trim();
        let end = text
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        let all_digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        // 26 digits times 2^40 stay below 2^128; 2^64 has 20.
        if !all_digits(whole) || !all_digits(part) || whole.len() > 20 || part.len() > 6 {
            return None;
        }
        let scale = u32::try_from(part.len()).ok()?;
        let digits = format!("{whole}{part}").parse().ok()?;
        Some((Self { digits, scale }, unit.trim_start()))
    }

    /// The number times `unit`, if that is a whole number below 2^64.
    fn times(&self, unit: u64) -> Option<u64> {
        let product = self.digits.checked_mul(u128::from(unit))?;
        let divisor = 10_u128.pow(self.scale);
        let whole = product
            .is_multiple_of(divisor)
            .then_some(product / divisor)?;
        u64::try_from(whole).ok()
    }

    /// The number as it was written, trailing zeros of the fraction dropped.
    fn text(&self) -> String {
        let divisor = 10_u128.pow(self.scale);
        let (whole, part) = (self.digits / divisor, self.digits % divisor);
        let width = self.scale as usize;
        let text = format!("{whole}.{part:0width$}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    fn to_f64(&self) -> f64 {
        self.digits as f64 / 10_f64.powi(self.scale.cast_signed())
    }
}

/// Quotes a text for a message; control characters are escaped so that no file can drive a terminal.
fn quoted(text: &str) -> String {
    const LONGEST_SHOWN: usize = 60;
    let short: String = text.chars().take(LONGEST_SHOWN).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("\"{}{dots}\"", short.escape_debug())
}

fn unit_error(text: &str, why: &str, expected: impl Into<String>) -> UnitError {
    UnitError {
        found: format!("{}{why}", quoted(text)),
        expected: expected.into(),
    }
}

/// Both meanings of a unit such as `k`, `K`, `KB` or `m`, which is one letter of a size and no unit of ours.
fn both_meanings(number: &Decimal, unit: &str) -> Option<String> {
    let letter = match unit.as_bytes() {
        [c] | [c, b'b' | b'B'] => c.to_ascii_uppercase(),
        _ => return None,
    };
    let power = [b'K', b'M', b'G', b'T'].iter().position(|&l| l == letter)? + 1;
    let power = u32::try_from(power).ok()?;
    let (binary, decimal) = match letter {
        b'K' => ("KiB".to_owned(), "kB".to_owned()),
        l => (format!("{}iB", l as char), format!("{}B", l as char)),
    };
    let n = number.text();
    let in_bytes = |base: u64| {
        let bytes = base.checked_pow(power).and_then(|unit| number.times(unit));
        bytes.map_or_else(String::new, |b| format!(" ({b} B)"))
    };
    Some(format!(
        "{n} {binary}{} or {n} {decimal}{}",
        in_bytes(1024),
        in_bytes(1000)
    ))
}

impl FromStr for Bytes {
    type Err = UnitError;

    /// Reads `4GiB`, `650 kB`, `1.5 MiB`; the result must be a whole number of bytes below 2^64.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let Some((number, unit)) = Decimal::split(text) else {
            return Err(unit_error(text, "", BYTES_EXPECTED));
        };
        if let Some((_, factor)) = BYTE_UNITS.iter().find(|(name, _)| *name == unit) {
            return number.times(*factor).map(Self).ok_or_else(|| {
                unit_error(
                    text,
                    ", which is no whole number of bytes below 2^64",
                    BYTES_EXPECTED,
                )
            });
        }
        if unit.is_empty() {
            let n = number.text();
            let expected = format!("{BYTES_EXPECTED}; {n} bytes are \"{n} B\"");
            return Err(unit_error(text, " without a unit", expected));
        }
        Err(match both_meanings(&number, unit) {
            Some(both) => unit_error(text, ", which has two meanings", both),
            None => unit_error(text, "", BYTES_EXPECTED),
        })
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    /// Reads `500 MB/s`: what [`Bytes`] reads, followed by `/s`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let Some(bytes) = text.trim().strip_suffix("/s") else {
            return Err(unit_error(text, "", RATE_EXPECTED));
        };
        let bytes: Bytes = bytes.parse().map_err(|e: UnitError| UnitError {
            found: unit_error(text, "", "").found,
            expected: if e.expected == BYTES_EXPECTED {
                RATE_EXPECTED.to_owned()
            } else {
                format!("{} a second", e.expected)
            },
        })?;
        Ok(Self(bytes.0 as f64))
    }
}

impl FromStr for Fraction {
    type Err = UnitError;

    /// Reads `5%` or `0.5 %`. The sign is asked for since a bare `5` could be five percent or five times.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match Decimal::split(text) {
            Some((number, "%")) => Ok(Self(number.to_f64() / 100.0)),
            _ => Err(unit_error(text, "", FRACTION_EXPECTED)),
        }
    }
}

/// Reads a time as nextest writes them: `2s`, `500ms`, `1min 30s`.
///
/// # Errors
/// A text without a unit, or a time above [`LONGEST`].
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let time = humantime::parse_duration(text)
        .map_err(|e| unit_error(text, &format!(" ({e})"), DURATION_EXPECTED))?;
    if time > LONGEST {
        let why = ", which is longer than a month (`M` is months, `m` is minutes)";
        return Err(unit_error(text, why, DURATION_EXPECTED));
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(text: &str) -> Result<u64, String> {
        text.parse::<Bytes>()
            .map(|b| b.0)
            .map_err(|e| e.to_string())
    }

    #[test]
    fn every_unit_is_read_with_and_without_a_space() {
        for (text, expected) in [
            ("0B", 0),
            ("512 B", 512),
            ("4KiB", 4096),
            ("1MiB", 1 << 20),
            ("4 GiB", 4 << 30),
            ("2TiB", 2 << 40),
            ("650kB", 650_000),
            ("650 kB", 650_000),
            ("1 MB", 1_000_000),
            ("1.5GiB", 3 << 29),
            ("3GB", 3_000_000_000),
            ("2 TB", 2_000_000_000_000),
            ("  8 KiB ", 8192),
            ("18446744073709551615 B", u64::MAX),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_letter_that_means_two_things_is_refused_with_both() {
        for (text, both) in [
            ("4k", "4 KiB (4096 B) or 4 kB (4000 B)"),
            ("4K", "4 KiB (4096 B) or 4 kB (4000 B)"),
            ("4KB", "4 KiB (4096 B) or 4 kB (4000 B)"),
            ("4M", "4 MiB (4194304 B) or 4 MB (4000000 B)"),
            ("1g", "1 GiB (1073741824 B) or 1 GB (1000000000 B)"),
            ("1.5 k", "1.5 KiB (1536 B) or 1.5 kB (1500 B)"),
            ("99999999999T", "99999999999 TiB or 99999999999 TB"),
        ] {
            let error = bytes(text).expect_err(text);
            assert!(error.ends_with(both), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_no_whole_number_of_bytes_is_refused() {
        for text in [
            "",
            " ",
            "4096",
            "-1B",
            "+1B",
            "NaN B",
            "inf B",
            "1e3B",
            "0x10B",
            ".5GiB",
            "5.GiB",
            "1..5GiB",
            "1.5B",
            "0.0001 KiB",
            "1_000B",
            "4 Gi B",
            "4GIB",
            "4kib",
            "4GiBs",
            "4 GiB 2",
            "18446744073709551616B",
            "16777216TiB",
            "99999999999999999999999999B",
            "４KiB",
            "4\u{a0}KiBB",
            "4GiB\u{1b}[31m",
        ] {
            assert!(bytes(text).is_err(), "{text:?} was read");
        }
    }

    #[test]
    fn a_bare_number_is_answered_with_the_unit_to_add() {
        let error = bytes("4096").expect_err("no unit");
        assert!(error.contains("4096 bytes are \"4096 B\""), "{error}");
    }

    #[test]
    fn a_message_never_repeats_control_characters() {
        let error = bytes("4\u{1b}[31mGiB").expect_err("not a unit");
        assert!(!error.contains('\u{1b}'), "{error}");
    }

    #[test]
    fn rates_need_bytes_and_a_second() {
        assert_eq!("500 MB/s".parse(), Ok(Rate(5e8)));
        assert_eq!("1GiB/s".parse(), Ok(Rate(1_073_741_824.0)));
        for text in ["500", "500MB", "500MBps", "MB/s", "-1MB/s", "5/s"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
        let error = "5M/s".parse::<Rate>().expect_err("two meanings");
        assert!(error.to_string().contains("or 5 MB"), "{error}");
    }

    #[test]
    fn shares_need_their_sign() {
        assert_eq!("5%".parse(), Ok(Fraction(0.05)));
        assert_eq!("0.5 %".parse(), Ok(Fraction(0.005)));
        assert_eq!("100%".parse(), Ok(Fraction(1.0)));
        for text in ["5", "0.05", "-5%", "NaN%", "inf%", "%", "5%%", "1e2%", ""] {
            assert!(text.parse::<Fraction>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_read_as_nextest_writes_them() {
        assert_eq!(parse_duration("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(parse_duration("500 ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("1min 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("0.5s"), Ok(Duration::from_millis(500)));
        for text in ["", "2", "-2s", "2 parsecs", "5M", "1year", "NaNs"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        let error = parse_duration("5M").expect_err("months");
        assert!(error.to_string().contains("`m` is minutes"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_text_makes_a_unit_panic(text in "\\PC*") {
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Rate>();
            let _ = text.parse::<Fraction>();
            let _ = parse_duration(&text);
        }

        #[test]
        fn text_close_to_a_unit_reads_as_finite_or_not_at_all(text in "[0-9.]{0,24} ?[KMGTkmgtiB%/s]{0,4}") {
            if let Ok(rate) = text.parse::<Rate>() {
                prop_assert!(rate.0.is_finite() && rate.0 >= 0.0);
            }
            if let Ok(share) = text.parse::<Fraction>() {
                prop_assert!(share.0.is_finite() && share.0 >= 0.0);
            }
            let _ = text.parse::<Bytes>();
        }

        #[test]
        fn what_is_printed_exactly_is_read_back(n in 0_u64..1 << 20, unit in 0_usize..5) {
            let bytes = Bytes(n << (10 * unit));
            let printed = bytes.to_string();
            if !printed.contains('.') {
                prop_assert_eq!(printed.parse::<Bytes>(), Ok(bytes));
            }
        }

        #[test]
        fn every_number_of_bytes_survives_its_plainest_form(n: u64) {
            prop_assert_eq!(format!("{n} B").parse::<Bytes>(), Ok(Bytes(n)));
        }
    }
}
