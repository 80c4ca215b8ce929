//! `convengine init`: makes a folder with a pack that works, its talks, its settings, and what coding assistants and editors read.
//!
//! The files are those of `template`: of `common`, and of the kind of the project. A name that begins with `_` there begins with a point in
//! the folder, so that no tool takes the template for a project.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use convengine_host_base::exit::Failure;
use convengine_host_base::print_line;
use convengine_host_base::shell::quote;
use include_dir::{Dir, include_dir};

static COMMON: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/template/common");
static ASSISTANT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/template/assistant");
static TABLES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/template/tables");

/// The folder of the skills, and the other place where coding assistants look for them.
const SKILLS: &str = ".agents/skills";
const SKILLS_LINK: &str = ".claude/skills";

/// The longest id of a document.
const LONGEST_ID: usize = 64;

/// What a project is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// A flow document: the path of a conversation, as nodes and edges
    Assistant,
    /// Rows of tables: intents, rules and answers
    Tables,
}

impl Kind {
    /// Returns the name, which is also that of the pack's file.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Assistant => "assistant",
            Kind::Tables => "tables",
        }
    }

    fn template(self) -> &'static Dir<'static> {
        match self {
            Kind::Assistant => &ASSISTANT,
            Kind::Tables => &TABLES,
        }
    }

    /// The skill that explains the file of the pack.
    fn skill(self) -> &'static str {
        match self {
            Kind::Assistant => "build-a-flow",
            Kind::Tables => "build-tables",
        }
    }
}

/// Makes a project in a new folder, or in the current one, and prints what it has made. Without a kind a terminal is asked; without a
/// terminal it is an assistant.
///
/// # Errors
/// Invalid usage, with nothing written, if the folder has files other than hidden ones, or one of those that would be written. An
/// unavailable service if a file cannot be written.
pub fn run(folder: Option<&Path>, kind: Option<Kind>) -> Result<(), Failure> {
    let target = folder.unwrap_or(Path::new("."));
    check_is_empty(target)?;
    let kind = kind.unwrap_or_else(ask_for_kind);
    let id = make(target, kind)?;
    let what = match kind {
        Kind::Assistant => "an assistant with the id",
        Kind::Tables => "a pack of tables with the name",
    };
    print_line!("made {what} '{id}' in {}", target.display());
    for (path, _) in files(kind, &id) {
        print_line!("  {}", path.display());
    }
    print_line!("  {SKILLS_LINK}, a link to {SKILLS}");
    print_line!("next:");
    if folder.is_some() {
        print_line!("  cd {}", quote(&target.display().to_string()));
    }
    print_line!("  convengine chat");
    print_line!("  convengine dev");
    print_line!("  convengine test talks/*.talk");
    Ok(())
}

/// Makes a project and returns its id.
fn make(target: &Path, kind: Kind) -> Result<String, Failure> {
    let id = id_of(&folder_name(target), kind);
    let files = files(kind, &id);
    let paths = files.iter().map(|(path, _)| path.as_path()).chain([Path::new(SKILLS_LINK)]);
    for path in paths.map(|path| target.join(path)) {
        if fs::symlink_metadata(&path).is_ok() {
            return Err(Failure::invalid_usage(format!("'{}' already exists; name a new folder", path.display())));
        }
    }
    let failure = |path: &Path, error: io::Error| Failure::service_unavailable(format!("cannot write '{}': {error}", path.display()));
    for (path, text) in &files {
        let path = target.join(path);
        write_new(&path, text).map_err(|error| failure(&path, error))?;
    }
    link_skills(target).map_err(|error| failure(&target.join(SKILLS_LINK), error))?;
    Ok(id)
}

