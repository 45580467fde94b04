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
