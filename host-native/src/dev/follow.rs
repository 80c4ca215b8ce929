//! Follows a project's files: imports packs that were saved, and plays the talks.
//!
//! The files are looked at several times a second instead of being watched by the operating system, which does not tell of changes in
//! folders that are mounted from elsewhere.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use convengine_content::config::import::{self, ImportTarget, ParsedPack};
use convengine_host_base::exit::Failure;
use convengine_host_base::{print_error_line, print_line};
use convengine_settings::Settings;
use tokio::process::Command;
use tokio::sync::broadcast::Sender;
use tokio::time::sleep;

use super::Change;
use super::folder::{Fingerprint, ProjectFolder, hash, is_talk};

/// The interval between two looks at the files.
const LOOK_INTERVAL: Duration = Duration::from_millis(150);

/// Takes over what is saved, until it is aborted. The first look finds all files new.
pub async fn follow(folder: Arc<ProjectFolder>, settings: Arc<Settings>, changes: Sender<Change>) {
    let mut known = Fingerprint::new();
    loop {
        let seen = look(&folder).await;
        // Editors write in several steps: what is still changing is taken over at the next look.
        if seen != known && seen == settled(&folder).await {
            let changed: Vec<PathBuf> = seen.iter().filter(|(path, mark)| known.get(*path) != Some(*mark)).map(|it| it.0.clone()).collect();
            let has_lost = known.keys().any(|path| !seen.contains_key(path));
            take_over(&folder, &settings, &changes, &changed, has_lost).await;
            known = seen;
        }
        sleep(LOOK_INTERVAL).await;
    }
}

async fn settled(folder: &Arc<ProjectFolder>) -> Fingerprint {
    sleep(LOOK_INTERVAL / 3).await;
    look(folder).await
}

async fn look(folder: &Arc<ProjectFolder>) -> Fingerprint {
    let folder = Arc::clone(folder);
    // An aborted task leaves nothing to look at.
    tokio::task::spawn_blocking(move || folder.fingerprint()).await.unwrap_or_default()
}

async fn take_over(folder: &ProjectFolder, settings: &Settings, changes: &Sender<Change>, changed: &[PathBuf], has_lost: bool) {
    let packs: Vec<&PathBuf> = changed.iter().filter(|it| !is_talk(it)).collect();
    for path in &packs {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Ok(Some(text)) = folder.read(&name) {
            // Nobody has to listen.
            let _ = changes.send(Change::File { name: name.clone(), hash: hash(&text) });
            if let Err(failure) = import(settings, &name, &text).await {
                failure.lines.iter().for_each(|line| print_error_line!("{name}: {line}"));
            }
        }
    }
    // A pack changes what every talk may say.
    let talks = if packs.is_empty() && !has_lost { changed.iter().filter(|it| is_talk(it)).cloned().collect() } else { folder.talks() };
    if !talks.is_empty() {
        play(folder.path(), &talks, changes).await;
    }
}

/// Imports a pack, also one with errors: the issues are printed.
async fn import(settings: &Settings, name: &str, text: &str) -> Result<(), Failure> {
    let parsed = ParsedPack::parse(text).map_err(|error| Failure::check_failed(vec![error]))?;
    let report = import::apply(&ImportTarget::from_settings(settings), &parsed, false, false).await?;
    report.issues.iter().for_each(|it| print_error_line!("{name}: {it}"));
    report.document_issues.iter().for_each(|it| print_error_line!("{name}: {it}"));
    print_line!("{name} imported");
    Ok(())
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
