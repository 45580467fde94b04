//! The workspace's test targets that use the harness: found, built, run as their own processes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use cargo_metadata::{Message, Metadata, Package, TargetKind};

use super::args::{Build, Cli};
use super::out::Out;
use crate::pipeline::{Confirm, Context};

/// How often a running target is looked after.
const POLL: Duration = Duration::from_millis(50);

/// A built test executable.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    executable: PathBuf,
    package_dir: PathBuf,
}

/// The packages and names of `harness = false` test targets with one of the given names.
pub(crate) fn find<'a>(
    metadata: &'a Metadata,
    names: &[String],
    packages: &[String],
) -> Vec<(&'a Package, &'a str)> {
    let wanted =
        |p: &&Package| packages.is_empty() || packages.iter().any(|spec| spec == p.name.as_str());
    let mut found = Vec::new();
    for package in metadata.workspace_packages().into_iter().filter(wanted) {
        for target in &package.targets {
            let is_test = target.kind.contains(&TargetKind::Test) && names.contains(&target.name);
            if is_test && brings_its_own_harness(package.manifest_path.as_std_path(), &target.name)
            {
                found.push((package, target.name.as_str()));
            }
        }
    }
    found
}

/// Cargo's metadata does not tell `harness`, so the manifest is asked.
fn brings_its_own_harness(manifest: &Path, target: &str) -> bool {
    let text = std::fs::read_to_string(manifest).unwrap_or_default();
    let table = toml::from_str::<toml::Table>(&text).unwrap_or_default();
    let tests = table
        .get("test")
        .and_then(toml::Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    tests.iter().any(|t| {
        let name = t.get("name").and_then(toml::Value::as_str);
        name == Some(target) && t.get("harness").and_then(toml::Value::as_bool) == Some(false)
    })
}

/// Builds them and says where the executables lie.
///
/// # Errors
/// Cargo could not be started or the build failed; cargo has said why on stderr.
pub(crate) fn build(
    cli: &Cli,
    ask: &Build,
    found: &[(&Package, &str)],
    out: &Out,
) -> Result<Vec<Target>, Vec<String>> {
    let mut targets = Vec::new();
    for (package, name) in found {
        let mut command = cargo(cli, ask, out);
        command.args(["--package", package.name.as_str(), "--test", name]);
        let output = command.stderr(Stdio::inherit()).output();
        let output = output.map_err(|e| vec![format!("failed to start cargo: {e}")])?;
        if !output.status.success() {
            return Err(vec![format!(
                "failed to build test target {name} of {}",
                package.name
            )]);
        }
        let executable = executable(&output.stdout, name);
        let executable = executable
            .ok_or_else(|| vec![format!("cargo named no executable for test target {name}")])?;
        let package_dir = package
            .manifest_path
            .parent()
            .map(PathBuf::from)
            .unwrap_or_default();
        targets.push(Target {
            executable,
            package_dir,
        });
    }
    Ok(targets)
}

fn cargo(cli: &Cli, ask: &Build, out: &Out) -> Command {
    let mut command = Command::new(out.vars.get("CARGO").map_or("cargo", String::as_str));
    command.args([
        "test",
        "--no-run",
        "--message-format=json-render-diagnostics",
        "--profile",
        &ask.profile,
    ]);
    if let Some(manifest) = &cli.manifest_path {
        command.arg("--manifest-path").arg(manifest);
    }
    for features in &ask.features {
        command.args(["--features", features]);
    }
    for (given, flag) in [(ask.locked, "--locked"), (ask.offline, "--offline")] {
        if given {
            command.arg(flag);
        }
    }
    command
}

fn executable(messages: &[u8], name: &str) -> Option<PathBuf> {
    let artifacts = Message::parse_stream(messages).filter_map(|message| match message {
        Ok(Message::CompilerArtifact(a)) if a.target.name == name && a.profile.test => a.executable,
        _ => None,
    });
    artifacts.last().map(PathBuf::from)
}

impl Target {
    /// Runs the named tests in a process of their own; their records lie in the folder of records afterwards.
    ///
    /// # Errors
    /// The process could not be started or waited for.
    pub(crate) fn run(
        &self,
        context: &Context,
        settings: &[(String, String)],
        names: &[String],
        confirm: Confirm,
        records: &Path,
    ) -> std::io::Result<ExitStatus> {
        let mut command = Command::new(&self.executable);
        command
            .arg("--exact")
            .arg("--include-ignored")
            .args(names)
            .current_dir(&self.package_dir);
        command.env("CARGO_MANIFEST_DIR", &self.package_dir);
        command.env("IOGATE_WORKSPACE_ROOT", &context.places.root);
        command.env("IOGATE_TARGET_DIR", &context.places.target_dir);
        command.env("IOGATE_RECORD_DIR", records);
        command.env(
            "IOGATE_CONFIRM",
            if confirm == Confirm::Now {
                "now"
            } else {
                "later"
            },
        );
        for (variable, value) in variables(settings) {
            command.env(variable, value);
        }
        // libtest's own lines are for runners; what a person wants to know is on stderr.
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        wait(child, context)
    }
}

/// Flags as the variables a child process reads; a repeated flag becomes one list.
fn variables(settings: &[(String, String)]) -> Vec<(String, String)> {
    let mut variables: Vec<(String, String)> = Vec::new();
    for (key, value) in settings {
        let variable = format!("IOGATE_{}", key.replace('-', "_").to_uppercase());
        let separator = if key == "disk" { ":" } else { "," };
        let value = &if key == "disk" {
            value.replace(':', r"\:")
        } else {
            value.clone()
        };
        match variables.iter_mut().find(|(v, _)| *v == variable) {
            Some((_, list)) => *list = format!("{list}{separator}{value}"),
            None => variables.push((variable, value.clone())),
        }
    }
    variables
}

/// Waits for the child and hands on a signal that only this process got.
fn wait(mut child: Child, context: &Context) -> std::io::Result<ExitStatus> {
    let mut handed_on = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if let (Some(signal), false) = (context.interrupt.raised(), handed_on) {
            hand_on(&child, signal);
            handed_on = true;
        }
        std::thread::sleep(POLL);
    }
}

#[cfg(target_os = "linux")]
fn hand_on(child: &Child, signal: i32) {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    if let (Ok(pid), Ok(signal)) = (i32::try_from(child.id()), Signal::try_from(signal)) {
        // It may have ended by itself meanwhile.
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

#[cfg(not(target_os = "linux"))]
fn hand_on(_: &Child, _: i32) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_disks_become_one_variable() {
        let pair = |k: &str, v: &str| (k.to_owned(), v.to_owned());
        let settings = [
            pair("disk", "/a"),
            pair("max-write", "1GiB"),
            pair("disk", "/b:c"),
        ];
        assert_eq!(
            variables(&settings),
            [
                pair("IOGATE_DISK", r"/a:/b\:c"),
                pair("IOGATE_MAX_WRITE", "1GiB")
            ]
        );
    }

    #[test]
    fn only_targets_without_cargos_harness_count() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = dir.path().join("Cargo.toml");
        std::fs::write(
            &manifest,
            "[[test]]\nname = \"gate\"\nharness = false\n[[test]]\nname = \"unit\"\n",
        )
        .unwrap();
        assert!(brings_its_own_harness(&manifest, "gate"));
        assert!(!brings_its_own_harness(&manifest, "unit"));
        assert!(!brings_its_own_harness(Path::new("/nonexistent"), "gate"));
    }
}
