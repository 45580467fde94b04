//! Against this machine's kernel: loop devices over memory, with what is found told by the commands that made them.
//! Needs root and a free loop device; each test says why when it steps aside, and removes what it made.

mod disks;
mod refusals;
mod watching;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::libc;

use crate::facts::LayerKind;
use crate::sample::Witness;
use crate::units::MIB;

use super::lock::{LockError, try_lock};
use super::mounts::Mounts;
use super::refusal::Refusal;
use super::{LookOptions, Looked, Roots, look, may_destroy, stack, witness};

/// Runs a command; its output, or what it said.
fn run(program: &str, args: &[&str]) -> Result<String, String> {
    let out = Command::new(program)
        .args(args)
        .output()
        .map_err(|e| format!("{program}: {e}"))?;
    if out.status.success() {
        Ok(String::from_utf8_lossy(&out.stdout).trim().to_owned())
    } else {
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        Err(format!("{program} {}: {said}", args.join(" ")))
    }
}

/// Loop devices and mounts in a folder of their own, all undone in reverse order.
struct Bench {
    dir: tempfile::TempDir,
    loops: Vec<String>,
    mounts: Vec<PathBuf>,
}

impl Bench {
    /// On memory; `None`, with the reason printed, where that cannot be.
    fn new() -> Option<Self> {
        let base = Path::new("/dev/shm");
        let base = if base.is_dir() {
            base
        } else {
            Path::new("/tmp")
        };
        Self::below(base)
    }

    fn below(base: &Path) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: loop devices and mounts need root");
            return None;
        }
        if let Err(why) = run("losetup", &["--find"]) {
            eprintln!("skipped: no loop device ({why})");
            return None;
        }
        let dir = tempfile::Builder::new()
            .prefix("iogate-device-")
            .tempdir_in(base)
            .unwrap();
        Some(Self {
            dir,
            loops: Vec::new(),
            mounts: Vec::new(),
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn attach(&mut self, name: &str, size: u64, options: &[&str]) -> String {
        let image = self.path(name);
        File::create(&image).unwrap().set_len(size).unwrap();
        self.attach_file(&image, options)
    }

    fn attach_file(&mut self, image: &Path, options: &[&str]) -> String {
        let mut args = vec!["--show", "--find"];
        args.extend(options);
        let image = image.to_str().unwrap();
        args.push(image);
        // Another test may take the device between finding and setting it up.
        let node = (0..20)
            .find_map(|_| run("losetup", &args).ok())
            .expect("a loop device");
        self.loops.push(node.clone());
        node
    }

    /// Detached once: its number may be another's a moment later.
    fn detach(&mut self, node: &str) {
        self.loops.retain(|n| n != node);
        run("losetup", &["--detach", node]).unwrap();
    }

    fn mount(&mut self, args: &[&str], point: &str) -> PathBuf {
        let point = self.path(point);
        fs::create_dir_all(&point).unwrap();
        let mut all = args.to_vec();
        all.push(point.to_str().unwrap());
        run("mount", &all).unwrap();
        self.mounts.push(point.clone());
        point
    }

    /// A formatted loop device, mounted; `mkfs` with its arguments.
    fn disk(
        &mut self,
        size: u64,
        options: &[&str],
        mkfs: &[&str],
        point: &str,
    ) -> (String, PathBuf) {
        let node = self.attach(&format!("{}.img", self.loops.len()), size, options);
        let mut args = mkfs[1..].to_vec();
        args.push(&node);
        run(mkfs[0], &args).unwrap();
        let point = self.mount(&[&node], point);
        (node, point)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for point in self.mounts.iter().rev() {
            let _ = run("umount", &[point.to_str().unwrap()]);
        }
        for node in self.loops.iter().rev() {
            let _ = run("losetup", &["--detach", node]);
        }
    }
}

const EXT4: &[&str] = &[
    "mkfs.ext4",
    "-q",
    "-L",
    "iogate-ref",
    "-U",
    "6f2c1f0e-0000-4000-8000-00000000beef",
    "-E",
    "lazy_itable_init=0,lazy_journal_init=0",
];
const UUID: &str = "6f2c1f0e-0000-4000-8000-00000000beef";

fn seen(target: &Path) -> Result<Looked, Refusal> {
    look(&Roots::real(), target, &LookOptions::default())
}

fn node_name(node: &str) -> &str {
    node.strip_prefix("/dev/").unwrap()
}
