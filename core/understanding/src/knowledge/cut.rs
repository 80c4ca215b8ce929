//! Cuts sources into chunks at the largest boundaries that fit: sections, paragraphs, lines, sentences, words.

use std::borrow::Cow;
use std::collections::BTreeMap;

use convengine_text::collapse_whitespace;
use unicode_segmentation::UnicodeSegmentation;

use super::analysis::count_terms;
use super::invisible::without_layout;
use super::markdown::{self, Section};
use super::source::{Chunk, Source, SourceFormat, UNREADABLE};

/// How many characters a chunk has at most: about 300 words, an abstract or a section of a help page.
pub const MAX_CHUNK_CHARS: usize = 2_000;

/// How long a title is at most: it is kept and analysed with every chunk.
const MAX_TITLE_CHARS: usize = 200;

/// How often a term of the title counts.
const TITLE_WEIGHT: u32 = 1;

/// Cuts a source into chunks and analyses them. A source without text has none.
pub fn cut_source(source: &Source) -> Vec<Chunk> {
    let text = clean(&source.text);
    let sections = match source.format {
        SourceFormat::Text => vec![Section { headings: Vec::new(), text: &text }],
        SourceFormat::Markdown => markdown::sections(&text),
    };
    let title = clean_title(&source.title);
    let parts = sections.iter().flat_map(|section| {
        let title = title_with_headings(&title, &section.headings);
        cut_text(section.text, MAX_CHUNK_CHARS).into_iter().map(move |text| (title.clone(), text))
    });
    (1..).zip(parts).map(|(number, (title, text))| chunk(source, number, title, text)).collect()
}

fn chunk(source: &Source, number: usize, title: String, text: &str) -> Chunk {
    let mut counts = BTreeMap::new();
    count_terms(&title, &source.locale, &mut counts);
    counts.values_mut().for_each(|it| *it *= TITLE_WEIGHT);
    let words = if source.format == SourceFormat::Markdown { markdown::without_marks_in_words(text) } else { Cow::Borrowed(text) };
    count_terms(&words, &source.locale, &mut counts);
    Chunk {
        id: format!("{}#{number}", source.id),
        source: source.id.clone(),
        title,
        url: source.url.clone(),
        text: text.to_owned(),
        length: counts.values().sum(),
        terms: counts.into_iter().collect(),
    }
}

/// Makes line ends uniform and removes characters that are not text, which databases may refuse. Of characters side by side that could not
/// be read, one mark is left.
fn clean(text: &str) -> String {
    let text = without_layout(&text.replace("\r\n", "\n"));
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\r' | '\u{b}' | '\u{c}' | '\u{2028}' | '\u{2029}' => out.push('\n'),
            '\n' | '\t' => out.push(character),
            UNREADABLE if out.ends_with(UNREADABLE) => {}
            _ => out.push(if character.is_control() { ' ' } else { character }),
        }
    }
    out
}

fn clean_title(title: &str) -> String {
    collapse_whitespace(&clean(title)).chars().take(MAX_TITLE_CHARS).collect()
}

/// A document often repeats its title as its first heading.
fn title_with_headings(title: &str, headings: &[String]) -> String {
    let repeats = headings.first().is_some_and(|heading| heading.to_lowercase() == title.to_lowercase());
    let headings = headings.iter().skip(usize::from(repeats)).map(String::as_str);
    [title].into_iter().chain(headings).filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" › ")
}

