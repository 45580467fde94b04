//! What live tests stand on: programs with a deadline, disks that clean up after themselves, throw-away projects.

pub(crate) mod command;
pub(crate) mod disk;
pub(crate) mod project;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use command::{Program, program};

/// The binary `cargo-iogate` of this build.
pub(crate) fn cargo_iogate() -> Program {
    program(env!("CARGO_BIN_EXE_cargo-iogate"))
}

/// The root of this package.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where this build's artefacts lie, and its profile's folder name: `target`, `debug`.
pub(crate) fn target_dir() -> (PathBuf, String) {
    let binary = Path::new(env!("CARGO_BIN_EXE_cargo-iogate"));
    let profile = binary
        .parent()
        .expect("a binary lies in its profile's folder");
    let name = profile
        .file_name()
        .expect("a profile has a name")
        .to_string_lossy()
        .into_owned();
    (
        profile
            .parent()
            .expect("profiles lie in the target folder")
            .to_owned(),
        name,
    )
}

/// `cargo` for a nested build: same artefacts, same profile, no network.
pub(crate) fn cargo(verb: &str) -> Program {
    let (target, profile) = target_dir();
    let cargo = program(option_env!("CARGO").unwrap_or("cargo"))
        .arg(verb)
        .env("CARGO_TARGET_DIR", target);
    let cargo = cargo.env("CARGO_NET_OFFLINE", "true");
    match (verb, profile.as_str()) {
        ("test" | "build", "release") => cargo.arg("--release"),
        ("test" | "build", other) if other != "debug" => cargo.args(["--profile", other]),
        _ => cargo,
    }
}

/// The gate's own test executable, built if it is not yet.
pub(crate) fn gate() -> Program {
    static GATE: OnceLock<PathBuf> = OnceLock::new();
    let path = GATE.get_or_init(|| {
        let built = cargo("test")
            .args(["--no-run", "--test", "gate", "--message-format", "json"])
            .current_dir(root())
            .seconds(600)
            .run()
            .success();
        let executable = built.stdout.lines().find_map(|line| {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            (message["target"]["name"] == "gate")
                .then(|| message["executable"].as_str().map(PathBuf::from))?
        });
        executable.unwrap_or_else(|| {
            panic!(
                "cargo named no executable of target gate:\n{}",
                built.stdout
            )
        })
    });
    program(path)
}

/// Whether this process may make disks.
pub(crate) fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Whether a program lies on PATH or in the folders an administrator has.
pub(crate) fn has(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .any(|folder| folder.join(name).is_file())
}
