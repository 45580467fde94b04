//! iogate runs read and write workloads as named tests on an attached disk, compares them with an accepted baseline
//! within tolerances, and fails on regressions, above all in the ratio of sequential read to sequential write.
//!
//! ```text
//! suite text ─▶ Suite ─▶ Plan ─▶ Samples ─▶ Estimates ─▶ Verdict ─▶ Record ─▶ report
//!    suite      suite    plan    engine       stats      verdict    record    report
//!                         ▲                                 ▲          │
//!               Facts ────┘                      Baseline ──┘          └─▶ pending/  ─(accept)─▶ baselines/
//!               device                           baseline
//! ```
//!
//! One value is made from the one before and not changed after. The core (`units suite facts plan sample stats
//! baseline verdict record config`) has no files, clocks, environment or threads. The edges (`store device engine
//! report`) import the core and never each other. The shells (`pipeline harness cli`) put them together; the only
//! loop, the verdict asking for more sessions, stands in `pipeline`.
//!
//! What is documented here is the core, whose values stand in baselines and records. The edges and the command are
//! reachable and hidden: they promise nothing.

#![cfg_attr(
    not(target_os = "linux"),
    expect(
        dead_code,
        unused_imports,
        reason = "measuring needs Linux; elsewhere every test is listed as ignored"
    )
)]

pub mod baseline;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod config;
#[doc(hidden)]
pub mod device;
#[doc(hidden)]
pub mod engine;
pub mod facts;
mod harness;
mod pipeline;
pub mod plan;
pub mod record;
#[doc(hidden)]
pub mod report;
pub mod sample;
pub mod stats;
#[doc(hidden)]
pub mod store;
pub mod suite;
pub mod units;
pub mod verdict;

pub use harness::Harness;

/// Runs the suites of the workspace as tests: the whole `main` of a `harness = false` test target.
///
/// Ends with 0 when every test passed or was ignored, 101 when one failed, 2 for a wrong argument.
#[must_use]
pub fn main() -> std::process::ExitCode {
    Harness::new().main()
}
