//! Accepted baselines: finding the one of a disk by who it is, not by where it lies; writing under a lock.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::replace::FolderLock;
use super::{Places, Result, StoreError, is_symlink, names, names_in, read_text};
use crate::baseline::Baseline;
use crate::facts::Identity;

/// The disk a file is looked for.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// Folder name: computed from model, size and file system, or given by the user.
    pub name: &'a str,
    /// Model in clear.
    pub model: &'a str,
    /// Whether a disk of the same model will do.
    pub by_model: bool,
    /// Who it is.
    pub who: Who<'a>,
}

/// How a disk proves who it is.
#[derive(Clone, Copy)]
pub enum Who<'a> {
    /// An attached disk: its identifier hashed with a given salt.
    Attached(&'a dyn Fn(&str) -> String),
    /// A disk known only by salt and hash, as a candidate carries them.
    Known(&'a Identity),
}

impl std::fmt::Debug for Wanted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wanted")
            .field("name", &self.name)
            .field("model", &self.model)
            .field("by_model", &self.by_model)
            .finish_non_exhaustive()
    }
}

impl<'a> Wanted<'a> {
    /// The disk a candidate was measured on.
    #[must_use]
    pub fn of(disk: &'a Identity, by_model: bool) -> Self {
        Self {
            name: &disk.name,
            model: &disk.model,
            by_model,
            who: Who::Known(disk),
        }
    }

    /// Whether these are the same disk.
    #[must_use]
    pub fn is(&self, other: &Identity) -> bool {
        match self.who {
            Who::Attached(hash) => hash(&other.salt) == other.hash,
            Who::Known(disk) => disk.salt == other.salt && disk.hash == other.hash,
        }
    }

    /// Whether another disk of its model will do, and this is one.
    fn accepts(&self, other: &Identity) -> bool {
        self.by_model && self.model == other.model
    }
}

/// A baseline with the file it lies in.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// `baselines/<disk>/<suite>.json`.
    pub path: PathBuf,
    /// Folder name below `baselines`.
    pub folder: String,
    /// What is accepted.
    pub baseline: Baseline,
}

/// What a search for a baseline ends with.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// This disk's (or, by model, one like it).
    Baseline(Box<Stored>),
    /// The file under the disk's name belongs to another disk, and none is this one's: not comparable.
    OtherDisk {
        /// The other disk's file.
        path: PathBuf,
        /// The other disk.
        identity: Identity,
    },
    /// Nothing is accepted.
    None,
}

/// Finds the baseline of `suite` for a disk: in the folder of its name first, then in every other folder.
///
/// Node names move between boots and twins share a name, so the salted hash alone decides (or the model, by wish).
///
/// # Errors
/// A name that is no folder name, a file that does not parse. A broken file of a folder that may hold this disk's
/// baseline is an error, not "nothing accepted".
pub fn find_baseline(places: &Places, suite: &str, wanted: &Wanted<'_>) -> Result<Found> {
    let dir = &places.baselines_dir;
    let file = format!("{}.json", names::suite(suite, dir)?);
    let mut like = None;
    let mut other = None;
    for folder in folders(dir, wanted.name)? {
        let path = dir.join(&folder).join(&file);
        let Some(identity) = identity_in(&path)? else {
            continue;
        };
        if wanted.is(&identity) {
            return load(path, folder).map(Found::Baseline);
        }
        if like.is_none() && wanted.accepts(&identity) {
            like = Some((path, folder));
        } else if folder == wanted.name {
            other = Some((path, identity));
        }
    }
    if let Some((path, folder)) = like {
        return load(path, folder).map(Found::Baseline);
    }
    match other {
        // A disk with a folder of its own is known; that its twin has this suite too says nothing about it.
        Some(_) if own_folder(dir, wanted)?.is_some() => Ok(Found::None),
        Some((path, identity)) => Ok(Found::OtherDisk { path, identity }),
        None => Ok(Found::None),
    }
}

/// The folder below `baselines` (or below `pending`) this disk's files belong in: its own wherever it lies, else its
/// name, else its name with the first six digits of its hash, when a twin has the name.
///
/// # Errors
/// A name that is no folder name, files that do not parse.
pub fn folder_for_writing(dir: &Path, disk: &Identity, by_model: bool) -> Result<String> {
    let wanted = Wanted::of(disk, by_model);
    if let Some(folder) = own_folder(dir, &wanted)? {
        return Ok(folder);
    }
    let name = names::disk(&disk.name, dir)?;
    for digits in [0, 6, 12, 24] {
        let folder = match digits {
            0 => name.to_owned(),
            n => {
                let hash: String = disk.hash.chars().take(n).collect();
                format!("{name}-{}", names::encode(&hash))
            }
        };
        if identity_of_folder(&dir.join(&folder))?.is_none() {
            return Ok(folder);
        }
    }
    let what = format!("every folder for {name} belongs to another disk; set `disk-name`");
    Err(StoreError::bad(dir, what))
}

/// The salt to hash a disk's identifier with: the one its baseline has, else that of its candidates, else this
/// checkout's own, made when first needed. One salt a disk keeps its hash the same from run to run.
///
/// # Errors
/// Files that do not parse; a salt that cannot be kept.
pub fn salt(places: &Places, wanted: &Wanted<'_>) -> Result<String> {
    for dir in [&places.baselines_dir, &places.pending_dir] {
        for folder in folders(dir, wanted.name)? {
            if let Some(disk) = identity_of_folder(&dir.join(folder))?
                && wanted.is(&disk)
            {
                return Ok(disk.salt);
            }
        }
    }
    let path = places.work_dir.join("salt");
    // Tests of one run may be processes that start together: they must agree.
    let lock = FolderLock::take(&places.work_dir)?;
    if let Some(text) = read_text(&path)? {
        let known = text.trim();
        if known.len() == 32 && known.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(known.to_owned());
        }
    }
    let mut random = fastrand::Rng::new();
    let salt = format!("{:016x}{:016x}", random.u64(..), random.u64(..));
    lock.replace(&path, format!("{salt}\n").as_bytes())?;
    Ok(salt)
}

