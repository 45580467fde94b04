//! Tests on a running system: they start programs, make disks over memory and look at what is left. Linux only.

mod abuse;
mod accepting;
mod argv;
mod command;
mod disks;
mod gating;
mod listing;
mod refusals;
mod runners;
mod support;
mod turns;

pub(crate) use support::project::leave;

use crate::Case;

/// Every live test, those that take longest first: the last to end is then a short one.
pub(crate) const CASES: &[&[Case]] = &[
    gating::CASES,
    accepting::CASES,
    command::CASES,
    turns::CASES,
    runners::CASES,
    argv::CASES,
    listing::CASES,
    refusals::CASES,
    disks::CASES,
    abuse::CASES,
];

/// Whether this machine has what a case needs: `root`, `blkio` for the throttle, or a program.
pub(crate) fn available(need: &str) -> bool {
    match need {
        "root" => support::is_root(),
        "blkio" => {
            std::path::Path::new("/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device").exists()
        }
        program => support::has(program),
    }
}
