//! Normal forms of Unicode: equivalent characters become equal.

use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

/// Decomposes characters, and replaces compatible ones (form NFKD).
pub(crate) fn decompose(characters: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    DecomposingNormalizerBorrowed::new_nfkd().normalize_iter(characters)
}

/// Composes characters (form NFC).
pub(crate) fn compose(text: &str) -> impl Iterator<Item = char> {
    ComposingNormalizerBorrowed::new_nfc().normalize_iter(text.chars())
}

/// Whether a character combines with the one before it.
pub(crate) fn is_combining_mark(character: char) -> bool {
    CanonicalCombiningClassMapBorrowed::new().get_u8(character) != 0
}
