//! The marks with which a locale writes numbers in digits.

use crate::language::region_of;

/// The marks of numbers in digits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marks {
    pub decimal: char,
    pub group: char,
    pub is_indian: bool,
}

/// Languages with a decimal comma.
const COMMA_LANGUAGES: [&str; 25] = [
    "bg", "cs", "da", "de", "el", "es", "fi", "fr", "hu", "id", "it", "nb", "nl", "nn", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sv",
    "tr", "uk", "vi",
];
/// Those of them that group digits with blanks.
const BLANK_LANGUAGES: [&str; 13] = ["bg", "cs", "fi", "fr", "hu", "nb", "nn", "no", "pl", "ru", "sk", "sv", "uk"];
/// Regions of Spanish with a decimal point.
const POINT_REGIONS: [&str; 10] = ["MX", "US", "GT", "HN", "NI", "PA", "PE", "PR", "DO", "SV"];

impl Marks {
    /// The marks of a language in a region.
    pub fn from_language(language: &str, region: &str) -> Marks {
        let is_swiss = matches!(region, "CH" | "LI");
        let is_point =
            !COMMA_LANGUAGES.contains(&language) || language == "es" && POINT_REGIONS.contains(&region) || is_swiss && language != "fr";
        let (decimal, group) = match is_point {
            true if is_swiss => ('.', '\''),
            true => ('.', ','),
            false if BLANK_LANGUAGES.contains(&language) => (',', ' '),
            false => (',', '.'),
        };
        Marks { decimal, group, is_indian: region == "IN" || language == "hi" }
    }
}

/// How a locale writes numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberMarks {
    /// The decimal mark.
    pub decimal: char,
    /// Between groups of digits.
    pub group: char,
    /// Whether groups before the last have two digits.
    pub has_pairs: bool,
}

/// The marks with which a locale writes numbers; what is written with them is read.
pub fn number_marks(locale: &str) -> NumberMarks {
    let language = locale.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
    let marks = Marks::from_language(&language, &region_of(locale));
    // A blank that does not break, and the apostrophe of typesetters.
    let group = match marks.group {
        ' ' => '\u{202f}',
        '\'' => '’',
        other => other,
    };
    NumberMarks { decimal: marks.decimal, group, has_pairs: marks.is_indian }
}
