//! UUID and label of a file system, from whichever source answers first: the file system itself, sysfs (btrfs), the
//! links udev keeps, the superblock on the device.

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::mounts::Mount;
use super::roots::{Roots, attr, file_name, names};
use super::superblock::{self, Label};
use super::{stack, sys};
use crate::facts::Layer;

/// What could be told, and why the rest could not.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) label: Label,
    pub(crate) missing: Option<String>,
}

/// UUID and label of the mounted file system that `dir` (open, when it could be) lies on.
pub(crate) fn of_mount(
    roots: &Roots,
    mount: &Mount,
    top: Option<&Layer>,
    dir: Option<&File>,
) -> Told {
    let mut label = dir.map(asked).unwrap_or_default();
    if mount.kind == "btrfs" {
        let fs = stack::source_dir(roots, &mount.source)
            .and_then(|d| stack::btrfs_of(roots, &file_name(&d)));
        if let Some(fs) = fs {
            label.uuid = label.uuid.or_else(|| Some(file_name(&fs)));
            label.label = label.label.or_else(|| attr(&fs, "label"));
        }
    }
    match top {
        Some(top) => on_device(roots, &mount.kind, top, label),
        None => {
            let missing = label
                .uuid
                .is_none()
                .then(|| format!("{} has no UUID and no block device of its own", mount.kind));
            Told { label, missing }
        }
    }
}

/// UUID and label of the file system on a block device that is not mounted, whichever of the known kinds it is.
pub(crate) fn of_device(roots: &Roots, top: &Layer) -> Told {
    ["ext4", "xfs", "btrfs"]
        .iter()
        .map(|kind| on_device(roots, kind, top, Label::default()))
        .find(|told| told.label.uuid.is_some())
        .unwrap_or_default()
}

fn on_device(roots: &Roots, kind: &str, top: &Layer, mut label: Label) -> Told {
    label.uuid = label.uuid.or_else(|| linked(roots, "by-uuid", &top.name));
    label.label = label.label.or_else(|| linked(roots, "by-label", &top.name));
    if label.uuid.is_some() && label.label.is_some() {
        return Told {
            label,
            missing: None,
        };
    }
    let read = open_node(roots, top)
        .and_then(|node| superblock::label(&node, kind).map_err(|e| format!("{}: {e}", top.name)));
    match read {
        Ok(found) => {
            let found = found.unwrap_or_default();
            label.uuid = label.uuid.or(found.uuid);
            label.label = label.label.or(found.label);
            let missing = label
                .uuid
                .is_none()
                .then(|| format!("no UUID of {kind} on {}", top.name));
            Told { label, missing }
        }
        Err(why) => {
            let missing = label.uuid.is_none().then_some(why);
            Told { label, missing }
        }
    }
}

/// The device node of a layer, read-only, if it is that very device.
pub(crate) fn open_node(roots: &Roots, layer: &Layer) -> Result<File, String> {
    let path = roots.node(&layer.name);
    let fits = |m: &fs::Metadata| {
        m.file_type().is_block_device()
            && super::roots::DevNo::from_raw(m.rdev()).to_string() == layer.dev
    };
    let said = |e: std::io::Error| format!("{}: {e}", path.display());
    if !fits(&fs::metadata(&path).map_err(said)?) {
        return Err(format!(
            "{} is not the device {}",
            path.display(),
            layer.dev
        ));
    }
    let file = File::open(&path).map_err(said)?;
    // Looked at again through the descriptor: the node may have been replaced in between.
    if fits(&file.metadata().map_err(said)?) {
        Ok(file)
    } else {
        Err(format!(
            "{} is not the device {}",
            path.display(),
            layer.dev
        ))
    }
}

/// Asks the file system itself.
fn asked(dir: &File) -> Label {
    let label = sys::fs_label(dir).unwrap_or_default();
    Label {
        uuid: sys::fs_uuid(dir)
            .ok()
            .and_then(|u| superblock::uuid_text(&u)),
        label: (!label.is_empty()).then(|| String::from_utf8_lossy(&label).into_owned()),
    }
}

/// The name of the link in `disk/by-…` that leads to a device.
fn linked(roots: &Roots, by: &str, name: &str) -> Option<String> {
    let dir = roots.dev.join("disk").join(by);
    let node = name.replace('!', "/");
    names(&dir).into_iter().find_map(|link| {
        let target = fs::read_link(dir.join(&link)).ok()?;
        let rest: &Path = target.strip_prefix("../..").unwrap_or(&target);
        (rest == Path::new(&node)).then(|| udev_unescape(&link))
    })
}

/// udev writes `\x20` for a space in a link's name.
fn udev_unescape(name: &str) -> String {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = rest
            .strip_prefix(b"\\x")
            .and_then(|h| h.get(..2))
            .and_then(|h| std::str::from_utf8(h).ok())
            .and_then(|h| u8::from_str_radix(h, 16).ok());
        if let Some(byte) = hex {
            out.push(byte);
            rest = &rest[4..];
        } else {
            out.push(first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn udevs_escapes_are_decoded_and_others_left_alone() {
        assert_eq!(udev_unescape(r"my\x20disk"), "my disk");
        assert_eq!(udev_unescape(r"a\xzz\x4"), r"a\xzz\x4");
    }
}
