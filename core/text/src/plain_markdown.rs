//! Markdown as plain text, for people who read it in a chat: no channel shows the signs as they are meant.
//!
//! Only signs that are Markdown for certain are changed: `2 * 3 * 4` and `file_name_x` stay as they are.

/// Signs that a backslash makes ordinary.
const ESCAPABLE: &str = "\\`*_[]()#+-.!|>~";

/// Returns a Markdown text as plain text: headings and quotes without their signs, lists with hyphens, links with their addresses behind them.
pub fn plain_markdown(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            is_code = !is_code;
        } else if is_code {
            lines.push(line.to_owned());
        } else {
            lines.extend(plain_line(line));
        }
    }
    lines.dedup_by(|one, other| one.trim().is_empty() && other.trim().is_empty());
    lines.join("\n").trim().to_owned()
}

/// A line without the signs of its block; `None` for one that is only a sign.
fn plain_line(line: &str) -> Option<String> {
    let indent = line.len() - line.trim_start().len();
    let (blank, rest) = line.split_at(indent);
    let rest = rest.trim_end();
    if is_rule(rest) || is_table_rule(rest) {
        return None;
    }
    if let Some(title) = heading(rest).filter(|_| indent <= 3) {
        return Some(plain_spans(title));
    }
    if let Some(quoted) = rest.strip_prefix('>') {
        return plain_line(quoted.strip_prefix(' ').unwrap_or(quoted));
    }
    if let Some(item) = ["* ", "+ ", "- "].iter().find_map(|it| rest.strip_prefix(it)) {
        let item = ["[ ] ", "[x] ", "[X] "].iter().find_map(|it| item.strip_prefix(it)).unwrap_or(item);
        return Some(format!("{blank}- {}", plain_spans(item.trim_start())));
    }
    if let Some(cells) = rest.strip_prefix('|').and_then(|row| row.strip_suffix('|')) {
        let cells: Vec<String> = cells.split('|').map(|cell| plain_spans(cell.trim())).filter(|it| !it.is_empty()).collect();
        return Some(cells.join(" – "));
    }
    Some(format!("{blank}{}", plain_spans(rest)))
}

fn heading(line: &str) -> Option<&str> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line.get(level..).filter(|_| (1..=6).contains(&level))?;
    (title.is_empty() || title.starts_with(' ')).then(|| title.trim().trim_end_matches('#').trim_end())
}

/// Whether a line is a rule, or underlines a heading.
fn is_rule(line: &str) -> bool {
    let signs: String = line.chars().filter(|it| !it.is_whitespace()).collect();
    signs.len() >= 3 && ['-', '*', '_', '='].iter().any(|sign| signs.chars().all(|it| it == *sign))
}

fn is_table_rule(line: &str) -> bool {
    line.contains('|') && line.contains('-') && line.chars().all(|c| "|-: ".contains(c))
}

/// A text without the signs within its lines.
fn plain_spans(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(sign) = rest.chars().next() {
        let before = plain.chars().next_back();
        let taken = match sign {
            '\\' => escaped(rest).map(|c| (c.to_string(), 1 + c.len_utf8())),
            '`' => code(rest),
            '!' if rest.starts_with("![") => link(rest.get(1..).unwrap_or_default()).map(|link| (link.label, link.length + 1)),
            '[' => link(rest).map(|link| (link.to_text(), link.length)),
            '<' => tag(rest),
            '*' | '_' | '~' => emphasis(rest, sign, before),
            _ => None,
        };
        let (piece, length) = taken.unwrap_or_else(|| (sign.to_string(), sign.len_utf8()));
        plain.push_str(&piece);
        rest = rest.get(length..).unwrap_or_default();
    }
    plain
}

fn escaped(text: &str) -> Option<char> {
    text.chars().nth(1).filter(|it| ESCAPABLE.contains(*it))
}

/// A span of code, and its length with its signs.
fn code(text: &str) -> Option<(String, usize)> {
    let ticks = text.bytes().take_while(|byte| *byte == b'`').count();
    let fence = text.get(..ticks)?;
    let inner = text.get(ticks..)?;
    let end = inner.find(fence)?;
    Some((inner.get(..end)?.trim().to_owned(), end + 2 * ticks))
}

