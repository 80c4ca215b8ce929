//! PostgreSQL's programs on this machine, and the user they run as.

use std::env;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::sh;

/// The oldest version that is supported.
const OLDEST: u32 = 15;

/// Where Debian's packages put the programs of each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The newest PostgreSQL of the machine that is not too old.
pub struct Programs {
    folder: PathBuf,
    pub version: u32,
}

impl Programs {
    /// Looks into PATH and where Debian's packages put them.
    pub fn find() -> Option<Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        let debian = fs::read_dir(DEBIAN).into_iter().flatten().flatten().map(|it| it.path().join("bin"));
        let all = env::split_paths(&path).chain(debian).filter_map(|it| Self::of(&it));
        all.filter(|it| it.version >= OLDEST).max_by_key(|it| it.version)
    }

    /// The programs that lie where `postgres` really lies, whatever link leads there.
    fn of(folder: &Path) -> Option<Self> {
        let folder = folder.join("postgres").canonicalize().ok()?.parent()?.to_path_buf();
        let whole = ["initdb", "pg_ctl"].iter().all(|it| folder.join(it).is_file());
        let version = major(&sh::output(Command::new(folder.join("postgres")).arg("--version"))?)?;
        whole.then_some(Self { folder, version })
    }

    /// Makes the folder of a cluster, for the user that the programs run as.
    pub fn make_folder(&self, folder: &Path) -> Result<()> {
        let owned = |folder: &Path| -> Result<()> {
            fs::DirBuilder::new().mode(0o700).create(folder)?;
            if is_root() {
                chown(folder, Some(id("-u")?), Some(id("-g")?))?;
            }
            Ok(())
        };
        owned(folder).with_context(|| format!("cannot make `{}`", folder.display()))
    }

    /// Calls a program on a cluster, never as root, which all of them refuse.
    ///
    /// Where `setpriv` is there the program is interrupted when this one ends, however it ends.
    pub fn call(&self, program: &str, data: &Path) -> Command {
        let file = self.folder.join(program);
        let mut command = if sh::on_path("setpriv") {
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
        // The folder that this program was started in may be closed to the other user.
        command.arg("-D").arg(data).current_dir("/").env("LC_ALL", "C.UTF-8");
        command
    }
}

/// Whether this program runs as root.
pub fn is_root() -> bool {
    sh::output(Command::new("id").arg("-u")).is_some_and(|id| id == "0")
}

/// The number of the user or group that PostgreSQL's packages make.
fn id(kind: &str) -> Result<u32> {
    let number = sh::output(Command::new("id").args([kind, "postgres"]));
    ensure!(number.is_some(), "there is no user `postgres`, and PostgreSQL does not run as root, type: useradd --system postgres");
    Ok(number.unwrap_or_default().parse()?)
}

/// The first number of `postgres (PostgreSQL) 15.14 (Debian …)`.
fn major(line: &str) -> Option<u32> {
    let version = line.split("(PostgreSQL) ").nth(1)?;
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(major("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)"), Some(15));
        assert_eq!(major("postgres (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major("no version"), None);
    }
}