/// A folder that does not exist is empty, too. Hidden files are those of version control and editors.
fn check_is_empty(target: &Path) -> Result<(), Failure> {
    let unusable = |error: io::Error| Failure::invalid_usage(format!("cannot use the folder '{}': {error}", target.display()));
    let entries = match fs::read_dir(target) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unusable(error)),
    };
    for entry in entries {
        let name = entry.map_err(unusable)?.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            return Err(Failure::invalid_usage(format!(
                "the folder '{}' is not empty: it has '{name}'; name a new folder, or run this in an empty one",
                target.display()
            )));
        }
    }
    Ok(())
}

fn ask_for_kind() -> Kind {
    let input = io::stdin();
    if input.is_terminal() { read_kind(&mut input.lock()) } else { Kind::Assistant }
}

fn read_kind(input: &mut impl BufRead) -> Kind {
    loop {
        print_line!("assistant (a path of nodes) or tables (rules in rows)? [assistant]");
        let mut line = String::new();
        // At the end of the input nobody can answer any more.
        if !matches!(input.read_line(&mut line), Ok(length) if length > 0) {
            return Kind::Assistant;
        }
        match line.trim().to_lowercase().as_str() {
            "" | "a" | "assistant" => return Kind::Assistant,
            "t" | "tables" => return Kind::Tables,
            _ => {}
        }
    }
}

/// The files of a project with their texts, by path.
fn files(kind: Kind, id: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    collect(&COMMON, &mut files);
    collect(kind.template(), &mut files);
    let title = title_of(id);
    let mut files: Vec<(PathBuf, String)> = files
        .into_iter()
        .map(|(path, text)| {
            let text = text.replace("PROJECT_ID", id).replace("PROJECT_TITLE", &title);
            let text = text.replace("PROJECT_FILE", &format!("{}.json", kind.name())).replace("PROJECT_SKILL", kind.skill());
            (project_path(path), text)
        })
        .collect();
    files.sort();
    files
}

fn collect(folder: &'static Dir<'static>, files: &mut Vec<(&'static Path, &'static str)>) {
    for file in folder.files() {
        files.push((file.path(), file.contents_utf8().unwrap_or_default()));
    }
    for inner in folder.dirs() {
        collect(inner, files);
    }
}

/// `_vscode/mcp.json` of the template is `.vscode/mcp.json`.
fn project_path(path: &Path) -> PathBuf {
    path.iter()
        .map(|part| {
            let part = part.to_string_lossy();
            part.strip_prefix('_').map_or_else(|| part.to_string(), |rest| format!(".{rest}"))
        })
        .collect()
}

/// Writes a file that does not exist yet.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

/// Some coding assistants look for skills in a folder of their own. A link keeps one copy of them.
#[cfg(unix)]
fn link_skills(target: &Path) -> io::Result<()> {
    let link = target.join(SKILLS_LINK);
    if let Some(folder) = link.parent() {
        fs::create_dir_all(folder)?;
    }
    std::os::unix::fs::symlink(Path::new("..").join(SKILLS), link)
}

/// Links need a privilege here.
#[cfg(not(unix))]
fn link_skills(target: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    collect(&COMMON, &mut files);
    for (path, text) in files {
        if let Ok(skill) = project_path(path).strip_prefix(SKILLS) {
            write_new(&target.join(SKILLS_LINK).join(skill), text)?;
        }
    }
    Ok(())
}

/// The last name of a folder, which may not exist yet.
fn folder_name(target: &Path) -> String {
    let full = fs::canonicalize(target).or_else(|_| std::path::absolute(target));
    full.ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned())).unwrap_or_default()
}

/// Makes an id of a document from a name: `Zahnärzte am Markt` becomes `zahnaerzte-am-markt`.
fn id_of(name: &str, kind: Kind) -> String {
    let mut id = String::new();
    for letter in name.chars().flat_map(char::to_lowercase) {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            id.push(letter);
        } else if let Some(letters) = spell(letter) {
            id.push_str(letters);
        } else if !id.ends_with('-') {
            id.push('-');
        }
    }
    let id = id.trim_matches(['-', '_']);
    let id = match id.chars().next() {
        None => kind.name().to_owned(),
        Some(first) if first.is_ascii_alphabetic() => id.to_owned(),
        Some(_) => format!("{}-{id}", kind.name()),
    };
    let id: String = id.chars().take(LONGEST_ID).collect();
    id.trim_end_matches(['-', '_']).to_owned()
}

