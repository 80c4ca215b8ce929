//! The program of the server, which tests start as a process: it has to be built from the sources as they are.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::SystemTime;
use std::{env, fs};

use anyhow::{Context, Error, Result, ensure};

/// Set by `cargo xtask`, which builds the server before its tests: what is edited while they run must not fail them.
const IS_BUILT: &str = "CONVENGINE_TEST_SERVER_IS_BUILT";

/// Found once, because reading the times of all sources takes as long as a short test.
static PROGRAM: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| find_program().map_err(|error| format!("{error:#}")));

/// Returns the path of the server's program, which is built into the target folder of the tests.
///
/// # Errors
/// If it has not been built since its sources changed: `cargo test` builds the tests alone.
pub fn server_binary() -> Result<PathBuf> {
    PROGRAM.clone().map_err(Error::msg)
}

/// Returns the target folder of the tests.
///
/// # Errors
/// If the path of this program is unknown.
pub fn target_folder() -> Result<PathBuf> {
    Ok(profile_folder()?.parent().context("cannot find the target folder of the tests")?.to_path_buf())
}

fn profile_folder() -> Result<PathBuf> {
    let tests = env::current_exe()?;
    Ok(tests.ancestors().nth(2).context("cannot find the target folder of the tests")?.to_path_buf())
}

fn find_program() -> Result<PathBuf> {
    let program = profile_folder()?.join("convengine");
    ensure!(program.is_file(), "the server is not built; run `cargo build --workspace --bins` first");
    if env::var_os(IS_BUILT).is_none() {
        let changed = find_changed_source(&program)?;
        ensure!(
            changed.is_none(),
            "'{}' has changed since the server was built, which `cargo test` does not do; run `cargo build --workspace --bins` first",
            changed.unwrap_or_default().display()
        );
    }
    Ok(program)
}

/// Returns a source that has changed since a program was built. Cargo lists those of the workspace beside the program: no tests, and nothing
/// that other programs are made of. Manifests and what was saved while the program was built are not noticed.
fn find_changed_source(program: &Path) -> Result<Option<PathBuf>> {
    let list = program.with_extension("d");
    let text = fs::read_to_string(&list).with_context(|| format!("cannot read '{}'", list.display()))?;
    let (_, sources) = text.split_once(": ").with_context(|| format!("expected a list of sources in '{}'", list.display()))?;
    let built = fs::metadata(program)?.modified()?;
    // A space that belongs to a path follows a backslash.
    let sources = sources.trim_end().replace("\\ ", "\0");
    let mut paths = sources.split(' ').map(|path| PathBuf::from(path.replace('\0', " ")));
    Ok(paths.find(|path| last_change(path).is_none_or(|changed| changed > built)))
}

/// Returns when a file or anything in a folder changed; `None` if it no longer exists.
fn last_change(path: &Path) -> Option<SystemTime> {
    let own = fs::metadata(path).ok()?.modified().ok()?;
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter_map(|entry| last_change(&entry.path())).chain([own]).max()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_source_that_changed_after_the_build_is_found() {
        let folder = env::temp_dir().join(format!("convengine server {}", Uuid::new_v4()));
        fs::create_dir_all(folder.join("migrations")).unwrap();
        let [program, source, migration] = ["convengine", "main.rs", "migrations/1.sql"].map(|name| folder.join(name));
        let change = |path: &Path, seconds: u64| {
            File::open(path).unwrap().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        };
        let escaped = |path: &Path| path.display().to_string().replace(' ', "\\ ");
        let list = format!("{}: {} {}\n", escaped(&program), escaped(&source), escaped(&folder.join("migrations")));
        fs::write(folder.join("convengine.d"), list).unwrap();
        for (path, seconds) in [(&program, 10), (&source, 9), (&migration, 10)] {
            fs::write(path, "").unwrap();
            change(path, seconds);
        }
        change(&folder.join("migrations"), 1);
        let found = || find_changed_source(&program).unwrap();
        assert_eq!(found(), None);
        change(&source, 11);
        assert_eq!(found(), Some(source.clone()));
        change(&source, 9);
        change(&migration, 11);
        assert_eq!(found(), Some(folder.join("migrations")));
        change(&migration, 9);
        fs::remove_file(&source).unwrap();
        assert_eq!(found(), Some(source));
        fs::remove_dir_all(folder).unwrap();
    }
}
