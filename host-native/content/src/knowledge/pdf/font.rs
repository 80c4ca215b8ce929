//! Finds the characters of glyphs: from the map that a font carries for this, from the character set that its codes are numbered by, or from
//! the embedded font program.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use hayro_cmap::{BfString, CMap, CMapName, CidFamily, load_embedded};
use hayro_font::hayro_syntax::object::dict::keys::{
    CIDSYSTEMINFO, DESCENDANT_FONTS, ENCODING, FONT_DESC, FONT_FILE, FONT_FILE2, FONT_FILE3, ORDERING, REGISTRY, SUBTYPE, TO_UNICODE,
};
use hayro_font::hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier, Stream, String as PdfString};
use hayro_font::kurbo::Vec2;
use hayro_font::{CMapResolverFn, Font, FontCache, FontGlyph, FontQuery, FontResolverFn, GlyphId, OutlineGlyph};
use icu_normalizer::ComposingNormalizerBorrowed;
use skrifa::{FontRef, MetadataProvider as _};

use super::super::document::UNREADABLE;

/// The fonts of a document.
pub(super) struct Fonts<'a> {
    cache: FontCache<'a>,
    loaded: HashMap<ObjectIdentifier, Rc<PdfFont<'a>>>,
    programs: FontResolverFn,
    maps: CMapResolverFn,
}

impl Default for Fonts<'_> {
    fn default() -> Self {
        Fonts {
            cache: FontCache::new(),
            loaded: HashMap::new(),
            // Only the widths of these matter.
            programs: Arc::new(|query| match query {
                FontQuery::Standard(it) => Some(it.get_font_data()),
                FontQuery::Fallback(it) => Some(it.pick_standard_font().get_font_data()),
            }),
            maps: Arc::new(load_embedded),
        }
    }
}

impl<'a> Fonts<'a> {
    /// Returns the font that a dictionary describes.
    pub(super) fn load(&mut self, dict: &Dict<'a>) -> Rc<PdfFont<'a>> {
        if let Some(font) = dict.obj_id().and_then(|it| self.loaded.get(&it)) {
            return font.clone();
        }
        let font = Rc::new(PdfFont::new(dict, self.cache.font(dict, &self.programs, &self.maps)));
        if let Some(id) = dict.obj_id() {
            self.loaded.insert(id, font.clone());
        }
        font
    }
}

/// A font.
pub(super) struct PdfFont<'a> {
    /// Absent when it is damaged: nothing that it shows can be read.
    font: Option<Font<'a>>,
    /// The character set of a font with many characters, if it is a known one.
    character_set: Option<CharacterSet>,
    has_map: bool,
    is_composite: bool,
    is_embedded: bool,
    /// Whether codes are those of the font program, without names for them.
    is_unnamed: bool,
    /// The characters of the glyphs, as the embedded program maps them.
    characters: OnceCell<HashMap<u32, char>>,
}

