//! Follows the drawing instructions of a page and collects the characters with their places.

use std::rc::Rc;

use hayro_font::hayro_syntax::content::TypedIter;
use hayro_font::hayro_syntax::content::ops::TypedInstruction;
use hayro_font::hayro_syntax::object::dict::keys::{ACTUAL_TEXT, CONTENTS, MATRIX, RESOURCES, SUBTYPE};
use hayro_font::hayro_syntax::object::{Array, Dict, Name, Number, Object, Stream, String as PdfString};
use hayro_font::hayro_syntax::page::{Page, Resources};
use hayro_font::kurbo::{Affine, Point, Vec2};

use super::super::document::{MAX_TEXT_BYTES, UNREADABLE};
use super::font::{Fonts, PdfFont};

/// Forms that are nested deeper are taken for endless ones.
const MAX_FORM_DEPTH: u32 = 16;

/// The most instructions of a document: forms may draw each other again and again.
const MAX_INSTRUCTIONS: u32 = 20_000_000;

/// The most bytes that the instructions of a document take when they are inflated.
const MAX_INFLATED_BYTES: usize = 256 << 20;

/// Glyphs are measured in thousandths of the size of the font.
const UNITS: f64 = 1000.0;

/// A glyph, or what stands for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    /// Its characters.
    pub text: String,
    /// Where it begins, on the base line.
    pub at: Point,
    /// Where the next one is expected; of length 0 for a mark above its letter.
    pub advance: f64,
    /// The direction of the line, of length 1.
    pub direction: Vec2,
    /// The height of the font.
    pub size: f64,
}

/// What a page shows.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    /// The characters in the order of the instructions.
    pub pieces: Vec<Piece>,
    /// Whether there are images or shapes with curves, which may be those of letters.
    pub has_pictures: bool,
    /// Whether instructions cannot be read.
    pub is_damaged: bool,
}

/// Reads the pages of one document.
#[derive(Default)]
pub(super) struct PageReader<'a> {
    fonts: Fonts<'a>,
    instructions: u32,
    characters: usize,
    inflated_bytes: usize,
}

impl<'a> PageReader<'a> {
    /// Reads a page.
    ///
    /// # Errors
    /// The reason why it cannot be read to its end.
    pub(super) fn read(&mut self, page: &Page<'a>) -> Result<Drawn, String> {
        self.count_inflated(page.page_stream().map_or(0, <[u8]>::len))?;
        let mut walk = Walk { reader: self, drawn: Drawn::default(), state: State::default(), saved: Vec::new(), marked: Vec::new() };
        walk.drawn.is_damaged = is_damaged(page);
        walk.run(page.typed_operations(), page.resources(), 0)?;
        Ok(walk.drawn)
    }

    fn count_inflated(&mut self, bytes: usize) -> Result<(), String> {
        self.inflated_bytes = self.inflated_bytes.saturating_add(bytes);
        match self.inflated_bytes > MAX_INFLATED_BYTES {
            true => Err(format!("its pages take more than {MAX_INFLATED_BYTES} bytes; split it")),
            false => Ok(()),
        }
    }
}

/// The graphics state, as far as it concerns text.
#[derive(Clone)]
struct State<'a> {
    page: Affine,
    text: Affine,
    line: Affine,
    font: Option<Rc<PdfFont<'a>>>,
    size: f64,
    char_space: f64,
    word_space: f64,
    scale: f64,
    leading: f64,
    rise: f64,
}

impl Default for State<'_> {
    fn default() -> Self {
        let [page, text, line] = [Affine::IDENTITY; 3];
        let [size, scale] = [1.0; 2];
        let [char_space, word_space, leading, rise] = [0.0; 4];
        State { page, text, line, font: None, size, char_space, word_space, scale, leading, rise }
    }
}

/// The way through the instructions of a page.
struct Walk<'r, 'a> {
    reader: &'r mut PageReader<'a>,
    drawn: Drawn,
    state: State<'a>,
    saved: Vec<State<'a>>,
    /// The open marked contents.
    marked: Vec<Option<Replacement>>,
}

/// What replaces the characters of the glyphs of a marked content.
#[derive(Debug)]
enum Replacement {
    /// The text, until the first glyph is placed.
    Text(String),
    /// The place among the pieces of that glyph, which takes the room of the others too.
    Piece(usize),
}

