//! Names of metrics: written, read, their unit and which way is better.

use std::fmt;
use std::str::FromStr;

use super::{Direction, Metric, MetricKind};

impl MetricKind {
    /// Unit of a value: `1`, `B/s`, `1/s`, `ns`, `ns/B`.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Ratio => "1",
            Self::Rate(_) | Self::WriteAccepted => "B/s",
            Self::Iops(_) | Self::Files => "1/s",
            Self::Latency(..) | Self::Flush => "ns",
            Self::Cpu => "ns/B",
        }
    }

    /// Whether a larger value is better.
    #[must_use]
    pub fn higher_is_better(self) -> bool {
        !matches!(self, Self::Latency(..) | Self::Flush | Self::Cpu)
    }

    /// Every kind, in the order reports show them.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::Ratio];
        let ways = [Direction::Read, Direction::Write];
        all.extend(ways.map(Self::Rate));
        all.extend(ways.map(Self::Iops));
        for way in ways {
            all.extend([500, 990, 999].map(|p| Self::Latency(way, p)));
        }
        all.extend([Self::Flush, Self::WriteAccepted, Self::Files, Self::Cpu]);
        all
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

impl fmt::Display for MetricKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ratio => f.write_str("ratio"),
            Self::Rate(d) => write!(f, "{d}"),
            Self::Iops(d) => write!(f, "{d}_iops"),
            Self::Latency(d, 500) => write!(f, "{d}_p50"),
            Self::Latency(d, 990) => write!(f, "{d}_p99"),
            Self::Latency(d, p) => write!(f, "{d}_p{p}"),
            Self::Flush => f.write_str("flush"),
            Self::WriteAccepted => f.write_str("write_accepted"),
            Self::Files => f.write_str("files"),
            Self::Cpu => f.write_str("cpu"),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(leg) = &self.leg {
            write!(f, "{leg}.")?;
        }
        write!(f, "{}", self.kind)
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let (leg, name) = match s.rsplit_once('.') {
            Some((leg, name)) => (Some(leg.to_owned()), name),
            None => (None, s),
        };
        let kind = MetricKind::all()
            .into_iter()
            .find(|k| k.to_string() == name);
        kind.map(|kind| Self { leg, kind })
            .ok_or_else(|| format!("{s} is not a metric"))
    }
}

impl TryFrom<String> for Metric {
    type Error = String;

    fn try_from(s: String) -> Result<Self, Self::Error> {
        s.parse()
    }
}

impl From<Metric> for String {
    fn from(m: Metric) -> Self {
        m.to_string()
    }
}

impl From<MetricKind> for Metric {
    fn from(kind: MetricKind) -> Self {
        Self { leg: None, kind }
    }
}
