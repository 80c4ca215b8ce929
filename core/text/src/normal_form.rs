//! Normal forms of Unicode: equivalent characters become equal.

use std::iter;

use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

/// Decomposes the characters of a text, and replaces compatible ones (form NFKD).
pub fn decompose(text: &str) -> impl Iterator<Item = char> {
    unless(text.is_ascii(), text.chars(), |characters| DecomposingNormalizerBorrowed::new_nfkd().normalize_iter(characters))
}

/// Decomposes a character as [`decompose`] does.
pub fn decompose_character(character: char) -> impl Iterator<Item = char> {
    unless(character.is_ascii(), iter::once(character), |characters| DecomposingNormalizerBorrowed::new_nfkd().normalize_iter(characters))
}

/// Composes the characters of a text (form NFC).
pub fn compose(text: &str) -> impl Iterator<Item = char> {
    unless(text.is_ascii(), text.chars(), |characters| ComposingNormalizerBorrowed::new_nfc().normalize_iter(characters))
}

/// Normalises characters unless they are normal: ASCII is, and the start of a normaliser costs more than a few such characters.
fn unless<C: Iterator<Item = char>, N: Iterator<Item = char>>(
    is_normal: bool,
    characters: C,
    normalize: impl FnOnce(C) -> N,
) -> impl Iterator<Item = char> {
    let (normal, other) = if is_normal { (Some(characters), None) } else { (None, Some(characters)) };
    normal.into_iter().flatten().chain(other.map(normalize).into_iter().flatten())
}

/// Whether a character combines with the one before it.
pub fn is_combining_mark(character: char) -> bool {
    CanonicalCombiningClassMapBorrowed::new().get_u8(character) != 0
}
