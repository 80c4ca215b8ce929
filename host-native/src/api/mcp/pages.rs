//! Bounds of results: lists are split into pages, and texts are cut with a marker.

use serde_json::{Value, json};

/// Maximum bytes of the items of a page, and of a text.
pub const MAX_BYTES: usize = 256 * 1024;

/// Returns the items from a cursor on that fit, and the cursor of the next page.
///
/// # Errors
/// A message if the cursor is not one of this list.
pub fn page(items: Vec<Value>, cursor: Option<&str>) -> Result<(Vec<Value>, Option<String>), String> {
    let start = match cursor {
        None => 0,
        Some(text) => text.parse().ok().filter(|start| *start <= items.len()).ok_or_else(|| invalid_cursor(text))?,
    };
    let count = items.len();
    let (mut shown, mut bytes) = (Vec::new(), 0);
    for item in items.into_iter().skip(start) {
        let size = item.to_string().len();
        if !shown.is_empty() && bytes + size > MAX_BYTES {
            break;
        }
        bytes += size;
        shown.push(if size > MAX_BYTES { json!({"omitted": format!("{size} bytes, which is too much for a result")}) } else { item });
    }
    let next = start + shown.len();
    Ok((shown, (next < count).then(|| next.to_string())))
}

/// The message for a cursor that no list has returned.
pub fn invalid_cursor(cursor: &str) -> String {
    format!("invalid cursor '{cursor}'; send one that the list returned, or omit it")
}

/// Cuts a text that is too long; a marker at its end says so, and `hint` where the rest is.
pub fn cut(mut text: String, hint: &str) -> String {
    let bytes = text.len();
    if bytes > MAX_BYTES {
        text.truncate(text.floor_char_boundary(MAX_BYTES));
        text.push_str(&format!("\n[cut: {MAX_BYTES} of {bytes} bytes; {hint}]"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_bounded_and_complete() {
        let items: Vec<Value> = (0..10).map(|number| json!(format!("{number}{}", "x".repeat(MAX_BYTES / 3)))).collect();
        let (mut cursor, mut seen, mut pages) = (None, Vec::new(), 0);
        loop {
            let (shown, next) = page(items.clone(), cursor.as_deref()).expect("a page");
            assert!(json!(shown).to_string().len() <= MAX_BYTES + 16);
            seen.extend(shown);
            pages += 1;
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!((seen, pages), (items, 5));
        for cursor in ["x", "-1", "11"] {
            assert!(page(vec![json!(1)], Some(cursor)).is_err(), "{cursor}");
        }
        let (huge, next) = page(vec![json!("x".repeat(MAX_BYTES + 1))], None).expect("a page");
        assert!(huge[0]["omitted"].is_string() && next.is_none());
    }

    #[test]
    fn a_cut_text_says_so() {
        assert_eq!(cut("short".to_owned(), "read on"), "short");
        let long = cut("\u{e4}".repeat(MAX_BYTES), "read on");
        assert!(long.len() < MAX_BYTES + 100 && long.ends_with("bytes; read on]"), "{}", long.len());
    }
}
