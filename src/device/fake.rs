//! Trees of other machines for tests, built from compact tables.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::mounts::{Mount, Mounts};
use super::roots::{DevNo, Roots};

/// A fake /sys, /proc and /dev that vanish with it.
pub(crate) struct Tree {
    pub(crate) roots: Roots,
    dir: tempfile::TempDir,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new()
            .prefix("iogate-device-")
            .tempdir()
            .unwrap();
        let roots = Roots {
            sys: dir.path().join("sys"),
            proc: dir.path().join("proc"),
            dev: dir.path().join("dev"),
        };
        for root in [&roots.sys, &roots.proc, &roots.dev] {
            fs::create_dir(root).unwrap();
        }
        Self { roots, dir }
    }

    /// A folder for files that stand on the fake machine's disks.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().to_path_buf()
    }

    pub(crate) fn sys(&self, path: &str, text: &str) {
        put(&self.roots.sys.join(path), text);
    }

    pub(crate) fn proc(&self, path: &str, text: &str) {
        put(&self.roots.proc.join(path), text);
    }

    /// A link in /dev, as udev makes them.
    pub(crate) fn dev_link(&self, path: &str, target: &str) {
        link(&self.roots.dev.join(path), Path::new(target));
    }

    /// A link in /sys to another place in /sys.
    pub(crate) fn sys_link(&self, path: &str, target: &str) {
        link(&self.roots.sys.join(path), &self.roots.sys.join(target));
    }

    /// A block device at `devices/…` with its links by name and, unless hidden, by number; attributes as `name=value`
    /// separated by `;`, where a value of `@` makes a folder.
    pub(crate) fn block(&self, path: &str, number: &str, attributes: &str) -> &Self {
        let at = format!("devices/{path}");
        let name = path.rsplit('/').next().unwrap();
        fs::create_dir_all(self.roots.sys.join(&at)).unwrap();
        self.sys_link(&format!("class/block/{name}"), &at);
        if !number.is_empty() {
            self.sys(&format!("{at}/dev"), &format!("{number}\n"));
            self.sys_link(&format!("dev/block/{number}"), &at);
        }
        for (key, value) in attributes
            .split(';')
            .filter_map(|a| a.trim().split_once('='))
        {
            if value == "@" {
                fs::create_dir_all(self.roots.sys.join(&at).join(key)).unwrap();
            } else {
                self.sys(&format!("{at}/{key}"), &format!("{value}\n"));
            }
        }
        self
    }

    /// A queue with the numbers of an ordinary disk; `scheduler` as the kernel prints it.
    pub(crate) fn queue(&self, path: &str, scheduler: &str, read_ahead: u32) -> &Self {
        for (name, value) in [
            ("scheduler", scheduler),
            ("read_ahead_kb", &read_ahead.to_string()),
            ("nr_requests", "256"),
            ("max_sectors_kb", "1280"),
            ("max_hw_sectors_kb", "2048"),
            ("rotational", "0"),
            ("write_cache", "write back"),
            ("nomerges", "0"),
            ("iostats", "1"),
            ("logical_block_size", "512"),
            ("physical_block_size", "4096"),
            ("optimal_io_size", "0"),
        ] {
            self.sys(
                &format!("devices/{path}/queue/{name}"),
                &format!("{value}\n"),
            );
        }
        self
    }

    /// A slave of a device: the link the kernel makes.
    pub(crate) fn slave(&self, path: &str, below: &str) -> &Self {
        let name = below.rsplit('/').next().unwrap();
        self.sys_link(
            &format!("devices/{path}/slaves/{name}"),
            &format!("devices/{below}"),
        );
        let holder = path.rsplit('/').next().unwrap();
        self.sys_link(
            &format!("devices/{below}/holders/{holder}"),
            &format!("devices/{path}"),
        );
        self
    }

    /// Mounts from lines of mountinfo; the root mount is added.
    pub(crate) fn mounts(&self, lines: &str) -> Mounts {
        let text = format!("1 0 254:0 / / rw - ext4 /dev/vda rw\n{lines}\n");
        self.proc("self/mountinfo", &text);
        Mounts::read(&self.roots).unwrap()
    }

    pub(crate) fn at<'a>(&self, mounts: &'a Mounts, point: &str) -> &'a Mount {
        mounts.holding(Path::new(point), None).unwrap()
    }
}

pub(crate) fn dev(text: &str) -> DevNo {
    text.parse().unwrap()
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn link(path: &Path, target: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(target, path).unwrap();
}
