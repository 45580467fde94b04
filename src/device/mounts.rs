//! /proc/self/mountinfo, and which mount holds a path.
//!
//! Written by hand rather than with a crate: mount points are bytes, fields are split on single spaces only (a source
//! may be empty), and escapes are decoded exactly once.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::roots::{DevNo, Roots};

/// One line of mountinfo, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) id: u64,
    pub(crate) parent: u64,
    pub(crate) dev: DevNo,
    /// The folder of the file system that is mounted: `/` unless a bind mount or a subvolume.
    pub(crate) root: PathBuf,
    pub(crate) point: PathBuf,
    pub(crate) options: String,
    pub(crate) kind: String,
    pub(crate) source: String,
    pub(crate) super_options: String,
}

/// All mounts this process sees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mounts(pub(crate) Vec<Mount>);

impl Mounts {
    /// Reads `self/mountinfo`.
    pub(crate) fn read(roots: &Roots) -> io::Result<Self> {
        Self::parse(&fs::read(roots.proc.join("self/mountinfo"))?)
    }

    /// Every line must be understood: a mount that was skipped would put its paths on the disk below it.
    pub(crate) fn parse(text: &[u8]) -> io::Result<Self> {
        let mut mounts = Vec::new();
        for line in text.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            mounts.push(line_to_mount(line).ok_or_else(|| {
                let line = String::from_utf8_lossy(line).into_owned();
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("mountinfo has a line of unknown form: {line:?}"),
                )
            })?);
        }
        Ok(Self(mounts))
    }

    /// The mount an absolute path without links lies on: the one whose id statx told, else found as the kernel walks.
    pub(crate) fn holding(&self, path: &Path, id: Option<u64>) -> Option<&Mount> {
        id.and_then(|id| self.0.iter().find(|m| m.id == id))
            .or_else(|| self.walk(path))
    }

    /// From the root down, at each mount into the first mount met on the way. A deeper mount point that a later mount
    /// hides is not met, and of several on one point the last is.
    fn walk(&self, path: &Path) -> Option<&Mount> {
        let is_root =
            |m: &&Mount| m.point == Path::new("/") && !self.0.iter().any(|p| p.id == m.parent);
        let mut at = self.0.iter().rfind(is_root)?;
        // A mount is entered once; the bound only stops a table that contradicts itself.
        for _ in 0..self.0.len() {
            let mut next: Option<&Mount> = None;
            for m in &self.0 {
                let inside = m.parent == at.id && m.id != at.id && path.starts_with(&m.point);
                if inside && next.is_none_or(|n| depth(m) <= depth(n)) {
                    next = Some(m);
                }
            }
            match next {
                Some(m) => at = m,
                None => break,
            }
        }
        Some(at)
    }
}

fn depth(m: &Mount) -> usize {
    m.point.components().count()
}

impl Mount {
    /// Contents live in memory.
    pub(crate) fn in_memory(&self) -> bool {
        matches!(self.kind.as_str(), "tmpfs" | "ramfs" | "rootfs")
    }

    /// Writes are refused whatever the permissions.
    pub(crate) fn read_only(&self) -> bool {
        let ro = |options: &str| options.split(',').any(|o| o == "ro");
        ro(&self.options) || ro(&self.super_options)
    }

    /// Mount and super options, each once, sorted: the kernel's order differs between versions.
    pub(crate) fn all_options(&self) -> String {
        let mut all: Vec<&str> = self
            .options
            .split(',')
            .chain(self.super_options.split(','))
            .filter(|o| !o.is_empty())
            .collect();
        all.sort_unstable();
        all.dedup();
        all.join(",")
    }
}

/// `id parent major:minor root point options [tag…] - kind source super-options`
fn line_to_mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|b| *b == b' ');
    let id = text(fields.next()?).parse().ok()?;
    let parent = text(fields.next()?).parse().ok()?;
    let dev = text(fields.next()?).parse().ok()?;
    let root = path(fields.next()?);
    let point = path(fields.next()?);
    let options = text(fields.next()?);
    fields.by_ref().find(|f| *f == b"-")?;
    Some(Mount {
        id,
        parent,
        dev,
        root,
        point,
        options,
        kind: text(fields.next()?),
        source: text(fields.next()?),
        super_options: text(fields.next().unwrap_or_default()),
    })
}

fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(&unescape(field)).into_owned()
}

fn path(field: &[u8]) -> PathBuf {
    OsString::from_vec(unescape(field)).into()
}

