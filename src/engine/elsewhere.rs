//! Stands where the real disk is on systems other than Linux.

use super::Disk;
use crate::plan::Plan;
use crate::sample::MeasureError;
use crate::suite::EngineKind;

const LINUX: &str = "measuring needs Linux";

/// Whether an engine can run here.
///
/// # Errors
/// Always.
pub fn probe(_: EngineKind) -> Result<(), String> {
    Err(LINUX.to_owned())
}

/// Opens the disk of a plan.
///
/// # Errors
/// Always.
pub fn open(_: &Plan, _: u64) -> Result<Box<dyn Disk>, MeasureError> {
    Err(MeasureError::Unavailable(LINUX.to_owned()))
}