impl<'a> PdfFont<'a> {
    /// Returns what stands for a font that the document does not have.
    pub(super) fn missing() -> Rc<PdfFont<'a>> {
        Rc::new(PdfFont::new(&Dict::empty(), None))
    }

    fn new(dict: &Dict<'a>, font: Option<Font<'a>>) -> PdfFont<'a> {
        let subtype = dict.get::<Name<'_>>(SUBTYPE);
        let is_of = |it: &[u8]| subtype.as_ref().is_some_and(|subtype| subtype.as_ref() == it);
        let descendant = dict.get::<Array<'a>>(DESCENDANT_FONTS).and_then(|fonts| fonts.iter::<Dict<'a>>().next());
        let descriptor = descendant.as_ref().unwrap_or(dict).get::<Dict<'_>>(FONT_DESC);
        PdfFont {
            font,
            character_set: descendant.as_ref().and_then(|it| CharacterSet::new(dict, it)),
            has_map: dict.contains_key(TO_UNICODE),
            is_composite: descendant.is_some(),
            is_embedded: descriptor
                .is_some_and(|descriptor| [FONT_FILE, FONT_FILE2, FONT_FILE3].iter().any(|key| descriptor.contains_key(key))),
            is_unnamed: is_of(b"TrueType") && !dict.contains_key(ENCODING),
            characters: OnceCell::new(),
        }
    }

    /// Returns the code at a place of a shown string, and its length in bytes.
    pub(super) fn read_code(&self, bytes: &[u8], at: usize) -> (u32, usize) {
        match &self.font {
            Some(font) => {
                let (code, length) = font.read_code(bytes, at);
                (code, length.max(1))
            }
            None => (0, if self.is_composite { 2 } else { 1 }),
        }
    }

    /// Whether lines run from left to right, and not from top to bottom.
    pub(super) fn is_horizontal(&self) -> bool {
        self.font.as_ref().is_none_or(Font::is_horizontal)
    }

    /// Returns how far the next glyph is, in thousandths of the size.
    pub(super) fn advance(&self, code: u32) -> Vec2 {
        self.font.as_ref().map_or(Vec2::new(500.0, 0.0), |it| it.code_advance(code))
    }

    /// Returns the characters of a code of `length` bytes, if they can be known.
    pub(super) fn decode(&self, code: u32, length: usize) -> Option<String> {
        let font = self.font.as_ref()?;
        let id = font.map_code(code);
        let glyph = font.glyph(id, code);
        let mapped = || match &glyph {
            FontGlyph::Outline(it) => it.as_unicode(),
            FontGlyph::Type3(it) => it.as_unicode(),
        };
        let of_set = || self.character_set.as_ref()?.decode(code, length);
        let of_map = || readable(mapped().map(into_text)?);
        let found = if self.has_map { of_map().or_else(of_set) } else { of_set().or_else(of_map) };
        found.or_else(|| match &glyph {
            FontGlyph::Outline(outline) if self.is_embedded && id != GlyphId::NOTDEF => self.decode_glyph(outline, code),
            _ => None,
        })
    }

    /// Returns what the embedded program knows of a glyph.
    fn decode_glyph(&self, glyph: &OutlineGlyph, code: u32) -> Option<String> {
        let characters = self.characters.get_or_init(|| characters_of_glyphs(glyph));
        let character = characters.get(&glyph.glyph_id().to_u32()).map(char::to_string).and_then(readable);
        // Programs that number their glyphs number them as ASCII does.
        let unnamed = || char::from_u32(code).filter(|ascii| self.is_unnamed && (' '..='~').contains(ascii)).map(String::from);
        let blank = || glyph.outline().elements().is_empty().then(|| " ".to_owned());
        character.or_else(unnamed).or_else(blank)
    }
}

/// A set that numbers the characters of a script, such as Adobe-Japan1.
struct CharacterSet {
    /// From codes to numbers of the set.
    encoding: CMap,
    /// From numbers of the set to characters.
    characters: Option<CMap>,
    /// The width of code units, if codes are Unicode.
    unicode: Option<CodeUnit>,
}

#[derive(Clone, Copy)]
enum CodeUnit {
    Utf16,
    Utf32,
}

