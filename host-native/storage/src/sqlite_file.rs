//! The file of an SQLite database: readable by its owner only, as it holds conversations and keys.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sqlx::sqlite::SqliteConnectOptions;

use super::database_config::DatabaseConfig;

/// The endings of the files that SQLite keeps beside the database. It gives them the permissions of the database.
const COMPANIONS: [&str; 3] = ["", "-wal", "-shm"];

impl DatabaseConfig {
    /// The file of an SQLite database; `None` for other databases and for one in memory.
    pub fn sqlite_file(&self) -> Option<PathBuf> {
        if self.is_postgres() || self.url.contains(":memory:") || self.url.contains("mode=memory") {
            return None;
        }
        Some(SqliteConnectOptions::from_str(&self.url).ok()?.get_filename().to_owned())
    }

    /// Returns the path of the key that is made for the secrets of an SQLite file.
    pub fn key_path(&self) -> Option<PathBuf> {
        let mut name = self.sqlite_file()?.into_os_string();
        name.push(".key");
        Some(PathBuf::from(name))
    }

    /// Creates the file of an SQLite database that does not exist, with access for its owner only.
    pub(super) fn create_sqlite_file(&self) -> io::Result<()> {
        let Some(file) = self.sqlite_file() else { return Ok(()) };
        match create_private(&file) {
            // SQLite reports paths at which there can be no file, and creates nothing there.
            Err(error) => match error.kind() {
                ErrorKind::AlreadyExists | ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory => Ok(()),
                _ => Err(error),
            },
            Ok(()) => Ok(()),
        }
    }

    /// Logs which files of an SQLite database other users of this machine can use.
    pub fn report_loose_files(&self) {
        let Some(file) = self.sqlite_file() else { return };
        for ending in COMPANIONS {
            let mut file = file.clone().into_os_string();
            file.push(ending);
            if is_loose(Path::new(&file)) {
                let file = file.display();
                tracing::warn!("database file '{file}' can be used by other users of this machine; run `chmod go= '{file}'`");
            }
        }
    }
}

fn create_private(file: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).map(drop)
}

fn is_loose(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}
