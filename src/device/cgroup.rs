//! I/O and memory limits of the control groups this process is in, for the devices of a stack.
//!
//! Version 2 (`io.max`) limits add up on the way to the root: the lowest holds. Version 1 throttling is flat: a group's
//! limit holds for its own processes only, not for those of groups inside it (seen on kernel 6.18; the kernel's
//! documentation of the blkio controller says the same), so only the process's own group counts.

use std::fs;
use std::path::{Path, PathBuf};

use super::mounts::{Mount, Mounts};
use super::roots::{Roots, attr};
use crate::facts::Settings;

/// What a limit is called here, in `io.max`, and in version 1.
const LIMITS: [(&str, &str, &str); 4] = [
    ("cgroup.read_bps", "rbps", "blkio.throttle.read_bps_device"),
    (
        "cgroup.read_iops",
        "riops",
        "blkio.throttle.read_iops_device",
    ),
    (
        "cgroup.write_bps",
        "wbps",
        "blkio.throttle.write_bps_device",
    ),
    (
        "cgroup.write_iops",
        "wiops",
        "blkio.throttle.write_iops_device",
    ),
];

/// The limits that hold for this process on any of `devices` (`major:minor`), the lowest of each kind.
pub(crate) fn limits(roots: &Roots, mounts: &Mounts, devices: &[&str]) -> Settings {
    let Ok(own) = roots.proc_text("self/cgroup") else {
        return Settings::new();
    };
    let mut lowest: Vec<(&str, u64)> = Vec::new();
    for line in own.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let has = |c: &str| controllers.split(',').any(|x| x == c);
        if controllers.is_empty() {
            for group in groups(roots, mounts, "cgroup2", "", path) {
                lowest.extend(io_max(&group, devices));
                lowest.extend(memory(&group, "memory.max"));
            }
        } else if has("blkio") {
            let group = groups(roots, mounts, "cgroup", "blkio", path)
                .into_iter()
                .next();
            lowest.extend(group.iter().flat_map(|g| throttle(g, devices)));
        } else if has("memory") {
            for group in groups(roots, mounts, "cgroup", "memory", path) {
                lowest.extend(memory(&group, "memory.limit_in_bytes"));
            }
        }
    }
    // Descending, so that the lowest is inserted last.
    lowest.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    lowest
        .into_iter()
        .map(|(name, n)| (name.to_owned(), n.to_string()))
        .collect()
}

/// The folders of a group and of those it lies in, own first, as far as the mount shows them.
fn groups(
    roots: &Roots,
    mounts: &Mounts,
    kind: &str,
    controller: &str,
    path: &str,
) -> Vec<PathBuf> {
    let fits = |m: &&Mount| {
        m.kind == kind
            && (controller.is_empty() || m.super_options.split(',').any(|o| o == controller))
    };
    let Some(mount) = mounts.0.iter().rfind(fits) else {
        return Vec::new();
    };
    let top = roots.rebase(&mount.point);
    // In a container the mount may begin at a group below the root; one outside of it shows the mount's own.
    let inside = Path::new(path)
        .strip_prefix(&mount.root)
        .unwrap_or(Path::new(""));
    let mut all = Vec::new();
    let mut at = inside;
    loop {
        all.push(top.join(at));
        match at.parent() {
            Some(up) => at = up,
            None => return all,
        }
    }
}

/// `8:16 rbps=2097152 wbps=max riops=max wiops=120`
fn io_max(group: &Path, devices: &[&str]) -> Vec<(&'static str, u64)> {
    let text = fs::read_to_string(group.join("io.max")).unwrap_or_default();
    let mut found = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if !words.next().is_some_and(|dev| devices.contains(&dev)) {
            continue;
        }
        for (key, value) in words.filter_map(|w| w.split_once('=')) {
            let name = LIMITS.iter().find(|l| l.1 == key).map(|l| l.0);
            if let (Some(name), Ok(n)) = (name, value.parse()) {
                found.push((name, n));
            }
        }
    }
    found
}

