//! Finds the sections of a Markdown text. Only headings and fenced code are read: paragraphs are separated by blank lines in any text.

use std::borrow::Cow;

/// The marks of emphasis and code that may stand inside words.
const MARKS: [char; 3] = ['*', '~', '`'];

/// How short neighbouring sections are that become one.
const MERGED_CHARS: usize = 500;

/// How long a heading is at most where it is part of a title.
const MAX_HEADING_CHARS: usize = 200;

/// How far the end of the front matter is looked for.
const FRONT_MATTER_LINES: usize = 60;

/// A heading and the text below it, up to the next heading.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section<'a> {
    /// The headings above the text, the outermost first.
    pub headings: Vec<String>,
    /// The text with its own heading.
    pub text: &'a str,
}

/// Returns the sections of a text in order; short neighbours are merged.
pub(super) fn sections(text: &str) -> Vec<Section<'_>> {
    let mut merged: Vec<Outlined> = Vec::new();
    for section in outline(text) {
        match merged.last_mut() {
            Some(last) if last.is_bare || fits(text, last.start, section.end) => last.append(section),
            _ => merged.push(section),
        }
    }
    merged
        .into_iter()
        .filter_map(|section| Some(Section { headings: section.headings, text: text.get(section.start..section.end)? }))
        .collect()
}

fn fits(text: &str, start: usize, end: usize) -> bool {
    text.get(start..end).is_some_and(|part| part.chars().count() <= MERGED_CHARS)
}

/// Removes the marks of emphasis and code from words that they divide: `Un**believ**able` is one word.
pub(super) fn without_marks_in_words(text: &str) -> Cow<'_, str> {
    if !text.split_whitespace().any(has_marks_inside) {
        return Cow::Borrowed(text);
    }
    let words = text.split_inclusive(char::is_whitespace);
    Cow::Owned(words.map(|word| if has_marks_inside(word) { word.replace(MARKS, "") } else { word.to_owned() }).collect())
}

/// Whether a word has a mark between letters that begins or ends the emphasis of a part.
fn has_marks_inside(word: &str) -> bool {
    let letters: Vec<&str> = word.split(MARKS).collect();
    let parts = letters.iter().filter(|it| !it.is_empty());
    let mut pairs = parts.clone().zip(parts.skip(1));
    letters.len() > 2 && pairs.any(|(left, right)| left.ends_with(char::is_alphabetic) && right.starts_with(char::is_alphabetic))
}

/// A section as a range of the text.
struct Outlined {
    headings: Vec<String>,
    start: usize,
    end: usize,
    /// Whether the heading has no text of its own.
    is_bare: bool,
}

impl Outlined {
    fn append(&mut self, next: Outlined) {
        if self.is_bare {
            self.headings = next.headings;
        } else {
            let common = self.headings.iter().zip(&next.headings).take_while(|it| it.0 == it.1).count();
            self.headings.truncate(common);
        }
        self.end = next.end;
        self.is_bare &= next.is_bare;
    }
}

/// Returns every heading with its text, and the text before the first heading.
fn outline(text: &str) -> Vec<Outlined> {
    let start = front_matter(text);
    let mut found: Vec<Outlined> = vec![Outlined { headings: Vec::new(), start, end: text.len(), is_bare: true }];
    let mut open: Vec<(usize, String)> = Vec::new();
    let mut lines = Lines::default();
    let mut offset = start;
    for line in text.get(start..).unwrap_or_default().split_inclusive('\n') {
        if let Some(heading) = lines.read(line, offset) {
            while open.last().is_some_and(|it| it.0 >= heading.level) {
                open.pop();
            }
            open.push((heading.level, heading.title));
            if let Some(last) = found.last_mut() {
                last.end = heading.start;
                last.is_bare = !heading.follows_text;
            }
            let headings = open.iter().map(|it| it.1.clone()).collect();
            found.push(Outlined { headings, start: heading.start, end: text.len(), is_bare: true });
        }
        offset += line.len();
    }
    if let Some(last) = found.last_mut() {
        last.is_bare = !lines.has_text;
    }
    found.retain(|it| it.start < it.end);
    found
}

struct Heading {
    level: usize,
    title: String,
    start: usize,
    /// Whether the section before has text below its own heading.
    follows_text: bool,
}

/// What is known of the lines before the current one.
#[derive(Default)]
struct Lines<'a> {
    /// The character and length of the open code fence.
    fence: Option<(char, usize)>,
    /// The line before, with its offset, if it is a paragraph of one line so far: an underline makes it a heading.
    single: Option<(&'a str, usize)>,
    was_blank: bool,
    has_text: bool,
    /// Whether there was text before the single line.
    had_text: bool,
}

impl<'a> Lines<'a> {
    fn read(&mut self, line: &'a str, offset: usize) -> Option<Heading> {
        let trimmed = line.trim();
        if self.is_code(line, trimmed) {
            (self.single, self.was_blank, self.has_text) = (None, false, true);
            return None;
        }
        if let Some((level, title)) = numbered_heading(line) {
            let follows_text = std::mem::take(&mut self.has_text);
            (self.single, self.was_blank) = (None, true);
            return Some(Heading { level, title, start: offset, follows_text });
        }
        if let (Some(level), Some((title, start))) = (underline(trimmed), self.single) {
            let follows_text = self.had_text;
            (self.single, self.was_blank, self.has_text) = (None, true, false);
            return Some(Heading { level, title: plain(title), start, follows_text });
        }
        let starts_paragraph = !trimmed.is_empty() && (self.was_blank || offset == 0) && is_paragraph(line);
        self.single = starts_paragraph.then_some((trimmed, offset));
        self.had_text = self.has_text;
        self.has_text |= !trimmed.is_empty();
        self.was_blank = trimmed.is_empty();
        None
    }

