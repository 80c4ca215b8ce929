//! Follows a project's files: imports packs that were saved, and plays the talks.
//!
//! The files are looked at several times a second instead of being watched by the operating system, which does not tell of changes in
//! folders that are mounted from elsewhere.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use convengine_content::config::active::ReloadError;
use convengine_content::config::import::documents::{CheckContext, find_providers};
use convengine_content::config::import::{self, ImportTarget, ParsedPack};
use convengine_content::config::lint::lint_pack;
use convengine_host_base::exit::Failure;
use convengine_host_base::{print_error_line, print_line};
use convengine_settings::Settings;
use tokio::process::Command;
use tokio::sync::broadcast::Sender;
use tokio::time::sleep;

use super::Change;
use super::folder::{Fingerprint, ProjectFolder, Stamp, hash, is_talk};
use super::imported::ImportedPacks;
use crate::api::host::Host;

/// The interval between two looks at the files.
const LOOK_INTERVAL: Duration = Duration::from_millis(150);

/// What follows the files.
pub(super) struct Follower {
    pub folder: Arc<ProjectFolder>,
    pub settings: Arc<Settings>,
    /// The running server, as soon as it has started.
    pub host: Arc<OnceLock<Arc<Host>>>,
    pub changes: Sender<Change>,
}

impl Follower {
    /// Takes over what is saved, until it is aborted. The first look finds all files new.
    pub async fn run(&self) {
        let (mut known, mut imported) = (Fingerprint::new(), ImportedPacks::new(self.has_own_database()));
        loop {
            let seen = self.look().await;
            // Editors write in several steps: what is still changing is taken over at the next look.
            if seen != known && seen == self.look_again().await {
                let is_changed = |entry: &(&PathBuf, &Stamp)| known.get(entry.0) != Some(entry.1);
                let changed: Vec<PathBuf> = seen.iter().filter(is_changed).map(|it| it.0.clone()).collect();
                let has_lost = known.keys().any(|path| !seen.contains_key(path));
                self.take_over(&mut imported, &seen, &changed, has_lost).await;
                known = seen;
            }
            sleep(LOOK_INTERVAL).await;
        }
    }

    /// Whether the database is a file in the folder of the project.
    fn has_own_database(&self) -> bool {
        let file = self.settings.database.sqlite_file().and_then(|it| it.canonicalize().ok());
        let folder = self.folder.path().canonicalize().ok();
        file.zip(folder).is_some_and(|(file, folder)| file.starts_with(folder))
    }

    async fn look_again(&self) -> Fingerprint {
        sleep(LOOK_INTERVAL / 3).await;
        self.look().await
    }

    async fn look(&self) -> Fingerprint {
        let folder = Arc::clone(&self.folder);
        // An aborted task leaves nothing to look at.
        tokio::task::spawn_blocking(move || folder.fingerprint()).await.unwrap_or_default()
    }

    async fn take_over(&self, imported: &mut ImportedPacks, seen: &Fingerprint, changed: &[PathBuf], has_lost: bool) {
        let names: Vec<String> = seen.keys().filter(|it| !is_talk(it)).map(|it| file_name(it)).collect();
        let removed = imported.remove_absent(&names);
        let packs: Vec<&PathBuf> = changed.iter().filter(|it| !is_talk(it)).collect();
        for path in &packs {
            let name = file_name(path);
            if let Ok(Some(text)) = self.folder.read(&name) {
                // Nobody has to listen.
                let _ = self.changes.send(Change::File { name: name.clone(), hash: hash(&text) });
                if let Err(failure) = self.import(imported, &names, &name, &text).await {
                    failure.lines.iter().for_each(|line| print_error_line!("{name}: {line}"));
                }
            }
        }
        if !removed.is_empty()
            && let Err(failure) = self.import_rest(imported, &names, &removed).await
        {
            failure.lines.iter().for_each(|line| print_error_line!("{}: {line}", removed.join(", ")));
        }
        if let Some(host) = self.host.get().filter(|_| !packs.is_empty() || !removed.is_empty()) {
            // Nothing else would notice that only scripted answers have changed.
            match host.content.config_manager.refresh().await {
                Ok(_) => {}
                // The errors were printed with the import.
                Err(ReloadError::NewErrors(_)) => {
                    print_error_line!("the server answers with the rows of before until the errors are corrected")
                }
                Err(ReloadError::Database(error)) => print_error_line!("the server has not taken over the change: {error}"),
            }
        }
        // A pack changes what every talk may say.
        let talks =
            if packs.is_empty() && !has_lost { changed.iter().filter(|it| is_talk(it)).cloned().collect() } else { self.folder.talks() };
        if !talks.is_empty() {
            play(self.folder.path(), &talks, &self.changes).await;
        }
    }

