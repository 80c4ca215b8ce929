//! Characters of documents that are not seen: where a word may be divided, how its letters join, in which direction it is written.

/// Whether a character divides no words and is no part of one.
pub(super) fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character says nothing to a reader either; others join letters or select their form.
fn is_layout(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}')
}

/// Whether the spaces of width 0 behind a letter are the only ones between words: those of Burmese and Khmer.
fn needs_spaces(letter: char) -> bool {
    matches!(letter, '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
}

/// Removes what only the layout of a document needs. A word that is hyphenated at the end of a line becomes whole.
pub(super) fn without_layout(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
        if character == '\u{ad}' && rest.starts_with('\n') {
            rest = rest.trim_start();
        } else if character == '\u{200b}' && out.ends_with(needs_spaces) || !is_layout(character) {
            out.push(character);
        }
    }
    out
}

/// Returns the letters that words are made of.
pub(super) fn without_invisible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character == '\u{200b}' && out.ends_with(needs_spaces) || !is_invisible(character) {
            out.push(character);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole() {
        for (text, kept, word) in [
            ("Un\u{ad}believ\u{ad}able", "Unbelievable", "Unbelievable"),
            ("Un\u{ad}\n  believable", "Unbelievable", "Unbelievable"),
            ("Un\u{200b}believ\u{2060}able\u{feff}", "Unbelievable", "Unbelievable"),
            ("\u{202b}שלום\u{202c}\u{200f}", "שלום", "שלום"),
            ("می\u{200c}خواهم", "می\u{200c}خواهم", "میخواهم"),
            ("葛\u{e0100}城", "葛\u{e0100}城", "葛城"),
            ("ភាសា\u{200b}ខ្មែរ", "ភាសា\u{200b}ខ្មែរ", "ភាសា\u{200b}ខ្មែរ"),
        ] {
            assert_eq!(without_layout(text), kept, "{text:?}");
            assert_eq!(without_invisible(kept), word, "{text:?}");
        }
    }
}
