//! Puts characters in the order of reading. A PDF shows them in the order of their places: Hebrew and Arabic from left to right, and vowels
//! of Indian scripts before the consonant that they follow.

use unicode_bidi::{BidiClass, BidiInfo, Level, bidi_class};

/// A line of a page.
#[derive(Debug)]
pub(super) struct Line {
    /// As it is seen, from left to right.
    pub seen: String,
    /// In the order of the instructions.
    pub drawn: String,
}

/// Brackets of lines that are read from right to left show their mirror images.
const MIRRORED: [(char, char); 5] = [('(', ')'), ('[', ']'), ('{', '}'), ('<', '>'), ('«', '»')];

/// What many words of Arabic begin with.
const STARTS: [&str; 7] = ["ال", "وال", "بال", "لل", "أ", "إ", "آ"];

/// What words end with: letters that Hebrew and Arabic have for this place alone, and endings of Arabic and Persian.
const ENDS: [&str; 11] = ["ך", "ם", "ן", "ף", "ץ", "ة", "ى", "ات", "ين", "ون", "ها"];

/// What sentences and their parts end with.
const CLOSING: [char; 8] = ['.', ',', '!', ':', '?', '؟', '،', '؛'];

/// Vowels that are written before the consonants that they are spoken after.
const VOWELS_IN_FRONT: [char; 14] = [
    '\u{93f}', '\u{9bf}', '\u{9c7}', '\u{9c8}', '\u{a3f}', '\u{abf}', '\u{b47}', '\u{b48}', '\u{bc6}', '\u{bc7}', '\u{bc8}', '\u{d46}',
    '\u{d47}', '\u{d48}',
];

/// Returns the texts of the lines of a page in the order of reading.
pub(super) fn into_reading_order(lines: Vec<Line>) -> Vec<String> {
    if !lines.iter().any(|it| has_right_to_left(&it.seen)) {
        return with_vowels_in_place(lines.into_iter().map(|it| it.seen).collect());
    }
    let reordered = |brackets| lines.iter().map(|it| reorder(&it.seen, brackets)).collect::<Vec<_>>();
    let (mirrored, kept) = (reordered(Brackets::Mirrored), reordered(Brackets::Kept));
    // Some programs note what a bracket means, and not what it looks like.
    let ordered = if count_open(&kept) < count_open(&mirrored) { kept } else { mirrored };
    let score = |texts: &mut dyn Iterator<Item = &str>| texts.map(score_order).sum::<i32>();
    // Some programs draw the characters in the order of reading and so show a mirrored text.
    let is_mirrored = score(&mut lines.iter().map(|it| it.drawn.as_str())) > score(&mut ordered.iter().map(String::as_str));
    with_vowels_in_place(if is_mirrored { lines.into_iter().map(|it| it.drawn).collect() } else { ordered })
}

/// What becomes of the brackets of a line that is read from right to left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brackets {
    /// They are mirror images.
    Mirrored,
    Kept,
}

/// Returns the number of brackets that are not closed, or not opened.
fn count_open(texts: &[String]) -> usize {
    let (mut open, mut unopened) = (0_usize, 0_usize);
    for character in texts.iter().flat_map(|it| it.chars()) {
        if MIRRORED.iter().any(|it| it.0 == character) {
            open += 1;
        } else if MIRRORED.iter().any(|it| it.1 == character) {
            unopened += usize::from(open == 0);
            open = open.saturating_sub(1);
        }
    }
    open + unopened
}

/// Moves the vowels of Indian scripts behind their consonants, if a page shows them in front.
fn with_vowels_in_place(texts: Vec<String>) -> Vec<String> {
    let words = || texts.iter().flat_map(|it| it.split_whitespace());
    let in_front = words().filter(|it| it.starts_with(VOWELS_IN_FRONT)).count();
    let behind = words().filter(|it| it.ends_with(VOWELS_IN_FRONT)).count();
    if in_front > behind { texts.iter().map(|it| move_vowels(it)).collect() } else { texts }
}

