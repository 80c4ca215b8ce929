//! Extensions: what is dialled after a phone number has answered, as `ext. 12`.

/// Words before an extension, in all languages.
const EXTENSION_WORDS: [&str; 19] = [
    "ext",
    "extn",
    "extension",
    "x",
    "durchwahl",
    "dw",
    "nebenstelle",
    "poste",
    "int",
    "interno",
    "extensión",
    "anexo",
    "ramal",
    "extensão",
    "toestel",
    "tst",
    "doorkiesnummer",
    "एक्सटेंशन",
    "एक्सटेन्शन",
];

/// Words between one of them and the digits.
const FOLLOWING_WORDS: [&str; 3] = ["number", "nummer", "नंबर"];

/// Signs between a number and its extension.
const SIGNS_BEFORE: &str = " \u{a0}\u{202f},;(/-–";

/// Signs between the word and the digits: `DW: -12`, `;ext=12`.
const SIGNS_WITHIN: &str = " \u{a0}\u{202f}.:=-–#";

/// Signs that join the digits of an extension to others: `12-13`.
const JOINING_SIGNS: &str = " \u{a0}\u{202f}-–/.";

/// The most digits of an extension.
const MAX_DIGITS: usize = 7;

/// What follows a number.
pub(super) enum Extension {
    /// Nothing that is one.
    None,
    /// Its digits, and how many bytes they take with what stands before them.
    Digits(String, usize),
    /// Digits that may be one, or more than one: how many bytes they take.
    Unclear(usize),
}

/// Reads the extension at the beginning of what follows a number; `is_certain` numbers may be followed by an `x` apart from the digits, which
/// multiplies others.
pub(super) fn read(behind: &str, is_certain: bool) -> Extension {
    let from = behind.trim_start_matches(|it: char| SIGNS_BEFORE.contains(it));
    let skipped = behind.get(..behind.len() - from.len()).unwrap_or_default();
    let Some((word, mut rest)) = split_word(from).filter(|(word, _)| EXTENSION_WORDS.contains(&word.as_str())) else {
        return Extension::None;
    };
    if let Some((_, after)) = split_word(rest.trim_start()).filter(|(word, _)| FOLLOWING_WORDS.contains(&word.as_str())) {
        rest = after;
    }
    let from_digits = rest.trim_start_matches(|it: char| SIGNS_WITHIN.contains(it));
    let is_apart = from_digits.len() < rest.len();
    let digits: String = from_digits.chars().take_while(char::is_ascii_digit).collect();
    if digits.is_empty() || word == "x" && is_apart && !is_certain {
        return Extension::None;
    }
    let after = from_digits.get(digits.len()..).unwrap_or_default();
    let is_joined = after
        .strip_prefix(|it: char| JOINING_SIGNS.contains(it))
        .is_some_and(|tail| tail.starts_with(|character: char| character.is_ascii_digit()));
    let taken = behind.len() - after.len();
    if digits.len() > MAX_DIGITS || is_joined || after.starts_with(char::is_alphanumeric) {
        let joined = after.find(|character: char| !character.is_ascii_digit() && !JOINING_SIGNS.contains(character)).unwrap_or(after.len());
        return Extension::Unclear(taken + joined);
    }
    Extension::Digits(digits, taken + usize::from(skipped.contains('(') && after.starts_with(')')))
}

/// The word at the beginning of a text in lower case, and what follows it.
fn split_word(text: &str) -> Option<(String, &str)> {
    let is_part = |character: char| character.is_alphabetic() || ('\u{900}'..='\u{963}').contains(&character);
    let end = text.find(|it| !is_part(it)).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end)?;
    (!word.is_empty()).then(|| (word.to_lowercase(), rest))
}
