//! Tests on a running system: they start programs, make disks over memory and look at what is left. Linux only.

mod abuse;
mod argv;
mod command;
mod disks;
mod gating;
mod listing;
mod refusals;
mod runners;
mod support;
mod turns;

use crate::Case;

/// Every live test that runs.
pub(crate) const CASES: &[&[Case]] = &[disks::CASES, abuse::CASES];

/// Written against what is to come: run only with `IT_PENDING=1`. A module moves up once the command can do it.
pub(crate) const PENDING: &[&[Case]] = &[
    listing::CASES,
    argv::CASES,
    refusals::CASES,
    gating::CASES,
    turns::CASES,
    command::CASES,
    runners::CASES,
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
