//! Throw-away projects: a folder with suites, and on demand a cargo package that uses the harness.
//!
//! A package keeps one path per test and checkout, so that cargo finds its artefacts again instead of piling up new
//! ones; a lock on the folder above keeps two runs of one checkout apart. Intermediate artefacts are shared with the
//! build that runs these tests; the target folder, where candidates lie, is each project's own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::command::Program;
use super::{cargo, cargo_iogate, gate, root, target_dir};

/// A folder of suites; gone when dropped.
pub(crate) struct Project {
    folder: PathBuf,
}

/// A pair of legs small enough for a test: 22 rounds are under 100 MiB.
pub(crate) const SMALL_PAIR: &str = r#"
about = "A small pair for the tests of the harness."
[[test]]
name = "pair"
pair = ["read", "write"]
size = "32MiB"
leg = "2MiB"
block = "128KiB"
"#;

/// Three tests without I/O.
pub(crate) const NULLS: &str = r#"
about = "Nothing is read or written."
[[test]]
name = "seq"
rw = "read"
engine = "null"
size = "32MiB"
leg = "2MiB"
[[test]]
name = "rand"
rw = "randread"
engine = "null"
size = "32MiB"
leg = "2MiB"
[[test]]
name = "other"
rw = "write"
engine = "null"
size = "32MiB"
leg = "2MiB"
"#;

impl Project {
    /// A folder with these files and no package: the command measures its suites itself.
    #[track_caller]
    pub(crate) fn bare(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = shelter().join(name);
        let project = Self { folder };
        project.write(&files.iter().copied().collect());
        project
    }

    /// A cargo package, its own workspace, with a test target `gate` and these files.
    #[track_caller]
    pub(crate) fn package(name: &str, files: &[(&str, &str)]) -> Self {
        let manifest = format!(
            "[package]\nname = \"sample\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dev-dependencies]\niogate = {{ path = {:?} }}\n\n\
             [[test]]\nname = \"gate\"\nharness = false\n\n\
             [profile.dev]\nopt-level = 1\ndebug = \"line-tables-only\"\n",
            root()
        );
        let lock =
            fs::read_to_string(root().join("Cargo.lock")).expect("the lock file of this package");
        let mut all: BTreeMap<&str, &str> = BTreeMap::from([
            ("Cargo.toml", manifest.as_str()),
            ("Cargo.lock", lock.as_str()),
            ("src/lib.rs", ""),
            (
                "tests/gate.rs",
                "fn main() -> std::process::ExitCode {\n    iogate::main()\n}\n",
            ),
        ]);
        all.extend(files.iter().copied());
        let project = Self {
            folder: shelter().join(name),
        };
        project.write(&all);
        project
    }

    #[track_caller]
    fn write(&self, files: &BTreeMap<&str, &str>) {
        fs::create_dir_all(&self.folder).expect("a folder for the project");
        for (name, text) in files {
            self.put(name, text);
        }
    }

    /// Writes one file.
    #[track_caller]
    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().expect("a file lies in a folder"))
            .expect("a folder to write in");
        fs::write(&path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Every file below one of its folders with its bytes; nothing when there is no such folder.
    pub(crate) fn contents(&self, folder: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let folder = self.folder.join(folder);
        if !folder.is_dir() {
            return BTreeMap::new();
        }
        let files = super::disk::files_below(&folder).into_iter();
        files
            .map(|f| (f.clone(), fs::read(&f).unwrap_or_default()))
            .collect()
    }

    /// Candidates of the harness and the command, parsed.
    pub(crate) fn pending(&self) -> Vec<serde_json::Value> {
        // Outside a workspace the state folder takes the place of the target folder.
        let mut files = self.contents("target/iogate/pending");
        files.extend(self.contents("state/iogate/pending"));
        let json = files
            .iter()
            .filter(|(path, _)| path.extension().is_some_and(|e| e == "json"));
        json.map(|(path, text)| {
            serde_json::from_slice(text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        })
        .collect()
    }

    /// `[start, end]` of every pending session, in seconds.
    pub(crate) fn windows(&self) -> Vec<[f64; 2]> {
        let files = self.pending();
        let sessions = files
            .iter()
            .flat_map(|f| f["sessions"].as_array().expect("sessions").clone());
        let mut windows: Vec<_> = sessions
            .map(|s| {
                let start = s["session"]["started"].as_f64().expect("a start");
                [
                    start,
                    start + s["session"]["seconds"].as_f64().expect("a length"),
                ]
            })
            .collect();
        windows.sort_by(|a, b| a[0].total_cmp(&b[0]));
        windows
    }

    /// The report file of the last run, held against the schema the command publishes.
    #[track_caller]
    pub(crate) fn report(&self) -> serde_json::Value {
        static SCHEMA: OnceLock<serde_json::Value> = OnceLock::new();
        let schema = SCHEMA.get_or_init(|| {
            let printed = cargo_iogate().args(["schema", "report"]).run().success();
            serde_json::from_str(&printed.stdout).expect("a schema in JSON")
        });
        let places = ["target/iogate/report.json", "state/iogate/report.json"];
        let text = places.iter().find_map(|p| fs::read(self.path(p)).ok());
        let report: serde_json::Value =
            serde_json::from_slice(&text.expect("a report file")).expect("a report in JSON");
        let validator = jsonschema::validator_for(schema).expect("a sound schema");
        let faults: Vec<String> = validator
            .iter_errors(&report)
            .map(|e| e.to_string())
            .collect();
        assert!(faults.is_empty(), "{faults:?}\n{report:#}");
        report
    }

    fn at(&self, program: Program) -> Program {
        program
            .current_dir(&self.folder)
            .env("IOGATE_GAP", "0s")
            .env("CARGO_TARGET_DIR", self.path("target"))
            .env("CARGO_BUILD_BUILD_DIR", target_dir().0)
            .env("XDG_STATE_HOME", self.path("state"))
            .seconds(180)
    }

    /// The gate's executable as cargo would start it for this project, without a build.
    #[track_caller]
    pub(crate) fn gate(&self) -> Program {
        if !self.path("Cargo.toml").exists() {
            self.put("Cargo.toml", "[workspace]\n");
        }
        self.at(gate()).env("CARGO_MANIFEST_DIR", &self.folder)
    }

    /// `cargo-iogate` in this folder.
    pub(crate) fn iogate(&self) -> Program {
        self.at(cargo_iogate())
    }

    /// `cargo VERB` in this folder.
    pub(crate) fn cargo(&self, verb: &str) -> Program {
        self.at(cargo(verb)).seconds(600)
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The folder of this checkout's projects and its lock, once a test asked for it.
static SHELTER: OnceLock<(PathBuf, File)> = OnceLock::new();

/// Removes the folder of this run's projects; to be called when the last test has ended.
pub(crate) fn leave() {
    if let Some((folder, _lock)) = SHELTER.get() {
        let _ = fs::remove_dir_all(folder);
        let _ = fs::remove_file(folder.with_extension("lock"));
    }
}

/// The folder of this checkout's projects, this run's alone; leftovers of a killed one go.
fn shelter() -> &'static Path {
    let (folder, _lock) = SHELTER.get_or_init(|| {
        let mut hasher = DefaultHasher::new();
        root().hash(&mut hasher);
        let name = format!("iogate-it-{:08x}", hasher.finish() & 0xffff_ffff);
        let folder = std::env::temp_dir().join(&name);
        let lock = File::create(std::env::temp_dir().join(name + ".lock")).expect("a lock file");
        lock.lock().expect("the lock of this checkout's tests");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder for throw-away projects");
        (folder, lock)
    });
    folder
}
