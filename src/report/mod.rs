//! Draws records into a given writer, one file per format; prints nothing itself and judges nothing.
//!
//! Everything that came from a file or the kernel is escaped before it reaches a terminal. Owns words, order and
//! layout; what a number means is decided before, in `verdict`.

mod block;
mod columns;
mod diff;
mod json;
mod numbers;
mod plan;
mod style;
mod table;
#[cfg(test)]
mod testing;
mod trial;

pub use block::{one_test, tell};
pub use diff::diff;
pub use json::write_line;
pub use plan::plan_lines;
pub use style::{ColorChoice, ColorEnv, Style, color, escape};
pub use table::{decided_line, verdict_table};
pub use trial::trial;

use crate::verdict::{Moved, Reason, Verdict};

/// The fixed word of a verdict.
#[must_use]
pub fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Regressed => "regressed",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Invalid => "invalid",
        Verdict::NoBaseline => "no-baseline",
        Verdict::NotComparable => "not-comparable",
        Verdict::Interrupted => "interrupted",
        Verdict::Skipped => "skipped",
    }
}

/// The fixed word of a reason.
#[must_use]
pub fn reason_word(reason: Reason) -> &'static str {
    match reason {
        Reason::Floor => "floor",
        Reason::Budget => "budget",
        Reason::Suspect => "suspect",
        Reason::Disturbed => "disturbed",
        Reason::Regime => "regime",
        Reason::CarryOver => "carry-over",
        Reason::Unproven => "unproven",
        Reason::Noise => "noise",
        Reason::Provisional => "provisional",
    }
}

/// The fixed words for which leg moved.
#[must_use]
pub fn moved_words(moved: Moved) -> &'static str {
    match moved {
        Moved::ReadFell => "read fell",
        Moved::WriteRose => "write rose, read unchanged",
        Moved::Both => "read fell and write rose",
        Moved::CannotTell => "cannot tell",
    }
}
