//! Where the key that seals secrets is: `convengine.secrets-key`, or a file beside an SQLite database.
//!
//! A function that returns [`std::io::Result`] fails with the error of the file system.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::sealing::{KeyRing, SealingKey, split_keys};

/// How long a program may take to print the keys.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// How often it is looked whether the program has ended.
const COMMAND_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The source of the sealing keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// A file.
    File(PathBuf),
    /// An environment variable.
    Variable(String),
    /// A program with its arguments, which prints the keys.
    Command(Vec<String>),
    /// The file beside an SQLite database, which is made with the first secret.
    BesideDatabase(PathBuf),
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeySource::File(path) | KeySource::BesideDatabase(path) => write!(f, "file '{}'", path.display()),
            KeySource::Variable(name) => write!(f, "environment variable '{name}'"),
            // Arguments may be credentials.
            KeySource::Command(words) => write!(f, "command '{}'", words.first().map_or("", String::as_str)),
        }
    }
}

impl KeySource {
    /// Reads `convengine.secrets-key` from a normalized tree: `file:PATH`, `env:VARIABLE` or `command:PROGRAM ARGUMENTS`.
    pub fn from_tree(tree: &Value, problems: &mut Vec<String>) -> Option<KeySource> {
        let value = tree.get("secrets-key").filter(|it| !it.is_null())?;
        let parts = value.as_str().and_then(|source| source.trim().split_once(':')).map(|it| (it.0, it.1.trim()));
        match parts.filter(|it| !it.1.is_empty()) {
            Some(("file", path)) => Some(KeySource::File(PathBuf::from(path))),
            Some(("env", name)) => Some(KeySource::Variable(name.to_owned())),
            Some(("command", words)) => Some(KeySource::Command(words.split_whitespace().map(str::to_owned).collect())),
            _ => {
                // The value is omitted: it may be the key.
                let line =
                    "convengine.secrets-key: not a reference; write file:PATH, env:VARIABLE or command:PROGRAM ARGUMENTS, never the key";
                problems.push(line.to_owned());
                None
            }
        }
    }

    /// Reads the keys. Returns no keys for a file beside the database that does not exist yet.
    ///
    /// # Errors
    /// A message that shows no key.
    pub fn read(&self) -> Result<KeyRing, String> {
        let text = match self {
            KeySource::BesideDatabase(path) if is_absent(path) => return Ok(KeyRing::default()),
            KeySource::File(path) | KeySource::BesideDatabase(path) => {
                std::fs::read_to_string(path).map_err(|it| format!("cannot read {self}: {it}"))?
            }
            KeySource::Variable(name) => std::env::var(name).map_err(|_| format!("{self} is not set"))?,
            KeySource::Command(words) => run(words).map_err(|it| format!("{self} {it}"))?,
        };
        KeyRing::parse(&text).map_err(|it| format!("{self} {it}"))
    }

    /// Whether the keys are in a file that others on this machine can read.
    pub fn is_readable_by_others(&self) -> bool {
        let (KeySource::File(path) | KeySource::BesideDatabase(path)) = self else { return false };
        std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
    }
}

/// Whether a key file does not exist, or is empty because a process died when it made it.
fn is_absent(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(found) => found.is_file() && found.len() == 0,
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

fn run(words: &[String]) -> Result<String, String> {
    let (program, arguments) = words.split_first().ok_or("has no program")?;
    let cannot_run = |it: std::io::Error| format!("cannot run: {it}");
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(cannot_run)?;
    let mut stdout = child.stdout.take().ok_or("has no output")?;
    let reader = std::thread::spawn(move || {
        let mut printed = Vec::new();
        stdout.read_to_end(&mut printed).map(|_| printed)
    });
    let deadline = Instant::now() + COMMAND_TIMEOUT;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(cannot_run)? {
            break status;
        }
        if Instant::now() >= deadline {
            child.kill().and_then(|()| child.wait()).map_err(cannot_run)?;
            return Err(format!("did not end within {} s", COMMAND_TIMEOUT.as_secs()));
        }
        std::thread::sleep(COMMAND_POLL_INTERVAL);
    };
    if !status.success() {
        // What it wrote is omitted: it may be the key.
        return Err(format!("failed: {status}"));
    }
    let printed = reader.join().map_err(|_| "printed output that cannot be read")?.map_err(cannot_run)?;
    String::from_utf8(printed).map_err(|_| "printed output that is not UTF-8".to_owned())
}

