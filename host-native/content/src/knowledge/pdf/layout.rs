//! Puts the characters of a page together: to lines by their places, and to words by the gaps between them.

use hayro_font::kurbo::Vec2;

use super::content::Piece;
use super::order::{self, Line};

/// How far a character may be from the base line of a line, in its sizes: indices stay in the line.
const MAX_SHIFT: f64 = 0.5;

/// How much the direction may turn within a line, as a cosine.
const MIN_COSINE: f64 = 0.95;

/// The gap between words, in sizes of the font.
const WORD_GAP: f64 = 0.2;

/// The gap between characters of scripts that have no spaces.
const WIDE_GAP: f64 = 0.6;

/// The distance of paragraphs, in sizes of the font.
const PARAGRAPH_GAP: f64 = 1.9;

/// Returns the text of a page: a line for each line, and an empty one between paragraphs.
pub(super) fn text_of(pieces: &[Piece]) -> String {
    let lines = lines_of(pieces);
    let texts = order::into_reading_order(lines.iter().map(|it| line_of(it)).collect());
    let mut out = String::new();
    let mut last: Option<&Piece> = None;
    for (line, text) in lines.iter().zip(texts) {
        let (Some(first), text) = (line.first(), text.trim()) else { continue };
        if text.is_empty() {
            continue;
        }
        if let Some(hyphenated) = out.strip_suffix('\u{ad}') {
            out.truncate(hyphenated.len());
        } else if let Some(last) = last {
            out.push_str(if is_new_paragraph(last, first) { "\n\n" } else { "\n" });
        }
        out.push_str(text);
        last = Some(first);
    }
    out
}

/// Divides the characters, in the order of their drawing, where the base line changes.
fn lines_of(pieces: &[Piece]) -> Vec<Vec<&Piece>> {
    let mut lines: Vec<Vec<&Piece>> = Vec::new();
    let mut base: Option<&Piece> = None;
    for piece in pieces {
        match (lines.last_mut(), base) {
            (Some(line), Some(base)) if is_same_line(base, piece) => line.push(piece),
            _ => lines.push(vec![piece]),
        }
        // An index does not move the base line.
        if base.is_none_or(|base| !is_same_line(base, piece) || piece.size > base.size * 0.8) {
            base = Some(piece);
        }
    }
    lines
}

fn is_same_line(base: &Piece, piece: &Piece) -> bool {
    base.direction.dot(piece.direction) > MIN_COSINE && distance(base, piece) < MAX_SHIFT * base.size.max(piece.size)
}

/// The distance of the base lines.
fn distance(one: &Piece, other: &Piece) -> f64 {
    (other.at - one.at).dot(Vec2::new(-one.direction.y, one.direction.x)).abs()
}

fn is_new_paragraph(last: &Piece, first: &Piece) -> bool {
    last.direction.dot(first.direction) < MIN_COSINE || distance(last, first) > PARAGRAPH_GAP * last.size.max(first.size)
}

/// Joins the characters of a line as they are seen from its beginning to its end, and as they are drawn.
fn line_of(pieces: &[&Piece]) -> Line {
    let drawn = join(pieces);
    if !order::has_right_to_left(&drawn) {
        return Line { seen: drawn.clone(), drawn };
    }
    let mut units: Vec<Piece> = Vec::new();
    for piece in pieces {
        match units.last_mut() {
            // Sorting would put a mark above the middle of its letter behind it, where it is read before it.
            Some(letter) if order::is_mark(&piece.text) && is_within(letter, piece) => letter.text.push_str(&piece.text),
            _ => units.push((*piece).clone()),
        }
    }
    units.sort_by(|left, right| along(left).total_cmp(&along(right)));
    for unit in &mut units {
        unit.text = order::as_seen(&unit.text);
    }
    Line { seen: join(&units.iter().collect::<Vec<_>>()), drawn }
}

/// The place on the line.
fn along(piece: &Piece) -> f64 {
    piece.at.to_vec2().dot(piece.direction)
}

fn is_within(letter: &Piece, mark: &Piece) -> bool {
    let place = along(mark) - along(letter);
    place > 0.0 && place < letter.advance - 0.1 * letter.size
}

fn join(pieces: &[&Piece]) -> String {
    let mut out = String::new();
    let mut end: Option<f64> = None;
    for piece in pieces {
        let start = along(piece);
        if let Some(end) = end
            && let (Some(before), Some(after)) = (out.chars().next_back(), piece.text.chars().next())
            && !before.is_whitespace()
            && !after.is_whitespace()
        {
            let least = if is_wide(before) && is_wide(after) { WIDE_GAP } else { WORD_GAP };
            if start - end > least * piece.size
                || end - start > 2.0 * piece.size.max(piece.advance) && !order::has_right_to_left(&piece.text)
            {
                out.push(' ');
            }
        }
        out.extend(piece.text.chars().map(|character| if character.is_control() { ' ' } else { character }));
        // A mark above a letter takes no room.
        end = Some(if order::is_mark(&piece.text) { end.unwrap_or(start).max(start + piece.advance) } else { start + piece.advance });
    }
    out
}

/// Whether a character fills the square of an ideograph.
fn is_wide(character: char) -> bool {
    matches!(character, '\u{2e80}'..='\u{a4cf}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}