/// How a letter is written in ASCII.
fn spell(letter: char) -> Option<&'static str> {
    Some(match letter {
        'à' | 'á' | 'â' | 'ã' | 'å' => "a",
        'ä' | 'æ' => "ae",
        'ç' => "c",
        'è' | 'é' | 'ê' | 'ë' => "e",
        'ì' | 'í' | 'î' | 'ï' => "i",
        'ñ' => "n",
        'ò' | 'ó' | 'ô' | 'õ' | 'ø' => "o",
        'ö' | 'œ' => "oe",
        'ù' | 'ú' | 'û' => "u",
        'ü' => "ue",
        'ý' | 'ÿ' => "y",
        'ß' => "ss",
        // Accents that stand behind their letter, as some file systems write them, and apostrophes.
        '\u{300}'..='\u{36f}' | '\'' | '’' => "",
        _ => return None,
    })
}

/// The name that users see: `dental-practice` is `Dental practice`.
fn title_of(id: &str) -> String {
    let words = id.replace(['-', '_'], " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All files below a folder, with what they hold; links as what they lead to.
    fn content(folder: &Path) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut open = vec![folder.to_owned()];
        while let Some(inner) = open.pop() {
            for entry in fs::read_dir(&inner).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                if path.is_symlink() {
                    found.push((name, fs::read_link(&path).unwrap().display().to_string()));
                } else if path.is_dir() {
                    open.push(path);
                } else {
                    found.push((name, fs::read_to_string(&path).unwrap()));
                }
            }
        }
        found.sort();
        found
    }

    #[test]
    fn a_project_of_each_kind_is_written_whole() {
        for (kind, own) in [(Kind::Assistant, "talks/booking.talk"), (Kind::Tables, "talks/refill.talk")] {
            let place = tempfile::tempdir().unwrap();
            let target = place.path().join("Rue de l'Église");
            run(Some(&target), Some(kind)).unwrap();
            let written = content(&target);
            let has = |name: &str| written.iter().any(|(path, _)| path == name);
            let pack = format!("{}.json", kind.name());
            for name in [
                pack.as_str(),
                own,
                "convengine.toml",
                "AGENTS.md",
                ".gitignore",
                ".mcp.json",
                ".vscode/mcp.json",
                ".cursor/mcp.json",
                ".convengine/README.md",
                ".agents/skills/build-a-flow/SKILL.md",
            ] {
                assert!(has(name), "{name} is missing: {:?}", written.iter().map(|it| &it.0).collect::<Vec<_>>());
            }
            let (_, text) = written.iter().find(|it| it.0 == pack).unwrap();
            assert!(text.contains("\"name\": \"rue-de-leglise\""), "{text}");
            for (path, text) in &written {
                assert!(!text.is_empty() && !text.contains("PROJECT_") && !path.contains("/_"), "{path}");
            }
        }
    }

    #[test]
    #[cfg(unix)]
    fn skills_are_found_in_both_places() {
        let place = tempfile::tempdir().unwrap();
        run(Some(place.path()), Some(Kind::Tables)).unwrap();
        let skill = "test-and-debug/SKILL.md";
        let texts = [SKILLS, SKILLS_LINK].map(|folder| fs::read_to_string(place.path().join(folder).join(skill)).unwrap());
        assert_eq!(texts[0], texts[1]);
    }

    #[test]
    fn a_folder_that_is_not_empty_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("notes.txt"), "mine").unwrap();
        let before = content(place.path());
        let failure = run(Some(place.path()), Some(Kind::Assistant)).unwrap_err();
        assert_eq!((failure.code, failure.lines.len()), (2, 1));
        assert!(failure.lines[0].contains("'notes.txt'"), "{failure}");
        assert_eq!(content(place.path()), before);
        let file = place.path().join("notes.txt");
        assert_eq!(run(Some(&file), Some(Kind::Assistant)).unwrap_err().code, 2);
        assert_eq!(content(place.path()), before);
    }

    #[test]
    fn hidden_files_stay_and_none_is_overwritten() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join(".git")).unwrap();
        fs::write(place.path().join(".git/config"), "git").unwrap();
        run(Some(place.path()), Some(Kind::Tables)).unwrap();
        assert_eq!(fs::read_to_string(place.path().join(".git/config")).unwrap(), "git");

        let taken = tempfile::tempdir().unwrap();
        fs::write(taken.path().join(".mcp.json"), "mine").unwrap();
        let failure = run(Some(taken.path()), Some(Kind::Tables)).unwrap_err();
        assert_eq!(failure.code, 2);
        assert!(failure.lines[0].contains(".mcp.json"), "{failure}");
        assert_eq!(content(taken.path()), [(".mcp.json".to_owned(), "mine".to_owned())]);
    }

    #[test]
    fn names_become_ids() {
        for (name, id, title) in [
            ("bakery", "bakery", "Bakery"),
            ("Dental Practice", "dental-practice", "Dental practice"),
            ("Zahnärzte am Markt", "zahnaerzte-am-markt", "Zahnaerzte am markt"),
            ("Cafe\u{301} d’Or", "cafe-dor", "Cafe dor"),
            ("my_bot.v2", "my_bot-v2", "My bot v2"),
            ("24h", "assistant-24h", "Assistant 24h"),
            ("--", "assistant", "Assistant"),
            ("", "assistant", "Assistant"),
            ("歯医者", "assistant", "Assistant"),
            (r#"a"b\c"#, "a-b-c", "A b c"),
        ] {
            assert_eq!((id_of(name, Kind::Assistant).as_str(), title_of(id).as_str()), (id, title), "{name}");
        }
        assert_eq!(id_of("24h", Kind::Tables), "tables-24h");
        assert_eq!(id_of(&format!("{}-bot", "a".repeat(63)), Kind::Tables), "a".repeat(63));
    }

    #[test]
    fn the_name_is_that_of_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let inner = place.path().join("clinic");
        assert_eq!(folder_name(&inner), "clinic");
        fs::create_dir(&inner).unwrap();
        assert_eq!(folder_name(&inner.join(".")), "clinic");
        assert_eq!(folder_name(&inner.join("x/..")), "");
        assert_eq!(folder_name(Path::new("/")), "");
    }

    #[test]
    fn an_answer_chooses_the_kind() {
        for (input, kind) in [
            ("\n", Kind::Assistant),
            ("", Kind::Assistant),
            ("Tables\n", Kind::Tables),
            ("t\n", Kind::Tables),
            ("what?\na\n", Kind::Assistant),
            ("what?\ntables\n", Kind::Tables),
        ] {
            assert_eq!(read_kind(&mut input.as_bytes()), kind, "{input:?}");
        }
    }

    /// Coding assistants choose a skill by its description, and refuse one whose name is not that of its folder.
    #[test]
    fn each_skill_says_what_it_is_for() {
        let mut names = Vec::new();
        for (path, text) in files(Kind::Assistant, "x") {
            let Ok(path) = path.strip_prefix(SKILLS) else { continue };
            let name = path.parent().unwrap().display().to_string();
            let (front, _) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
            let (first, second) = front.split_once('\n').unwrap();
            assert_eq!(first, format!("name: {name}"));
            let description = second.strip_prefix("description: ").unwrap();
            assert!(
                (40..=1024).contains(&description.len()) && !description.contains(['\n', '#']) && !description.contains(": "),
                "{name}"
            );
            assert!((40..=160).contains(&text.lines().count()), "{name} has {} lines", text.lines().count());
            names.push(name);
        }
        assert_eq!(names, ["build-a-flow", "build-tables", "move-from-another-builder", "test-and-debug", "transcripts-to-talks"]);
    }
}