/// Cuts a text into parts of similar length, each at most `most` characters.
fn cut_text(text: &str, most: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    split(text.trim(), Boundary::Paragraph, most, &mut pieces);
    let lengths: Vec<usize> = pieces.iter().map(|piece| piece.chars().count()).collect();
    let mut rest: usize = lengths.iter().sum();
    let (mut parts, mut start, mut end, mut length) = (Vec::new(), 0, 0, 0);
    for (piece, piece_length) in pieces.iter().zip(lengths) {
        let even_length = rest / rest.div_ceil(most).max(1);
        if length > 0 && (length + piece_length > most || length + piece_length / 2 > even_length) {
            parts.push(start..end);
            (start, rest, length) = (end, rest - length, 0);
        }
        end += piece.len();
        length += piece_length;
    }
    parts.push(start..end);
    parts.into_iter().filter_map(|range| text.trim().get(range)).map(str::trim).filter(|it| !it.is_empty()).collect()
}

/// Where a text is split, the best place first.
#[derive(Clone, Copy)]
enum Boundary {
    Paragraph,
    Line,
    Sentence,
    Word,
    Character,
}

/// Splits a text into consecutive pieces of at most `most` characters.
fn split<'a>(text: &'a str, boundary: Boundary, most: usize, pieces: &mut Vec<&'a str>) {
    if text.chars().nth(most).is_none() {
        pieces.push(text);
        return;
    }
    match boundary {
        Boundary::Paragraph => paragraphs(text).into_iter().for_each(|it| split(it, Boundary::Line, most, pieces)),
        Boundary::Line => text.split_inclusive('\n').for_each(|it| split(it, Boundary::Sentence, most, pieces)),
        Boundary::Sentence => text.split_sentence_bounds().for_each(|it| split(it, Boundary::Word, most, pieces)),
        Boundary::Word => text.split_word_bounds().for_each(|it| split(it, Boundary::Character, most, pieces)),
        Boundary::Character => pieces.extend(every(text, most)),
    }
}

/// Splits a text after blank lines.
fn paragraphs(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut offset, mut was_blank) = (0, 0, false);
    for line in text.split_inclusive('\n') {
        let is_blank = line.trim().is_empty();
        if was_blank && !is_blank {
            found.extend(text.get(start..offset));
            start = offset;
        }
        (offset, was_blank) = (offset + line.len(), is_blank);
    }
    found.extend(text.get(start..));
    found
}