/// `7:0 10485760` in one file a limit.
fn throttle(group: &Path, devices: &[&str]) -> Vec<(&'static str, u64)> {
    let mut found = Vec::new();
    for (name, _, file) in LIMITS {
        let text = fs::read_to_string(group.join(file)).unwrap_or_default();
        for line in text.lines() {
            if let Some((dev, value)) = line.trim().split_once(' ')
                && devices.contains(&dev)
                && let Ok(n) = value.trim().parse()
            {
                found.push((name, n));
            }
        }
    }
    found
}

/// A finite memory limit: version 1 writes "none" as the largest number of whole pages, version 2 as `max`.
fn memory(group: &Path, file: &str) -> Option<(&'static str, u64)> {
    const UNLIMITED: u64 = 1 << 62;
    let n: u64 = attr(group, file)?.parse().ok()?;
    (n < UNLIMITED).then_some(("cgroup.memory", n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::fake::Tree;

    const V1: &str = "38 1 0:35 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio";
    const V2: &str = "41 1 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";

    fn found(tree: &Tree, mount: &str, devices: &[&str]) -> Vec<(String, String)> {
        let mounts = Mounts::parse(mount.as_bytes()).unwrap();
        limits(&tree.roots, &mounts, devices).into_iter().collect()
    }

    fn pairs(want: &[(&str, &str)]) -> Vec<(String, String)> {
        want.iter()
            .map(|(a, b)| ((*a).into(), (*b).into()))
            .collect()
    }

    #[test]
    fn version_two_limits_are_the_lowest_on_the_way_to_the_root() {
        let t = Tree::new();
        t.proc("self/cgroup", "0::/ci/job\n");
        t.sys(
            "fs/cgroup/ci/io.max",
            "259:0 rbps=1000 wbps=max riops=50 wiops=max\n8:0 rbps=1 wbps=1 riops=1 wiops=1\n",
        );
        t.sys(
            "fs/cgroup/ci/job/io.max",
            "259:0 rbps=2000 wbps=300 riops=max wiops=max\n",
        );
        t.sys("fs/cgroup/ci/memory.max", "1073741824\n");
        t.sys("fs/cgroup/ci/job/memory.max", "max\n");
        assert_eq!(
            found(&t, V2, &["259:0", "259:1"]),
            pairs(&[
                ("cgroup.memory", "1073741824"),
                ("cgroup.read_bps", "1000"),
                ("cgroup.read_iops", "50"),
                ("cgroup.write_bps", "300"),
            ])
        );
    }

    #[test]
    fn version_one_limits_hold_for_the_own_group_only() {
        let t = Tree::new();
        t.proc("self/cgroup", "7:blkio:/a/b\n0::/\n");
        t.sys("fs/cgroup/blkio/blkio.throttle.read_bps_device", "7:0 5\n");
        t.sys(
            "fs/cgroup/blkio/a/b/blkio.throttle.write_iops_device",
            "7:0 200\n7:10 3\n",
        );
        assert_eq!(
            found(&t, V1, &["7:0"]),
            pairs(&[("cgroup.write_iops", "200")])
        );
        t.proc("self/cgroup", "7:blkio:/\n");
        assert_eq!(found(&t, V1, &["7:0"]), pairs(&[("cgroup.read_bps", "5")]));
    }

    #[test]
    fn a_mount_that_begins_below_the_root_is_read_from_there() {
        let t = Tree::new();
        t.proc("self/cgroup", "0::/docker/abc/in\n");
        t.sys("fs/cgroup/in/io.max", "8:0 wbps=9\n");
        let mount = "41 1 0:38 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
        assert_eq!(
            found(&t, mount, &["8:0"]),
            pairs(&[("cgroup.write_bps", "9")])
        );
    }

    #[test]
    fn nonsense_in_the_files_is_no_limit() {
        let t = Tree::new();
        t.proc("self/cgroup", "0::/\nx\n7:blkio:/\n");
        t.sys(
            "fs/cgroup/io.max",
            "8:0\n8:0 rbps= wbps=-1 riops wiops=1e3\n\n",
        );
        t.sys("fs/cgroup/memory.max", "");
        assert_eq!(found(&t, V2, &["8:0"]), pairs(&[]));
        assert_eq!(found(&Tree::new(), V2, &["8:0"]), pairs(&[]));
    }
}
