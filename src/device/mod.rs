//! Reads /sys, /proc, mounts and cgroups under given roots; counters, cache state and locks of the disk under a path.
//!
//! Owns everything that is asked of the kernel about a target before and beside a measurement: who the disk is
//! ([`look()`]), whether it may be measured at all ([`Refusal`]), what moves on it meanwhile ([`KernelWitness`]) and who
//! else is at it ([`DiskLock`]). It writes nothing: the engine alone writes to a target, after [`may_destroy`] where
//! that is a raw device. Linux only; elsewhere the module is empty and nothing is measured.
//!
//! | file | owns |
//! | --- | --- |
//! | `roots` | where /sys, /proc and /dev lie; device numbers; reading one attribute |
//! | `mounts` | /proc/self/mountinfo and the mount that holds a path |
//! | `stack` | from a device number down to the disks at the bottom |
//! | `layer` | what sysfs says of one block device |
//! | `label` | UUID and label of a file system |
//! | `superblock` | magic numbers on a device: file systems, members, partition tables |
//! | `identity` | who a disk is, salted |
//! | `settings`, `cgroup` | everything that is named as a suspect when it changed |
//! | `align` | what direct I/O needs |
//! | `look` | all of it in order, or a refusal |
//! | `refusal`, `destroy` | why a target must not be measured, or not be written to |
//! | `witness` | counters, page cache, layout |
//! | `lock` | one measurement per disk |
//! | `sys` | the system calls no crate wraps, all the `unsafe` of this folder |

#![cfg(target_os = "linux")]

mod align;
mod cgroup;
mod destroy;
mod identity;
mod label;
mod layer;
mod lock;
mod look;
mod mounts;
mod refusal;
mod roots;
mod settings;
mod stack;
mod superblock;
mod sys;
mod witness;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod live;
#[cfg(test)]
mod trees;

pub use destroy::may_destroy;
pub use identity::{RawIdentity, Visible, identity};
pub use lock::{Busy, DiskLock, Holder, LockError, try_lock};
pub use look::{LookOptions, Looked, look};
pub use refusal::{Refusal, check_space, reserve, space};
pub use roots::Roots;
pub use witness::{KernelWitness, witness};
