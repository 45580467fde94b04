use std::fs;

use super::*;
use crate::store::testing::{baseline, disk, hash, scratch, session};
use crate::store::{Pending, Where};

fn places() -> (tempfile::TempDir, Places) {
    let dir = scratch();
    let w = Where {
        iogate_root: Some(dir.path().to_owned()),
        ..Where::default()
    };
    let places = Places::find(&w).unwrap();
    (dir, places)
}

fn accept(places: &Places, folder: &str, suite: &str, serial: &str) -> Written {
    let lock = BaselinesLock::take(places).unwrap();
    lock.write(folder, &baseline(suite, disk(serial)))
        .unwrap()
        .1
}

/// Looks for the disk with this serial as an attached one.
fn find(places: &Places, suite: &str, serial: &str, by_model: bool) -> Result<Found> {
    let hash = |salt: &str| hash(salt, serial);
    let me = disk(serial);
    let wanted = Wanted {
        name: &me.name,
        model: &me.model,
        by_model,
        who: Who::Attached(&hash),
    };
    find_baseline(places, suite, &wanted)
}

fn folder_of(found: Result<Found>) -> String {
    match found.unwrap() {
        Found::Baseline(stored) => stored.folder,
        other => panic!("{other:?}"),
    }
}

const NAME: &str = "acme-1GiB-ext4";

#[test]
fn nothing_accepted_is_none() {
    let (_dir, places) = places();
    assert_eq!(find(&places, "seq", "A1", false).unwrap(), Found::None);
    assert!(!places.baselines_dir.exists(), "looking makes nothing");
}

#[test]
fn a_disk_is_found_in_its_folder_and_in_a_renamed_one() {
    let (_dir, places) = places();
    accept(&places, "renamed", "seq", "A1");
    assert_eq!(folder_of(find(&places, "seq", "A1", false)), "renamed");
    assert_eq!(find(&places, "rand", "A1", false).unwrap(), Found::None);
}

#[test]
fn twins_are_told_apart_by_hash_whatever_their_folders() {
    let (_dir, places) = places();
    accept(&places, NAME, "seq", "A1");
    let Found::OtherDisk { path, identity } = find(&places, "seq", "B2", false).unwrap() else {
        panic!("expected the other disk")
    };
    assert_eq!(identity.hash, disk("A1").hash);
    assert!(path.ends_with("acme-1GiB-ext4/seq.json"));
    let own = folder_for_writing(&places.baselines_dir, &disk("B2"), false).unwrap();
    assert_eq!(own, format!("{NAME}-{}", &disk("B2").hash[..6]));
    accept(&places, &own, "seq", "B2");
    assert_eq!(folder_of(find(&places, "seq", "B2", false)), own);
    assert_eq!(folder_of(find(&places, "seq", "A1", false)), NAME);
    // B2 is known now: that its twin alone has `rand` is no contradiction.
    accept(&places, NAME, "rand", "A1");
    assert_eq!(find(&places, "rand", "B2", false).unwrap(), Found::None);
}

#[test]
fn by_model_a_twin_will_do_and_the_disk_itself_is_preferred() {
    let (_dir, places) = places();
    accept(&places, NAME, "seq", "A1");
    assert_eq!(folder_of(find(&places, "seq", "B2", true)), NAME);
    accept(&places, "z-own", "seq", "B2");
    assert_eq!(folder_of(find(&places, "seq", "B2", true)), "z-own");
    let mut foreign = disk("C3");
    foreign.model = "OTHER".into();
    let found = find_baseline(&places, "seq", &Wanted::of(&foreign, true)).unwrap();
    assert!(matches!(found, Found::OtherDisk { .. }), "{found:?}");
}