struct Link {
    label: String,
    address: String,
    length: usize,
}

impl Link {
    fn to_text(&self) -> String {
        let is_shown = self.address.is_empty() || self.address.starts_with('#') || self.label == self.address;
        if is_shown { self.label.clone() } else { format!("{} ({})", self.label, self.address) }
    }
}

/// `[label](address "title")`.
fn link(text: &str) -> Option<Link> {
    let close = text.find("](")?;
    let label = text.get(1..close).filter(|it| !it.contains('\n'))?;
    let rest = text.get(close + 2..)?;
    let end = rest.find(')')?;
    let address = rest.get(..end)?.split_whitespace().next().unwrap_or_default();
    let address = address.trim_start_matches('<').trim_end_matches('>');
    Some(Link { label: plain_spans(label), address: address.to_owned(), length: close + 2 + end + 1 })
}

/// `<https://example.com>`, and a line break as HTML has it.
fn tag(text: &str) -> Option<(String, usize)> {
    let end = text.find('>')?;
    let inner = text.get(1..end)?;
    if ["br", "br/", "br /"].iter().any(|it| inner.eq_ignore_ascii_case(it)) {
        return Some(("\n".to_owned(), end + 1));
    }
    let is_address = inner.starts_with("http://") || inner.starts_with("https://") || inner.starts_with("mailto:");
    is_address.then(|| (inner.trim_start_matches("mailto:").to_owned(), end + 1))
}

/// An emphasised span: its signs stand at the edges of words.
fn emphasis(text: &str, sign: char, before: Option<char>) -> Option<(String, usize)> {
    let count = text.chars().take_while(|it| *it == sign).count();
    if count > 3 || (sign == '~' && count != 2) || before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let marker = text.get(..count)?;
    let inner = text.get(count..).filter(|inner| inner.chars().next().is_some_and(|it| !it.is_whitespace()))?;
    let closes = |at: &usize| {
        let behind = inner.get(at + count..).and_then(|rest| rest.chars().next());
        let is_word_end = inner.get(..*at).and_then(|before| before.chars().next_back()).is_some_and(|it| !it.is_whitespace());
        is_word_end && behind.is_none_or(|c| !c.is_alphanumeric() && c != sign)
    };
    let end = inner.match_indices(marker).map(|it| it.0).find(closes)?;
    Some((plain_spans(inner.get(..end)?), end + 2 * count))
}

#[cfg(test)]
mod tests {
    use super::plain_markdown;

    #[test]
    fn signs_of_markdown_go() {
        for (markdown, plain) in [
            ("# Opening hours\n\nMonday to *Friday*, **9 to 17**.", "Opening hours\n\nMonday to Friday, 9 to 17."),
            ("## Fees ##\n* one\n+ two\n  - three", "Fees\n- one\n- two\n  - three"),
            ("Title\n=====\n\n> quoted `code`", "Title\n\nquoted code"),
            (
                "See [our page](https://example.com/a \"Page\") or <https://example.com>.",
                "See our page (https://example.com/a) or https://example.com.",
            ),
            ("![a map](map.png) and __bold__ and ~~old~~", "a map and bold and old"),
            ("| Day | Hours |\n|-----|:-----:|\n| Mon | 9–17 |", "Day – Hours\nMon – 9–17"),
            ("```\nlet a = 1;\n```\n\n---\nEnd\\*", "let a = 1;\n\nEnd*"),
            ("***both*** (*x*), _y_!<br>z", "both (x), y!\nz"),
        ] {
            assert_eq!(plain_markdown(markdown), plain, "{markdown}");
        }
    }

    #[test]
    fn other_texts_stay() {
        for text in [
            "2 * 3 * 4 = 24",
            "file_name_x and a*b*c",
            "#1 is C#, not C #",
            "Call [us] (now)",
            "a < b > c",
            "It costs 5–10 €. ** not bold",
            "1. first\n2. second",
            "5 - 3",
            "`",
            "[](",
            "![",
            "",
        ] {
            assert_eq!(plain_markdown(text), text, "{text}");
        }
    }
}
