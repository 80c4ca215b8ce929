//! Where things are, and how the workspace's own tools are called.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// The workspace on this machine.
pub struct Project {
    /// The folder of the workspace's `Cargo.toml`.
    pub root: PathBuf,
    /// The target folder, absolute.
    pub target: PathBuf,
}

impl Project {
    /// Finds the workspace from what cargo tells the program it runs.
    pub fn find() -> Result<Self> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR").context("started without cargo, type: cargo xtask")?;
        let root = Path::new(&manifest).ancestors().nth(2).context("xtask does not lie two folders below the workspace")?.to_path_buf();
        let target = match env::var_os("CARGO_TARGET_DIR") {
            // Relative to the folder the command was typed in, as cargo itself reads it.
            Some(folder) => env::current_dir()?.join(folder),
            None => root.join("target"),
        };
        Ok(Self { root, target })
    }

    /// Returns the page's folder.
    pub fn web_demo(&self) -> PathBuf {
        self.root.join("web-demo")
    }

    /// Returns the folder that holds all output of the browser engine's compiler.
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
    /// What cargo tells this program of its package is kept from it: build scripts that look at it would run again, and all that
    /// stands on them would be built again, each time somebody types `cargo xtask` after `cargo` or the other way round.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments).env("CARGO_TARGET_DIR", &self.target);
        for (name, _) in env::vars_os() {
            if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|it| name.to_string_lossy().starts_with(it)) {
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
