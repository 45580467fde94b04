//! The workspace as cargo sees it; its absence is no error.

use std::path::Path;

use cargo_metadata::{Metadata, MetadataCommand};

use super::args::Cli;
use super::out::Out;
use crate::pipeline::{Context, Workspace};

/// What `cargo metadata` says. `None` outside a workspace and without cargo.
///
/// # Errors
/// `--manifest-path` names something that cargo does not take.
pub(crate) fn metadata(cli: &Cli, out: &Out) -> Result<Option<Metadata>, Vec<String>> {
    let mut command = MetadataCommand::new();
    command.no_deps();
    if let Some(cargo) = out.vars.get("CARGO") {
        command.cargo_path(cargo);
    }
    if let Some(manifest) = &cli.manifest_path {
        command.manifest_path(manifest);
        return command
            .exec()
            .map(Some)
            .map_err(|e| vec![format!("--manifest-path {}: {e}", manifest.display())]);
    }
    if !std::env::current_dir().is_ok_and(|dir| in_package(&dir)) {
        return Ok(None);
    }
    match command.exec() {
        Ok(metadata) => Ok(Some(metadata)),
        // No cargo on this host: the suites are measured by this process.
        Err(cargo_metadata::Error::Io(_)) => Ok(None),
        Err(error) => Err(vec![error.to_string()]),
    }
}

fn in_package(dir: &Path) -> bool {
    dir.ancestors().any(|d| d.join("Cargo.toml").is_file())
}

/// The context of a command, and the workspace if there is one.
///
/// # Errors
/// One message a fault of flags, variables or configuration files.
pub(crate) fn context(
    cli: &Cli,
    flags: &[(String, String)],
    out: &Out,
) -> Result<(Context, Option<Metadata>), Vec<String>> {
    let metadata = metadata(cli, out)?;
    let workspace = metadata
        .as_ref()
        .map_or_else(Workspace::default, |m| Workspace {
            root: Some(m.workspace_root.clone().into()),
            target: Some(m.target_directory.clone().into()),
        });
    Ok((Context::gather(flags, &out.vars, workspace)?, metadata))
}