/// Undoes the kernel's `\ooo`, once. It escapes space, tab, newline and the backslash itself (and `#` in sources), so
/// every backslash that is left starts an escape.
pub(crate) fn unescape(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        if let [
            b'\\',
            a @ b'0'..=b'3',
            b @ b'0'..=b'7',
            c @ b'0'..=b'7',
            after @ ..,
        ] = rest
        {
            out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
            rest = after;
        } else {
            out.push(first);
            rest = tail;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts(lines: &[&str]) -> Mounts {
        Mounts::parse(lines.join("\n").as_bytes()).unwrap()
    }

    #[test]
    fn escapes_are_decoded_once() {
        let table: [(&[u8], &[u8]); 6] = [
            (br"/mnt/a\040b", b"/mnt/a b"),
            (br"/t\011n\012b\134", b"/t\tn\nb\\"),
            (br"/x\134040y", br"/x\040y"),
            (br"/odd\9\04", br"/odd\9\04"),
            ("/größe\\043".as_bytes(), "/größe#".as_bytes()),
            (b"\\", b"\\"),
        ];
        for (raw, want) in table {
            assert_eq!(unescape(raw), want, "{}", String::from_utf8_lossy(raw));
        }
    }

    #[test]
    fn optional_fields_end_at_the_dash_and_a_source_may_be_empty() {
        let m = &mounts(&[
            "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue",
            "37 36 0:9 / /mnt2/- rw - tmpfs  rw,size=4k",
        ])
        .0;
        assert_eq!(
            (m[0].kind.as_str(), m[0].source.as_str()),
            ("ext3", "/dev/root")
        );
        assert_eq!(m[0].all_options(), "errors=continue,noatime,rw");
        assert_eq!(m[1].point, Path::new("/mnt2/-"));
        assert_eq!(
            (m[1].source.as_str(), m[1].super_options.as_str()),
            ("", "rw,size=4k")
        );
    }

    #[test]
    fn a_point_that_is_not_utf8_is_kept_byte_for_byte() {
        let m = Mounts::parse(b"1 0 8:1 / /a\xff\xfeb rw - ext4 /dev/sda1 rw").unwrap();
        assert_eq!(
            m.0[0].point,
            PathBuf::from(OsString::from_vec(b"/a\xff\xfeb".to_vec()))
        );
    }

    #[test]
    fn a_line_of_unknown_form_is_an_error_that_shows_it() {
        for bad in [
            "36 35 98:0 / /mnt rw shared:1",
            "x 35 98:0 / /mnt rw - ext4 /dev/a rw",
            "36 35 980 / /mnt rw - ext4 /dev/a rw",
            "36",
        ] {
            let e = Mounts::parse(bad.as_bytes()).unwrap_err().to_string();
            assert!(e.contains(bad), "{e}");
        }
        assert_eq!(Mounts::parse(b"").unwrap(), Mounts::default());
    }

    #[test]
    fn the_mount_of_a_path_is_found_as_the_kernel_walks() {
        let m = mounts(&[
            "23 27 0:22 / /sys rw - sysfs sysfs rw",
            "25 27 0:23 / /dev/shm rw - tmpfs first rw",
            "30 25 0:27 / /dev/shm rw - tmpfs second rw",
            "27 1 254:0 / / rw - ext4 /dev/vda rw",
            "40 27 8:1 / /mnt/data/deep rw - ext4 hidden rw",
            "41 27 8:2 / /mnt/data rw - xfs over rw",
            "42 41 8:3 / /mnt/data/b rw - ext4 inner rw",
        ]);
        let source = |p: &str| m.holding(Path::new(p), None).unwrap().source.clone();
        assert_eq!(source("/dev/shm/x"), "second");
        assert_eq!(source("/mnt/data/deep/x"), "over");
        assert_eq!(source("/mnt/data/b"), "inner");
        assert_eq!(source("/mnt/data2"), "/dev/vda");
        assert_eq!(source("/"), "/dev/vda");
        let by_id = m.holding(Path::new("/mnt/data/deep"), Some(40)).unwrap();
        assert_eq!(by_id.source, "hidden");
        let unknown = m.holding(Path::new("/mnt/data/b"), Some(999)).unwrap();
        assert_eq!(unknown.source, "inner");
    }

    #[test]
    fn a_table_without_a_root_or_with_a_circle_ends() {
        assert!(Mounts::default().holding(Path::new("/a"), None).is_none());
        let circle = mounts(&[
            "1 9 8:1 / / rw - ext4 a rw",
            "2 3 8:2 / /a rw - ext4 b rw",
            "3 2 8:3 / /a rw - ext4 c rw",
        ]);
        assert_eq!(circle.holding(Path::new("/a"), None).unwrap().source, "a");
    }

    #[test]
    fn read_only_is_told_by_the_mount_or_by_the_file_system() {
        let ro =
            |a: &str, b: &str| mounts(&[&format!("1 0 8:1 / / {a} - ext4 x {b}")]).0[0].read_only();
        assert!(ro("ro,noatime", "rw"));
        assert!(ro("rw", "ro"));
        assert!(!ro("rw,errors=remount-ro", "rw"));
    }
}
