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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_written_becomes_words() {
        assert_eq!(of("Can I get a refund? A REFUND!"), ["can", "i", "get", "a", "refund"]);
        assert_eq!(of("title:x NEAR(\"a\" b) -c* ^d"), ["title", "x", "near", "a", "b", "c", "d"]);
        assert_eq!(of("a\" OR \"b' | 'c"), ["a", "or", "b", "c"]);
        assert_eq!(of(" \0 ?! \" "), [""; 0]);
        assert_eq!(of(&(0..100).map(|it| format!("w{it} ")).collect::<String>()).len(), 64);
    }
}
