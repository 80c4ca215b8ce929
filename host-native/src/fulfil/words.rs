//! The words of a question. They are data: nothing that a user writes is syntax of a search.

/// Words of a question that are looked for.
const MOST: usize = 64;

/// The different words of a text, in lower case.
pub fn of(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(|it: char| !it.is_alphanumeric()).filter(|it| !it.is_empty()) {
        let word = word.to_lowercase();
        if words.len() < MOST && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// An expression of FTS5 that is true of any of the words.
pub fn expression(words: &[String]) -> Option<String> {
    let quoted: Vec<String> = words.iter().map(|it| format!("\"{it}\"")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" OR "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_written_becomes_quoted_words() {
        let expression = |text: &str| expression(&of(text)).unwrap_or_default();
        assert_eq!(expression("Can I get a refund? A REFUND!"), "\"can\" OR \"i\" OR \"get\" OR \"a\" OR \"refund\"");
        assert_eq!(expression("title:x NEAR(\"a\" b) -c* ^d"), "\"title\" OR \"x\" OR \"near\" OR \"a\" OR \"b\" OR \"c\" OR \"d\"");
        assert_eq!(expression("a\" OR \"b"), "\"a\" OR \"or\" OR \"b\"");
        assert_eq!(expression(" \0 ?! \" "), "");
        assert_eq!(of(&(0..100).map(|it| format!("w{it} ")).collect::<String>()).len(), 64);
    }
}
