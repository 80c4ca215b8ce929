//! Writes PDFs as programs of all ages do: with fonts that name their characters in one way or another, or not at all.

use std::fmt::Write as _;

use encoding_rs::{BIG5, EUC_KR, GBK, SHIFT_JIS, WINDOWS_1252};

use super::true_type;

/// How the codes of a text are related to its characters.
#[derive(Debug, Clone, Copy)]
pub enum Naming {
    /// A standard font with the character set of Windows.
    Windows,
    /// A font with one byte a character, whose glyphs have names such as `uni0142`.
    GlyphNames,
    /// Numbers of glyphs, with a map to characters.
    Map,
    /// Numbers of glyphs of an embedded font that knows its characters.
    EmbeddedTable,
    /// Numbers of glyphs of an embedded font that knows nothing.
    Nothing,
    /// A predefined map of codes, with its character set, without and with an embedded font.
    Predefined(&'static str, &'static str, bool),
}

/// What a page shows.
#[derive(Debug, Clone)]
pub enum Shown {
    /// A line as it is seen, from left to right or from top to bottom.
    Line(String),
    /// A line from right to left, each character placed by itself, in the order of reading.
    RightToLeft(String),
    /// A line whose characters are said beside it.
    Spoken(String, String),
    /// Text in the standard font.
    Plain(&'static str),
    /// A picture.
    Picture,
    /// The next page.
    Break,
}

/// Writes a document.
pub fn write(naming: Naming, shown: &[Shown]) -> Vec<u8> {
    let mut file = File::default();
    let pages_id = file.reserve();
    let mut characters: Vec<char> = shown.iter().flat_map(Shown::characters).collect();
    characters.sort_unstable();
    characters.dedup();
    let font = file.font(naming, &characters);
    let plain = file.font(Naming::Windows, &[]);
    let picture = file.stream("/Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8", &[7]);
    let mut pages = String::new();
    let mut count = 0;
    for page in shown.split(|it| matches!(it, Shown::Break)) {
        let content = content(naming, &characters, page);
        let content = file.stream("", content.as_bytes());
        let fonts = format!("<</F1 {font} 0 R/F2 {plain} 0 R>>");
        let resources = format!("<</Font{fonts}/XObject<</I {picture} 0 R>>>>");
        let entries = format!("/Parent {pages_id} 0 R/MediaBox[0 0 612 792]/Contents {content} 0 R/Resources{resources}");
        let id = file.add(format!("<</Type/Page{entries}>>").into_bytes());
        write!(pages, "{id} 0 R ").unwrap();
        count += 1;
    }
    file.objects[pages_id - 1] = format!("<</Type/Pages/Kids[{pages}]/Count {count}>>").into_bytes();
    let root = file.add(format!("<</Type/Catalog/Pages {pages_id} 0 R>>").into_bytes());
    file.finish(root)
}

impl Shown {
    fn characters(&self) -> Vec<char> {
        match self {
            Shown::Line(text) | Shown::RightToLeft(text) | Shown::Spoken(text, _) => text.chars().collect(),
            Shown::Plain(_) | Shown::Picture | Shown::Break => Vec::new(),
        }
    }
}

fn content(naming: Naming, characters: &[char], page: &[Shown]) -> String {
    let is_vertical = matches!(naming, Naming::Predefined(name, ..) if name.ends_with("-V"));
    let mut out = String::new();
    for (line, shown) in (0..).zip(page) {
        let place = 720 - 16 * line;
        let (x, y) = if is_vertical { (place - 200, 720) } else { (72, place) };
        let text = |it: &str| hex(&codes(naming, characters, it));
        match shown {
            Shown::Line(it) => writeln!(out, "BT /F1 10 Tf {x} {y} Td <{}> Tj ET", text(it)).unwrap(),
            Shown::RightToLeft(it) => {
                for (place, character) in (1..).zip(it.chars()) {
                    let character = character.to_string();
                    writeln!(out, "BT /F1 10 Tf {} {y} Td <{}> Tj ET", 560 - 10 * place, text(&character)).unwrap();
                }
            }
            Shown::Spoken(it, spoken) => {
                let units: Vec<u8> = spoken.encode_utf16().flat_map(u16::to_be_bytes).collect();
                let marks = (format!("/Span<</ActualText<feff{}>>>BDC", hex(&units)), "EMC");
                writeln!(out, "BT /F1 10 Tf {x} {y} Td {} <{}> Tj {} ET", marks.0, text(it), marks.1).unwrap();
            }
            Shown::Plain(it) => writeln!(out, "BT /F2 10 Tf {x} {y} Td <{}> Tj ET", hex(&WINDOWS_1252.encode(it).0)).unwrap(),
            Shown::Picture => out.push_str("q 400 0 0 400 72 72 cm /I Do Q\n"),
            Shown::Break => {}
        }
    }
    out
}

fn codes(naming: Naming, characters: &[char], text: &str) -> Vec<u8> {
    let number = |it: char| u16::try_from(characters.binary_search(&it).unwrap() + 1).unwrap();
    match naming {
        Naming::Windows => WINDOWS_1252.encode(text).0.into_owned(),
        Naming::GlyphNames => text.chars().map(|character| u8::try_from(number(character)).unwrap()).collect(),
        Naming::Map | Naming::EmbeddedTable | Naming::Nothing => {
            text.chars().flat_map(|character| number(character).to_be_bytes()).collect()
        }
        Naming::Predefined(name, ..) if name.starts_with("Uni") => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        Naming::Predefined(name, ..) => {
            let encodings = [("90ms-RKSJ-H", SHIFT_JIS), ("GBK-EUC-H", GBK), ("ETen-B5-H", BIG5), ("KSCms-UHC-H", EUC_KR)];
            let encoding = encodings.iter().find(|it| it.0 == name).unwrap().1;
            let (bytes, _, is_lossy) = encoding.encode(text);
            assert!(!is_lossy, "{name} has no code for a character of {text}");
            bytes.into_owned()
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |out, it| out + &format!("{it:02x}"))
}

/// The objects of a document, counted from 1.
#[derive(Default)]
struct File {
    objects: Vec<Vec<u8>>,
}

impl File {
    fn reserve(&mut self) -> usize {
        self.add(Vec::new())
    }

    fn add(&mut self, object: Vec<u8>) -> usize {
        self.objects.push(object);
        self.objects.len()
    }

    fn stream(&mut self, entries: &str, bytes: &[u8]) -> usize {
        let start = format!("<<{entries}/Length {}>>stream\n", bytes.len());
        self.add([start.as_bytes(), bytes, b"\nendstream"].concat())
    }

    fn font(&mut self, naming: Naming, characters: &[char]) -> usize {
        match naming {
            Naming::Windows => self.add(b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_vec()),
            Naming::GlyphNames => {
                let names = characters.iter().fold(String::new(), |out, it| format!("{out}/uni{:04X}", u32::from(*it)));
                let widths = "600 ".repeat(characters.len());
                let entries = format!("/FirstChar 1/LastChar {}/Widths[{widths}]/Encoding<</Differences[1{names}]>>", characters.len());
                self.add(format!("<</Type/Font/Subtype/Type1/BaseFont/Own{entries}>>").into_bytes())
            }
            Naming::Map => {
                let map = self.stream("", to_unicode(characters).as_bytes());
                self.composite("Identity-H", "Identity", None, &format!("/ToUnicode {map} 0 R"))
            }
            Naming::EmbeddedTable => self.composite("Identity-H", "Identity", Some(true_type::font(characters, true)), ""),
            Naming::Nothing => self.composite("Identity-H", "Identity", Some(true_type::font(characters, false)), ""),
            Naming::Predefined(name, set, is_embedded) => {
                self.composite(name, set, is_embedded.then(|| true_type::font(characters, false)), "")
            }
        }
    }

    /// A font whose codes have several bytes.
    fn composite(&mut self, encoding: &str, set: &str, program: Option<Vec<u8>>, more: &str) -> usize {
        let program = program.map(|it| self.stream("", &it)).map(|it| format!("/FontFile2 {it} 0 R")).unwrap_or_default();
        let descriptor = self.add(format!("<</Type/FontDescriptor/FontName/Own/Flags 4{program}>>").into_bytes());
        let info = format!("/CIDSystemInfo<</Registry(Adobe)/Ordering({set})/Supplement 0>>");
        let entries = format!("/BaseFont/Own{info}/DW 1000/CIDToGIDMap/Identity/FontDescriptor {descriptor} 0 R");
        let descendant = self.add(format!("<</Type/Font/Subtype/CIDFontType2{entries}>>").into_bytes());
        let entries = format!("/BaseFont/Own/Encoding/{encoding}/DescendantFonts[{descendant} 0 R]{more}");
        self.add(format!("<</Type/Font/Subtype/Type0{entries}>>").into_bytes())
    }

    fn finish(self, root: usize) -> Vec<u8> {
        let mut file = b"%PDF-1.7\n".to_vec();
        let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", self.objects.len() + 1);
        for (id, object) in (1..).zip(&self.objects) {
            writeln!(table, "{:010} 00000 n ", file.len()).unwrap();
            file.extend(format!("{id} 0 obj\n").as_bytes());
            file.extend(object);
            file.extend(b"\nendobj\n");
        }
        let end = format!("{table}trailer\n<</Size {}/Root {root} 0 R>>\nstartxref\n{}\n%%EOF\n", self.objects.len() + 1, file.len());
        file.extend(end.as_bytes());
        file
    }
}

/// A map from the numbers of glyphs to characters.
fn to_unicode(characters: &[char]) -> String {
    let mut out = "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <0000> <ffff> endcodespacerange\n".to_owned();
    for (part, first) in characters.chunks(100).zip((1..).step_by(100)) {
        writeln!(out, "{} beginbfchar", part.len()).unwrap();
        for (code, character) in (first..).zip(part) {
            let units: Vec<u8> = character.encode_utf16(&mut [0; 2]).iter().flat_map(|it| it.to_be_bytes()).collect();
            writeln!(out, "<{code:04x}> <{}>", hex(&units)).unwrap();
        }
        out.push_str("endbfchar\n");
    }
    out + "endcmap end"
}
