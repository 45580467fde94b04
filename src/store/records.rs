//! Records: the whole story of each test, written and synced before any exit code can tell of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::replace::FolderLock;
use super::{Places, Result, StoreError, names, names_in, read_text};
use crate::facts::Identity;
use crate::record::{Record, SCHEMA};
use crate::verdict::Verdict;

/// File beside the runs that names the newest.
const LAST: &str = "last";

/// The records of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Records {
    dir: PathBuf,
}

impl Records {
    /// Records of `run`: the folder `IOGATE_RECORD_DIR` names, else `<records>/<run>`. Creates nothing.
    #[must_use]
    pub fn of(places: &Places, run: &str) -> Self {
        let dir = match &places.record_dir {
            Some(dir) => dir.clone(),
            None => places.records_dir.join(names::encode(run)),
        };
        Self { dir }
    }

    /// Records of the newest run; `None` before the first.
    ///
    /// # Errors
    /// The file that names it cannot be read.
    pub fn last(places: &Places) -> Result<Option<Self>> {
        let Some(text) = read_text(&places.records_dir.join(LAST))? else {
            return Ok(None);
        };
        // Encoded again, so that an edited file leads to no other place.
        let dir = places.records_dir.join(names::encode(text.trim()));
        Ok(dir.is_dir().then_some(Self { dir }))
    }

    /// Notes this run as the newest, when its folder lies among the runs.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set_last(&self, places: &Places) -> Result<()> {
        let name = self.dir.file_name().and_then(|n| n.to_str());
        let (Some(name), true) = (name, self.dir.parent() == Some(&places.records_dir)) else {
            return Ok(());
        };
        let lock = FolderLock::take(&places.records_dir)?;
        lock.replace(&places.records_dir.join(LAST), name.as_bytes())
    }

    /// Where the records lie.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the record of one test lies.
    #[must_use]
    pub fn path(&self, suite: &str, test: &str) -> PathBuf {
        self.dir.join(names::test_file(suite, test))
    }

    /// Writes and syncs one record; a second session's replaces the first's, whose sessions it carries.
    ///
    /// # Errors
    /// The file cannot be written; an older record is intact.
    pub fn write(&self, record: &Record) -> Result<PathBuf> {
        let path = self.path(&record.suite, &record.test);
        let lock = FolderLock::take(&self.dir)?;
        lock.replace(&path, &render(&path, record)?)?;
        Ok(path)
    }

    /// The record of one test, to be continued by a confirming process; `None` when there is none yet.
    ///
    /// # Errors
    /// A file that does not parse.
    pub fn read(&self, suite: &str, test: &str) -> Result<Option<Record>> {
        read_record(&self.path(suite, test))
    }

    /// Every record of the run with its file, in the order the tests started.
    ///
    /// # Errors
    /// A file that does not parse.
    pub fn read_all(&self) -> Result<Vec<(PathBuf, Record)>> {
        let mut all = Vec::new();
        for name in names_in(&self.dir)? {
            let path = self.dir.join(name);
            if path.extension().is_some_and(|e| e == "json")
                && let Some(record) = read_record(&path)?
            {
                all.push((path, record));
            }
        }
        all.sort_by(|(_, a), (_, b)| a.window[0].total_cmp(&b.window[0]));
        Ok(all)
    }

    /// The newest records of one test over all runs that could run it, newest first, at most `count`; unreadable ones
    /// are left out, since an old file must not stop a new run.
    #[must_use]
    pub fn history(places: &Places, suite: &str, test: &str, count: usize) -> Vec<Record> {
        let file = names::test_file(suite, test);
        let runs = names_in(&places.records_dir).unwrap_or_default();
        let mut found: Vec<(SystemTime, PathBuf)> = runs
            .into_iter()
            .map(|run| places.records_dir.join(run).join(&file))
            .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)))
            .collect();
        found.sort_by(|a, b| b.cmp(a));
        let records = found.iter().filter_map(|(_, path)| read_record(path).ok()?);
        let ran = |r: &Record| r.judgement.verdict != Verdict::Skipped;
        records.filter(ran).take(count).collect()
    }
}

/// The last trial on this disk.
///
/// # Errors
/// A file that does not parse.
pub fn last_trial(places: &Places, disk: &Identity) -> Result<Option<Record>> {
    read_record(&trial_path(places, disk))
}

/// Keeps a trial as the last one on its disk. A record without facts has no disk and is not kept.
///
/// # Errors
/// The file cannot be written.
pub fn store_trial(places: &Places, record: &Record) -> Result<()> {
    let Some(facts) = &record.facts else {
        return Ok(());
    };
    let path = trial_path(places, &facts.identity);
    let lock = FolderLock::take(&places.work_dir)?;
    lock.replace(&path, &render(&path, record)?)
}

/// One file a disk: a name and enough of the hash to tell twins apart.
fn trial_path(places: &Places, disk: &Identity) -> PathBuf {
    let hash: String = disk.hash.chars().take(16).collect();
    let name = names::encode(&format!("{}-{hash}", disk.name));
    places.work_dir.join("trials").join(name + ".json")
}

