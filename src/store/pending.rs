//! Candidates: the sessions a run leaves behind for `accept`, one file a test.

use std::fs;
use std::path::{Path, PathBuf};

use super::replace::FolderLock;
use super::{
    Places, Result, StoreError, folder_for_writing, is_symlink, names, names_in, read_text,
};
use crate::baseline::{Candidate, CandidateSession, SCHEMA};
use crate::facts::Identity;

/// Sessions kept of one test; the oldest go first. Nobody accepts more, and a gate that runs for a year must not
/// fill the target directory.
const KEEP: usize = 64;

/// The folder of candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    dir: PathBuf,
}

/// One test's candidate with the file it lies in.
#[derive(Debug, Clone, PartialEq)]
pub struct Leftover {
    /// Where it was read.
    pub path: PathBuf,
    /// What it says.
    pub candidate: Candidate,
}

impl Pending {
    /// The candidates of this checkout.
    #[must_use]
    pub fn of(places: &Places) -> Self {
        Self {
            dir: places.pending_dir.clone(),
        }
    }

    /// Adds a session to its test's file. `test` is the suite's name and the test's within it; the session's text
    /// hash and `mount_point` become the candidate's.
    ///
    /// # Errors
    /// The file cannot be read, parsed or written; what was there stays.
    pub fn append(
        &self,
        disk: &Identity,
        test: (&str, &str),
        mount_point: Option<String>,
        session: CandidateSession,
    ) -> Result<PathBuf> {
        let (suite, test) = test;
        let lock = FolderLock::take(&self.dir)?;
        let folder = folder_for_writing(&self.dir, disk, false)?;
        let path = self.dir.join(folder).join(names::test_file(suite, test));
        let mut candidate = read_candidate(&path)?.unwrap_or_else(|| Candidate {
            schema: SCHEMA,
            suite: suite.to_owned(),
            test: test.to_owned(),
            disk: disk.clone(),
            text: String::new(),
            mount_point: None,
            sessions: Vec::new(),
        });
        candidate.text.clone_from(&session.text);
        candidate.mount_point = mount_point;
        // A process that wrote, was told it failed and tries again must not count twice.
        candidate
            .sessions
            .retain(|old| old.session.id != session.session.id);
        candidate.sessions.push(session);
        let surplus = candidate.sessions.len().saturating_sub(KEEP);
        candidate.sessions.drain(..surplus);
        lock.replace(&path, candidate.render().as_bytes())?;
        Ok(path)
    }

    /// Every candidate, by folder and file name.
    ///
    /// # Errors
    /// A file that does not parse.
    pub fn read_all(&self) -> Result<Vec<Leftover>> {
        pending_from(&self.dir)
    }