impl<'a> Walk<'_, 'a> {
    fn run(&mut self, mut instructions: TypedIter<'_>, resources: &Resources<'a>, depth: u32) -> Result<(), String> {
        let endless = || "its forms are nested without end".to_owned();
        if depth > MAX_FORM_DEPTH {
            return Err(endless());
        }
        while let Some(instruction) = instructions.next() {
            self.reader.instructions += 1;
            if self.reader.instructions > MAX_INSTRUCTIONS {
                return Err(endless());
            }
            match instruction {
                TypedInstruction::XObject(it) => self.draw(resources.get_x_object(it.0), resources, depth)?,
                TypedInstruction::TextFont(it) => self.set_font(resources.get_font(it.0), it.1),
                TypedInstruction::BeginMarkedContentWithProperties(it) => self.mark(it.1, resources),
                other => self.follow(&other)?,
            }
        }
        Ok(())
    }

    /// Follows an instruction that needs no resources.
    fn follow(&mut self, instruction: &TypedInstruction<'_, '_>) -> Result<(), String> {
        let state = &mut self.state;
        match instruction {
            TypedInstruction::SaveState(_) => self.saved.push(self.state.clone()),
            TypedInstruction::RestoreState(_) => {
                if let Some(saved) = self.saved.pop() {
                    // The places of the text are not part of what is saved.
                    self.state = State { text: self.state.text, line: self.state.line, ..saved };
                }
            }
            TypedInstruction::Transform(it) => state.page *= affine([it.0, it.1, it.2, it.3, it.4, it.5]),
            TypedInstruction::BeginText(_) => (state.text, state.line) = (Affine::IDENTITY, Affine::IDENTITY),
            TypedInstruction::SetTextMatrix(it) => {
                state.line = affine([it.0, it.1, it.2, it.3, it.4, it.5]);
                state.text = state.line;
            }
            TypedInstruction::CharacterSpacing(it) => state.char_space = it.0.as_f64(),
            TypedInstruction::WordSpacing(it) => state.word_space = it.0.as_f64(),
            TypedInstruction::HorizontalScaling(it) => state.scale = it.0.as_f64() / 100.0,
            TypedInstruction::TextLeading(it) => state.leading = it.0.as_f64(),
            TypedInstruction::TextRise(it) => state.rise = it.0.as_f64(),
            TypedInstruction::NextLine(it) => state.move_line(it.0.as_f64(), it.1.as_f64()),
            TypedInstruction::NextLineAndSetLeading(it) => {
                state.leading = -it.1.as_f64();
                state.move_line(it.0.as_f64(), it.1.as_f64());
            }
            TypedInstruction::NextLineUsingLeading(_) => state.move_line(0.0, -state.leading),
            TypedInstruction::ShowText(it) => self.show(it.0.as_bytes())?,
            TypedInstruction::NextLineAndShowText(it) => {
                state.move_line(0.0, -state.leading);
                self.show(it.0.as_bytes())?;
            }
            TypedInstruction::ShowTextWithParameters(it) => {
                (state.word_space, state.char_space) = (it.0.as_f64(), it.1.as_f64());
                state.move_line(0.0, -state.leading);
                self.show(it.2.as_bytes())?;
            }
            TypedInstruction::ShowTexts(it) => self.show_all(it.0)?,
            TypedInstruction::BeginMarkedContent(_) => self.marked.push(None),
            TypedInstruction::EndMarkedContent(_) => drop(self.marked.pop()),
            TypedInstruction::InlineImage(_)
            | TypedInstruction::CubicTo(_)
            | TypedInstruction::CubicStartTo(_)
            | TypedInstruction::CubicEndTo(_) => self.drawn.has_pictures = true,
            _ => {}
        }
        Ok(())
    }

    fn draw(&mut self, object: Option<Stream<'a>>, resources: &Resources<'a>, depth: u32) -> Result<(), String> {
        let Some(object) = object else { return Ok(()) };
        let dict = object.dict();
        if dict.get::<Name<'_>>(SUBTYPE).is_none_or(|subtype| subtype.as_ref() != b"Form") {
            self.drawn.has_pictures = true;
            return Ok(());
        }
        let Ok(content) = object.decoded_data() else {
            self.drawn.is_damaged = true;
            return Ok(());
        };
        self.reader.count_inflated(content.len())?;
        let own = dict.get::<Dict<'a>>(RESOURCES).map(Resources::new);
        let (before, saved) = (self.state.clone(), std::mem::take(&mut self.saved));
        if let Some(matrix) = dict.get::<[f32; 6]>(MATRIX) {
            self.state.page *= Affine::new(matrix.map(f64::from));
        }
        let outcome = self.run(TypedIter::new(&content), own.as_ref().unwrap_or(resources), depth + 1);
        (self.state, self.saved) = (before, saved);
        outcome
    }

    fn set_font(&mut self, dict: Option<Dict<'a>>, size: Number) {
        self.state.font = Some(dict.map_or_else(PdfFont::missing, |it| self.reader.fonts.load(&it)));
        self.state.size = size.as_f64();
    }

    fn mark(&mut self, properties: &Object<'_>, resources: &Resources<'a>) {
        let replacement = match properties {
            Object::Name(name) => resources.properties.get::<Dict<'_>>(name).and_then(|it| it.get::<PdfString<'_>>(ACTUAL_TEXT)),
            Object::Dict(it) => it.get::<PdfString<'_>>(ACTUAL_TEXT),
            _ => None,
        };
        self.marked.push(replacement.map(|text| Replacement::Text(text_string(text.as_bytes()))));
    }

    fn show_all(&mut self, parts: &Array<'_>) -> Result<(), String> {
        for part in parts.iter::<Object<'_>>() {
            match part {
                Object::String(it) => self.show(it.as_bytes())?,
                Object::Number(it) => {
                    let state = &mut self.state;
                    let back = it.as_f64() / UNITS * state.size;
                    let is_vertical = state.font.as_ref().is_some_and(|it| !it.is_horizontal());
                    state.text *= if is_vertical { Affine::translate((0.0, -back)) } else { Affine::translate((-back * state.scale, 0.0)) };
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn show(&mut self, bytes: &[u8]) -> Result<(), String> {
        let font = self.state.font.get_or_insert_with(PdfFont::missing).clone();
        let mut rest = 0;
        while rest < bytes.len() {
            let (code, length) = font.read_code(bytes, rest);
            rest += length;
            self.reader.characters += 1;
            if self.reader.characters > MAX_TEXT_BYTES {
                return Err(format!("its text is longer than {MAX_TEXT_BYTES} bytes"));
            }
            self.place(&font, code, length);
        }
        Ok(())
    }

    /// Places a glyph and moves to the next one.
    fn place(&mut self, font: &PdfFont<'a>, code: u32, length: usize) {
        let state = &mut self.state;
        let spacing = state.char_space + if code == 32 && length == 1 { state.word_space } else { 0.0 };
        let advance = font.advance(code) / UNITS * state.size;
        let (step, ahead) = if font.is_horizontal() {
            (Vec2::new((advance.x + spacing) * state.scale, 0.0), Vec2::new(state.size.signum() * state.scale.signum(), 0.0))
        } else {
            (Vec2::new(0.0, advance.y + spacing), Vec2::new(0.0, -state.size.signum()))
        };
        let matrix = state.page * state.text;
        let at = matrix * Point::new(0.0, state.rise);
        let along = matrix * (Point::new(0.0, state.rise) + ahead) - at;
        let next = matrix * (Point::new(0.0, state.rise) + step) - at;
        let up = matrix * Point::new(0.0, state.rise + state.size) - at;
        state.text *= Affine::translate(step);
        if along.hypot() == 0.0 || !(at.is_finite() && along.is_finite() && next.is_finite() && up.is_finite()) {
            return;
        }
        let direction = along / along.hypot();
        let piece = Piece { text: String::new(), at, advance: next.dot(direction), direction, size: up.hypot() };
        self.add(piece, || font.decode(code, length).unwrap_or_else(|| UNREADABLE.to_string()));
    }

    /// Adds a glyph with its characters, or with those that replace them.
    fn add(&mut self, piece: Piece, decode: impl FnOnce() -> String) {
        let pieces = &mut self.drawn.pieces;
        let text = match self.marked.iter_mut().flatten().next() {
            Some(replacement) => match std::mem::replace(replacement, Replacement::Piece(pieces.len())) {
                Replacement::Text(text) => text,
                Replacement::Piece(first) => {
                    *replacement = Replacement::Piece(first);
                    pieces.iter_mut().skip(first).take(1).for_each(|it| it.widen(&piece));
                    return;
                }
            },
            None => decode(),
        };
        pieces.push(Piece { text, ..piece });
    }
}

impl Piece {
    /// Takes the room of another glyph of the line too.
    fn widen(&mut self, other: &Piece) {
        let start = (other.at - self.at).dot(self.direction);
        let end = (start + other.advance).max(self.advance);
        if start < 0.0 {
            self.at += self.direction * start;
        }
        self.advance = end - start.min(0.0);
    }
}

impl State<'_> {
    fn move_line(&mut self, x: f64, y: f64) {
        self.line *= Affine::translate((x, y));
        self.text = self.line;
    }
}

/// Whether the instructions of a page, or a part of them, cannot be decoded.
fn is_damaged(page: &Page<'_>) -> bool {
    let contents = page.raw();
    let parts = contents.get::<Array<'_>>(CONTENTS);
    match (contents.get::<Stream<'_>>(CONTENTS), parts) {
        (Some(it), _) => it.decoded_data().is_err(),
        (None, Some(parts)) => {
            parts.iter::<Object<'_>>().any(|part| part.into_stream().is_none_or(|stream| stream.decoded_data().is_err()))
        }
        (None, None) => contents.contains_key(CONTENTS),
    }
}

fn affine(numbers: [Number; 6]) -> Affine {
    Affine::new(numbers.map(|it| it.as_f64()))
}

/// Reads a text string: UTF-16 or UTF-8 with a mark, else Latin letters.
fn text_string(bytes: &[u8]) -> String {
    match bytes {
        [0xfe, 0xff, rest @ ..] => encoding_rs::UTF_16BE.decode_without_bom_handling(rest).0.into_owned(),
        [0xff, 0xfe, rest @ ..] => encoding_rs::UTF_16LE.decode_without_bom_handling(rest).0.into_owned(),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_pages_inflate_to_is_bounded() {
        let mut reader = PageReader::default();
        assert_eq!(reader.count_inflated(MAX_INFLATED_BYTES - 1), Ok(()));
        assert_eq!(reader.count_inflated(1), Ok(()));
        assert_eq!(reader.count_inflated(1), Err("its pages take more than 268435456 bytes; split it".to_owned()));
    }
}
