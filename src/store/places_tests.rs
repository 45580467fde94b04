use super::*;
use crate::store::testing::scratch;

const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55";

/// A workspace `ws` with a member `ws/crates/m`; `nested` makes the member a workspace of its own.
fn project(nested: bool) -> tempfile::TempDir {
    let dir = scratch();
    let member = dir.path().join("ws/crates/m");
    fs::create_dir_all(&member).unwrap();
    fs::write(
        dir.path().join("ws/Cargo.toml"),
        "workspace.members = ['crates/*']",
    )
    .unwrap();
    let own = if nested { "[workspace]\n" } else { "" };
    let text = format!("{own}[package]\nname = 'workspace-like'\n");
    fs::write(member.join("Cargo.toml"), text).unwrap();
    dir
}

fn from(dir: &Path, manifest: &str) -> Where {
    Where {
        manifest_dir: Some(dir.join(manifest)),
        cwd: dir.join(manifest),
        ..Where::default()
    }
}

#[test]
fn the_root_is_the_topmost_workspace_above_the_package() {
    for nested in [false, true] {
        let dir = project(nested);
        let places = Places::find(&from(dir.path(), "ws/crates/m")).unwrap();
        assert_eq!(places.root, dir.path().join("ws"));
        assert_eq!(
            places.pending_dir,
            dir.path().join("ws/target/iogate/pending")
        );
        assert_eq!(places.suites_dir, None);
    }
}

#[test]
fn a_package_without_a_workspace_is_its_own_root() {
    let dir = scratch();
    fs::create_dir(dir.path().join("p")).unwrap();
    fs::write(
        dir.path().join("p/Cargo.toml"),
        "[package]\nname = 'workspace'",
    )
    .unwrap();
    let places = Places::find(&from(dir.path(), "p")).unwrap();
    assert_eq!(
        (places.root, places.workspace),
        (dir.path().join("p"), true)
    );
}

#[test]
fn nextests_root_beats_ours_and_both_beat_the_manifest() {
    let dir = project(false);
    fs::create_dir(dir.path().join("other")).unwrap();
    let mut w = from(dir.path(), "ws/crates/m");
    w.iogate_root = Some(dir.path().join("other"));
    assert_eq!(Places::find(&w).unwrap().root, dir.path().join("other"));
    w.nextest_root = Some(dir.path().join("ws/crates"));
    assert_eq!(Places::find(&w).unwrap().root, dir.path().join("ws/crates"));
}

#[test]
fn a_named_root_that_is_no_directory_is_an_error_and_an_empty_one_is_unset() {
    let dir = project(false);
    let mut w = from(dir.path(), "ws/crates/m");
    w.iogate_root = Some(PathBuf::new());
    assert!(Places::find(&w).is_ok());
    w.iogate_root = Some(dir.path().join("gone"));
    let error = Places::find(&w).unwrap_err().to_string();
    assert!(
        error.contains("gone") && error.contains("IOGATE_WORKSPACE_ROOT"),
        "{error}"
    );
}

#[test]
fn the_target_directory_comes_from_the_first_source_that_knows() {
    let dir = project(false);
    let tagged = dir.path().join("tgt");
    fs::create_dir_all(tagged.join("x86/debug/deps")).unwrap();
    fs::write(tagged.join("CACHEDIR.TAG"), TAG).unwrap();
    let mut w = from(dir.path(), "ws/crates/m");
    let target = |w: &Where| Places::find(w).unwrap().target_dir;
    assert_eq!(target(&w), dir.path().join("ws/target"));
    w.cargo_target_dir = Some("rel".into());
    assert_eq!(target(&w), dir.path().join("ws/rel"));
    w.executable = Some(tagged.join("x86/debug/deps/gate-1"));
    assert_eq!(target(&w), tagged);
    fs::write(tagged.join("x86/CACHEDIR.TAG"), TAG).unwrap();
    assert_eq!(target(&w), tagged, "a triple's folder is tagged too");
    w.cargo_target_dir = Some(dir.path().join("abs"));
    assert_eq!(target(&w), dir.path().join("abs"));
    w.iogate_target_dir = Some(dir.path().join("ours"));
    assert_eq!(target(&w), dir.path().join("ours"));
}

#[test]
fn outside_a_workspace_state_lies_with_the_user_and_present_folders_are_used() {
    let dir = scratch();
    let w = Where {
        cwd: dir.path().to_owned(),
        home: Some("/home/u".into()),
        cargo_target_dir: Some("/elsewhere".into()),
        ..Where::default()
    };
    let places = Places::find(&w).unwrap();
    assert!(!places.workspace && places.suites_dir.is_none());
    assert_eq!(
        places.baselines_dir,
        Path::new("/home/u/.local/state/iogate/baselines")
    );
    assert_eq!(
        places.pending_dir,
        Path::new("/home/u/.local/state/iogate/pending")
    );
    fs::create_dir(dir.path().join("suites")).unwrap();
    let xdg = Where {
        xdg_state_home: Some("/state".into()),
        ..w
    };
    let places = Places::find(&xdg).unwrap();
    assert_eq!(places.suites_dir, Some(dir.path().join("suites")));
    assert_eq!(places.baselines_dir, dir.path().join("baselines"));
    assert_eq!(places.records_dir, Path::new("/state/iogate/records"));
}

#[test]
fn a_missing_configuration_is_none_and_an_unreadable_one_an_error_with_its_path() {
    let dir = project(false);
    let places = Places::find(&from(dir.path(), "ws/crates/m")).unwrap();
    assert_eq!(places.config_files().unwrap(), ConfigFiles::default());
    let config = dir.path().join("ws/.config");
    fs::create_dir(&config).unwrap();
    fs::write(config.join("iogate.toml"), "strict = true").unwrap();
    let text = places.config_files().unwrap().shared.unwrap();
    assert_eq!(
        (text.text.as_str(), text.path),
        ("strict = true", config.join("iogate.toml"))
    );
    fs::write(config.join("iogate.local.toml"), b"disk = \"\xff\"").unwrap();
    let error = places.config_files().unwrap_err().to_string();
    assert!(
        error.contains("iogate.local.toml") && error.contains("byte 8"),
        "{error}"
    );
    fs::remove_file(config.join("iogate.local.toml")).unwrap();
    fs::create_dir(config.join("iogate.local.toml")).unwrap();
    assert!(
        places
            .config_files()
            .unwrap_err()
            .to_string()
            .contains("regular file")
    );
}

#[test]
fn a_configured_suites_folder_must_exist_and_relative_ones_start_at_the_root() {
    let dir = project(false);
    let places = Places::find(&from(dir.path(), "ws/crates/m")).unwrap();
    let moved = places
        .clone()
        .with_dirs(Some(Path::new("crates")), Some(Path::new("./b")))
        .unwrap();
    assert_eq!(moved.suites_dir, Some(dir.path().join("ws/crates")));
    assert_eq!(moved.baselines_dir, dir.path().join("ws/b"));
    assert!(places.with_dirs(Some(Path::new("none")), None).is_err());
}