    /// Takes the sessions of an accepted candidate out of its file; one that a run added meanwhile stays.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn clear(&self, taken: &Leftover) -> Result<()> {
        let lock = FolderLock::take(&self.dir)?;
        let path = &taken.path;
        if !path.starts_with(&self.dir) {
            // Brought from elsewhere (`--from`): not ours to change.
            return Ok(());
        }
        let Some(mut now) = read_candidate(path)? else {
            return Ok(());
        };
        let gone = |id: &str| taken.candidate.sessions.iter().any(|s| s.session.id == id);
        now.sessions.retain(|s| !gone(&s.session.id));
        if !now.sessions.is_empty() {
            return lock.replace(path, now.render().as_bytes());
        }
        fs::remove_file(path).map_err(StoreError::io("remove", path))?;
        if let Some(folder) = path.parent() {
            // Fails while other tests' files lie there, as it should.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }
}

/// Candidates below any folder, such as one brought from a CI runner: `DIR/*.json` and `DIR/<disk>/*.json`.
///
/// # Errors
/// A missing folder when it is not this checkout's own, a link, a file that does not parse.
pub fn pending_from(dir: &Path) -> Result<Vec<Leftover>> {
    let mut files = Vec::new();
    for name in names_in(dir)? {
        let path = dir.join(name);
        if is_symlink(&path) {
            let what = "a symbolic link among candidates; copy the file itself there";
            return Err(StoreError::bad(&path, what));
        }
        if path.is_dir() {
            files.extend(names_in(&path)?.into_iter().map(|name| path.join(name)));
        } else {
            files.push(path);
        }
    }
    files.retain(|path| path.extension().is_some_and(|e| e == "json") && !path.is_dir());
    let mut all = Vec::new();
    for path in files {
        if let Some(candidate) = read_candidate(&path)? {
            all.push(Leftover { path, candidate });
        }
    }
    Ok(all)
}

/// Reads one file; `None` when there is none.
fn read_candidate(path: &Path) -> Result<Option<Candidate>> {
    let Some(text) = read_text(path)? else {
        return Ok(None);
    };
    Candidate::parse(path, &text)
        .map(Some)
        .map_err(|e| StoreError::Content(Box::new(e)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Where;
    use crate::store::testing::{disk, scratch, session};

    fn places() -> (tempfile::TempDir, Places) {
        let dir = scratch();
        let w = Where {
            iogate_root: Some(dir.path().to_owned()),
            ..Where::default()
        };
        let places = Places::find(&w).unwrap();
        (dir, places)
    }

    fn append(places: &Places, serial: &str, test: (&str, &str), id: &str) -> PathBuf {
        let pending = Pending::of(places);
        pending
            .append(&disk(serial), test, Some("ab".into()), session(id))
            .unwrap()
    }

    fn ids(leftover: &Leftover) -> Vec<&str> {
        let sessions = leftover.candidate.sessions.iter();
        sessions.map(|s| s.session.id.as_str()).collect()
    }

    #[test]
    fn sessions_of_one_test_gather_in_one_file_in_order() {
        let (_dir, places) = places();
        let path = append(&places, "A1", ("seq", "readers::workers-5"), "1");
        append(&places, "A1", ("seq", "readers::workers-5"), "2");
        append(&places, "A1", ("seq", "direct"), "3");
        assert!(path.ends_with("acme-1GiB-ext4/seq--readers%3A%3Aworkers-5.json"));
        let all = Pending::of(&places).read_all().unwrap();
        assert_eq!(
            all.iter().map(ids).collect::<Vec<_>>(),
            [vec!["3"], vec!["1", "2"]]
        );
        assert_eq!(all[1].candidate.text, "t1");
    }

    #[test]
    fn twins_have_folders_of_their_own() {
        let (_dir, places) = places();
        let one = append(&places, "A1", ("seq", "t"), "1");
        let two = append(&places, "B2", ("seq", "t"), "2");
        assert_ne!(one.parent(), two.parent());
        assert_eq!(append(&places, "B2", ("seq", "t"), "3"), two);
    }

    #[test]
    fn a_session_that_comes_during_an_accept_is_not_lost() {
        let (_dir, places) = places();
        append(&places, "A1", ("seq", "t"), "1");
        let pending = Pending::of(&places);
        let taken = pending.read_all().unwrap().remove(0);
        let path = append(&places, "A1", ("seq", "t"), "2");
        pending.clear(&taken).unwrap();
        let left = pending.read_all().unwrap();
        assert_eq!(ids(&left[0]), ["2"]);
        pending.clear(&left[0]).unwrap();
        assert!(!path.exists() && !path.parent().unwrap().exists());
        pending.clear(&left[0]).unwrap();
    }

    #[test]
    fn processes_that_append_at_once_lose_nothing() {
        let (_dir, places) = places();
        std::thread::scope(|scope| {
            for n in 0..4 {
                let places = &places;
                scope.spawn(move || {
                    for i in 0..10 {
                        append(places, "A1", ("seq", "t"), &format!("{n}-{i}"));
                    }
                });
            }
        });
        assert_eq!(
            Pending::of(&places).read_all().unwrap()[0]
                .candidate
                .sessions
                .len(),
            40
        );
    }

    #[test]
    fn the_oldest_sessions_go_and_a_repeated_one_counts_once() {
        let (_dir, places) = places();
        for i in 0..KEEP + 3 {
            append(&places, "A1", ("seq", "t"), &i.to_string());
        }
        append(&places, "A1", ("seq", "t"), "10");
        let all = Pending::of(&places).read_all().unwrap();
        let ids = ids(&all[0]);
        assert_eq!((ids.len(), ids[0], *ids.last().unwrap()), (KEEP, "3", "10"));
    }

    #[test]
    fn candidates_brought_from_elsewhere_are_read_and_never_removed() {
        let (dir, places) = places();
        let path = append(&places, "A1", ("seq", "t"), "1");
        let brought = dir.path().join("artifact");
        fs::create_dir(&brought).unwrap();
        fs::copy(&path, brought.join("seq--t.json")).unwrap();
        let all = pending_from(&brought).unwrap();
        assert_eq!(ids(&all[0]), ["1"]);
        Pending::of(&places).clear(&all[0]).unwrap();
        assert!(brought.join("seq--t.json").exists() && path.exists());
    }

    #[test]
    fn a_broken_or_newer_candidate_is_named_and_left_alone() {
        let (_dir, places) = places();
        let path = append(&places, "A1", ("seq", "t"), "1");
        let good = fs::read_to_string(&path).unwrap();
        for bad in [
            "",
            "{",
            &good.replacen("\"schema\": 1", "\"schema\": 99", 1),
        ] {
            fs::write(&path, bad).unwrap();
            let error = Pending::of(&places).read_all().unwrap_err().to_string();
            assert!(error.contains("seq--t.json"), "{error}");
            let again = Pending::of(&places).append(
                &disk("A1"),
                ("seq", "t"),
                Some("ab".into()),
                session("2"),
            );
            assert!(again.is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), bad);
        }
    }
}
