//! Names from files as path components that cannot leave their folder.
//!
//! Suite, test and disk names come from files that others wrote. A disk's folder keeps its name or is refused; a
//! test's name is encoded, since `::` and `/` are usual in it.

use std::path::Path;

use sha2::{Digest, Sha256};

use super::{Result, StoreError};

/// Longest component written as it is; file systems stop at 255 bytes.
const LONGEST: usize = 200;

/// Whether a suite may be called so: `^[A-Za-z0-9_-]+$`.
pub(super) fn is_suite_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= LONGEST
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// The suite's name, unless it cannot be one.
pub(super) fn suite<'a>(name: &'a str, context: &Path) -> Result<&'a str> {
    if is_suite_name(name) {
        return Ok(name);
    }
    let what = format!("{name:?} cannot name a suite; letters, digits, `_` and `-` are expected");
    Err(StoreError::bad(context, what))
}

/// A disk's name as a folder name, unless it would leave the folder, hide, or confuse a terminal.
pub(super) fn disk<'a>(name: &'a str, context: &Path) -> Result<&'a str> {
    let fine = !name.is_empty()
        && name.len() <= LONGEST
        && !name.starts_with('.')
        && name.trim() == name
        && !name.chars().any(|c| c.is_control() || "/\\:".contains(c));
    if fine {
        return Ok(name);
    }
    let what = format!(
        "{name:?} cannot name a disk's folder; expected 1 to {LONGEST} bytes without `/`, `\\`, `:`, control \
         characters, outer spaces or a leading dot; set `disk-name`"
    );
    Err(StoreError::bad(context, what))
}

/// `<suite>--<test>.json`, unique for each pair.
///
/// The suite part never holds `--` nor ends in `-`, so the first `--` parts the two.
pub(super) fn test_file(suite: &str, test: &str) -> String {
    let mut left = encode(suite).replace("--", "-%2D");
    if left.ends_with('-') {
        left.truncate(left.len() - 1);
        left.push_str("%2D");
    }
    shorten(format!("{left}--{}", encode(test))) + ".json"
}

/// Any text as one path component: percent-encoded but for letters, digits, `_`, `-` and inner dots.
pub(super) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, byte) in text.bytes().enumerate() {
        let plain =
            byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' || (byte == b'.' && i > 0);
        if plain {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    shorten(out)
}

/// Long components end in a hash of themselves instead.
fn shorten(text: String) -> String {
    if text.len() <= LONGEST {
        return text;
    }
    let hash: String = Sha256::digest(text.as_bytes())
        .iter()
        .take(8)
        .map(|b| format!("{b:02x}"))
        .collect();
    // Encoded text is ASCII, so any cut is a character boundary.
    format!("{}~{hash}", &text[..LONGEST - 20])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tests_file_never_leaves_its_folder() {
        for hostile in [
            "../../etc/passwd",
            "..",
            "/",
            "a\0b",
            "a\nb",
            "\u{1b}[2J",
            ".hidden",
        ] {
            let name = test_file("s", hostile);
            assert_eq!(Path::new(&name).components().count(), 1, "{name}");
            assert!(!name.starts_with('.') && !name.contains(['/', '\0', '\n', '\u{1b}']));
        }
        assert_eq!(
            test_file("sequential", "readers::workers-5"),
            "sequential--readers%3A%3Aworkers-5.json"
        );
    }

    #[test]
    fn two_tests_never_share_a_file() {
        let pairs = [
            ("a", "b--c"),
            ("a--b", "c"),
            ("a-", "-b"),
            ("a", "--b"),
            ("a--", "b"),
            ("a%2D", "b"),
        ];
        let names: std::collections::BTreeSet<_> =
            pairs.iter().map(|(s, t)| test_file(s, t)).collect();
        assert_eq!(names.len(), pairs.len(), "{names:?}");
    }

    #[test]
    fn a_long_name_fits_the_file_system_and_stays_distinct() {
        let (a, b) = ("x".repeat(400), format!("{}y", "x".repeat(399)));
        let (a, b) = (test_file("s", &a), test_file("s", &b));
        assert!(a.len() < 255 && a != b, "{a}");
    }

    #[test]
    fn a_disk_name_that_is_no_plain_folder_is_refused() {
        let here = Path::new("baselines");
        for bad in [
            "", ".", "..", "../x", "a/b", "a\\b", "a\u{7}", " a", ".git", "a\nb", "C:x",
        ] {
            assert!(disk(bad, here).is_err(), "{bad:?}");
        }
        for good in [
            "virtio-100GiB-ext4",
            "Samsung SSD 990 PRO-2TB-xfs",
            "größer",
        ] {
            assert_eq!(disk(good, here).unwrap(), good);
        }
    }
}