    /// Imports a pack, also one with errors: the issues are printed, and what `convengine lint` finds.
    async fn import(&self, imported: &mut ImportedPacks, names: &[String], name: &str, text: &str) -> Result<(), Failure> {
        let pack = ParsedPack::parse(text).map_err(|error| Failure::check_failed(vec![error]))?;
        let whole = imported.complete(names, name, pack.clone());
        let report = import::apply(&ImportTarget::from_settings(&self.settings), &whole, false, false).await?;
        imported.put(name, pack);
        let of_rows = report.issues.iter().map(ToString::to_string);
        let mut lines: Vec<String> = of_rows.chain(report.document_issues.iter().map(ToString::to_string)).collect();
        let providers = find_providers(&self.settings);
        let llm = &self.settings.llm;
        let has_no_model = llm.model_specs.is_empty() || llm.is_off();
        let context = CheckContext { tree: &self.settings.tree, providers: providers.as_ref(), has_stub: false, has_no_model };
        let mut of_lint: Vec<String> = lint_pack(&whole.pack, context).await?.lines().collect();
        of_lint.retain(|line| !lines.contains(line));
        lines.extend(of_lint);
        lines.iter().for_each(|line| print_error_line!("{name}: {line}"));
        print_line!("{name} imported");
        Ok(())
    }

    /// Imports what the packs have that are left. An empty folder is being moved or checked out: its rows stay.
    async fn import_rest(&self, imported: &ImportedPacks, names: &[String], removed: &[String]) -> Result<(), Failure> {
        if names.is_empty() {
            return Ok(());
        }
        // It has no documents, so that no draft is saved again.
        let nothing = ParsedPack::parse(r#"{"name": "removed"}"#).map_err(|error| Failure::check_failed(vec![error]))?;
        let whole = imported.complete(names, "", nothing);
        let report = import::apply(&ImportTarget::from_settings(&self.settings), &whole, false, false).await?;
        report.issues.iter().for_each(|it| print_error_line!("{it}"));
        print_line!("{} removed", removed.join(", "));
        Ok(())
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Plays talks as `convengine test` does, in a process of its own.
async fn play(folder: &Path, talks: &[PathBuf], changes: &Sender<Change>) {
    let output = async {
        let program = std::env::current_exe()?;
        let mut command = Command::new(program);
        command.arg("test").args(talks.iter().map(|it| it.strip_prefix(folder).unwrap_or(it)));
        command.current_dir(folder).stdin(Stdio::null()).kill_on_drop(true).output().await
    };
    match output.await {
        Ok(output) => {
            let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            let shown = failures_and_counts(&text);
            shown.iter().for_each(|line| print_line!("talks: {line}"));
            let _ = changes.send(Change::Talks { passed: output.status.success(), output: shown.join("\n") });
        }
        Err(error) => print_error_line!("cannot play the talks: {error}"),
    }
}

/// The lines of talks that failed, without turns that went well, and the last line, which has the counts.
fn failures_and_counts(output: &str) -> Vec<&str> {
    let lines: Vec<&str> = output.lines().collect();
    let is_detail = |line: &str| line.starts_with("    ");
    let is_turn = |line: &str| line.starts_with("  turn ");
    let of_interest = |(at, line): (usize, &&str)| {
        let is_last = at + 1 == lines.len();
        let has_detail = lines.get(at + 1).is_some_and(|next| is_detail(next));
        is_last || !line.starts_with("ok ") && (!is_turn(line) || has_detail)
    };
    lines.iter().enumerate().filter(|&entry| of_interest(entry)).map(|(_, line)| *line).collect()
}

#[cfg(test)]
mod tests {
    use super::failures_and_counts;

    #[test]
    fn what_went_well_is_left_out() {
        let output = "ok     one\n  turn 0 a\nFAILED two\n  turn 0 b\n  turn 1 c\n    line 3 reply\n      expected 1\n  turn 2 d\n1 passed, 1 failed";
        assert_eq!(failures_and_counts(output), ["FAILED two", "  turn 1 c", "    line 3 reply", "      expected 1", "1 passed, 1 failed"]);
        assert_eq!(failures_and_counts("ok     one\n  turn 0 a\n1 passed, 0 failed"), ["1 passed, 0 failed"]);
    }
}