/// What writing a baseline did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The file had these very bytes.
    Same,
    /// There was none.
    New,
    /// The old one is gone.
    Replaced,
}

/// The right to write baselines; taken before reading what is to be changed, so that two accepts come one after the
/// other and the second sees what the first did.
#[derive(Debug)]
pub struct BaselinesLock {
    dir: PathBuf,
    lock: FolderLock,
}

impl BaselinesLock {
    /// Waits for the lock on the baselines folder, made if need be.
    ///
    /// # Errors
    /// The folder cannot be made or opened.
    pub fn take(places: &Places) -> Result<Self> {
        Ok(Self {
            dir: places.baselines_dir.clone(),
            lock: FolderLock::take(&places.baselines_dir)?,
        })
    }

    /// Where a suite's baseline of a folder lies.
    fn path(&self, folder: &str, suite: &str) -> Result<PathBuf> {
        let folder = names::disk(folder, &self.dir)?;
        let suite = names::suite(suite, &self.dir)?;
        Ok(self.dir.join(folder).join(format!("{suite}.json")))
    }

    /// What is accepted now.
    ///
    /// # Errors
    /// A file that does not parse.
    pub fn read(&self, folder: &str, suite: &str) -> Result<Option<Baseline>> {
        let path = self.path(folder, suite)?;
        read_text(&path)?
            .map(|text| parse_baseline(&path, &text))
            .transpose()
    }

    /// Replaces a baseline whole, or leaves the file alone when it already says this.
    ///
    /// # Errors
    /// The file cannot be written; the old one is intact.
    pub fn write(&self, folder: &str, baseline: &Baseline) -> Result<(PathBuf, Written)> {
        let path = self.path(folder, &baseline.suite)?;
        let text = baseline.render();
        let old = read_text(&path)?;
        let written = match &old {
            Some(old) if *old == text => return Ok((path, Written::Same)),
            Some(_) => Written::Replaced,
            None => Written::New,
        };
        self.lock.replace(&path, text.as_bytes())?;
        Ok((path, written))
    }
}

/// The folder whose files are this disk's; the one of its name is looked at first.
fn own_folder(dir: &Path, wanted: &Wanted<'_>) -> Result<Option<String>> {
    let mut like = None;
    for folder in folders(dir, wanted.name)? {
        let Some(identity) = identity_of_folder(&dir.join(&folder))? else {
            continue;
        };
        if wanted.is(&identity) {
            return Ok(Some(folder));
        }
        if like.is_none() && wanted.accepts(&identity) {
            like = Some(folder);
        }
    }
    Ok(like)
}

/// Names of the disks' folders, the wanted one first. Links are refused: they would lead writes elsewhere.
fn folders(dir: &Path, first: &str) -> Result<Vec<String>> {
    let first = names::disk(first, dir)?;
    let mut found = Vec::new();
    for name in names_in(dir)? {
        let path = dir.join(&name);
        if is_symlink(&path) {
            let what = "a symbolic link where a disk's folder is expected; put a real folder there";
            return Err(StoreError::bad(&path, what));
        }
        match name.into_string() {
            Ok(name) if path.is_dir() => found.push(name),
            _ => {}
        }
    }
    found.sort_by_key(|name| name != first);
    Ok(found)
}

/// Whose files lie in a folder, told by the first of them; `None` when it is empty or missing.
fn identity_of_folder(folder: &Path) -> Result<Option<Identity>> {
    for file in names_in(folder)? {
        let path = folder.join(&file);
        if path.extension().is_some_and(|e| e == "json") {
            return identity_in(&path);
        }
    }
    Ok(None)
}

/// The disk a baseline or candidate file names, whatever else stands in it; `None` when there is no file.
fn identity_in(path: &Path) -> Result<Option<Identity>> {
    #[derive(Deserialize)]
    struct Head {
        disk: Identity,
    }
    let Some(text) = read_text(path)? else {
        return Ok(None);
    };
    match serde_json::from_str::<Head>(&text) {
        Ok(head) => Ok(Some(head.disk)),
        // The whole parser has the better words for what is wrong.
        Err(e) => Err(parse_baseline(path, &text)
            .err()
            .unwrap_or_else(|| StoreError::bad(path, e.to_string()))),
    }
}

/// Reads and parses a file known to exist.
fn load(path: PathBuf, folder: String) -> Result<Box<Stored>> {
    let baseline = read_baseline(&path)?;
    Ok(Box::new(Stored {
        path,
        folder,
        baseline,
    }))
}

/// The baseline in a file known to exist.
///
/// # Errors
/// The file cannot be read or does not parse.
pub fn read_baseline(path: &Path) -> Result<Baseline> {
    let text = fs::read_to_string(path).map_err(StoreError::io("read", path))?;
    parse_baseline(path, &text)
}

/// Text to baseline.
fn parse_baseline(path: &Path, text: &str) -> Result<Baseline> {
    Baseline::parse(path, text).map_err(|e| StoreError::Content(Box::new(e)))
}

#[cfg(test)]
#[path = "baselines_tests.rs"]
mod tests;
