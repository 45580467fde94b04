//! Disks of a test's own: loop devices over memory. Nothing else is ever mounted, throttled or written to.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::command::{Output, program};
use super::root;

/// A file system of its own on a loop device over memory; gone when dropped, also by a panic.
pub(crate) struct LoopDisk {
    image: PathBuf,
    mount: PathBuf,
    device: String,
}

/// What a loop disk is made of.
pub(crate) struct LoopSpec {
    pub(crate) fs: &'static str,
    pub(crate) mib: u64,
    pub(crate) sector: u32,
    /// Of the folder it is mounted at, below a private one.
    pub(crate) folder: &'static str,
    pub(crate) options: &'static str,
}

impl Default for LoopSpec {
    fn default() -> Self {
        Self {
            fs: "ext4",
            mib: 256,
            sector: 512,
            folder: "disk",
            options: "noatime",
        }
    }
}

impl LoopSpec {
    /// Makes, formats and mounts it.
    #[track_caller]
    pub(crate) fn make(self) -> LoopDisk {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "iogate-it-{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        let image = Path::new("/dev/shm").join(&name);
        let mount = std::env::temp_dir().join(&name).join(self.folder);
        // From here on whatever fails is cleaned up by the drop of this half-made value.
        let mut disk = LoopDisk {
            image,
            mount,
            device: String::new(),
        };
        std::fs::create_dir_all(&disk.mount).expect("a folder to mount on");
        let file = std::fs::File::create(&disk.image).expect("an image in memory");
        file.set_len(self.mib << 20).expect("room in memory");
        drop(file);
        let sector = self.sector.to_string();
        let attached = sudo("losetup").args([
            "--find",
            "--show",
            "--direct-io=on",
            "--sector-size",
            &sector,
        ]);
        disk.device = attached
            .arg(&disk.image)
            .run()
            .success()
            .stdout
            .trim()
            .to_owned();
        let made: &[&str] = match self.fs {
            "ext4" => &[
                "mkfs.ext4",
                "-q",
                "-F",
                "-E",
                "lazy_itable_init=0,lazy_journal_init=0",
            ],
            "xfs" => &["mkfs.xfs", "-q", "-f"],
            "btrfs" => &["mkfs.btrfs", "-q", "-f"],
            other => panic!("no recipe for {other}"),
        };
        sudo(made[0])
            .args(&made[1..])
            .arg(&disk.device)
            .run()
            .success();
        sudo("mount")
            .args(["-o", self.options])
            .arg(&disk.device)
            .arg(&disk.mount)
            .run()
            .success();
        disk
    }
}

impl LoopDisk {
    /// 256 MiB of ext4.
    #[track_caller]
    pub(crate) fn ext4() -> Self {
        LoopSpec::default().make()
    }

    /// Where it is mounted.
    pub(crate) fn path(&self) -> &Path {
        &self.mount
    }

    /// `/dev/loop7`.
    pub(crate) fn device(&self) -> &str {
        &self.device
    }

    /// The file in memory.
    pub(crate) fn image(&self) -> &Path {
        &self.image
    }

    /// Free bytes a user has.
    pub(crate) fn free(&self) -> u64 {
        free(&self.mount)
    }

    /// Bytes of the device as counted by the kernel: read and written.
    pub(crate) fn traffic(&self) -> (u64, u64) {
        traffic(&self.device)
    }

    /// Takes the mount away and leaves the folder, as when a disk fails to come up after a reboot.
    #[track_caller]
    pub(crate) fn vanish(&self) {
        sudo("umount").arg(&self.mount).run().success();
    }

    /// Mounts it with other options.
    #[track_caller]
    pub(crate) fn remount(&self, options: &str) {
        sudo("mount")
            .args(["-o", options])
            .arg(&self.mount)
            .run()
            .success();
    }

    /// Every file on it, by path.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        files_below(&self.mount)
    }
}

