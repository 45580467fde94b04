//! Who a disk is: found by WWID, serial or file-system UUID, kept as a salted hash, named after model, size and kind.

use std::fmt;

use crate::facts::{Identity, Layer, LayerKind, salted_hash};
use crate::units::{Bytes, GIB, MIB};

use super::layer;
use super::roots::Roots;
use super::stack::Stack;
use super::superblock::Label;

/// What identifies a disk, in clear. Never written anywhere and not shown by `Debug`: only its hash leaves the
/// process, and a baseline's own salt gives the hash to compare with it.
#[derive(Clone, PartialEq, Eq)]
pub struct RawIdentity {
    /// `wwid`, `serial`, `label`, `fs-uuid`, `source` or `none`.
    pub by: String,
    /// The identifier itself; of several disks side by side all of them.
    pub value: String,
}

impl RawIdentity {
    /// SHA-256 over salt, a zero byte and the identifier, as lower-case hex.
    #[must_use]
    pub fn hash(&self, salt: &str) -> String {
        salted_hash(salt, self.value.as_bytes())
    }
}

impl fmt::Debug for RawIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawIdentity")
            .field("by", &self.by)
            .finish_non_exhaustive()
    }
}

/// What an [`Identity`] shows in clear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visible {
    /// Model; `memory` for a loop or zram device over memory.
    pub model: String,
    /// Size of the whole disk, of the file system where no disk is known.
    pub size: Bytes,
    /// File system type, or `raw`.
    pub filesystem: String,
}

/// The identity under a salt; `own` is the name the user gave the disk.
#[must_use]
pub fn identity(visible: &Visible, raw: &RawIdentity, salt: &str, own: Option<&str>) -> Identity {
    let made = || {
        let parts = [
            &visible.model,
            &size_word(visible.size),
            &visible.filesystem,
        ];
        slug(&parts.map(String::as_str).join("-"))
    };
    let own = own.map(slug).filter(|n| !n.is_empty());
    Identity {
        name: own.unwrap_or_else(made),
        model: visible.model.clone(),
        size: visible.size,
        filesystem: visible.filesystem.clone(),
        by: raw.by.clone(),
        salt: salt.to_owned(),
        hash: raw.hash(salt),
    }
}

/// Longest name of a folder of baselines.
const LONGEST: usize = 80;

/// Lower case, `[a-z0-9.-]` only, no leading dot or dash, no runs of dashes, at most 80 characters; cut at the front,
/// since size and kind at the end tell more than a model's last letters.
fn slug(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' {
            out.push(c);
        } else if !out.ends_with('-') {
            out.push('-');
        }
    }
    let from = out.len().saturating_sub(LONGEST);
    out[from..].trim_matches(['.', '-']).to_owned()
}

/// `2gib` and `512mib` when exact, else as disks are sold: `1tb`, `480gb`, `1.9tb`.
fn size_word(size: Bytes) -> String {
    let n = size.0;
    if n >= GIB && n.is_multiple_of(GIB) {
        return format!("{}gib", n / GIB);
    }
    if (MIB..GIB).contains(&n) && n.is_multiple_of(MIB) {
        return format!("{}mib", n / MIB);
    }
    let (value, unit) = match n as f64 {
        n if n >= 1e12 => (n / 1e12, "tb"),
        n if n >= 1e9 => (n / 1e9, "gb"),
        n => (n / 1e6, "mb"),
    };
    if value < 10.0 && (value - value.round()).abs() >= 0.05 {
        format!("{value:.1}{unit}")
    } else {
        format!("{value:.0}{unit}")
    }
}

/// Model and size as shown, from the first level of the stack that has no partition in it.
pub(crate) fn visible(stack: &Stack, filesystem: &str, total: Bytes) -> Visible {
    let whole = whole_level(&stack.layers);
    let size = whole.iter().map(|l| l.size.0).sum();
    Visible {
        model: model(stack, &whole, filesystem),
        size: if size == 0 { total } else { Bytes(size) },
        filesystem: filesystem.to_owned(),
    }
}

/// The whole devices of the least depth at which there is nothing else.
fn whole_level(layers: &[Layer]) -> Vec<&Layer> {
    let depths = layers.iter().map(|l| l.depth).max().map_or(0, |d| d + 1);
    (0..depths)
        .map(|d| layers.iter().filter(|l| l.depth == d).collect::<Vec<_>>())
        .find(|level| level.iter().all(|l| l.kind != LayerKind::Partition) && !level.is_empty())
        .unwrap_or_default()
}

fn model(stack: &Stack, whole: &[&Layer], filesystem: &str) -> String {
    if stack.memory {
        return "memory".to_owned();
    }
    if whole.is_empty() {
        return filesystem.to_owned();
    }
    if stack.layers.iter().any(|l| l.kind == LayerKind::Loop) {
        return "loop".to_owned();
    }
    let mut models: Vec<&str> = stack
        .layers
        .iter()
        .filter(|l| l.leaf)
        .map(|l| l.model.as_deref().unwrap_or("disk"))
        .collect();
    models.sort_unstable();
    models
        .chunk_by(PartialEq::eq)
        .map(|same| match same.len() {
            1 => same[0].to_owned(),
            n => format!("{n}x {}", same[0]),
        })
        .collect::<Vec<_>>()
        .join(" + ")
}

