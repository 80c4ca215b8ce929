//! The paths of the workspace, and commands for its tools.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// The workspace on this machine.
pub struct Project {
    /// The folder of the workspace's `Cargo.toml`.
    pub root: PathBuf,
    /// The absolute path of the target folder.
    pub target: PathBuf,
}

impl Project {
    /// Finds the workspace from the environment variables that cargo sets.
    pub fn find() -> Result<Self> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR").context("not started by cargo; run `cargo xtask`")?;
        let root = Path::new(&manifest).ancestors().nth(2).context("xtask is not two folders below the workspace")?.to_path_buf();
        let target = match env::var_os("CARGO_TARGET_DIR") {
            // Relative to the current folder, as cargo itself resolves it.
            Some(folder) => env::current_dir()?.join(folder),
            None => root.join("target"),
        };
        Ok(Self { root, target })
    }

    /// Returns the page's folder.
    pub fn web_demo(&self) -> PathBuf {
        self.root.join("web-demo")
    }

    /// Returns the target folder of the browser engine.
    pub fn wasm_target(&self) -> PathBuf {
        self.target.join("wasm")
    }

    /// Returns a command that starts `program` at the root of the workspace.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// Returns a call of the cargo that runs this program.
    ///
    /// The variables that cargo sets for this program's package are removed. Otherwise build scripts that depend on them, and everything
    /// that depends on those, would be rebuilt whenever `cargo xtask` and `cargo` alternate.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments).env("CARGO_TARGET_DIR", &self.target);
        for (name, _) in env::vars_os() {
            if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command
    }

    /// Returns a call of npm in the page's folder.
    pub fn npm(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("npm");
        command
            .current_dir(self.web_demo())
            .args(arguments)
            .env("npm_config_audit", "false")
            .env("npm_config_fund", "false")
            .env("npm_config_update_notifier", "false");
        command
    }
}
