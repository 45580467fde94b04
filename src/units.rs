//! Bytes, times, rates and shares as types, so that the compiler tells seconds from bytes.
//!
//! Owns how a unit is written (here, and `figures` for figures beside each other) and read (`parse`); nothing here
//! knows what is measured.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) mod figures;
mod parse;

pub use parse::{LONGEST, UnitError, parse_duration};

/// 1024 bytes.
pub const KIB: u64 = 1 << 10;
/// 1024 KiB.
pub const MIB: u64 = 1 << 20;
/// 1024 MiB.
pub const GIB: u64 = 1 << 30;

/// A number of bytes.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A time in nanoseconds, from a monotonic clock.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// A rate in bytes per second.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(pub f64);

/// A share of one: 0.05 is five percent.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fraction(pub f64);

impl Bytes {
    /// The time-independent quotient `self / time`; zero when no time passed.
    #[must_use]
    pub fn per(self, time: Nanos) -> Rate {
        if time.0 == 0 {
            Rate(0.0)
        } else {
            Rate(self.0 as f64 * 1e9 / time.0 as f64)
        }
    }
}

impl Nanos {
    /// The same time in seconds.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl From<Duration> for Nanos {
    fn from(d: Duration) -> Self {
        Self(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(n: Nanos) -> Self {
        Self::from_nanos(n.0)
    }
}

impl fmt::Display for Bytes {
    /// The largest binary unit that divides evenly, else one decimal of the fitting one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, name) in [(1 << 40, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")] {
            if self.0 >= unit && self.0.is_multiple_of(unit) {
                return write!(f, "{} {name}", self.0 / unit);
            }
        }
        for (unit, name) in [(1 << 40, "TiB"), (GIB, "GiB"), (MIB, "MiB")] {
            if self.0 >= unit {
                return write!(f, "{:.1} {name}", self.0 as f64 / unit as f64);
            }
        }
        write!(f, "{} B", self.0)
    }
}

impl fmt::Display for Rate {
    /// Decimal megabytes per second, as disks are sold and as every peer prints.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mb = self.0 / 1e6;
        if mb >= 100.0 {
            write!(f, "{mb:.0} MB/s")
        } else {
            write!(f, "{mb:.1} MB/s")
        }
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n < 10_000 => write!(f, "{n} ns"),
            n if n < 10_000_000 => write!(f, "{:.1} µs", n as f64 / 1e3),
            n if n < 10_000_000_000 => write!(f, "{:.1} ms", n as f64 / 1e6),
            n => write!(f, "{:.1} s", n as f64 / 1e9),
        }
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} %", self.0 * 100.0)
    }
}