/// Reads one record; `None` when there is no file.
fn read_record(path: &Path) -> Result<Option<Record>> {
    let Some(text) = read_text(path)? else {
        return Ok(None);
    };
    let record: Record = serde_json::from_str(&text)
        .map_err(|e| StoreError::bad(path, format!("not a record of this version: {e}")))?;
    if record.schema > SCHEMA {
        let what = format!(
            "schema {} is newer than {SCHEMA}, the newest this version knows",
            record.schema
        );
        return Err(StoreError::bad(path, what));
    }
    Ok(Some(record))
}

/// Record to bytes.
fn render(path: &Path, record: &Record) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(record).map_err(|e| StoreError::bad(path, e.to_string()))?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Where;
    use crate::store::testing::{record, scratch};

    fn places() -> (tempfile::TempDir, Places) {
        let dir = scratch();
        let w = Where {
            iogate_root: Some(dir.path().to_owned()),
            ..Where::default()
        };
        let places = Places::find(&w).unwrap();
        (dir, places)
    }

    #[test]
    fn a_record_comes_back_as_it_was_for_the_confirming_process() {
        let (_dir, places) = places();
        let run = Records::of(&places, "17-42");
        assert_eq!(run.read("seq", "a::b").unwrap(), None);
        let record = record("seq", "a::b", "A1", 5.0);
        let path = run.write(&record).unwrap();
        assert_eq!(path, places.records_dir.join("17-42/seq--a%3A%3Ab.json"));
        assert_eq!(
            Records::of(&places, "17-42").read("seq", "a::b").unwrap(),
            Some(record)
        );
    }

    #[test]
    fn records_are_listed_in_the_order_the_tests_started() {
        let (_dir, places) = places();
        let run = Records::of(&places, "r");
        for (test, start) in [("a", 3.0), ("b", 1.0), ("c", 2.0)] {
            run.write(&record("seq", test, "A1", start)).unwrap();
        }
        let all = run.read_all().unwrap();
        assert_eq!(
            all.iter().map(|(_, r)| r.test.as_str()).collect::<Vec<_>>(),
            ["b", "c", "a"]
        );
    }

    #[test]
    fn the_newest_run_is_found_and_an_edited_name_leads_nowhere() {
        let (dir, places) = places();
        assert_eq!(Records::last(&places).unwrap(), None);
        let run = Records::of(&places, "r1");
        run.write(&record("seq", "a", "A1", 1.0)).unwrap();
        run.set_last(&places).unwrap();
        assert_eq!(Records::last(&places).unwrap(), Some(run));
        fs::create_dir_all(dir.path().join("elsewhere")).unwrap();
        fs::write(places.records_dir.join(LAST), "../../../elsewhere").unwrap();
        assert_eq!(Records::last(&places).unwrap(), None);
    }

    #[test]
    fn a_record_folder_given_from_outside_is_the_runs_own() {
        let (dir, mut places) = places();
        places.record_dir = Some(dir.path().join("here"));
        let path = Records::of(&places, "r")
            .write(&record("seq", "a", "A1", 1.0))
            .unwrap();
        assert_eq!(path, dir.path().join("here/seq--a.json"));
        Records::of(&places, "r").set_last(&places).unwrap();
        assert_eq!(Records::last(&places).unwrap(), None);
    }

    #[test]
    fn history_is_newest_first_and_steps_over_broken_files() {
        let (_dir, places) = places();
        for (run, start) in [("z", 1.0), ("m", 2.0), ("a", 3.0)] {
            let path = Records::of(&places, run)
                .write(&record("seq", "t", "A1", start))
                .unwrap();
            let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(start as u64);
            fs::File::options()
                .write(true)
                .open(path)
                .unwrap()
                .set_modified(at)
                .unwrap();
        }
        fs::write(places.records_dir.join("m/seq--t.json"), "{").unwrap();
        let starts: Vec<_> = Records::history(&places, "seq", "t", 5)
            .iter()
            .map(|r| r.window[0])
            .collect();
        assert_eq!(starts, [3.0, 1.0]);
    }

    #[test]
    fn the_last_trial_is_kept_for_each_disk() {
        let (_dir, places) = places();
        assert_eq!(
            last_trial(&places, &crate::store::testing::disk("A1")).unwrap(),
            None
        );
        for (serial, start) in [("A1", 1.0), ("B2", 2.0), ("A1", 3.0)] {
            store_trial(&places, &record("sequential", "direct", serial, start)).unwrap();
        }
        let last = |serial| last_trial(&places, &crate::store::testing::disk(serial)).unwrap();
        assert_eq!(last("A1").unwrap().window[0], 3.0);
        assert_eq!(last("B2").unwrap().window[0], 2.0);
    }

    #[test]
    fn a_newer_schema_is_refused_by_name() {
        let (_dir, places) = places();
        let run = Records::of(&places, "r");
        let mut new = record("seq", "a", "A1", 1.0);
        new.schema = 99;
        run.write(&new).unwrap();
        let error = run.read("seq", "a").unwrap_err().to_string();
        assert!(
            error.contains("schema 99") && error.contains("seq--a.json"),
            "{error}"
        );
    }
}