    /// Opens and closes code fences; returns whether the line belongs to one.
    fn is_code(&mut self, line: &str, trimmed: &str) -> bool {
        let mark = trimmed.chars().next().filter(|mark| matches!(mark, '`' | '~') && indent(line) < 4);
        let length = mark.map_or(0, |mark| trimmed.chars().take_while(|character| *character == mark).count());
        match (self.fence, mark) {
            (Some((open, shortest)), Some(mark)) if mark == open && length >= shortest && trimmed.chars().count() == length => {
                self.fence = None;
                true
            }
            (Some(_), _) => true,
            (None, Some(mark)) if length >= 3 => {
                self.fence = Some((mark, length));
                true
            }
            (None, _) => false,
        }
    }
}

/// Returns the level and title of a line such as `## Fees`.
fn numbered_heading(line: &str) -> Option<(usize, String)> {
    let rest = line.trim();
    let level = rest.chars().take_while(|it| *it == '#').count();
    let title = rest.get(level..)?;
    let is_heading = (1..=6).contains(&level) && indent(line) < 4 && (title.is_empty() || title.starts_with([' ', '\t']));
    is_heading.then(|| (level, plain(title.trim().trim_end_matches('#'))))
}

/// Returns the level of a heading that is underlined with `===` or `---`.
fn underline(line: &str) -> Option<usize> {
    let is_row_of = |mark: char| line.len() >= 3 && line.chars().all(|character| character == mark);
    if is_row_of('=') { Some(1) } else { is_row_of('-').then_some(2) }
}

/// Lists, quotes, tables and indented code are not underlined to become headings.
fn is_paragraph(line: &str) -> bool {
    indent(line) < 4 && !line.trim_start().starts_with(['-', '*', '+', '>', '|', '<', '='])
}

fn indent(line: &str) -> usize {
    line.chars().take_while(|it| *it == ' ').count() + if line.starts_with('\t') { 4 } else { 0 }
}

/// Removes emphasis and the targets of links from a heading.
fn plain(title: &str) -> String {
    let mut out = String::new();
    let mut rest = title.trim();
    while let Some((before, link)) = rest.split_once('[') {
        let Some(((label, _), after)) = link.split_once(')').and_then(|(link, after)| Some((link.split_once("](")?, after))) else { break };
        out.push_str(before);
        out.push_str(label);
        rest = after;
    }
    out.push_str(rest);
    out.replace(['*', '`'], "").trim().chars().take(MAX_HEADING_CHARS).collect()
}

/// Returns where the text begins after metadata between two lines of `---`.
fn front_matter(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n').take(FRONT_MATTER_LINES);
    let mut offset = lines.next().filter(|line| line.trim_end() == "---").map_or(0, str::len);
    if offset == 0 {
        return 0;
    }
    let mut has_key = false;
    for line in lines {
        offset += line.len();
        if line.trim_end() == "---" {
            return if has_key { offset } else { 0 };
        }
        has_key |= line.contains(':');
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        sections(text)
            .into_iter()
            .map(|section| format!("{} | {}", section.headings.join(" > "), section.text.trim().replace('\n', "/")))
            .collect()
    }

    fn long(text: &str) -> String {
        format!("{text} {}", "x".repeat(MERGED_CHARS))
    }

    fn paths(text: &str) -> Vec<String> {
        sections(text).into_iter().map(|section| section.headings.join(" > ")).collect()
    }

    #[test]
    fn headings_give_paths() {
        let body = long("body");
        let text = format!("{body}\n# A\n{body}\n## B *b* #\n{body}\n#### [C](http://c)\n{body}\n## D\n{body}\nE\n===\n{body}\n");
        assert_eq!(paths(&text.replace("\nE\n", "\n\nE\n")), ["", "A", "A > B b", "A > B b > C", "A > D", "E"]);
        let joined: String = sections(&text).iter().map(|it| it.text).collect();
        assert_eq!(joined, text, "nothing is lost");
    }

    #[test]
    fn short_neighbours_are_merged() {
        assert_eq!(shown("# A\n\n## B\none\n"), ["A > B | # A//## B/one"]);
        assert_eq!(shown("# A\n## B\none\n## C\ntwo\n"), ["A | # A/## B/one/## C/two"]);
        assert_eq!(shown("# A\n"), ["A | # A"]);
        assert_eq!(shown("text\n"), [" | text"]);
        assert_eq!(paths(&format!("# A\n## B\n{}\n## C\ntwo\n", long("one"))), ["A > B", "A > C"]);
        assert!(shown("").is_empty());
    }

    #[test]
    fn what_only_looks_like_a_heading_is_text() {
        let body = long("body");
        for line in [
            "#tag",
            "####### seven",
            "    # code",
            "```\n# code\n```",
            "~~~~\n```\n# code\n~~~~",
            "- item\n---",
            "| a |\n---",
            "\n---",
            "a\nb\n===",
        ] {
            assert_eq!(paths(&format!("{body}\n\n{line}\n{body}")), [""], "{line}");
        }
        assert_eq!(paths(&format!("{body}\n```\n# never closed\n{body}")), [""]);
    }

    #[test]
    fn front_matter_is_skipped() {
        assert_eq!(shown("---\ntitle: x\n---\n# A\none"), ["A | # A/one"]);
        assert_eq!(shown("---\none\n---\ntwo"), [" | ---/one/---/two"]);
        assert_eq!(shown("---\na: b\n"), [" | ---/a: b"]);
    }
}