/// Whether a text has letters that are written from right to left.
pub(super) fn has_right_to_left(text: &str) -> bool {
    text.chars().any(is_right_to_left)
}

fn is_right_to_left(character: char) -> bool {
    matches!(bidi_class(character), BidiClass::R | BidiClass::AL)
}

/// Whether a text is a mark above or below a letter.
pub(super) fn is_mark(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|character| bidi_class(character) == BidiClass::NSM)
}

/// Returns a text of one place, such as a ligature, as it is seen from left to right.
pub(super) fn as_seen(text: &str) -> String {
    if text.chars().nth(1).is_some() && has_right_to_left(text) { reorder(text, Brackets::Mirrored) } else { text.to_owned() }
}

/// Turns the runs of a line that are read against its direction: from what is seen to what is read, and back.
fn reorder(text: &str, brackets: Brackets) -> String {
    if !has_right_to_left(text) {
        return text.to_owned();
    }
    let count = |is_counted: &dyn Fn(char) -> bool| text.chars().filter(|it| is_counted(*it)).count();
    let is_mostly_left_to_right = count(&|character| bidi_class(character) == BidiClass::L) > count(&is_right_to_left);
    let base = if is_mostly_left_to_right { Level::ltr() } else { Level::rtl() };
    let info = BidiInfo::new(text, Some(base));
    let Some(paragraph) = info.paragraphs.first() else { return text.to_owned() };
    let levels = info.reordered_levels_per_char(paragraph, paragraph.range.clone());
    let characters: Vec<char> = text.chars().collect();
    let places = BidiInfo::reorder_visual(&levels);
    let at = |it: usize| Some((*characters.get(it)?, levels.get(it)?.is_rtl()));
    places
        .into_iter()
        .filter_map(at)
        .map(|(it, is_turned)| if is_turned && brackets == Brackets::Mirrored { mirror(it) } else { it })
        .collect()
}

fn mirror(character: char) -> char {
    let of = |(left, right): &(char, char)| match character {
        it if it == *left => Some(*right),
        it if it == *right => Some(*left),
        _ => None,
    };
    MIRRORED.iter().find_map(of).unwrap_or(character)
}

/// How much a line looks like Hebrew or Arabic that is read in the right order, by the ends of its words and of itself.
fn score_order(line: &str) -> i32 {
    let words = line.split_whitespace().map(|word| word.trim_matches(|it: char| !it.is_alphanumeric()));
    let of_words: i32 = words.filter(|word| word.chars().nth(2).is_some()).map(score_word).sum();
    let line = line.trim();
    of_words + i32::from(line.ends_with(CLOSING)) - 2 * i32::from(line.starts_with(CLOSING))
}

fn score_word(word: &str) -> i32 {
    let turned: String = word.chars().rev().collect();
    let fits = |word: &str| STARTS.iter().any(|it| word.starts_with(it)) || ENDS.iter().any(|it| word.ends_with(it));
    i32::from(fits(word)) - i32::from(fits(&turned))
}

/// Moves vowels behind the consonants that they stand in front of.
fn move_vowels(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        if !VOWELS_IN_FRONT.contains(&character) {
            out.push(character);
            continue;
        }
        // Consonants that are joined: each but the last is followed by the sign that takes its vowel away.
        while let Some(consonant) = rest.next_if(|it| is_indian(*it, 0x15..=0x39)) {
            out.push(consonant);
            out.extend(rest.next_if(|it| is_indian(*it, 0x3c..=0x3c)));
            let Some(sign) = rest.next_if(|it| is_indian(*it, 0x4d..=0x4d)) else { break };
            out.push(sign);
        }
        out.push(character);
    }
    out
}

/// Whether a character is at one of these places of its script; the scripts of India are arranged alike.
fn is_indian(character: char, places: std::ops::RangeInclusive<u32>) -> bool {
    ('\u{900}'..='\u{d7f}').contains(&character) && places.contains(&(u32::from(character) % 0x80))
}
