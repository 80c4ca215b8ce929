//! Splits a query into words. They are plain data: nothing in a query is interpreted as search syntax.

/// Maximum number of words of a query.
const MAX_WORDS: usize = 64;

/// Returns the distinct words of a text in lower case.
pub fn tokenize(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(|it: char| !it.is_alphanumeric()).filter(|it| !it.is_empty()) {
        let word = word.to_lowercase();
        if words.len() < MAX_WORDS && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_split_into_words() {
        assert_eq!(tokenize("Can I get a refund? A REFUND!"), ["can", "i", "get", "a", "refund"]);
        assert_eq!(tokenize("title:x NEAR(\"a\" b) -c* ^d"), ["title", "x", "near", "a", "b", "c", "d"]);
        assert_eq!(tokenize("a\" OR \"b' | 'c"), ["a", "or", "b", "c"]);
        assert_eq!(tokenize(" \0 ?! \" "), [""; 0]);
        assert_eq!(tokenize(&(0..100).map(|it| format!("w{it} ")).collect::<String>()).len(), 64);
    }
}