/// What identifies the disks of a stack. Loop and memory devices have no identity below themselves: two of them on one
/// disk are two disks. Several disks count only when each one tells.
pub(crate) fn raw(
    roots: &Roots,
    stack: &Stack,
    label: &Label,
    source: Option<&str>,
) -> RawIdentity {
    let of = |by: &str, value: String| RawIdentity {
        by: by.to_owned(),
        value,
    };
    let made_up = stack.memory || stack.layers.iter().any(|l| l.kind == LayerKind::Loop);
    if !made_up && let Some((by, value)) = serials(roots, stack) {
        return of(by, value);
    }
    match (&label.label, &label.uuid, source) {
        (Some(label), Some(uuid), _) if stack.memory => of("label", format!("{label}\0{uuid}")),
        (_, Some(uuid), _) => of("fs-uuid", uuid.clone()),
        (Some(label), None, _) => of("label", label.clone()),
        (None, None, Some(source)) => of("source", source.to_owned()),
        (None, None, None) => of("none", String::new()),
    }
}

fn serials(roots: &Roots, stack: &Stack) -> Option<(&'static str, String)> {
    let mut found = Vec::new();
    for leaf in stack.layers.iter().filter(|l| l.leaf) {
        found.push(layer::serial(&roots.named(&leaf.name)?)?);
    }
    found.sort();
    // Paths of one multipath disk tell the same.
    found.dedup();
    let by = found.first()?.0;
    let values: Vec<String> = found.into_iter().map(|(_, v)| v).collect();
    Some((by, values.join("\0")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(model: &str, size: u64, fs: &str) -> Visible {
        Visible {
            model: model.into(),
            size: Bytes(size),
            filesystem: fs.into(),
        }
    }

    fn by_serial(value: &str) -> RawIdentity {
        RawIdentity {
            by: "serial".into(),
            value: value.into(),
        }
    }

    #[test]
    fn a_name_is_made_of_model_size_and_file_system() {
        for (model, size, fs, want) in [
            (
                "Samsung SSD 980 PRO 1TB",
                1_000_204_886_016,
                "ext4",
                "samsung-ssd-980-pro-1tb-1tb-ext4",
            ),
            ("memory", 2 << 30, "ext4", "memory-2gib-ext4"),
            ("memory", 512 << 20, "xfs", "memory-512mib-xfs"),
            (
                "2x WDC WD40",
                7_681_501_126_656,
                "btrfs",
                "2x-wdc-wd40-7.7tb-btrfs",
            ),
            ("../../etc", 0, "raw", "etc-0mb-raw"),
            (
                "Größe\n/x",
                480_103_981_056,
                "fuse.sshfs",
                "gr-e-x-480gb-fuse.sshfs",
            ),
        ] {
            let id = identity(&shown(model, size, fs), &by_serial("a"), "s", None);
            assert_eq!(id.name, want);
        }
    }

    #[test]
    fn an_own_name_wins_but_stays_within_the_rules() {
        let name =
            |own| identity(&shown("m", 1 << 30, "xfs"), &by_serial("a"), "s", Some(own)).name;
        assert_eq!(name("Lab NVMe"), "lab-nvme");
        assert_eq!(name("../.hidden"), "hidden");
        assert_eq!(name("///"), "m-1gib-xfs");
        assert_eq!(name(&"x".repeat(200)).len(), 80);
    }

    #[test]
    fn the_hash_depends_on_salt_and_value_and_is_a_known_vector() {
        let raw = by_serial("S5GXNX0R");
        // printf 'salt\0S5GXNX0R' | sha256sum
        assert_eq!(
            raw.hash("salt"),
            "3f20de4e825bdfd0351e49c6dec84f99610c25706dd2155bb2ba86bb75c5770f"
        );
        assert_ne!(raw.hash("salt"), raw.hash("salT"));
        assert_ne!(raw.hash("salt"), by_serial("S5GXNX0S").hash("salt"));
    }

    #[test]
    fn the_identifier_is_never_shown() {
        assert!(!format!("{:?}", by_serial("S5GXNX0R")).contains("S5GX"));
    }

    #[test]
    fn without_a_stack_the_source_identifies_and_the_kind_is_the_model() {
        let none = Stack::default();
        let raw = raw(
            &Roots::real(),
            &none,
            &Label::default(),
            Some("filer:/vol1"),
        );
        assert_eq!(
            (raw.by.as_str(), raw.value.as_str()),
            ("source", "filer:/vol1")
        );
        assert_eq!(visible(&none, "nfs4", Bytes(5)), shown("nfs4", 5, "nfs4"));
    }
}