/// Keeps other processes from changing the key file of a database until it is dropped.
#[derive(Debug)]
pub struct KeyFileLock {
    _file: File,
}

impl KeyFileLock {
    /// Waits for the lock of a key file.
    pub fn acquire(path: &Path) -> std::io::Result<KeyFileLock> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(PathBuf::from(name))?;
        file.lock()?;
        Ok(KeyFileLock { _file: file })
    }
}

/// Makes the key file of a database, readable by its owner only. Returns whether it did not exist.
pub fn create_key_file(path: &Path) -> std::io::Result<bool> {
    let _lock = KeyFileLock::acquire(path)?;
    if !is_absent(path) {
        return Ok(false);
    }
    write_keys(path, &[SealingKey::generate_text()])?;
    Ok(true)
}

/// Adds a new first key to the key file of a database. The caller holds its lock.
pub fn add_key(path: &Path) -> std::io::Result<()> {
    let text = if is_absent(path) { String::new() } else { std::fs::read_to_string(path)? };
    let mut keys = vec![SealingKey::generate_text()];
    keys.extend(split_keys(&text).into_iter().map(str::to_owned));
    write_keys(path, &keys)
}

/// Removes all keys from the key file of a database but the first `count`. The caller holds its lock.
pub fn keep_keys(path: &Path, count: usize) -> std::io::Result<()> {
    let text = std::fs::read_to_string(path)?;
    let keys: Vec<String> = split_keys(&text).into_iter().take(count).map(str::to_owned).collect();
    write_keys(path, &keys)
}

/// Replaces a key file as a whole, so that a crash leaves the old one or the new one.
fn write_keys(path: &Path, keys: &[String]) -> std::io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    // A file left behind by a crash may have another mode.
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(format!("{}\n", keys.join("\n")).as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&new, path)?;
    // Makes the new name durable.
    File::open(path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_is_read_from_a_file_a_variable_or_a_command() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let read = |value: Value| {
            let mut problems = Vec::new();
            (KeySource::from_tree(&json!({"secrets-key": value}), &mut problems), problems)
        };
        let from = |text: String| read(json!(text)).0.expect("a source").read();
        assert!(from(format!("file:{}", path.display())).expect_err("no file").contains("cannot read file"));
        assert!(create_key_file(&path).expect("made") && !create_key_file(&path).expect("kept"));
        let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let key = from(format!("file:{}", path.display())).expect("a key");
        let id = key.current().expect("a key").id().to_owned();
        assert!(from(format!("command:cat {}", path.display())).expect("a key").find(&id).is_some());
        for (text, words) in [
            ("command:false", "failed"),
            ("command:/no/such/program secret-argument", "cannot run"),
            ("command:echo hunter2", "is not one of 32 bytes"),
            ("env:CONVENGINE_NO_SUCH_KEY", "is not set"),
        ] {
            let reason = from(text.to_owned()).expect_err("no key");
            assert!(reason.contains(words) && !reason.contains("hunter2") && !reason.contains("secret-argument"), "{reason}");
        }
        for value in [json!("hunter2hunter2"), json!("file:"), json!("other:hunter2"), json!(["hunter2"]), json!(7)] {
            let (source, problems) = read(value);
            assert!(source.is_none() && problems.len() == 1 && !problems[0].contains("hunter2"), "{problems:?}");
        }
        assert_eq!(read(Value::Null), (None, Vec::new()));
    }

    #[test]
    fn the_key_file_of_a_database_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("convengine.db.key");
        let source = KeySource::BesideDatabase(path.clone());
        assert!(source.read().expect("no keys").current().is_none());
        std::fs::write(&path, "").expect("an empty file");
        assert!(source.read().expect("no keys").current().is_none(), "a crash left it empty");
        add_key(&path).expect("a key");
        let first = source.read().expect("keys").current().expect("a key").id().to_owned();
        add_key(&path).expect("a second key");
        let keys = source.read().expect("keys");
        assert!(keys.find(&first).is_some() && keys.current().expect("a key").id() != first);
        assert!(!source.is_readable_by_others());
        keep_keys(&path, 1).expect("one key");
        assert!(source.read().expect("keys").find(&first).is_none());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("a mode");
        assert!(source.is_readable_by_others());
    }
}