impl CharacterSet {
    fn new(font: &Dict<'_>, descendant: &Dict<'_>) -> Option<CharacterSet> {
        let (encoding, unicode) = match font.get::<Object<'_>>(ENCODING)? {
            Object::Name(name) => (named_map(&name)?, code_unit(&name)),
            Object::Stream(stream) => (embedded_map(&stream)?, None),
            _ => return None,
        };
        let own = encoding.metadata().character_collection.as_ref().map(|it| it.family.clone());
        let family = own.filter(|it| *it != CidFamily::AdobeIdentity).or_else(|| family_of(descendant));
        let characters = family.and_then(|it| it.ucs2_cmap()).and_then(load_embedded).and_then(|it| CMap::parse(it, load_embedded));
        (characters.is_some() || unicode.is_some()).then_some(CharacterSet { encoding, characters, unicode })
    }

    fn decode(&self, code: u32, length: usize) -> Option<String> {
        self.decode_unicode(code).or_else(|| {
            let number = self.encoding.lookup_cid_code(code, u8::try_from(length).ok()?)?;
            let characters = self.characters.as_ref()?;
            let found = characters.lookup_bf_string(number).map(into_text);
            let single = || (1..=4).find_map(|it| characters.lookup_cid_code(number, it)).and_then(char::from_u32).map(String::from);
            found.or_else(single).and_then(readable)
        })
    }

    fn decode_unicode(&self, code: u32) -> Option<String> {
        let text = match self.unicode? {
            CodeUnit::Utf32 => char::from_u32(code)?.to_string(),
            CodeUnit::Utf16 => {
                let [a, b, c, d] = code.to_be_bytes();
                let units = [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])];
                String::from_utf16(if units[0] == 0 { &units[1..] } else { &units }).ok()?
            }
        };
        readable(text)
    }
}

fn named_map(name: &Name<'_>) -> Option<CMap> {
    match CMapName::from_bytes(name.as_ref()) {
        CMapName::IdentityH => Some(CMap::identity_h()),
        CMapName::IdentityV => Some(CMap::identity_v()),
        name => CMap::parse(load_embedded(name)?, load_embedded),
    }
}

fn embedded_map(stream: &Stream<'_>) -> Option<CMap> {
    CMap::parse(&stream.decoded_data().ok()?, load_embedded)
}

/// Returns how a predefined map such as `UniJIS-UTF16-H` reads codes.
fn code_unit(name: &Name<'_>) -> Option<CodeUnit> {
    let name = name.as_str();
    match name.starts_with("Uni") {
        true if name.contains("UTF32") => Some(CodeUnit::Utf32),
        true if name.contains("UTF16") || name.contains("UCS2") => Some(CodeUnit::Utf16),
        _ => None,
    }
}

fn family_of(descendant: &Dict<'_>) -> Option<CidFamily> {
    let info = descendant.get::<Dict<'_>>(CIDSYSTEMINFO)?;
    let (registry, ordering) = (info.get::<PdfString<'_>>(REGISTRY)?, info.get::<PdfString<'_>>(ORDERING)?);
    Some(CidFamily::from_registry_ordering(registry.as_bytes(), ordering.as_bytes()))
}

/// Turns the table of a font program round. Of several characters with the same glyph the first one is kept.
fn characters_of_glyphs(glyph: &OutlineGlyph) -> HashMap<u32, char> {
    let Some(program) = glyph.font_data() else { return HashMap::new() };
    let Ok(font) = FontRef::from_index((*program.data).as_ref(), 0) else { return HashMap::new() };
    let mut characters = HashMap::new();
    for (character, glyph) in font.charmap().mappings() {
        if let Some(character) = char::from_u32(character) {
            characters.entry(glyph.to_u32()).or_insert(character);
        }
    }
    characters
}

fn into_text(found: BfString) -> String {
    match found {
        BfString::Char(it) => it.to_string(),
        BfString::String(it) => it,
    }
}

/// Returns a text as it is written, without the forms of letters that only fonts tell apart; `None` if it says nothing: control
/// characters, and those that each font defines for itself.
fn readable(text: String) -> Option<String> {
    let says_nothing = |it: char| {
        it == UNREADABLE
            || it.is_control() && it != '\t'
            || matches!(it, '\u{e000}'..='\u{f8ff}' | '\u{fffe}' | '\u{ffff}' | '\u{f0000}'..='\u{10ffff}')
    };
    if text.is_empty() || text.chars().any(says_nothing) {
        return None;
    }
    let is_form = |it: char| matches!(it, '\u{a0}' | '\u{2e80}'..='\u{2fdf}' | '\u{fb00}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}');
    if !text.chars().any(is_form) {
        return Some(text);
    }
    let normal = ComposingNormalizerBorrowed::new_nfkc().normalize(&text).into_owned();
    Some(if normal.trim().is_empty() { normal } else { normal.trim().to_owned() })
}
