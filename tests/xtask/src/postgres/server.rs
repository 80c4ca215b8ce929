//! The PostgreSQL programs of this machine, and the user they run as.

use std::env;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::sh;

/// The oldest supported version.
const MIN_VERSION: u32 = 15;

/// The folder of the programs of each version in Debian's packages.
const DEBIAN_FOLDER: &str = "/usr/lib/postgresql";

/// The newest supported PostgreSQL of this machine.
pub struct Programs {
    folder: PathBuf,
    pub version: u32,
    /// Whether they can sort texts by a language.
    pub has_icu: bool,
}

impl Programs {
    /// Finds the programs in PATH and in the folders of Debian's packages.
    pub fn find() -> Option<Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        let debian = fs::read_dir(DEBIAN_FOLDER).into_iter().flatten().flatten().map(|entry| entry.path().join("bin"));
        let all = env::split_paths(&path).chain(debian).filter_map(|it| Self::from_folder(&it));
        all.filter(|it| it.version >= MIN_VERSION).max_by_key(|it| it.version)
    }

    /// Returns the programs in the folder of `postgres`, with links resolved.
    fn from_folder(folder: &Path) -> Option<Self> {
        let folder = folder.join("postgres").canonicalize().ok()?.parent()?.to_path_buf();
        let whole = ["initdb", "pg_ctl"].iter().all(|program| folder.join(program).is_file());
        let version = parse_major_version(&sh::output(Command::new(folder.join("postgres")).arg("--version"))?)?;
        whole.then_some(Self { folder, version, has_icu: true })
    }

    /// Returns the programs of a package that is independent of the distribution, and of its libraries.
    pub fn from_package(folder: &Path) -> Result<Self> {
        let found = Self::from_folder(folder).with_context(|| format!("no PostgreSQL in '{}'", folder.display()))?;
        Ok(Self { has_icu: false, ..found })
    }

    /// Whether an extension is installed; `false` if there is no `pg_config` to say where extensions are.
    pub fn has_extension(&self, name: &str) -> bool {
        let folder = sh::output(self.client("pg_config").arg("--sharedir"));
        folder.is_some_and(|folder| Path::new(&folder).join(format!("extension/{name}.control")).is_file())
    }

    /// Returns a call of a client program, which any user may run.
    pub fn client(&self, program: &str) -> Command {
        Command::new(self.path(program))
    }

    /// Returns the path of a program.
    pub fn path(&self, program: &str) -> PathBuf {
        self.folder.join(program)
    }

    /// Returns a call of a program on a cluster, never as root, which the programs refuse.
    ///
    /// If `setpriv` is available, the program is interrupted when this process ends for any reason.
    pub fn command(&self, program: &str, data: &Path) -> Command {
        let file = self.folder.join(program);
        let mut command = if sh::is_on_path("setpriv") {
            let mut command = Command::new("setpriv");
            command.args(["--pdeathsig", "INT"]);
            if is_root() {
                command.args(["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]);
            }
            command.arg(file);
            command
        } else if is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(file);
            command
        } else {
            Command::new(file)
        };
        // The other user may not have access to the current folder.
        command.arg("-D").arg(data).current_dir("/").env("LC_ALL", "C.UTF-8");
        command
    }
}

/// Creates the folder of a cluster, owned by the user that the programs run as.
pub fn create_folder(folder: &Path) -> Result<()> {
    let create = || -> Result<()> {
        fs::DirBuilder::new().mode(0o700).create(folder)?;
        if is_root() {
            chown(folder, Some(read_id("-u")?), Some(read_id("-g")?))?;
        }
        Ok(())
    };
    create().with_context(|| format!("cannot create '{}'", folder.display()))
}

/// Returns whether this process runs as root.
pub fn is_root() -> bool {
    sh::output(Command::new("id").arg("-u")).is_some_and(|id| id == "0")
}

/// Returns the id of the user or group `postgres`, which PostgreSQL's packages create.
fn read_id(kind: &str) -> Result<u32> {
    let number = sh::output(Command::new("id").args([kind, "postgres"]));
    ensure!(number.is_some(), "no user 'postgres', and PostgreSQL does not run as root; run `useradd --system postgres`");
    Ok(number.unwrap_or_default().parse()?)
}

/// Parses the major version in `postgres (PostgreSQL) 15.14 (Debian …)`.
fn parse_major_version(line: &str) -> Option<u32> {
    let version = line.split("(PostgreSQL) ").nth(1)?;
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(parse_major_version("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)"), Some(15));
        assert_eq!(parse_major_version("postgres (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(parse_major_version("no version"), None);
    }
}
