//! One server per SQLite file: a lock on a file beside the database, held for the life of the process.
//!
//! A second server would take the open turns of the first for those of a dead process. Commands do not take the lock.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::database_config::DatabaseConfig;
use convengine_host_base::exit::Failure;

/// The lock of a server on its SQLite file. The operating system releases it when the process ends, however it ends.
#[derive(Debug)]
pub struct ServerLock {
    _file: File,
}

impl ServerLock {
    /// Takes the lock of a database; `None` for PostgreSQL and for databases in memory.
    ///
    /// # Errors
    /// Returns exit code 3 when another server holds the lock, or the file cannot be created.
    pub fn acquire(config: &DatabaseConfig) -> Result<Option<ServerLock>, Failure> {
        let Some(database) = config.sqlite_file() else { return Ok(None) };
        if has_other_names(&database) {
            return Err(Failure::service_unavailable(format!(
                "database file '{}' has several names (hard links), which no lock protects; give it one name",
                database.display()
            )));
        }
        let path = lock_path(&database);
        let failed = |error: io::Error| {
            Failure::service_unavailable(format!(
                "cannot lock database '{}': {}: {error}; check the folder's permissions",
                config.url,
                path.display()
            ))
        };
        let file = open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(ServerLock { _file: file })),
            Err(TryLockError::WouldBlock) => Err(Failure::service_unavailable(format!(
                "database file '{}' is in use by another server; stop that server, or give this one a file of its own with --database",
                database.display()
            ))),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                tracing::warn!(path = %path.display(), "the file system has no locks; make sure that no other server uses the database");
                Ok(None)
            }
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

impl ServerLock {
    /// Whether a server holds the lock of a database now.
    pub fn is_held(config: &DatabaseConfig) -> bool {
        let Some(path) = config.sqlite_file().map(|it| lock_path(&it)).filter(|it| it.exists()) else { return false };
        open(&path).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }
}

/// Whether a file has other names in the file system. SQLite names its journal after the one that it opens.
fn has_other_names(file: &Path) -> bool {
    #[cfg(unix)]
    return std::fs::metadata(file).is_ok_and(|metadata| std::os::unix::fs::MetadataExt::nlink(&metadata) > 1);
    #[cfg(not(unix))]
    return false;
}

/// Returns `FILE.lock` beside the file that a path leads to, so that links to one database share it.
fn lock_path(database: &Path) -> PathBuf {
    let mut path: OsString = std::fs::canonicalize(database).unwrap_or_else(|_| database.to_owned()).into();
    path.push(".lock");
    path.into()
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: String) -> DatabaseConfig {
        DatabaseConfig { url, full_sync: false }
    }

    #[test]
    fn a_file_is_locked_once_and_other_databases_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        std::fs::write(&file, "").unwrap();
        let place = config(format!("sqlite:{}", file.display()));
        let held = ServerLock::acquire(&place).unwrap();
        assert!(held.is_some() && ServerLock::is_held(&place));
        #[cfg(unix)]
        {
            let link = folder.path().join("link.db");
            std::fs::hard_link(&file, &link).unwrap();
            let error = ServerLock::acquire(&config(format!("sqlite:{}", link.display()))).unwrap_err().to_string();
            assert!(error.contains("several names"), "{error}");
            std::fs::remove_file(&link).unwrap();
        }
        let refused = ServerLock::acquire(&place).unwrap_err();
        assert_eq!(refused.code, 3);
        assert!(refused.lines[0].contains("a.db") && refused.lines[0].contains("another server"), "{refused:?}");
        #[cfg(unix)]
        {
            let link = folder.path().join("b.db");
            std::os::unix::fs::symlink(&file, &link).unwrap();
            assert!(ServerLock::acquire(&config(format!("sqlite:{}", link.display()))).is_err());
        }
        drop(held);
        assert!(!ServerLock::is_held(&place));
        assert!(ServerLock::acquire(&place).unwrap().is_some());
        for url in ["sqlite::memory:", "sqlite:file:x?mode=memory", "postgres://localhost/x"] {
            assert!(ServerLock::acquire(&config(url.to_owned())).unwrap().is_none(), "{url}");
        }
    }
}
