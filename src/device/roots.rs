//! Where /sys, /proc and /dev lie, and how one attribute is read. The only place that spells these paths.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The three trees the kernel shows itself in. Another machine's captured trees make a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// sysfs.
    pub sys: PathBuf,
    /// procfs.
    pub proc: PathBuf,
    /// Device nodes.
    pub dev: PathBuf,
}

/// Where the kernel itself says the trees are: mountinfo, /proc/swaps and mount sources spell these.
const SYS: &str = "/sys";
const PROC: &str = "/proc";
const DEV: &str = "/dev";

impl Roots {
    /// The trees of this machine.
    #[must_use]
    pub fn real() -> Self {
        Self {
            sys: SYS.into(),
            proc: PROC.into(),
            dev: DEV.into(),
        }
    }

    /// A path as the kernel spells it, below these roots; any other path stays as it is.
    pub(crate) fn rebase(&self, path: &Path) -> PathBuf {
        for (kernel, root) in [(SYS, &self.sys), (PROC, &self.proc), (DEV, &self.dev)] {
            if let Ok(rest) = path.strip_prefix(kernel) {
                return root.join(rest);
            }
        }
        path.to_path_buf()
    }

    /// The sysfs folder of a device number, links resolved.
    pub(crate) fn block(&self, dev: DevNo) -> Option<PathBuf> {
        let link = self.sys.join("dev/block").join(dev.to_string());
        fs::canonicalize(link).ok()
    }

    /// The sysfs folder of a kernel name (`cciss!c0d0p1`), links resolved.
    pub(crate) fn named(&self, name: &str) -> Option<PathBuf> {
        if matches!(name, "" | "." | "..") || name.contains('/') {
            return None;
        }
        fs::canonicalize(self.sys.join("class/block").join(name)).ok()
    }

    /// The device node of a kernel name: a slash in a name is `!` in sysfs.
    pub(crate) fn node(&self, name: &str) -> PathBuf {
        self.dev.join(name.replace('!', "/"))
    }

    /// A file below /proc as text.
    pub(crate) fn proc_text(&self, path: &str) -> io::Result<String> {
        let bytes = fs::read(self.proc.join(path))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// A device number as the kernel prints it, `major:minor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DevNo {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl DevNo {
    /// From `st_dev` or `st_rdev`.
    pub(crate) fn from_raw(dev: u64) -> Self {
        Self {
            major: rustix::fs::major(dev),
            minor: rustix::fs::minor(dev),
        }
    }

    /// Numbers handed out to file systems without a block device of their own: btrfs, tmpfs, NFS, FUSE, overlay.
    pub(crate) fn anonymous(self) -> bool {
        self.major == 0
    }
}

impl fmt::Display for DevNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for DevNo {
    type Err = ();

    fn from_str(s: &str) -> Result<Self, ()> {
        let (major, minor) = s.trim().split_once(':').ok_or(())?;
        Ok(Self {
            major: major.parse().map_err(|_| ())?,
            minor: minor.parse().map_err(|_| ())?,
        })
    }
}

/// An attribute file, surrounding white space removed; `None` when absent, unreadable or empty.
pub(crate) fn attr(dir: &Path, name: &str) -> Option<String> {
    let bytes = fs::read(dir.join(name)).ok()?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// An attribute that is a whole number.
pub(crate) fn number(dir: &Path, name: &str) -> Option<u64> {
    attr(dir, name)?.parse().ok()
}

/// The names in a folder, sorted; none when it is absent.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The last part of a path as text.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_number_prints_as_it_parses_and_bad_ones_are_refused() {
        for text in ["8:1", "254:0", "0:41", "259:1048575"] {
            assert_eq!(text.parse::<DevNo>().unwrap().to_string(), text);
        }
        for bad in ["", ":", "8", "8:", ":1", "8:1:2", "a:b", "-1:0"] {
            assert!(bad.parse::<DevNo>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn only_paths_in_the_kernels_trees_are_rebased() {
        let roots = Roots {
            sys: "/cap/s".into(),
            proc: "/cap/p".into(),
            dev: "/cap/d".into(),
        };
        let to = |p: &str| roots.rebase(Path::new(p));
        assert_eq!(
            to("/sys/fs/cgroup/blkio"),
            Path::new("/cap/s/fs/cgroup/blkio")
        );
        assert_eq!(to("/dev/mapper/a"), Path::new("/cap/d/mapper/a"));
        assert_eq!(to("/system"), Path::new("/system"));
        assert_eq!(to("/data/dev/x"), Path::new("/data/dev/x"));
    }

    #[test]
    fn a_bang_in_a_kernel_name_is_a_slash_in_the_node() {
        assert_eq!(
            Roots::real().node("cciss!c0d0p1"),
            Path::new("/dev/cciss/c0d0p1")
        );
    }
}