/// Splits a text after every `most` characters.
fn every(text: &str, most: usize) -> Vec<&str> {
    let starts: Vec<usize> = text.char_indices().step_by(most.max(1)).map(|it| it.0).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).filter_map(|(start, end)| text.get(*start..end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(title: &str, text: &str, format: SourceFormat) -> Source {
        Source {
            id: "s".to_owned(),
            title: title.to_owned(),
            text: text.to_owned(),
            url: None,
            locale: "en".to_owned(),
            format,
            unreadable_pages: 0,
        }
    }

    fn plain(text: &str) -> Vec<Chunk> {
        cut_source(&source("Title", text, SourceFormat::Text))
    }

    /// Asserts that no chunk is too long and no letter is lost.
    fn assert_whole(text: &str) -> Vec<Chunk> {
        let chunks = plain(text);
        let letters = |text: &str| text.chars().filter(|character| character.is_alphanumeric()).collect::<String>();
        assert_eq!(letters(&chunks.iter().map(|it| it.text.as_str()).collect::<String>()), letters(text));
        assert!(chunks.iter().all(|chunk| chunk.text.chars().count() <= MAX_CHUNK_CHARS && !chunk.text.is_empty()));
        chunks
    }

    #[test]
    fn a_short_text_is_one_chunk() {
        let chunks = plain("Cards cost 5 euros.\r\n\r\nOrder cards here.\u{0}");
        assert_eq!(chunks.len(), 1);
        assert_eq!((chunks[0].id.as_str(), chunks[0].title.as_str()), ("s#1", "Title"));
        assert_eq!(chunks[0].text, "Cards cost 5 euros.\n\nOrder cards here.");
        assert_eq!((chunks[0].count("card"), chunks[0].count("titl"), chunks[0].count("cards")), (2, TITLE_WEIGHT, 0));
        assert_eq!(chunks[0].length, 7 + TITLE_WEIGHT);
        assert!(chunks[0].terms.is_sorted());
    }

    #[test]
    fn long_texts_are_cut_at_the_best_boundary() {
        let paragraph = "A sentence of a few words. ".repeat(30);
        let chunks = assert_whole(&[paragraph.as_str(); 5].join("\n\n"));
        let paragraphs: Vec<usize> = chunks.iter().map(|chunk| chunk.text.split("\n\n").count()).collect();
        assert_eq!(paragraphs, [2, 1, 2]);
        let chunks = assert_whole(&"A sentence of a few words. ".repeat(200));
        assert!(chunks.iter().all(|it| it.text.ends_with("words.")));
        let chunks = assert_whole(&"word ".repeat(1_000));
        assert!(chunks.iter().all(|chunk| chunk.text.ends_with("word") && chunk.text.starts_with("word")));
        assert!(chunks.windows(2).all(|pair| pair[0].text.len().abs_diff(pair[1].text.len()) < 20), "of similar length");
    }

    #[test]
    fn bad_texts_are_harmless() {
        for text in ["", "   ", "\n\n\n", "\u{0}\u{1}\u{2}"] {
            assert!(plain(text).is_empty(), "{text:?}");
        }
        assert_whole(&"x".repeat(100_000));
        assert_whole(&"漢".repeat(10_000));
        assert_whole(&"a\u{301}\u{302}".repeat(5_000));
        assert_whole(&"🧑‍🚀".repeat(3_000));
        assert_whole(&"\u{7}x\n".repeat(20_000));
        assert_whole(&"# \n".repeat(2_000));
        let chunks = cut_source(&source(&"t".repeat(9_000), &format!("# {}", "[h](".repeat(9_000)), SourceFormat::Markdown));
        assert!(chunks.iter().all(|chunk| chunk.title.chars().count() < 2 * MAX_TITLE_CHARS + 10));
        cut_source(&source("", &"# \n#\n```\n---\na\n---\n".repeat(2_000), SourceFormat::Markdown));
    }

    #[test]
    fn words_of_documents_stay_whole() {
        for (text, format) in [
            ("Un\u{ad}believ\u{ad}able", SourceFormat::Text),
            ("Un\u{ad}\nbelievable", SourceFormat::Text),
            ("Un\u{200b}believ\u{2060}able", SourceFormat::Text),
            ("Un\u{200d}believable", SourceFormat::Text),
            ("Un**believ**able", SourceFormat::Markdown),
            ("*Un*`believ`~~able~~", SourceFormat::Markdown),
        ] {
            let chunks = cut_source(&source("", text, format));
            assert_eq!(chunks[0].count("unbeliev"), 1, "{text:?} {:?}", chunks[0].terms);
        }
        let chunks = cut_source(&source("", "2*3 and 4*5 or a * b* c\n\n* item*s", SourceFormat::Markdown));
        assert_eq!((chunks[0].count("3"), chunks[0].count("item")), (1, 1), "{:?}", chunks[0].terms);
    }

    #[test]
    fn unreadable_characters_are_one_mark() {
        assert_eq!(plain("a \u{fffd}\u{fffd}\u{fffd} b")[0].text, "a \u{fffd} b");
    }

    #[test]
    fn headings_follow_the_title() {
        let body = "Fees of cards abroad. ".repeat(30);
        let text = format!("# Cards\n\n## Fees\n\n{body}\n\n## Limits\n\n{body}");
        let titles = |title: &str| {
            cut_source(&source(title, &text, SourceFormat::Markdown)).into_iter().map(|chunk| chunk.title).collect::<Vec<_>>()
        };
        assert_eq!(titles("cards"), ["cards › Fees", "cards › Limits"]);
        assert_eq!(titles("Help\n center"), ["Help center › Cards › Fees", "Help center › Cards › Limits"]);
        assert_eq!(titles(""), ["Cards › Fees", "Cards › Limits"]);
    }
}
