//! Suite files: which there are, and their text.

use std::fs;
use std::path::Path;

use super::names::is_suite_name;
use super::{Places, Result, StoreError, names_in, read_text};

/// Suites compiled into the binary: name and text, sorted by name.
pub type Embedded = [(&'static str, &'static str)];

/// A suite file as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteText {
    /// The file's stem.
    pub name: String,
    /// Its path as messages print it; `embedded:<name>.toml` for a compiled-in one.
    pub origin: String,
    /// What stands in it.
    pub text: String,
}

/// Names of every suite, sorted. Other files than `*.toml` and hidden ones are none of ours.
///
/// # Errors
/// A `*.toml` that is a link or a folder, or whose name cannot be part of a test's name.
pub fn suite_names(places: &Places, embedded: &Embedded) -> Result<Vec<String>> {
    let Some(dir) = &places.suites_dir else {
        return Ok(embedded
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect());
    };
    let mut names = Vec::new();
    for file in names_in(dir)? {
        let path = Path::new(&file);
        let extension = path.extension().unwrap_or_default();
        if !extension.eq_ignore_ascii_case("toml") {
            continue;
        }
        let stem = path
            .file_stem()
            .and_then(|s| s.to_str())
            .unwrap_or_default();
        if extension != "toml" || !is_suite_name(stem) {
            let what = "expected a name of letters, digits, `_` and `-` before `.toml`; rename it";
            return Err(StoreError::bad(&dir.join(path), what));
        }
        names.push(stem.to_owned());
    }
    // `a-b.toml` sorts before `a.toml`, `a` before `a-b`: tests are listed by the name people see.
    names.sort();
    Ok(names)
}

/// One suite's text without looking at the others; `None` when there is no such suite.
///
/// # Errors
/// A file that is there and is no readable regular file.
pub fn suite_text(places: &Places, embedded: &Embedded, name: &str) -> Result<Option<SuiteText>> {
    let Some(dir) = &places.suites_dir else {
        let found = embedded.iter().find(|(known, _)| *known == name);
        return Ok(found.map(|(name, text)| SuiteText {
            name: (*name).to_owned(),
            origin: format!("embedded:{name}.toml"),
            text: (*text).to_owned(),
        }));
    };
    if !is_suite_name(name) {
        return Ok(None);
    }
    let path = dir.join(format!("{name}.toml"));
    if fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_file()) {
        let what = "expected a regular file, not a link or folder; put the file itself there";
        return Err(StoreError::bad(&path, what));
    }
    Ok(read_text(&path)?.map(|text| SuiteText {
        name: name.to_owned(),
        origin: path.display().to_string(),
        text,
    }))
}

/// Every suite's text, sorted by name.
///
/// # Errors
/// As [`suite_names`] and [`suite_text`].
pub fn suite_texts(places: &Places, embedded: &Embedded) -> Result<Vec<SuiteText>> {
    let names = suite_names(places, embedded)?;
    let texts = names.iter().map(|name| suite_text(places, embedded, name));
    texts.filter_map(Result::transpose).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::store::testing::scratch;
    use crate::store::{Places, Where};

    const BUILT_IN: &Embedded = &[("smoke", "about = ''")];

    fn project() -> (tempfile::TempDir, Places, PathBuf) {
        let dir = scratch();
        let suites = dir.path().join("suites");
        fs::create_dir(&suites).unwrap();
        let w = Where {
            iogate_root: Some(dir.path().to_owned()),
            ..Where::default()
        };
        let places = Places::find(&w).unwrap();
        (dir, places, suites)
    }

    #[test]
    fn suites_are_listed_by_name_and_other_files_left_alone() {
        let (_dir, places, suites) = project();
        for name in ["b.toml", "a-b.toml", "a.toml", "README.md", ".#a.toml"] {
            fs::write(suites.join(name), name).unwrap();
        }
        assert_eq!(suite_names(&places, BUILT_IN).unwrap(), ["a", "a-b", "b"]);
        let texts = suite_texts(&places, BUILT_IN).unwrap();
        assert_eq!(texts[0].text, "a.toml");
        assert_eq!(texts[0].origin, suites.join("a.toml").display().to_string());
    }

    #[cfg(unix)]
    #[test]
    fn an_odd_name_a_link_or_a_folder_is_an_error_with_its_path() {
        for odd in ["a b.toml", "ä.toml", "a.b.toml", "A.TOML"] {
            let (_dir, places, suites) = project();
            fs::write(suites.join(odd), "").unwrap();
            let error = suite_names(&places, BUILT_IN).unwrap_err().to_string();
            assert!(error.contains(odd), "{error}");
        }
        let (_dir, places, suites) = project();
        fs::write(suites.join("real"), "").unwrap();
        std::os::unix::fs::symlink(suites.join("real"), suites.join("link.toml")).unwrap();
        fs::create_dir(suites.join("folder.toml")).unwrap();
        for name in ["link", "folder"] {
            let error = suite_text(&places, BUILT_IN, name).unwrap_err().to_string();
            assert!(error.contains(&format!("{name}.toml")), "{error}");
        }
        assert!(suite_texts(&places, BUILT_IN).is_err());
    }

    #[test]
    fn one_suite_is_read_without_the_others_and_a_path_is_no_name() {
        let (dir, places, suites) = project();
        fs::write(suites.join("good.toml"), "x").unwrap();
        fs::write(suites.join("a b.toml"), "").unwrap();
        fs::write(dir.path().join("Cargo.toml"), "").unwrap();
        assert_eq!(
            suite_text(&places, BUILT_IN, "good").unwrap().unwrap().text,
            "x"
        );
        for none in ["missing", "../Cargo", "", "smoke"] {
            assert_eq!(suite_text(&places, BUILT_IN, none).unwrap(), None, "{none}");
        }
    }

    #[test]
    fn without_a_folder_the_embedded_suites_are_used() {
        let (_dir, mut places, _) = project();
        places.suites_dir = None;
        assert_eq!(suite_names(&places, BUILT_IN).unwrap(), ["smoke"]);
        let text = suite_text(&places, BUILT_IN, "smoke").unwrap().unwrap();
        assert_eq!(text.origin, "embedded:smoke.toml");
        assert_eq!(suite_text(&places, BUILT_IN, "other").unwrap(), None);
    }
}
