//! Markdown building blocks.

/// The longest line of a paragraph.
const MAX_WIDTH: usize = 140;

/// A table; cells are escaped, and columns without any text are left out.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let kept: Vec<usize> =
        (0..head.len()).filter(|column| rows.iter().any(|row| row.get(*column).is_some_and(|cell| !cell.is_empty()))).collect();
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | ")).replace("|  |", "| |").replace("|  |", "| |");
    let mut text = line(kept.iter().filter_map(|it| head.get(*it)).map(|it| (*it).to_owned()).collect());
    text.push_str(&format!("|{}\n", "---|".repeat(kept.len())));
    for row in rows {
        text.push_str(&line(kept.iter().filter_map(|it| row.get(*it)).map(|it| cell(it)).collect()));
    }
    text
}

/// A value in code style; empty for an empty value.
pub fn code(value: &str) -> String {
    if value.is_empty() { String::new() } else { format!("`{value}`") }
}

/// A JSON value in code style; texts without quotes.
pub fn value(json: &str) -> String {
    code(json.strip_prefix('"').and_then(|it| it.strip_suffix('"')).filter(|it| !it.contains('"')).unwrap_or(json))
}

/// Values in code style with commas between.
pub fn codes<'v>(values: impl IntoIterator<Item = &'v str>) -> String {
    values.into_iter().map(code).collect::<Vec<_>>().join(", ")
}

/// A fenced block.
pub fn fence(language: &str, text: &str) -> String {
    format!("```{language}\n{}\n```\n", text.trim_end())
}

/// Breaks paragraphs into lines of at most 140 characters.
pub fn wrap(text: &str) -> String {
    text.split('\n').map(wrap_line).collect::<Vec<_>>().join("\n")
}

fn wrap_line(line: &str) -> String {
    let (mut wrapped, mut width) = (String::new(), 0);
    for word in line.split(' ') {
        let length = word.chars().count();
        match width {
            0 => {}
            _ if width + 1 + length > MAX_WIDTH => {
                wrapped.push('\n');
                width = 0;
            }
            _ => {
                wrapped.push(' ');
                width += 1;
            }
        }
        wrapped.push_str(word);
        width += length;
    }
    wrapped
}

/// The anchor of a heading, as GitHub makes it.
pub fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|character| character.is_alphanumeric() || matches!(character, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn cell(text: &str) -> String {
    // A vertical bar separates cells even within code.
    text.replace('\n', " ").replace('|', "\\|")
}
