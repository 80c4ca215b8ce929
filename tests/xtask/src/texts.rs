//! Lists the texts that users see, so that somebody can read them in one go: literals with prose in Rust, and the texts of the page.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::project::Project;

/// Folders whose texts reach users, operators or developers.
const FOLDERS: [&str; 19] = [
    "core",
    "extension/src",
    "host-native/src",
    "host-native/access/src",
    "host-native/base/src",
    "host-native/content/src",
    "host-native/effects/src",
    "host-native/page/src",
    "host-native/project/src",
    "host-native/redaction/src",
    "host-native/restate/src",
    "host-native/settings/src",
    "host-native/storage/src",
    "host-native/turns/src",
    "player/src",
    "server/src",
    "tests/xtask/src",
    "web-demo/src",
    "web-demo/index.html",
];

/// Prints `file:line: text` for each text.
pub fn print(project: &Project) -> Result<()> {
    let mut count = 0;
    for folder in FOLDERS {
        for path in files(&project.root.join(folder))? {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let shown = path.strip_prefix(&project.root).unwrap_or(&path).display().to_string();
            let found = match path.extension().and_then(|it| it.to_str()) {
                Some("rs") if !is_test(&path) => literals(code(&text), b'"', true),
                Some("ts") => [b'"', b'\'', b'`'].into_iter().flat_map(|quote| literals(&text, quote, false)).collect(),
                Some("svelte" | "html") => markup(&text),
                _ => Vec::new(),
            };
            for (line, text) in found.into_iter().filter(|it| is_prose(&it.1)) {
                println!("{shown}:{line}: {text}");
                count += 1;
            }
        }
    }
    println!("{count} texts");
    Ok(())
}

fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut entries: Vec<PathBuf> = fs::read_dir(path)
        .with_context(|| path.display().to_string())?
        .map(|file| file.map(|file| file.path()))
        .collect::<Result<_, _>>()?;
    entries.sort();
    Ok(entries.iter().map(|it| files(it)).collect::<Result<Vec<_>>>()?.concat())
}

fn is_test(path: &Path) -> bool {
    path.iter().any(|name| name == "tests" || name == "tests.rs" || name == "guard_tests.rs") && !path.starts_with("tests")
}

/// The code of a file without its unit tests.
fn code(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod tests").map_or(text, |end| &text[..end])
}

/// String literals with their lines; comments are skipped.
fn literals(text: &str, quote: u8, may_span_lines: bool) -> Vec<(usize, String)> {
    let bytes = text.as_bytes();
    let (mut at, mut line, mut found) = (0, 1, Vec::new());
    while let Some(&byte) = bytes.get(at) {
        if bytes[at..].starts_with(b"//") {
            at += bytes[at..].iter().position(|it| *it == b'\n').unwrap_or(bytes.len() - at);
            continue;
        }
        if bytes[at..].starts_with(b"/*") {
            let comment = bytes[at..].windows(2).position(|it| it == b"*/").unwrap_or(bytes.len() - at);
            line += bytes[at..at + comment].iter().filter(|it| **it == b'\n').count();
            at += comment;
            continue;
        }
        line += usize::from(byte == b'\n');
        at += 1;
        // A quote as a character, as in Rust's '"'.
        if byte != quote || bytes.get(at.wrapping_sub(2)) == Some(&b'\'') && bytes.get(at) == Some(&b'\'') {
            continue;
        }
        let (start, first) = (at, line);
        let end = bytes[at..].iter().position(|byte| *byte == quote || *byte == b'\n');
        if !may_span_lines && end.is_none_or(|offset| bytes[at + offset] == b'\n') {
            continue;
        }
        while bytes.get(at).is_some_and(|it| *it != quote) {
            line += usize::from(bytes[at] == b'\n');
            at += if bytes[at] == b'\\' { 2 } else { 1 };
        }
        let literal = text.get(start..at).unwrap_or_default().replace("\\\n", "");
        found.push((first, literal.split_whitespace().collect::<Vec<_>>().join(" ")));
        at += 1;
    }
    found
}

/// Text nodes of markup, and the attributes that people read or hear.
fn markup(text: &str) -> Vec<(usize, String)> {
    let (mut line, mut found) = (1, Vec::new());
    for part in text.split_inclusive('<') {
        let shown = part.split_once('>').map_or("", |it| it.1).trim_end_matches('<');
        found.extend(shown.lines().enumerate().map(|(index, text)| (line + index, text.trim().to_owned())));
        for attribute in ["title=", "aria-label=", "placeholder=", "label="] {
            let values = part.split(attribute).skip(1).filter_map(|value| value.strip_prefix('"')?.split_once('"'));
            found.extend(values.map(|it| (line, it.0.to_owned())));
        }
        line += part.matches('\n').count();
    }
    found
}

/// Whether a text reads as prose: three words, and neither SQL nor JSON nor code.
fn is_prose(text: &str) -> bool {
    let words =
        text.split(' ').filter(|word| word.len() > 1 && word.trim_matches(|c: char| !c.is_alphanumeric()).chars().all(char::is_alphabetic));
    let first = text.split(' ').next().unwrap_or_default();
    let is_code =
        ["select", "insert", "update", "delete", "create", "with", "begin", "import", "const", "return", "if", "{"].contains(&first);
    words.count() >= 3 && !is_code && !text.contains("=>") && !text.contains("\\\":") && !text.contains("&&") && !text.contains(" = $")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_have_their_lines_and_comments_have_none() {
        let text = "// \"not this one here\"\nlet a = \"one two three\";\nlet quote = '\"';\nlet b = \"four \\\"five\\\" six\";\n";
        let found: Vec<_> = literals(text, b'"', true).into_iter().filter(|it| is_prose(&it.1)).collect();
        assert_eq!(found, [(2, "one two three".to_owned()), (4, "four \\\"five\\\" six".to_owned())]);
        assert!(!is_prose("select a from b") && !is_prose("two words"));
    }
}
