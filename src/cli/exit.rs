//! The exit codes of `cargo iogate`, in one table.

use std::process::ExitCode;

use crate::record::Record;
use crate::verdict::Verdict;

/// How a command ended. The numbers are fixed; pipelines depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Fine.
    Fine,
    /// The tool or its configuration is at fault, or a target was refused.
    Error,
    /// The command line is wrong.
    Usage,
    /// A regression.
    Regressed,
    /// Nothing could be compared.
    NothingCompared,
    /// Undecided where that fails, or invalid.
    Undecided,
    /// Stopped by this signal.
    Interrupted(i32),
}

impl Exit {
    /// The number the process ends with.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::Regressed => 3,
            Self::NothingCompared => 4,
            Self::Undecided => 5,
            Self::Interrupted(signal) => u8::try_from(128 + signal).unwrap_or(1),
        }
    }

    /// Order of badness: 1, 3, 5, 4; an interruption wins over all.
    fn rank(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::NothingCompared => 1,
            Self::Undecided => 2,
            Self::Regressed => 3,
            Self::Usage | Self::Error => 4,
            Self::Interrupted(_) => 5,
        }
    }

    /// The worse of two.
    pub(crate) fn worst(self, other: Self) -> Self {
        if other.rank() > self.rank() {
            other
        } else {
            self
        }
    }

    /// What one test's record asks for.
    pub(crate) fn of(record: &Record) -> Self {
        if record.refused {
            return Self::Error;
        }
        match record.judgement.verdict {
            Verdict::Interrupted => Self::Interrupted(record.signal.unwrap_or(15)),
            _ if !record.failed => Self::Fine,
            Verdict::Regressed => Self::Regressed,
            Verdict::NoBaseline | Verdict::NotComparable => Self::NothingCompared,
            Verdict::Invalid | Verdict::Inconclusive => Self::Undecided,
            Verdict::Pass | Verdict::Skipped => Self::Fine,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_wins_in_the_fixed_order() {
        let order = [
            Exit::Fine,
            Exit::NothingCompared,
            Exit::Undecided,
            Exit::Regressed,
            Exit::Error,
        ];
        for pair in order.windows(2) {
            assert_eq!(pair[0].worst(pair[1]), pair[1]);
            assert_eq!(pair[1].worst(pair[0]), pair[1]);
        }
        assert_eq!(Exit::Error.worst(Exit::Interrupted(2)).code(), 130);
        assert_eq!(Exit::Interrupted(15).worst(Exit::Error).code(), 143);
    }
}