#[test]
fn a_broken_file_is_an_error_with_its_path_and_never_nothing_accepted() {
    let (_dir, places) = places();
    for (folder, text) in [
        (NAME, "<<<<<<< HEAD\n{}"),
        ("elsewhere", "{\"schema\": 1}"),
        (NAME, ""),
    ] {
        let path = places.baselines_dir.join(folder).join("seq.json");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let error = find(&places, "seq", "A1", false).unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()), "{error}");
        fs::remove_file(path).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn hostile_names_and_links_leave_the_folder_alone() {
    let (dir, places) = places();
    let lock = BaselinesLock::take(&places).unwrap();
    for folder in ["..", "../../x", "", "a/b", "\u{1b}[2J"] {
        assert!(
            lock.write(folder, &baseline("seq", disk("A1"))).is_err(),
            "{folder:?}"
        );
    }
    assert!(lock.write(NAME, &baseline("../seq", disk("A1"))).is_err());
    assert!(find(&places, "../seq", "A1", false).is_err());
    std::os::unix::fs::symlink(dir.path(), places.baselines_dir.join(NAME)).unwrap();
    assert!(lock.write(NAME, &baseline("seq", disk("A1"))).is_err());
    assert!(find(&places, "seq", "A1", false).is_err());
    assert!(!dir.path().join("seq.json").exists());
}

#[test]
fn writing_the_same_again_does_not_touch_the_file() {
    let (_dir, places) = places();
    assert_eq!(accept(&places, NAME, "seq", "A1"), Written::New);
    let path = places.baselines_dir.join(NAME).join("seq.json");
    let before = fs::metadata(&path).unwrap();
    assert_eq!(accept(&places, NAME, "seq", "A1"), Written::Same);
    let after = fs::metadata(&path).unwrap();
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    let lock = BaselinesLock::take(&places).unwrap();
    let mut changed = lock.read(NAME, "seq").unwrap().unwrap();
    changed.disk.by = "wwid".into();
    assert_eq!(lock.write(NAME, &changed).unwrap().1, Written::Replaced);
    assert_eq!(lock.read(NAME, "seq").unwrap().unwrap(), changed);
}

#[test]
fn the_salt_is_the_baselines_then_the_candidates_then_the_checkouts_own() {
    let (_dir, places) = places();
    let salt_of = |serial: &str| {
        let hash = |salt: &str| hash(salt, serial);
        let wanted = Wanted {
            name: NAME,
            model: "ACME",
            by_model: false,
            who: Who::Attached(&hash),
        };
        salt(&places, &wanted).unwrap()
    };
    let own = salt_of("A1");
    assert!(own.len() == 32 && own == salt_of("A1") && own == salt_of("B2"));
    let with_salt = |salt: &str| {
        let mut disk = disk("A1");
        disk.salt = salt.into();
        disk.hash = hash(salt, "A1");
        disk
    };
    let pending = Pending::of(&places);
    pending
        .append(&with_salt("aa"), ("seq", "t"), None, session("1"))
        .unwrap();
    assert_eq!(salt_of("A1"), "aa");
    let lock = BaselinesLock::take(&places).unwrap();
    lock.write("renamed", &baseline("seq", with_salt("bb")))
        .unwrap();
    assert_eq!(salt_of("A1"), "bb");
    assert_eq!(salt_of("B2"), own, "another disk's salt is not taken");
}

#[test]
fn accepts_at_once_come_one_after_the_other() {
    let (_dir, places) = places();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let places = &places;
            scope.spawn(move || {
                for i in 0..10 {
                    let lock = BaselinesLock::take(places).unwrap();
                    let mut now = lock
                        .read(NAME, "seq")
                        .unwrap()
                        .unwrap_or_else(|| baseline("seq", disk("A1")));
                    now.disk.by.push_str(&format!("{n}{i} "));
                    lock.write(NAME, &now).unwrap();
                }
            });
        }
    });
    let lock = BaselinesLock::take(&places).unwrap();
    let all = lock.read(NAME, "seq").unwrap().unwrap().disk.by;
    assert_eq!(
        all.trim_start_matches("serial").split_whitespace().count(),
        40,
        "{all}"
    );
}
