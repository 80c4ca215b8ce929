//! Markdown building blocks.

/// A table; cells are escaped, and columns without any text are left out.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let kept: Vec<usize> = (0..head.len()).filter(|column| rows.iter().any(|row| row.get(*column).is_some_and(|it| !it.is_empty()))).collect();
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | ").replace("  ", " "));
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

/// Values in code style with commas between.
pub fn codes<'v>(values: impl IntoIterator<Item = &'v str>) -> String {
    values.into_iter().map(code).collect::<Vec<_>>().join(", ")
}

/// A fenced block.
pub fn fence(language: &str, text: &str) -> String {
    format!("```{language}\n{}\n```\n", text.trim_end())
}

/// The anchor of a heading, as GitHub makes it.
pub fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn cell(text: &str) -> String {
    // A vertical bar separates cells even within code.
    text.replace('\n', " ").replace('|', "\\|")
}
