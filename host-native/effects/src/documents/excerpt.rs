//! Cuts an excerpt out of a long text, around the first match.

/// Maximum length of an excerpt in characters.
const MAX_CHARS: usize = 2_000;

/// Number of characters before the match.
const CHARS_BEFORE: usize = 400;

/// Returns the whole text if it is short, or an excerpt that begins and ends between words.
pub fn extract(text: &str, words: &[String]) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= MAX_CHARS {
        return text.to_owned();
    }
    let start = find_first_word(&chars, words).saturating_sub(CHARS_BEFORE).min(chars.len() - MAX_CHARS);
    let end = start + MAX_CHARS;
    let is_gap = |at: usize| at == 0 || at == chars.len() || chars[at].is_whitespace() || chars[at - 1].is_whitespace();
    // Text without spaces is cut anywhere.
    let start = (start..end).find(|it| is_gap(*it)).unwrap_or(start);
    let end = (start + 1..=end).rev().find(|it| is_gap(*it)).unwrap_or(end);
    chars[start..end].iter().collect::<String>().trim().to_owned()
}

/// Returns the position of the first word that begins with a searched word; 0 if there is none.
fn find_first_word(chars: &[char], words: &[String]) -> usize {
    let words: Vec<Vec<char>> = words.iter().map(|word| word.chars().collect()).collect();
    let same = |a: char, b: char| a == b || a.to_lowercase().eq(b.to_lowercase());
    let begins_here = |at: usize, word: &[char]| word.iter().zip(&chars[at..]).all(|(a, b)| same(*a, *b)) && at + word.len() <= chars.len();
    let is_start = |at: usize| chars[at].is_alphanumeric() && (at == 0 || !chars[at - 1].is_alphanumeric());
    (0..chars.len()).find(|at| is_start(*at) && words.iter().any(|word| begins_here(*at, word))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_around_the_word() {
        let words = ["refund".to_owned()];
        assert_eq!(extract("short", &words), "short");
        let text = format!("{}Refunds take a week. {}", "before ".repeat(500), "after ".repeat(500));
        let cut = extract(&text, &words);
        assert!(cut.contains("Refunds take a week.") && cut.starts_with("before") && cut.ends_with("after"), "{cut}");
        assert!((1_980..=2_000).contains(&cut.chars().count()), "{}", cut.chars().count());
        let start = extract(&text, &["nothing".to_owned()]);
        assert!(start.starts_with("before before") && !start.contains("Refunds"));
        assert!(extract(&format!("{}refund", "x ".repeat(3_000)), &words).ends_with("x refund"));
        assert_eq!(extract(&"é".repeat(3_000), &words).chars().count(), 2_000);
    }
}