/// Free bytes a user has on the file system at `mount`.
pub(crate) fn free(mount: &Path) -> u64 {
    let stat = nix::sys::statvfs::statvfs(mount).expect("a mounted file system");
    stat.blocks_available() * stat.fragment_size()
}

/// Bytes read from and written to `/dev/NAME`, as counted by the kernel.
fn traffic(device: &str) -> (u64, u64) {
    let name = device.trim_start_matches("/dev/");
    let stat =
        std::fs::read_to_string(format!("/sys/block/{name}/stat")).expect("counters of the device");
    let fields: Vec<u64> = stat
        .split_whitespace()
        .map(|f| f.parse().expect("a count"))
        .collect();
    (fields[2] * 512, fields[6] * 512)
}

/// Whether nobody holds the lock of the disk mounted at `mount`.
pub(crate) fn unlocked(mount: &Path) -> bool {
    std::fs::File::open(mount)
        .expect("a mount point")
        .try_lock()
        .is_ok()
}

/// Every file below a folder but those of the file system itself.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            found.extend(if path.ends_with("lost+found") {
                Vec::new()
            } else {
                files_below(&path)
            });
        } else {
            found.push(path);
        }
    }
    found
}

impl Drop for LoopDisk {
    /// What is not there is not an error; what cannot go is said, since a panic in a drop would hide the first one.
    fn drop(&mut self) {
        for _ in 0..100 {
            let mounted = program("mountpoint")
                .arg("-q")
                .arg(&self.mount)
                .run()
                .code()
                == 0;
            if !mounted || sudo("umount").arg(&self.mount).run().code() == 0 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        if !self.device.is_empty() && sudo("losetup").args(["-d", &self.device]).run().code() != 0 {
            eprintln!("left behind: {} over {}", self.device, self.image.display());
        }
        let _ = std::fs::remove_file(&self.image);
        let _ = std::fs::remove_dir(&self.mount);
        let _ = self.mount.parent().map(std::fs::remove_dir);
    }
}

/// An administrator's program, wherever it lies.
fn sudo(name: &str) -> super::command::Program {
    let path = std::env::var("PATH").unwrap_or_default();
    program(name).env("PATH", format!("{path}:/usr/sbin:/sbin"))
}

/// A throttled disk of `ci/testdisk.sh`; taken down when dropped.
pub(crate) struct TestDisk {
    name: String,
    mount: PathBuf,
}

impl TestDisk {
    /// Brings one up: `kind` is `reference` or `ref-cache`, rates are MB/s.
    #[track_caller]
    pub(crate) fn up(kind: &str, size: &str, read: &str, write: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "it-{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        let args = [
            "up", kind, "--name", &name, "--size", size, "--read", read, "--write", write,
        ];
        let mount = testdisk(&args).success().stdout.trim().into();
        Self { name, mount }
    }

    /// Changes its rates, in MB/s.
    #[track_caller]
    pub(crate) fn rate(&self, read: &str, write: &str) {
        testdisk(&["rate", &self.name, "--read", read, "--write", write]).success();
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes read from and written to the throttled device.
    pub(crate) fn traffic(&self) -> (u64, u64) {
        let list = testdisk(&["list"]).success().stdout;
        let line = list
            .lines()
            .find(|l| l.starts_with(&self.name))
            .expect("a disk that is up");
        traffic(line.split('\t').nth(2).expect("a device"))
    }

    /// Takes it down and says whether that worked, as its drop would.
    pub(crate) fn down(&self) -> Output {
        testdisk(&["down", &self.name])
    }

    /// Where it is mounted.
    pub(crate) fn path(&self) -> &Path {
        &self.mount
    }
}

impl Drop for TestDisk {
    fn drop(&mut self) {
        let down = testdisk(&["down", &self.name]);
        if down.code() != 0 {
            eprintln!("left behind: {}", down.told());
        }
    }
}

/// `ci/testdisk.sh` with `args`.
#[track_caller]
pub(crate) fn testdisk(args: &[&str]) -> Output {
    program(root().join("ci/testdisk.sh"))
        .args(args)
        .seconds(180)
        .run()
}
